"""load_test.py DIKKAT SOURCE_DIR [REQUESTS]: many clients ask `dikkat serve` at once, and some depart in the middle of an answer.

It trains a small model, asks each of its requests by itself, and then has 50 clients send REQUESTS (2,000) of them at once. It fails unless
- every complete answer is the one that the request gets by itself, from a server with one stream that keeps no prompts,
- and the server answers afterwards, and ends in order;
- of 1,000 requests or more: the longest wait for a first token is at most 5 times the median, and the resident memory at the end is within 5 % of
  that after the first quarter.
It prints the waits, the memory and the throughput. The last two are measured up to three times, because other programs can stall the machine; what
leaks shows each time."""
import json
import pathlib
import queue
import random
import statistics
import sys
import tempfile
import threading
import time

from served import Server, train

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
REQUESTS = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
CLIENTS = 50
DISTINCT = max(20, REQUESTS // 10)
DEPARTURES = 0.2  # the share of requests whose client departs early
MOST_GROWTH = 0.05
MOST_WAIT = 5  # longest wait for a first token, in medians


class Reader:
    """Reads an answer of a stream, and how long its first token took."""

    def __init__(self, request, began):
        self._choices = {}
        self._began = began
        self._is_chat = "messages" in request
        self.first = None
        self.is_complete = False

    def take(self, line):
        """Takes a line of the stream. Returns whether it had some text."""
        if not line.startswith(b"data: "):
            return False
        if line.strip() == b"data: [DONE]":
            self.is_complete = True
            return False
        event = json.loads(line[6:])
        assert "error" not in event, event
        has_text = False
        for part in event["choices"]:
            choice = self._choices.setdefault(part["index"], {"text": "", "logprobs": [], "end": None})
            text = part["delta"].get("content", "") if self._is_chat else part["text"]
            choice["text"] += text
            choice["logprobs"] += scores_of(part)
            choice["end"] = part["finish_reason"] or choice["end"]
            has_text = has_text or bool(text) or part["finish_reason"] is not None
        if has_text and self.first is None:
            self.first = time.monotonic() - self._began
        return has_text

    def answer(self):
        return [self._choices[index] for index in sorted(self._choices)]


def scores_of(choice):
    scores = choice.get("logprobs") or {}
    return scores["content"] if "content" in scores else list(zip(scores.get("tokens", []), scores.get("token_logprobs", [])))


def answer_of(response, request):
    """The answer in a whole response, in the form of Reader.answer()."""
    choices = sorted(response["choices"], key=lambda choice: choice["index"])
    return [{"text": choice["message"]["content"] if "messages" in request else choice["text"], "logprobs": scores_of(choice),
             "end": choice["finish_reason"]} for choice in choices]


def ask(server, path, request, departs_after=None):
    """Sends a request. Returns its answer, or None if the client departs, and the wait for the first token of a stream, if it came."""
    began = time.monotonic()
    connection = server.send(path, request)
    try:
        if departs_after is not None and not request["stream"]:
            time.sleep(departs_after / 1000)
            return None, None
        response = connection.getresponse()
        assert response.status == 200, (response.status, response.read())
        if not request["stream"]:
            return answer_of(json.loads(response.read()), request), None
        reader = Reader(request, began)
        texts = 0
        for line in response:
            texts += reader.take(line)
            if departs_after is not None and texts > departs_after:
                return None, reader.first
        assert reader.is_complete, "the stream has no end"
        return reader.answer(), reader.first
    finally:
        connection.close()


def requests_of(words):
    """Makes the requests: short and long prompts with beginnings that many share, one or more choices, streams and whole answers, some of a
    form that is given, some with several prompts or with their scores."""
    draw = random.Random(42)
    beginnings = [" ".join(draw.choices(words, k=count)) for count in (3, 20, 60)]
    made = []
    for seed in range(DISTINCT):
        text = draw.choice(beginnings) + " " + " ".join(draw.choices(words, k=draw.choice((1, 4, 30))))
        request = {"max_tokens": draw.choice((1, 10, 30, 60)), "seed": seed, "n": draw.choice((1, 1, 1, 1, 3)), "stream": draw.random() < 0.7,
                   "temperature": draw.choice((0, 0.7, 1.3))}
        if draw.random() < 0.5:
            path = "/v1/chat/completions"
            request["messages"] = [{"role": "system", "content": beginnings[0]}, {"role": "user", "content": text}]
            request["logprobs"] = draw.random() < 0.2
        else:
            path = "/v1/completions"
            request["prompt"] = text
            request["logprobs"] = draw.choice((None, None, None, 0, 2))
            request["echo"] = draw.random() < 0.3
            if draw.random() < 0.2:
                request["prompt"] = [text, beginnings[2], text[:40]]
        if draw.random() < 0.1:
            request["regex"] = draw.choice(("[a-z ]{5,30}", "(yes|no), because [a-z]{3,12}", "[0-9]{2,20}"))
        made.append((path, request))
    return made


def load(server, requests, expected):
    """Has the clients send their requests. Returns the waits for first tokens, the number of complete answers, and the resident memory after
    each quarter."""
    draw = random.Random(7)
    waiting = queue.Queue()
    for _ in range(REQUESTS):
        waiting.put((draw.randrange(len(requests)), draw.randrange(1, 12) if draw.random() < DEPARTURES else None))
    lock = threading.Lock()
    waits, memory, failures = [], [], []
    counts = {"complete": 0, "over": 0}

    def be_client():
        while not failures:
            try:
                which, departs_after = waiting.get_nowait()
            except queue.Empty:
                return
            path, request = requests[which]
            try:
                answer, wait = ask(server, path, request, departs_after)
                assert answer is None or answer == expected[which], f"request {request} got {answer}, and by itself {expected[which]}"
            except Exception as failure:  # any: the main thread reports it
                failures.append(failure)
                return
            with lock:
                counts["over"] += 1
                counts["complete"] += answer is not None
                if wait is not None:
                    waits.append(wait)
                if counts["over"] % (REQUESTS // 4) == 0:
                    memory.append(server.memory("VmRSS"))

    clients = [threading.Thread(target=be_client) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if failures:
        raise failures[0]
    return waits, counts["complete"], memory


with tempfile.TemporaryDirectory() as folder:
    run, text = train(program, source, folder, "model.n_layer=4", "model.n_head=4", "model.n_embd=192", "model.block_size=512")
    requests = requests_of(text[:5000].split())

    alone = Server(program, run, "--parallel", "1", "--prompt-cache", "0")
    expected = [ask(alone, path, request)[0] for path, request in requests]
    alone.end()

    server = Server(program, run)
    for attempt in range(3):
        began = time.monotonic()
        waits, complete, memory = load(server, requests, expected)
        seconds = time.monotonic() - began
        median, longest, growth = statistics.median(waits), max(waits), memory[-1] / memory[0] - 1
        print(f"{REQUESTS} requests by {CLIENTS} clients, {server.told['parallel']} streams: {complete} complete answers, all as by themselves, in {seconds:.1f} s")
        print(f"first token of {len(waits)} streams: median {median * 1000:.0f} ms, longest {longest * 1000:.0f} ms ({longest / median:.1f} times)")
        print(f"resident memory after each quarter: {', '.join(f'{one / 1000:.1f}' for one in memory)} MB ({growth:+.1%})")
        assert complete >= REQUESTS / 2, "most answers should be complete"
        # With few requests, most waits are those of the start.
        if REQUESTS < 1000 or (longest <= MOST_WAIT * median and abs(growth) <= MOST_GROWTH):
            break
    else:
        raise AssertionError(f"the longest wait is {longest / median:.1f} times the median, expected at most {MOST_WAIT}, and resident memory changed "
                             f"by {growth:+.1%}, expected at most {MOST_GROWTH:.0%}")
    path, request = requests[0]
    assert ask(server, path, request)[0] == expected[0]
    server.end()
