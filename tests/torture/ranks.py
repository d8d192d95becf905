"""Ranks (mpirun) that are killed, stopped, cut off, and without room or memory; and signals. Afterwards no process is left,
and one process, or another number of ranks, continues to the bits of an undisturbed run of one process."""

import errno
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import interruptions
import kills
import traced
from bench import REFUSED, SURVIVED, NotReached, Skipped, metric_lines, require, require_same_result, result_of, steps_in, stopped_at
from jobs import (FEW, LONG, MEDIUM, SHORT, TIMEOUT, Job, begin_arguments, cases_of, transport_of, go_on, half_done, is_finished, job, judge, of_rank,
                  require_checkpoints, require_sentence, sentences, setups, undisturbed)

# kill -9

def run_of(bench, phase):
    if phase == "evaluation":
        return {"train.checkpoint_interval": 1, **interruptions.evaluating(bench)}
    return {"gather": FEW, "message": FEW, "crash at a message": FEW, "exit at a message": FEW}.get(phase, SHORT)


def messages(bench, setup, run):
    """(messages, gathers) of each rank in an undisturbed run."""
    def make():
        folder = bench.make_folder("messages")
        counts = folder / "counts"
        counts.mkdir()
        counting = {**transport(bench, setup), "DIKKAT_TORTURE_COUNTS": str(counts)}
        outcome = Job(bench, folder, setup, begin_arguments(setup.values(run)), variables=counting).wait()
        require(outcome.code == 0, "the counted run failed:", outcome.err[-500:])
        found = [tuple(map(int, (counts / str(rank)).read_text().split())) for rank in range(setup.ranks)]
        shutil.rmtree(folder)
        require(all(of_messages > 20 and gathers > 0 for of_messages, gathers in found), "too few messages, or no gathers:", found)
        return found
    return bench.once(("messages", setup.launcher, setup.ranks, setup.kind, setup.asynchronous, str(run)), make)


def transport(bench, setup, fault=None):
    """Variables for the transport that makes trouble."""
    library = (bench.tools / "libtransport.so").resolve()
    if not library.exists():
        raise Skipped("tests/torture/libtransport.so is not built")
    variables = {"DIKKAT_TRANSPORT": str(library), "DIKKAT_TORTURE_TRANSPORT": str(transport_of(bench, setup.launcher))}
    return variables if fault is None else {**variables, "DIKKAT_TORTURE_FAULT": " ".join(map(str, fault))}


def held_in_a_save(bench, folder, setup, arguments, random):
    """A job whose first rank is stopped by strace for a moment in a call of a save, and the condition that it is stopped."""
    call = random.choice(("fsync", "rename", "pwrite64", "pread64"))
    log = folder / "log"
    ordinal = random.randint(3, 9)
    before = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", "signal=none", "-e",
              f"inject={call}:delay_exit=200000:when={ordinal}"]
    return Job(bench, folder, setup, arguments, before={0: before}), lambda: log.exists() and "(DELAYED)" in log.read_text(errors="replace")


def reach(bench, folder, started, phase, rank, seconds, random):
    """Waits for a phase. Returns the rank's process; None if the job has ended."""
    process = started.rank(rank)
    if phase in ("start-up", "resume"):
        time.sleep(random.uniform(0, 0.3))
    elif phase == "loading":
        started.until(lambda: (folder / "run").exists())
        time.sleep(random.uniform(0, 0.01))
    elif phase == "anywhere":
        time.sleep(random.uniform(0, 0.7 * seconds))  # of which the start is a part
    elif phase == "step":
        started.begins(random.randint(1, 25))
        time.sleep(random.uniform(0, 0.003))
    elif phase == "evaluation":
        started.begins(random.randint(1, 3))
        time.sleep(random.uniform(0, 0.1))
    return process


