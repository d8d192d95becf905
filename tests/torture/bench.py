"""The shared part of all tests: a case and its verdict, the program, and the folders in which it runs."""

import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from typing import Callable

SURVIVED = "survived"  # the program behaved as without the fault, or lost nothing because of it
REFUSED = "refused"    # it reported what is wrong, and left everything else as it was


class Failed(Exception):
    """A promise that does not hold."""


class Skipped(Exception):
    """A case that this machine cannot run, and why."""


class NotReached(Skipped):
    """The fault did not occur, because threads ran in another order than planned."""


class Counts(dict):
    """The verdict of many cases that ran in one process: cases, survived, refused, failures (a list of texts)."""


@dataclasses.dataclass
class Case:
    name: str
    run: Callable  # (bench, random.Random) -> SURVIVED, REFUSED or Counts; raises Failed or Skipped


def require(condition, *words):
    if not condition:
        raise Failed(" ".join(str(word) for word in words))


@dataclasses.dataclass
class Outcome:
    code: int  # exit code; -signal if a signal ended the process
    out: str
    err: str
    peak_bytes: int
    seconds: float

    def last_words(self):
        lines = [line for line in self.err.splitlines() if line]
        return lines[-1] if lines else ""

    def require_code(self, *codes):
        require(self.code in codes, f"exit code {self.code}, expected one of {codes}; the last words:", self.last_words()[:300])

    def require_message(self, *words, alone=True):
        """Fails unless there is a one-line message that names these words (keys, paths, numbers); `alone`: there must be no other output."""
        said = self.last_words()
        require(said.startswith("dikkat: "), "no message, the last words are:", said[:300] or "(none)")
        require(not alone or len(self.err.splitlines()) == 1, "more than one line:", self.err[:600])
        require(len(said) < 1000, "a message of", len(said), "bytes:", said[:300])
        for trace in ("terminate", "what()", "std::", "Assertion", "Sanitizer"):
            require(trace not in said, "the trace of a crash:", said[:300])
        for word in words:
            require(word in said, f"'{word}' is not in:", said[:400])
        return self


WORDS = ["the ", "lamp ", "turns ", "and ", "ships ", "go ", "by ", "at ", "night.\n"]


def tiny_text(count=600):
    state, text = 7, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        text.append(WORDS[(state >> 16) % 9])
    return "".join(text)


# It has everything that could break exact resume: dropout, accumulation, clipping, warm-up, evaluation, the end of an epoch within a step.
TINY = {
    "model": {"n_layer": 1, "n_head": 2, "n_embd": 8, "block_size": 16, "dropout": 0.1},
    "tokenizer": {"kind": "byte"},
    "optim": {"learning_rate": 1e-2, "warmup_steps": 3, "grad_clip": 0.5},
    "train": {"batch_size": 3, "gradient_accumulation_steps": 2, "max_steps": 8, "eval_interval": 4, "eval_tokens": 96,
              "checkpoint_interval": 1, "keep_last": 2},
}


def toml(config):
    lines = []
    for section, keys in config.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def settings(values):
    """Arguments --set KEY=VALUE for each item of {"train.max_steps": 8}."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]


class Bench:
    def __init__(self, program, tools, seed, long, folder, keep):
        self.program = pathlib.Path(program)
        self.tools = pathlib.Path(tools)  # where the C++ programs of this folder were built
        self.seed = seed
        self.long = long
        self.folder = pathlib.Path(folder)
        self.keep = keep
        self.is_root = os.geteuid() == 0
        self.patience = 120.0
        (self.folder / "text.txt").write_text(tiny_text())  # one for all: a run's configuration, and so its bits, has the path
        self._made = {}
        self._lock = threading.RLock()
        self._count = 0

    def random(self, *names):
        return random.Random("/".join(str(name) for name in (self.seed, *names)))

    def tiny_config(self):
        return {**TINY, "data": {"corpus": [str(self.folder / "text.txt")]}}

    def make_folder(self, name="case"):
        with self._lock:
            self._count += 1
            folder = self.folder / f"{re.sub('[^A-Za-z0-9.-]+', '-', name)[:60]}-{self._count}"
        folder.mkdir()
        (folder / "tiny.toml").write_text(toml(self.tiny_config()))
        return folder

    def once(self, key, make):
        """The result of `make`, which is called at the first use."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def environment(self, threads=2):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}
        environment.update(OMP_NUM_THREADS=str(threads), GOMP_SPINCOUNT="1000", KMP_BLOCKTIME="0", LC_ALL="C",
                           XDG_CACHE_HOME=str(self.folder / "cache"), TMPDIR=str(self.folder))
        return environment

    def start(self, folder, arguments, threads=2, before=(), stdin=None, pipes=False, variables=None):
        """Starts the program in `folder`, in a new process group; `before` is a prefix of the command (strace, prlimit). Output goes
        to files or, if the size of files is limited, to pipes."""
        environment = {**self.environment(threads), **(variables or {})}
        return Process([*before, str(self.program), *map(str, arguments)], folder, environment, stdin, pipes)

    def run(self, folder, arguments, patience=None, **options):
        return self.start(folder, arguments, **options).wait(patience or self.patience)


