"""Runs on several ranks (mpirun): their launchers, how they are started and watched, and how their ends are judged."""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import threading
import time

import traced
from bench import (Case, Process, Skipped, finish, metric_lines, reference, require, require_same_result, require_whole, result_of, settings,
                   steps_in)

LAUNCHERS = {"openmpi": ["--oversubscribe", "--bind-to", "none"], "mpich": []}
KINDS = {"adamw": {}, "muon": {"optim.kind": "muon", "optim.ema_decay": 0.9}}
LANES = 4
SHORT = {"train.max_steps": 30, "train.checkpoint_interval": 3, "train.eval_interval": 7}
# The settings by number of ranks. Runs take some seconds, since Open MPI waits for one before it passes a SIGTERM on.
LONG = {2: {"train.max_steps": 3000, "train.checkpoint_interval": 200, "train.eval_interval": 500},
        4: {"train.max_steps": 600, "train.checkpoint_interval": 50, "train.eval_interval": 100}}
MEDIUM = {2: {"train.max_steps": 300, "train.checkpoint_interval": 50, "train.eval_interval": 100}, 4: LONG[4]}
FEW = {"train.max_steps": 8, "train.checkpoint_interval": 2, "train.eval_interval": 4}
PATIENCE = 60.0
TIMEOUT = 1  # train.rank_timeout, the least

