"""memory_test.py DIKKAT SOURCE_DIR: requests that ask for much memory and work.

It trains a small model and sends schemas that would take gigabytes or minutes if they had no limits. It fails unless
- the server answers or refuses each of them with at most 300 MB and 2 seconds of the processor, and gives the memory back,
- and a server whose memory is limited (ulimit -v) answers each with a status, and then /health and small requests.
It prints the peak and the time of each."""
import json
import os
import pathlib
import sys
import tempfile
import threading
import time

from served import Server, train

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MOST_MEGABYTES, MOST_KEPT, MOST_SECONDS = 300, 60, 2
TRIES = 3  # a processor that others use takes longer, and not every time
SPACES = (30_000, 40_000, 50_000, 60_000)  # beyond what a server needs that answers small requests, in kilobytes


def object_of(properties, **more):
    return {"type": "object", "properties": properties, **more}


def read_often(definition, beside):
    """A schema that has many references to one definition."""
    many = {f"p{i}": {"allOf": [{"$ref": "#/$defs/d"}, beside]} for i in range(9000)}
    return {"$defs": {"d": definition}, **object_of(many)}


def chain(length):
    """Definitions that refer to one another, 9,000 in an object."""
    at = "#/$defs/{}/$defs/d{}".format
    parts = {}
    for i in range(length):
        parts.setdefault(str(i // 9000), {"$defs": {}})["$defs"][f"d{i}"] = {"$ref": at((i + 1) // 9000, i + 1)}
    parts[str(length // 9000)]["$defs"][f"d{length}"] = {"type": "string"}
    return {"$defs": parts, "$ref": at(0, 0)}


SCHEMAS = {
    "strings": {"enum": [f"{i * 7919 % 130003:x}" * 5 for i in range(120_000)]},
    "objects": {"enum": [{"": {"": {"": i}}} for i in range(18_000)]},
    "read often": read_often({"enum": [i % 3 for i in range(40_000)]}, {"type": "integer"}),
    "a long value, read often": read_often({"enum": ["x" * 3_000_000, 1]}, {"type": "integer"}),
    "nothing, read often": read_often({"anyOf": [False] * 30_000}, {"type": "null"}),
    "references": chain(25_000),
    "numbers": object_of({f"p{i}": {"type": "number", "minimum": -123456789.125 - i, "maximum": 987654321.54321 + i} for i in range(9000)}),
    "fields": object_of({f"p{i}": object_of({f"{j}": True for j in range(9900)}) for i in range(12)}),
    "oneOf": {"oneOf": [object_of({"a": object_of({f"q{i}": {"const": 1}}, required=[f"q{i}"])}, required=["a"]) for i in range(3000)]},
    "a long name": object_of({"x" * 90_000: {"anyOf": [{"type": "string", "maxLength": i} for i in range(10_000)]}}),
}


def body_of(schema):
    return json.dumps({"prompt": "Once", "max_tokens": 1, "guided_json": schema}, separators=(",", ":"))


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_limits(run, bodies):
    server = Server(program, run, "--parallel", "1")
    server.status("/v1/completions", body_of({"type": "integer"}))
    idle = server.memory("VmRSS")
    for name, body in bodies.items():
        for left in reversed(range(TRIES)):
            pathlib.Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak begins again
            begun = processor_seconds(server.process)
            status, text = server.status("/v1/completions", body)
            seconds, peak = processor_seconds(server.process) - begun, (server.memory("VmHWM") - idle) / 1000
            time.sleep(0.05)
            kept = (server.memory("VmRSS") - idle) / 1000
            print(f"{name}: {len(body) / 1e6:.1f} MB, {status}, {seconds:.2f} s, {peak:.0f} MB more at the peak, {kept:.0f} MB afterwards")
            assert status in (200, 400), text
            assert peak <= MOST_MEGABYTES and kept <= MOST_KEPT, "it takes too much memory"
            assert len(text) < 10_000, f"the response has {len(text)} bytes"
            if seconds <= MOST_SECONDS:
                break
            assert left > 0, f"it takes {seconds:.1f} s"
    server.end()


def statuses_at_once(server, bodies):
    """Sends requests at the same time. Returns the statuses of those that got a response."""
    statuses = []
    clients = [threading.Thread(target=lambda body=body: statuses.append(server.status("/v1/completions", body)[0])) for body in bodies]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return statuses


def needed_space(run, count):
    """The address space with which a server answers so many small requests at once, in kilobytes: each has a thread with a stack."""
    very_much = 100_000_000  # with a limit, all threads share one heap
    server = Server(program, run, "--parallel", "1", "--prompt-cache", "0", address_space=very_much)
    statuses_at_once(server, count * [body_of({"type": "integer"})])
    needed = server.memory("VmPeak")
    server.end()
    return needed


def check_little_memory(run, bodies):
    needed = needed_space(run, len(bodies))
    refused = 0
    for more in SPACES:
        server = Server(program, run, "--parallel", "1", "--prompt-cache", "0", address_space=needed + more)
        server.status("/v1/completions", body_of({"type": "integer"}))  # generating keeps the memory of its first time
        statuses = statuses_at_once(server, bodies.values())
        assert len(statuses) == len(bodies), f"some requests got no response: {server.log()}"
        assert set(statuses) <= {200, 400, 500, 503}, statuses
        refused += statuses.count(500)
        assert server.status("/health")[0] == 200
        for _ in range(20):  # until the memory of the large requests is free
            status, text = server.status("/v1/completions", body_of({"type": "integer"}))
            if status == 200:
                break
            time.sleep(0.1)
        assert status == 200, text
        server.end()
    print(f"with little memory: {refused} of {len(SPACES) * len(bodies)} requests got an error, and the server answered the next ones")
    assert refused > 0, "there was memory for all"


with tempfile.TemporaryDirectory() as folder:
    run, _ = train(program, source, folder, "model.n_layer=1", "model.n_head=2", "model.n_embd=32", "model.block_size=64")
    all_bodies = {name: body_of(schema) for name, schema in SCHEMAS.items()}
    check_limits(run, all_bodies)
    check_little_memory(run, all_bodies)