class Process:
    def __init__(self, arguments, folder, environment, stdin=None, pipes=False):
        self._pipes = [os.pipe() for _ in range(2)] if pipes else None
        if pipes:
            self._out, self._err = [os.fdopen(writer, "wb") for _, writer in self._pipes]
        else:
            self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._started = time.monotonic()
        arguments = list(map(str, arguments))
        self._popen = subprocess.Popen(arguments, cwd=folder, env=environment, stdin=stdin if stdin is not None else subprocess.DEVNULL,
                                       stdout=self._out, stderr=self._err, start_new_session=True)
        self._ended = None
        self._arguments = arguments

    @property
    def pid(self):
        return self._popen.pid

    def send(self, number):
        if not self.ended():
            os.kill(self.pid, number)

    def ended(self):
        if self._ended is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid != 0:
                self._popen.returncode = os.waitstatus_to_exitcode(status)
                self._ended = (self._popen.returncode, usage.ru_maxrss * 1024, time.monotonic() - self._started)
        return self._ended is not None

    def until(self, condition, patience=60.0):
        """Waits until the condition holds. Returns False if the process ended before."""
        deadline = time.monotonic() + patience
        while not condition():
            if self.ended() or time.monotonic() > deadline:
                return False
            time.sleep(0.0003)
        return True

    def wait(self, patience=120.0):
        if not self.until(lambda: False, patience) and not self.ended():
            os.killpg(self.pid, signal.SIGKILL)
            while not self.ended():
                time.sleep(0.01)
            raise Failed(f"a hang: not finished after {patience:.0f} s; last output: {self._outcome().last_words()[:300]}")
        return self._outcome()

    def kill_if_running(self):
        if not self.ended():
            os.killpg(self.pid, signal.SIGKILL)
            while not self.ended():
                time.sleep(0.001)

    def err(self):
        return self._said(self._err)

    @staticmethod
    def _said(file):
        file.seek(0)
        return file.read().decode("utf-8", "replace")

    def _outcome(self):
        if self._pipes:
            texts = []
            for file, (reader, _) in zip((self._out, self._err), self._pipes):
                file.close()
                with os.fdopen(reader, "rb") as pipe:
                    texts.append(pipe.read().decode("utf-8", "replace"))
        else:
            texts = [self._said(self._out), self._said(self._err)]
        code, peak, seconds = self._ended
        return Outcome(code, *texts, peak, seconds)


def checkpoint_name(step):
    return f"step-{step:09d}.h5"


def steps_in(run):
    """The steps of the checkpoints with final names. Any other file in the folder is a failure."""
    steps = []
    folder = pathlib.Path(run) / "checkpoints"
    for name in os.listdir(folder) if folder.is_dir() else []:
        match = re.fullmatch(r"step-(\d{9})\.h5", name)
        if match:
            steps.append(int(match[1]))
        else:
            require(name == "best" or name.startswith(".tmp-"), "a stray file in the run directory:", name)
    return sorted(steps)


