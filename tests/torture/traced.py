"""With strace: lists the system calls of a run, and injects a fault at exactly one of them."""

import contextlib
import dataclasses
import os
import pathlib
import re
import time

from bench import require

# The system calls of a save, and those around it.
CALLS = ("openat", "close", "fallocate", "pwrite64", "pread64", "write", "ftruncate", "fsync", "rename", "unlink", "unlinkat", "flock",
         "getdents64", "newfstatat", "mkdir")
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")


@dataclasses.dataclass
class Event:
    call: str
    ordinal: int  # strace counts for each thread separately: this is the first time that any thread gets there
    text: str     # its arguments and result, as strace writes them

    @property
    def name(self):
        return f"{self.call} {self.ordinal}"

    def wanted_bytes(self):
        match = re.search(r", (\d+), \d+\)\s+= \d+$", self.text)
        return int(match[1]) if match else 0


def trace(bench, folder, arguments, threads=2):
    """The calls of an undisturbed run where a fault can be injected, in order."""
    log = folder / "trace.log"
    before = ["strace", "-f", "-qq", "-s", "60", "-o", str(log), "-e", "trace=" + ",".join(CALLS), "-e", "signal=none"]
    outcome = bench.run(folder, arguments, before=before, threads=threads)
    require(outcome.code == 0, "the traced run failed:", outcome.err[-300:])
    events, counts, reached = [], {}, {}
    for line in log.read_text(errors="replace").splitlines():
        match = _LINE.match(line)
        if not match:
            continue  # the end of an unfinished call
        thread, call, text = match.groups()
        count = counts[thread, call] = counts.get((thread, call), 0) + 1
        if count > reached.get(call, 0):
            reached[call] = count
            events.append(Event(call, count, text))
    log.unlink()
    return events


def window(events, first, last=None):
    """From the first event whose text matches `first` to the last one that matches `last`, or to the end."""
    begin = next(i for i, event in enumerate(events) if re.search(first, event.text))
    end = len(events) if last is None else 1 + max(i for i, event in enumerate(events) if re.search(last, event.text))
    return events[begin:end]


def injecting(log, call, effect, when):
    """The prefix of the command: injects `effect`, such as signal=SIGKILL or error=EIO, at call number `when` ("3", or "3+")."""
    traced = ",".join(sorted({call, "rename", "unlink", "unlinkat", "write"}))
    return ["strace", "-f", "-qq", "-s", "200", "-o", str(log), "-e", "trace=" + traced, "-e", "signal=INT,TERM,HUP",
            "-e", f"inject={call}:{effect}:when={when}"]


HELD = 300_000  # microseconds


def run_and_signal(bench, folder, arguments, log, call, ordinal, number, twice=False, threads=2):
    """Runs the program and sends it a signal while one of its threads is stopped at the end of call number `ordinal`. (strace sends an injected
    signal to the thread that makes the call, but the program only handles signals to the process.)"""
    words = injecting(log, call, f"delay_exit={HELD}", ordinal)
    process = bench.start(folder, arguments, before=words, threads=threads)
    try:
        if process.until(lambda: log.exists() and "(DELAYED)" in log.read_text(errors="replace"), bench.patience):
            thread = next(line.split()[0] for line in log.read_text(errors="replace").splitlines() if "(DELAYED)" in line)
            program = int(status_of(thread)["Tgid"])
            os.kill(program, number)
            if twice:
                deadline = time.monotonic() + 10
                while is_pending(program, number) and time.monotonic() < deadline:
                    time.sleep(0.0005)  # otherwise both would count as one
                with contextlib.suppress(ProcessLookupError):  # the first one may have ended it
                    os.kill(program, number)
        return process.wait(bench.patience)
    finally:
        process.kill_if_running()


def status_of(process):
    """The state of a process from /proc, or nothing if it has ended."""
    try:
        return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines() if ":\t" in line)
    except (FileNotFoundError, ProcessLookupError):
        return {}


def is_pending(process, number):
    return int(status_of(process).get("ShdPnd", "0"), 16) >> (number - 1) & 1 == 1


def signals_in(log):
    """The number of signals that arrived."""
    return log.read_text(errors="replace").count("--- SIG")


def whole_lines(text):
    """The lines of a log. A call that was interrupted by another thread's line is joined again, at its end."""
    begun = {}
    for line in text.splitlines():
        thread, _, said = line.partition(" ")
        said = said.strip()
        if said.endswith("<unfinished ...>"):
            begun[thread] = said.removesuffix("<unfinished ...>")
        elif resumed := re.match(r"<\.\.\. \w+ resumed>(.*)$", said):
            yield f"{thread} {begun.pop(thread, '')}{resumed[1]}"
        else:
            yield line


def came(log):
    """Whether the fault occurred. Threads do not always make their calls in the same order, and strace counts for each thread."""
    return "(INJECTED)" in log.read_text(errors="replace")


def words_lost(log):
    """Whether the fault hit a write of a message."""
    return any(" write(2, " in line and "(INJECTED)" in line for line in whole_lines(log.read_text(errors="replace")))


def was_too_late(log, last_step):
    """Whether the first signal came after the last step."""
    text = log.read_text(errors="replace")
    written = re.search(r'event\\":\\"step\\",\\"step\\":%d,' % last_step, text)
    return written is not None and written.start() < text.index("--- SIG")


def steps_left(log, before, keep_last=2):
    """The steps of the checkpoints that must exist, according to the strace log: the earlier ones and those renamed to, without the removed ones.
    None may be removed before `keep_last` newer ones exist."""
    steps = set(before)
    for line in whole_lines(log.read_text(errors="replace")):
        if " = 0" not in line or "(INJECTED)" in line:
            continue
        named = re.findall(r"step-(\d{9})\.h5\"", line)
        if named and " rename(" in line:
            steps.add(int(named[-1]))
        elif named and " unlink" in line:
            steps.discard(int(named[-1]))
            newer = [step for step in steps if step > int(named[-1])]
            taken_back = not newer and steps  # by the save that made it and then could not sync the folder
            require(len(newer) >= keep_last or taken_back, f"step {named[-1]} was removed, and there are", steps)
    return sorted(steps)
