"""Damaged and hostile checkpoints: thousands in process, and some with the program."""

import json
import os
import shutil

import kills
from bench import REFUSED, SURVIVED, Case, Counts, Failed, Process, require

MEMORY = 400 << 20  # bytes that a command may take to refuse a small file


def tool(bench, name, *arguments):
    """The verdict of a C++ program of this folder."""
    program = bench.tools / name
    if not program.exists():
        raise Failed(f"{program} does not exist: cmake --build --preset dev --target torture_{name}")
    outcome = Process([str(program), *map(str, arguments)], bench.folder, bench.environment()).wait(3600)
    require(outcome.code == 0, f"{name} ended with {outcome.code}:", outcome.last_words()[:500])
    return json.loads(outcome.out)


def counted(name, *arguments):
    def run(bench, _):
        return Counts(tool(bench, name, *[argument(bench) if callable(argument) else argument for argument in arguments]))
    return run


# At least as many bytes as the small checkpoint has. Its cases are made before it exists.
SMALL = 80 << 10


def small_checkpoint(bench):
    """A checkpoint of up to SMALL bytes from a run of the program."""
    def make():
        folder = bench.make_folder("small")
        outcome = bench.run(folder, kills.begin_arguments({}))
        require(outcome.code == 0, "no checkpoint to damage:", outcome.last_words())
        path = folder / "run" / "checkpoints" / "step-000000008.h5"
        require(path.stat().st_size <= SMALL, "the small checkpoint has", path.stat().st_size, "bytes, expected at most", SMALL)
        return path
    return bench.once("small checkpoint", make)


def pieces(count, size):
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def flips(bench):
    kind = "flip-all" if bench.long else "flip-one"
    for begin, end in pieces(SMALL, 4096 if bench.long else 35_000):
        yield Case(f"bytes {begin} to {end}", counted("damage", kind, small_checkpoint, begin, end, bench.seed))
    yield from through_the_program(bench, "flip", 40 if bench.long else 12)
    if bench.long:
        for begin, end in pieces(200, 50):
            yield Case(f"1.5 GB, {begin} to {end}", counted("damage", "large", end - begin, bench.seed * 1000 + begin))


def truncations(bench):
    for begin, end in pieces(SMALL, 35_000):
        yield Case(f"to {begin} to {end} bytes", counted("damage", "truncate", small_checkpoint, begin, end, bench.seed))
    yield from through_the_program(bench, "cut", 40 if bench.long else 12)


def junk(bench):
    for begin, end in pieces(65_537, 33_000):
        yield Case(f"{begin} to {end} bytes", counted("damage", "append", small_checkpoint, begin, end, bench.seed))
    yield from through_the_program(bench, "append", 40 if bench.long else 12)


def mangled(bench):
    count = 1_000_000 if bench.long else 10_000
    for number, (begin, end) in enumerate(pieces(count, count // 20)):
        yield Case(f"{begin} to {end}", counted("damage", "mangle", small_checkpoint, begin, end, bench.seed * 1000 + number))


def through_the_program(bench, kind, count):
    commands = (["verify"], ["inspect"], ["inspect", "--json"], ["sample", "--max-new-tokens", "1"], ["eval"])

    def damaged(number):
        def run(bench, random):
            data = bytearray(small_checkpoint(bench).read_bytes())
            at = random.randrange(len(data))
            if kind == "flip":
                data[at] ^= 1 << random.randrange(8)
            elif kind == "cut":
                del data[at:]
            else:
                data += random.randbytes(random.randrange(1, 100_000))
            folder = bench.make_folder(kind)
            (folder / "damaged.h5").write_bytes(data)
            command = commands[number % len(commands)]
            outcome = bench.run(folder, [command[0], "damaged.h5", *command[1:]])
            outcome.require_code(2)
            outcome.require_message("damaged.h5")
            require(outcome.out == "", "it gave a result:", outcome.out[:200])
            shutil.rmtree(folder)
            return REFUSED
        return run

    for number in range(count):
        yield Case(f"program {number}", damaged(number))


def hostile(bench):
    def make():
        folder = bench.make_folder("hostile")
        return folder, tool(bench, "hostile", folder)
    folder, names = bench.once("hostile", make)

    def case(name, command):
        def run(bench, _):
            log = bench.folder / f"hostile-{name}-{command}.log"
            arguments = [command, f"{name}.h5"]
            before = ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "300", "-o", str(log), "-e", "signal=none",
                      "-e", "trace=open,openat,openat2,execve,connect"]
            outcome = bench.run(folder, arguments, before=before, patience=30)
            lines = log.read_text(errors="replace").splitlines()
            require(any(f"{name}.h5" in line and "open" in line for line in lines), "the log does not tell what was opened")
            require(sum("execve(" in line for line in lines) == 1, "it started another program")
            require(not any("connect(" in line for line in lines), "it went to the network")
            for line in lines:
                require("other.h5" not in line and "/etc/passwd" not in line, "it opened another file:", line)
            os.unlink(log)
            require(outcome.peak_bytes < MEMORY, "it took", outcome.peak_bytes, "bytes of memory")
            if name == "good" and command in ("verify", "inspect"):
                outcome.require_code(0)
                return SURVIVED
            outcome.require_code(2)  # the good one too: its configuration is not a model's
            if name == "good":
                return REFUSED
            outcome.require_message(f"{name}.h5")
            require(outcome.out == "", "it gave a result:", outcome.out[:200])
            return REFUSED
        return run

    for name in names:
        for command in ("verify", "inspect", "sample", "eval") if bench.long else ("verify",):
            yield Case(f"{command} {name}", case(name, command))


def faults(bench):
    for elements in (0, 20_000, 100_000) if bench.long else (0,):
        yield Case(f"{elements} more elements", counted("faults", elements))


def numbers(bench):
    yield Case("all sites" if bench.long else "sites", counted("numbers", *(["all"] if bench.long else [])))