def killed(setup, phase, which):
    def run(bench, random):
        what = run_of(bench, phase)
        expected, seconds = undisturbed(bench, setup, what)
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        begin = begin_arguments(setup.values(what))
        number, newest = signal.SIGKILL, -1
        if phase in ("gather", "message", "crash at a message", "exit at a message"):
            of_messages, gathers = messages(bench, setup, what)[rank]
            ordinal = random.randint(1, gathers if phase == "gather" else of_messages)
            number = random.choice((signal.SIGSEGV, signal.SIGABRT)) if phase.startswith("crash") else signal.SIGKILL
            fault = (rank, "gather" if phase == "gather" else "message", ordinal, "leave" if phase.startswith("exit") else int(number))
            folder = bench.make_folder("kill")
            with job(bench, folder, setup, begin, variables=transport(bench, setup, fault)) as started:
                outcome = started.wait()
            there = True
        elif phase == "save":
            folder = bench.make_folder("kill")
            started, is_held = held_in_a_save(bench, folder, setup, begin, random)
            try:
                process = started.rank(rank)
                if not started.until(is_held):
                    started.wait()
                    raise NotReached()
                time.sleep(random.uniform(0, 0.05))
                newest = max(steps_in(folder / "run"), default=-1)
                there = started.send(process, number)
                outcome = started.wait()
            finally:
                started.end()
        else:
            if phase == "resume":
                folder = kills.copy_of(bench, half_done(bench, setup, what), "kill")
            else:
                folder = bench.make_folder("kill")
            with job(bench, folder, setup, ["resume", "run"] if phase == "resume" else begin) as started:
                process = reach(bench, folder, started, phase, rank, seconds, random)
                newest = max(steps_in(folder / "run"), default=-1)
                there = started.send(process, number)
                outcome = started.wait()
        if outcome.code == 0 and not (there and not is_finished(folder, what)):
            require_same_result(result_of(folder / "run", what["train.max_steps"]), expected)
            raise NotReached()  # it came after the end
        if phase != "exit at a message":  # MPICH does not report this
            words = rf"signal {int(number)}\b|{signal.strsignal(number)}|Killed|EXIT CODE|the job has been aborted|process manager error|dikkat: "
            told = re.search(words, outcome.err + outcome.out)  # by Open MPI, and by MPICH
            require(told or is_finished(folder, what), "nobody has told what happened:", outcome.err[-300:])
        judge(bench, folder, setup, what, expected, outcome, random, newest)
        return SURVIVED
    return run


def launcher_killed(setup):
    """kill -9 of the launcher. The processes that it leaves behind must end."""
    def run(bench, random):
        what = LONG[setup.ranks]
        expected = undisturbed(bench, setup, what)[0]
        folder = bench.make_folder("launcher")
        with job(bench, folder, setup, begin_arguments(setup.values(what))) as started:
            started.begins(random.randint(1, 100))
            time.sleep(random.uniform(0, 0.1))
            newest = max(steps_in(folder / "run"), default=-1)
            started.send(started.process.pid, signal.SIGKILL)
            outcome = started.wait()
        judge(bench, folder, setup, what, expected, outcome, random, newest)
        return SURVIVED
    return run