def stopped_at(run):
    """The step at which the run was last stopped by a signal, according to its metrics; or None."""
    path = pathlib.Path(run) / "metrics.jsonl"
    events = map(json.loads, path.read_text().splitlines()) if path.exists() else []
    return next((event["step"] for event in reversed(list(events)) if event["event"] == "stop"), None)


def metric_lines(run):
    """Steps and evaluations in the metrics."""
    try:
        lines = (pathlib.Path(run) / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
        return sum(line.startswith((b'{"event":"step"', b'{"event":"eval"')) for line in lines)
    except FileNotFoundError:
        return 0


def result_of(run, step):
    """The parts of a run that must have the same bits however often it was interrupted: last checkpoint, name of the best one, metrics."""
    run = pathlib.Path(run)
    lines = []
    for line in (run / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["event"] not in ("step", "eval"):
            continue  # events of the run: resumed, saved, stopped
        for clock in ("ms", "optimizer_ms", "exchange_ms", "exchange_wait_ms", "tokens_per_s", "mfu", "memory", "time"):
            entry.pop(clock, None)
        lines.append(json.dumps(entry, sort_keys=True))
    best = run / "checkpoints" / "best"
    checkpoint = (run / "checkpoints" / checkpoint_name(step)).read_bytes()
    return {"checkpoint": hashlib.sha256(checkpoint).hexdigest(), "best": best.read_text() if best.exists() else "", "metrics": lines}


def require_same_result(found, expected):
    for part in expected:
        require(found[part] == expected[part], f"silently wrong: the {part} of the run differs from that of the undisturbed one")


def require_whole(bench, folder, run="run"):
    """Fails unless all checkpoints with final names are good. Returns their steps."""
    steps = steps_in(folder / run)
    if steps:
        outcome = bench.run(folder, ["verify", run, "--json"])
        require(outcome.code == 0, "a damaged file under a final name:", outcome.last_words()[:300])
        verified = [checkpoint["step"] for checkpoint in json.loads(outcome.out)["checkpoints"] if checkpoint["good"]]
        require(sorted(verified) == steps, "not all checkpoints were verified:", outcome.out[:300])
    return steps


def reference(bench, max_steps, values=None, threads=2, config=None):
    """The result of an undisturbed run, and its duration."""
    def make():
        folder = bench.make_folder("reference")
        if config is not None:
            (folder / "tiny.toml").write_text(toml(config))
        arguments = ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": max_steps, **(values or {})})]
        outcome = bench.run(folder, arguments, threads=threads)
        require(outcome.code == 0, "the undisturbed run failed:", outcome.err[-500:])
        # The best of three, since other cases may run at the same time.
        shutil.rmtree(folder / "again", ignore_errors=True)
        arguments[4] = "again"
        seconds = min(outcome.seconds, bench.run(folder, arguments, threads=threads).seconds)
        result = result_of(folder / "run", max_steps)
        shutil.rmtree(folder)
        return result, seconds
    return bench.once(("reference", max_steps, json.dumps(values, sort_keys=True), threads, json.dumps(config, sort_keys=True)), make)


# Steps that can be done while the checkpoint of step 0 is being written: the next save waits for it.
BEFORE_THE_FIRST = 3


def finish(bench, folder, begin, max_steps, expected, run="run", threads=2, start=None):
    """Resumes a disturbed run; its end must equal that of the undisturbed run. If nothing was saved, `resume` must report that, and the run starts
    again with the arguments `begin`. `start`: the function that resumes, if it is not one process."""
    before, lines = steps_in(folder / run), metric_lines(folder / run)
    outcome = start(["resume", run]) if start else bench.run(folder, ["resume", run], threads=threads)
    if not steps_in(folder / run):
        require(not before and lines <= BEFORE_THE_FIRST, "all checkpoints are gone: there were", before, "and", lines, "lines of metrics")
        outcome.require_code(2)
        outcome.require_message(run)
        shutil.rmtree(folder / run, ignore_errors=True)
        outcome = bench.run(folder, begin, threads=threads)
    require(outcome.code == 0, f"it does not go on: exit code {outcome.code},", outcome.last_words()[:300])
    require_same_result(result_of(folder / run, max_steps), expected)
    left = [path.name for path in (folder / run).rglob(".tmp-*")]
    require(not left, "temporary files were left behind:", left)