# A job has up to four processes that never sleep, so only so many cases run at a time.
ROOM = threading.BoundedSemaphore(max(1, len(os.sched_getaffinity(0)) // 4))


@dataclasses.dataclass(frozen=True)
class Setup:
    launcher: str
    ranks: int
    kind: str
    asynchronous: bool

    @property
    def name(self):
        return f"{self.launcher}, {self.ranks} ranks, {self.kind}, {'async' if self.asynchronous else 'sync'}"

    def values(self, run):
        """All settings that a run has besides the tiny configuration."""
        return {"train.gradient_accumulation_steps": LANES, "train.lanes": LANES, "train.async_save": self.asynchronous, **KINDS[self.kind], **run}


def transport_of(bench, launcher):
    """The plugin, beside the program; or, if that is a script that starts it (mutants.py), of the build that the tools are from."""
    beside = bench.program.parent / f"dikkat-{launcher}.so"
    return beside if beside.exists() else bench.tools.resolve().parent.parent / beside.name


def launchers(bench):
    """The launchers and transports that this machine and this build have."""
    return [name for name in LAUNCHERS if shutil.which(f"mpirun.{name}") and transport_of(bench, name).exists()]


def setups(bench, ranks=4):
    """An endless cycle of setups: all of them, such that neighbors differ; or two, with up to `ranks`, so that few undisturbed runs are needed."""
    there = launchers(bench)
    if not there:
        return None
    if not bench.long:
        return itertools.cycle([Setup(there[0], 2, "adamw", True), Setup(there[-1], ranks, "muon", False)])
    of_all = [Setup(*one) for one in itertools.product(there, (2, 4), KINDS, (False, True))]
    return itertools.cycle(sorted(of_all, key=lambda one: (one.ranks == 2) ^ (one.kind == "muon") ^ one.asynchronous))


def cases_of(bench, cases):
    """These cases, one job at a time, or one case that states why there are none. `cases`: (name, run)."""
    def alone(run):
        def run_alone(bench, random):
            with ROOM:
                return run(bench, random)
        return run_alone

    if not launchers(bench):
        def skip(*_):
            raise Skipped("there is no mpirun.openmpi or mpirun.mpich with a transport beside the program")
        return [Case("none", skip)]
    return [Case(f"{number} {name}", alone(run)) for number, (name, run) in enumerate(cases)]


def variables_of(process):
    try:
        return dict(one.split(b"=", 1) for one in pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0") if b"=" in one)
    except OSError:
        return {}


def is_zombie(process):
    return traced.status_of(process).get("State", "Z").startswith("Z")


def command_of_ranks(commands):
    """One command that each rank starts. A shell chooses if they differ: mpirun's notation for several, with colons, crashes Open MPI 5.0.7."""
    if all(command == commands[0] for command in commands):
        return commands[0]
    choices = " ".join(f"{rank}) exec {shlex.join(map(str, command))};;" for rank, command in enumerate(commands))
    return ["sh", "-c", f'case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in {choices} esac']


class Job:
    """A launcher and its ranks. `before`: a prefix of the command, of some ranks; `other`: their program; `arguments_of`: their arguments."""

    def __init__(self, bench, folder, setup, arguments, before=None, other=None, arguments_of=None, variables=None):
        self.folder, self.setup = folder, setup
        self._strangers = set()
        commands = [[*(before or {}).get(rank, []), (other or {}).get(rank, bench.program), *((arguments_of or {}).get(rank, arguments))]
                    for rank in range(setup.ranks)]
        command = [f"mpirun.{setup.launcher}", *LAUNCHERS[setup.launcher], "-n", str(setup.ranks), *command_of_ranks(commands)]
        self._mark = str(folder)
        self._began = bench.once("first job", time.time)
        environment = {**bench.environment(threads=1), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       # Shared memory of killed ranks goes here, where nothing outlives the torture.
                       "OMPI_MCA_btl_vader_backing_directory": str(bench.folder), "UCX_POSIX_DIR": str(bench.folder),
                       "DIKKAT_TORTURE_CASE": self._mark, **(variables or {})}
        self.process = Process(command, folder, environment)

    def processes(self):
        """All processes that the launcher has started and that have not ended."""
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in self._strangers or int(name) == self.process.pid:
                continue
            variables = variables_of(name)
            if variables.get(b"DIKKAT_TORTURE_CASE") == self._mark.encode():
                if not is_zombie(name):
                    found[int(name)] = variables
            elif variables:
                self._strangers.add(int(name))
        return found

    def ranks(self):
        """The process of each rank that has become the program."""
        found = {}
        for process, variables in self.processes().items():
            rank = variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK"))
            with contextlib.suppress(OSError):
                if rank is not None and os.readlink(f"/proc/{process}/exe").endswith("/dikkat"):
                    found[int(rank)] = process
        return found

    def rank(self, number, patience=20.0):
        """Waits for a rank to start; None if the job has ended."""
        found = {}
        self.process.until(lambda: number in found or found.update(self.ranks()) or number in found, patience)
        return found.get(number)

    def until(self, condition):
        return self.process.until(condition, PATIENCE)

    def begins(self, lines=1):
        """Waits for lines of metrics."""
        return self.until(lambda: metric_lines(self.folder / "run") >= lines)

    def send(self, process, number):
        """Returns whether there was still a process to send a signal to."""
        if process == self.process.pid:
            there = not self.process.ended()
            self.process.send(number)
            return there
        if process is None or is_zombie(process):
            return False
        try:
            os.kill(process, number)
            return True
        except ProcessLookupError:
            return False

    def wait(self, patience=PATIENCE):
        """Fails unless the launcher and all processes that it has started end in time."""
        try:
            outcome = self.process.wait(patience)
            left, deadline = self.processes(), time.monotonic() + 5
            while left and time.monotonic() < deadline:
                time.sleep(0.02)
                left = self.processes()
            require(not left, "processes are left after the launcher ended:", sorted(left), outcome.last_words()[:300])
            return outcome
        finally:
            self.end()

    def end(self):
        self.process.kill_if_running()
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        remove_shared_memory(self._began)


def remove_shared_memory(since):
    """Removes files that killed ranks of MPICH leave in a fixed folder: files that nobody has mapped, and that are not new."""
    left = []
    for path in pathlib.Path("/dev/shm").glob("mpich_shar_tmp*"):
        with contextlib.suppress(OSError):
            if since <= path.stat().st_mtime < time.time() - 2 and path.owner() == pathlib.Path("/proc/self").owner():
                left.append(path)
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps") if left else ():
        with contextlib.suppress(OSError):
            text = maps.read_text()
            left = [path for path in left if str(path) not in text]
    for path in left:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def job(*arguments, **options):
    started = Job(*arguments, **options)
    try:
        yield started
    finally:
        started.end()


def begin_arguments(values):
    return ["train", "--config", "tiny.toml", "--out", "run", *settings(values)]


def undisturbed(bench, setup, run):
    """The result of one process, and the time of the ranks, which must have that result."""
    values = setup.values(run)
    steps = values.pop("train.max_steps")
    expected = reference(bench, steps, values, threads=1)[0]

    def on_ranks():
        folder = bench.make_folder("undisturbed")
        outcome = Job(bench, folder, setup, begin_arguments(setup.values(run))).wait()
        require(outcome.code == 0, "the undisturbed ranks failed:", outcome.err[-500:])
        require_same_result(result_of(folder / "run", steps), expected)
        shutil.rmtree(folder)
        return outcome.seconds
    return expected, bench.once(("undisturbed ranks", setup, str(run)), on_ranks)


def go_on(bench, folder, setup, run, expected, random):
    """One process, or some ranks, continue to the same result."""
    ranks = random.choice((1, 1, 2, 4)) if steps_in(folder / "run") else 1
    by = dataclasses.replace(setup, ranks=ranks, launcher=random.choice(launchers(bench)))
    values = setup.values(run)
    finish(bench, folder, begin_arguments(values), values["train.max_steps"], expected, threads=1,
           start=None if ranks == 1 else lambda arguments: Job(bench, folder, by, arguments).wait())


def is_finished(folder, run):
    return run["train.max_steps"] in steps_in(folder / "run")


def require_checkpoints(bench, folder, newest=-1):
    """Fails unless all checkpoints are good, and neither `newest`, which existed before, nor any step that is saved according to the metrics has been lost."""
    steps = require_whole(bench, folder)
    metrics = folder / "run" / "metrics.jsonl"
    saved = re.findall(r'"event":"save","step":(\d+),', metrics.read_text()) if metrics.exists() else []
    newest = max([newest, *map(int, saved)])
    require(max(steps, default=-1) >= newest, "checkpoints", steps, "are there, and there was", newest)


def judge(bench, folder, setup, run, expected, outcome, random, newest=-1):
    """After a disturbed job has ended: its checkpoints are good, and the run can continue. An end without an error must be the end of the run."""
    require_checkpoints(bench, folder, newest)
    require(outcome.code != 0 or is_finished(folder, run), "exit code 0 before the end:", outcome.err[-300:])
    go_on(bench, folder, setup, run, expected, random)
    shutil.rmtree(folder)


def sentences(outcome):
    return [line for line in outcome.err.splitlines() if line.startswith("dikkat: ")]


def require_sentence(outcome, *words, once=False):
    """Fails unless a message of the program names these words (ranks, keys, paths); `once`: there must be no other message."""
    said = sentences(outcome)
    has_words = any(all(word in sentence for word in words) for sentence in said)
    require(has_words, f"no sentence has {words}:", "; ".join(said)[:600] or outcome.err[-400:])
    require(not once or len(said) == 1, "more than one sentence:", "; ".join(said)[:600])
    for sentence in said:
        require(len(sentence) < 1000, "a sentence of", len(sentence), "bytes:", sentence[:300])
        for trace in ("terminate", "what()", "std::", "Assertion", "Sanitizer"):
            require(trace not in sentence, "the trace of a crash:", sentence[:300])


HOST = socket.gethostname()


def of_rank(rank):
    return f"rank {rank} on {HOST}"


def half_done(bench, setup, run):
    """A run that has made some steps and was stopped by a signal."""
    def make():
        folder = bench.make_folder("half-done")
        process = bench.start(folder, begin_arguments(setup.values(run)), threads=1)
        require(process.until(lambda: metric_lines(folder / "run") >= 10), "the run to go on with failed:", process.err()[-300:])
        process.send(signal.SIGKILL)
        process.wait(bench.patience)
        require(steps_in(folder / "run") and not is_finished(folder, run), "the preparing kill came too late")
        return folder
    return bench.once(("half done ranks", setup.kind, setup.asynchronous, str(run)), make)