def rank_kills(bench):
    turn = setups(bench)

    def cases():
        if bench.long:
            counts = {"start-up": 16, "loading": 16, "anywhere": 24, "step": 16, "evaluation": 16, "save": 24, "resume": 16, "gather": 32,
                      "message": 48, "crash at a message": 16, "exit at a message": 8}
        else:
            counts = {"step": 1, "gather": 1, "save": 1}
        for phase, count in counts.items():
            for number in range(count):
                setup = next(turn)
                which = "first" if (number // 4 if bench.long else number) % 2 == 0 else "another"
                yield f"{which} in {phase}; {setup.name}", killed(setup, phase, which)
        for _ in range(8 if bench.long else 0):
            setup = next(turn)
            yield f"launcher; {setup.name}", launcher_killed(setup)
    return cases_of(bench, cases())


# Ranks that are silent

def silenced(setup, phase, which):
    """A rank is stopped for ever, or cut off; the others end the run and name it."""
    timed = {"train.rank_timeout": TIMEOUT}

    def run(bench, random):
        what = {**run_of(bench, phase), **timed}
        expected = undisturbed(bench, setup, what)[0]
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        begin = begin_arguments(setup.values(what))
        folder = bench.make_folder("silent")
        if phase in ("gather", "message", "cut at a message"):
            of_messages, gathers = messages(bench, setup, what)[rank]
            # The first messages are from before the configuration is read, when the timeout is ten minutes.
            first = 1 if phase == "gather" else min(20 * (setup.ranks - 1), of_messages // 2)
            ordinal = random.randint(first, gathers if phase == "gather" else of_messages - 8)
            effect = "cut" if phase.startswith("cut") else int(signal.SIGSTOP)
            fault = (rank, "gather" if phase == "gather" else "message", ordinal, effect)
            with job(bench, folder, setup, begin, variables=transport(bench, setup, fault)) as started:
                outcome = started.wait()
        else:
            with job(bench, folder, setup, begin) as started:
                process = reach(bench, folder, started, phase, rank, 0, random)
                started.send(process, signal.SIGSTOP)
                outcome = started.wait()
        if outcome.code == 0:
            require_same_result(result_of(folder / "run", what["train.max_steps"]), expected)
            raise NotReached()
        require_sentence(outcome, of_rank(rank), "train.rank_timeout")
        if rank != 0 and steps_in(folder / "run"):
            # The first may name another rank, which waits for the silent one.
            require_sentence(outcome, "rank ", "run/checkpoints/step-")
        judge(bench, folder, setup, what, expected, outcome, random)
        return SURVIVED
    return run


def paused(setup, phase, which):
    """A rank is stopped, and continued before the timeout: nothing happens."""
    def run(bench, random):
        what = run_of(bench, phase)
        expected, seconds = undisturbed(bench, setup, what)
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        folder = bench.make_folder("pause")
        with job(bench, folder, setup, begin_arguments(setup.values(what))) as started:
            process = reach(bench, folder, started, phase, rank, seconds, random)
            for _ in range(random.randint(1, 3)):
                if started.send(process, signal.SIGSTOP):
                    time.sleep(random.uniform(0.02, 0.4))
                    started.send(process, signal.SIGCONT)
                    time.sleep(random.uniform(0, 0.05))
            outcome = started.wait()
        outcome.require_code(0)
        require(not sentences(outcome), "it said:", sentences(outcome))
        require_same_result(result_of(folder / "run", what["train.max_steps"]), expected)
        shutil.rmtree(folder)
        return SURVIVED
    return run


def late(setup, which):
    """Each message of a rank takes its time."""
    def run(bench, random):
        expected = undisturbed(bench, setup, FEW)[0]
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        ordinal = random.randint(1, messages(bench, setup, FEW)[rank][0] // 2)
        folder = bench.make_folder("late")
        variables = transport(bench, setup, (rank, "message", ordinal, "late"))
        outcome = Job(bench, folder, setup, begin_arguments(setup.values(FEW)), variables=variables).wait()
        outcome.require_code(0)
        require_same_result(result_of(folder / "run", FEW["train.max_steps"]), expected)
        shutil.rmtree(folder)
        return SURVIVED
    return run


def rank_silence(bench):
    turn = setups(bench)

    def cases():
        def which(number):
            return "first" if (number // 4 if bench.long else number + 1) % 2 == 0 else "another"
        counts = {"step": 8, "evaluation": 8, "gather": 16, "message": 24, "cut at a message": 16} if bench.long else {"gather": 1}
        for phase, count in counts.items():
            for number in range(count):
                setup = next(turn)
                yield f"{which(number)}, in {phase}; {setup.name}", silenced(setup, phase, which(number))
        for phase in ("start-up", "loading", "step", "evaluation", "anywhere") if bench.long else ("anywhere",):
            for number in range(8 if bench.long else 1):
                setup = next(turn)
                yield f"{which(number)}, paused in {phase}; {setup.name}", paused(setup, phase, which(number))
        for number in range(8 if bench.long else 1):
            setup = next(turn)
            yield f"{which(number)}, late messages; {setup.name}", late(setup, which(number))
    return cases_of(bench, cases())


# Signals

RANK_SIGNALS = (("USR1", "launcher"), ("USR1", "first"), ("TERM", "launcher"), ("USR1", "another"), ("INT", "launcher"), ("TERM", "another"),
                ("INT", "first"))


def signaled(setup, phase, name, to):
    """A signal stops the run: the step is finished and saved."""
    def run(bench, random):
        what = run_of(bench, phase) if phase == "evaluation" else (MEDIUM if name == "USR1" else LONG)[setup.ranks]
        expected, seconds = undisturbed(bench, setup, what)
        rank = random.randrange(1, setup.ranks) if to == "another" else 0
        folder = bench.make_folder("signal")
        number = getattr(signal, f"SIG{name}")
        with job(bench, folder, setup, begin_arguments(setup.values(what))) as started:
            process = reach(bench, folder, started, phase, rank, 0.8 * seconds, random)
            lines = metric_lines(folder / "run")
            there = started.send(started.process.pid if to == "launcher" else process, number)
            outcome = started.wait()
        if "dikkat resume run" in outcome.err:
            steps = steps_in(folder / "run")
            require(stopped_at(folder / "run") == max(steps, default=-1), "it stopped at", stopped_at(folder / "run"), "and saved", steps)
            require(outcome.code in (128 + number, 143) or to == "launcher", "exit code", outcome.code)  # the launchers have their own
        else:
            # Open MPI takes a second to pass these on, and kills all processes another second later: a run may end before, or be too slow
            # to save.
            is_slow = setup.launcher == "openmpi" and to == "launcher" and name != "USR1"
            in_time = there and 0 < lines < (what["train.max_steps"] // 2 if phase != "evaluation" else 2)
            require(not in_time or is_slow, "it did not report that it saved:", outcome.err[-400:])
            require(outcome.code != 0 or is_finished(folder, what), "exit code 0 before the end:", outcome.err[-300:])
        require_checkpoints(bench, folder)
        go_on(bench, folder, setup, what, expected, random)
        shutil.rmtree(folder)
        return SURVIVED
    return run


def rank_signals(bench):
    turn = setups(bench, 2)

    def cases():
        for number in range(56 if bench.long else 2):
            setup = next(turn)
            name, to = RANK_SIGNALS[number % len(RANK_SIGNALS)]
            phase = ("step", "anywhere", "evaluation", "start-up")[number // len(RANK_SIGNALS) % 4]
            yield f"{name} to {to} in {phase}; {setup.name}", signaled(setup, phase, name, to)
    return cases_of(bench, cases())


# No room, no memory

def full_disk(setup, kib):
    """Only the first rank writes, and its file system is full."""
    def run(bench, random):
        if not bench.is_root:
            raise Skipped("a file system of its own takes root to mount")
        expected = undisturbed(bench, setup, SHORT)[0]
        folder = bench.make_folder("full")
        room = folder / "disk"
        room.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "dikkat-torture", str(room)], capture_output=True, text=True)
        if mounted.returncode != 0:
            raise Skipped("tmpfs cannot be mounted here: " + mounted.stderr.strip().replace(str(room), "FOLDER"))
        try:
            (room / "tiny.toml").symlink_to(folder / "tiny.toml")
            outcome = Job(bench, room, setup, begin_arguments(setup.values(SHORT))).wait()
            subprocess.run(["mount", "-o", "remount,size=64m", str(room)], check=True)
            verdict = after_an_error(bench, room, setup, outcome, expected, random, "No space left", "bytes are needed")
        finally:
            subprocess.run(["umount", "-l", str(room)], check=False)
        shutil.rmtree(folder)
        return verdict
    return run


def after_an_error(bench, folder, setup, outcome, expected, random, *reasons, rank=0, may_be_told_by_launcher=False):
    """Expects a message that names one of `reasons`, if there are any. Removes nothing."""
    require_checkpoints(bench, folder)
    if outcome.code == 0:
        require_same_result(result_of(folder / "run", SHORT["train.max_steps"]), expected)
        return SURVIVED
    said = sentences(outcome)
    if not said and may_be_told_by_launcher:
        require(outcome.err, "nobody has told what happened")
    else:
        require_sentence(outcome)
        require(not reasons or any(reason in sentence for reason in reasons for sentence in said), "the reason is not reported:", "; ".join(said)[:400])
        require(rank == 0 or any(of_rank(rank) in sentence for sentence in said), f"{of_rank(rank)} is not named:", "; ".join(said)[:400])
    if not (folder / "run" / "checkpoints").is_dir():
        shutil.rmtree(folder / "run", ignore_errors=True)
        again = Job(bench, folder, setup, begin_arguments(setup.values(SHORT))).wait()
        require(again.code == 0, "it does not start again:", again.err[-300:])
        require_same_result(result_of(folder / "run", SHORT["train.max_steps"]), expected)
    else:
        go_on(bench, folder, setup, SHORT, expected, random)
    return REFUSED


def limited(setup, what, which):
    """A limit that a rank gets while it runs: on the size of files, of the first; on memory, of any."""
    def run(bench, random):
        expected = undisturbed(bench, setup, SHORT)[0]
        folder = bench.make_folder("limit")
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        with job(bench, folder, setup, begin_arguments(setup.values(SHORT))) as started:
            process = started.rank(rank)
            started.begins(random.randint(1, 20))
            try:
                if what == "files":
                    limit = random.randint(1, 70_000)
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (limit, limit))
                else:
                    limit = (int(traced.status_of(process)["VmSize"].split()[0]) << 10) + random.choice((0, 0, 1 << 16, 1 << 20))
                    resource.prlimit(process, resource.RLIMIT_AS, (limit, limit))
            except (OSError, KeyError, TypeError):
                raise NotReached() from None  # it has ended
            outcome = started.wait()
        if what == "files":
            verdict = after_an_error(bench, folder, setup, outcome, expected, random, "File too large")
        else:
            verdict = after_an_error(bench, folder, setup, outcome, expected, random, "memory", rank=rank, may_be_told_by_launcher=True)
        shutil.rmtree(folder)
        return verdict
    return run


def poor(setup, share, which):
    """A rank has only a share of the address space that it needs, from its start. The libraries that start it may report that, or crash."""
    def run(bench, random):
        expected = undisturbed(bench, setup, SHORT)[0]

        def measure():
            folder = bench.make_folder("memory")
            with job(bench, folder, setup, begin_arguments(setup.values(LONG[setup.ranks]))) as started:
                process = started.rank(0)
                require(started.begins(3), "the run to measure failed")
                peak = int(traced.status_of(process)["VmPeak"].split()[0]) << 10
            shutil.rmtree(folder)
            return peak
        limit = int(share * bench.once(("address space", setup.launcher, setup.ranks), measure))
        folder = bench.make_folder("poor")
        rank = 0 if which == "first" else random.randrange(1, setup.ranks)
        outcome = Job(bench, folder, setup, begin_arguments(setup.values(SHORT)), before={rank: ["prlimit", f"--as={limit}"]}).wait()
        said = "\n".join(sentences(outcome))
        named = rank if of_rank(rank) in said else 0  # not before it is connected
        verdict = after_an_error(bench, folder, setup, outcome, expected, random, rank=named, may_be_told_by_launcher=True)
        shutil.rmtree(folder)
        return verdict
    return run


def failing_call(setup, call, code, ordinal):
    """A system call of the first rank fails while it saves."""
    def run(bench, random):
        expected = undisturbed(bench, setup, SHORT)[0]
        folder = bench.make_folder("error")
        log = folder / "log"
        before = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", "signal=none",
                  "-e", f"inject={call}:error={code}:when={ordinal}"]
        outcome = Job(bench, folder, setup, begin_arguments(setup.values(SHORT)), before={0: before}).wait()
        if not traced.came(log):
            raise NotReached()
        require(outcome.code != 0, "the error was not told, and the run ended well")
        verdict = after_an_error(bench, folder, setup, outcome, expected, random, os.strerror(getattr(errno, code)))
        left = [path.name for path in (folder / "run").rglob(".tmp-*")]
        require(not left, "temporary files were left behind:", left)
        shutil.rmtree(folder)
        return verdict
    return run


def rank_errors(bench):
    turn = setups(bench, 2)

    def cases():
        sizes = range(4, 300, 16) if bench.long else [180]
        for kib in sizes:
            setup = next(turn)
            yield f"file system of {kib} KiB; {setup.name}", full_disk(setup, kib)
        for _ in range(12 if bench.long else 1):
            setup = next(turn)
            yield f"small files; {setup.name}", limited(setup, "files", "first")
        for number in range(12 if bench.long else 1):
            setup = next(turn)
            which = "first" if (number // 4) % 2 else "another"
            yield f"no more memory, {which}; {setup.name}", limited(setup, "memory", which)
        for number in range(16 if bench.long else 0):
            setup = next(turn)
            which = "first" if (number // 4) % 2 else "another"
            yield f"{6 * number + 11}% of the memory, {which}; {setup.name}", poor(setup, (6 * number + 11) / 100, which)
        calls = itertools.product(("fsync", "pwrite64", "rename"), ("EIO", "ENOSPC"), (4, 9)) if bench.long else ()
        for call, code, ordinal in calls:
            setup = next(turn)
            yield f"{call} {ordinal} {code}; {setup.name}", failing_call(setup, call, code, ordinal)
    return cases_of(bench, cases())
