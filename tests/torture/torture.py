"""Injects faults into the built program. scripts/torture.sh starts this; --help lists the options."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import commands  # noqa: E402
import configurations  # noqa: E402
import corpora  # noqa: E402
import damage  # noqa: E402
import errors  # noqa: E402
import interruptions  # noqa: E402
import kills  # noqa: E402
import rank_starts  # noqa: E402
import ranks  # noqa: E402
from bench import REFUSED, SURVIVED, Bench, Counts, Failed, NotReached, Skipped  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The name, a description, and the function that makes the cases.
COLUMNS = (
    ("kill-at-syscall", "kill -9 at every system call of saves", kills.at_syscalls),
    ("kill-at-random", "kill -9 at a random time of a run, resume, compare bits", kills.at_random_times),
    ("command-kills", "kill -9 at a random time of every command that writes, repeat it", commands.random_kills),
    ("error-at-syscall", "ENOSPC, EIO, EDQUOT, EINTR, lost writes, once or permanently (strace)", errors.by_strace),
    ("error-in-process", "every call of a save: 3 errors, EINTR, short counts, kills (in process)", damage.faults),
    ("full-disk", "a full file system, RLIMIT_FSIZE", errors.full_disks),
    ("flips", "bits flipped in a checkpoint", damage.flips),
    ("truncations", "truncated checkpoints", damage.truncations),
    ("junk", "bytes appended to a checkpoint", damage.junk),
    ("mangled", "sectors lost, repeated, swapped; bytes changed, missing, added", damage.mangled),
    ("hostile", "hostile indexes with valid hashes", damage.hostile),
    ("corpora", "texts: empty, huge, broken, hostile, not files", corpora.cases),
    ("configurations", "configurations: unknown and repeated keys, wrong types, out of range, mutated", lambda bench: configurations.cases(bench, ROOT)),
    ("numbers", "NaN and Inf in weights, activations, loss, gradients, moments", damage.numbers),
    ("signals", "INT, TERM, HUP, two INTs, QUIT in every phase of a run", interruptions.signals),
    ("ticks", "a signal every millisecond through whole runs, same bits", interruptions.ticks),
    ("processes", "two to eight writers of one run directory", interruptions.several_processes),
    ("threads", "stopped at a step, resumed with another number of threads", interruptions.exactness),
    ("rank-kills", "ranks: kill -9 and crashes of one in every phase, resume, compare bits", ranks.rank_kills),
    ("rank-silence", "ranks: one is stopped for ever or for a while, cut off, late", ranks.rank_silence),
    ("rank-signals", "ranks: USR1, TERM, INT to the launcher and to one rank", ranks.rank_signals),
    ("rank-errors", "ranks: full disk, failing calls, no memory on one", ranks.rank_errors),
    ("rank-starts", "ranks: starts and resumes that cannot work", rank_starts.rank_starts),
)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/torture.sh", description="Injects faults into the built program and prints a table of "
                                     "the outcomes. Exits with 1 if any case failed.")
    parser.add_argument("--program", default=str(ROOT / "build/dev/dikkat"), help="program under test; default: build/dev/dikkat")
    parser.add_argument("--tools", help="folder of the C++ programs of tests/torture; default: tests/ beside the program")
    parser.add_argument("--long", action="store_true",
                        help="larger counts; finished cases are recorded in build/torture/long.json, and the next call continues")
    parser.add_argument("--state", metavar="FILE", default=str(ROOT / "build/torture/long.json"), help="file that records finished cases")
    parser.add_argument("--afresh", action="store_true", help="with --long: start again from the first case")
    parser.add_argument("--only", action="append", metavar="NAME", help="run only this test (repeatable)")
    parser.add_argument("--case", metavar="NAME", help="run only this case of the test")
    parser.add_argument("--list", action="store_true", help="list all tests; with --only, the cases of that test")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="cases to run in parallel; default: number of cores")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    parser.add_argument("--json", metavar="FILE", help="also write the table to this file")
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed cases")
    parser.add_argument("--minutes", type=float, help="with --long: start no case after this many minutes")
    return parser.parse_args()


class Progress:
    """Finished cases of a long run, by test and case. Only for the program with this identity."""

    def __init__(self, path, identity, afresh):
        self._path = path
        self._lock = threading.Lock()
        self._saved = 0.0
        self._state = {"of": identity, "finished": {}}
        if path is not None and path.exists() and not afresh:
            state = json.loads(path.read_text())
            if state.get("of") == identity:
                self._state = state
            else:
                print(f"{path} is of another program or seed: starting the long run again", file=sys.stderr)

    def of(self, column, case):
        return self._state["finished"].get(column, {}).get(case)

    def add(self, column, case, result):
        with self._lock:
            self._state["finished"].setdefault(column, {})[case] = result
            if time.monotonic() - self._saved > 2:
                self._save()

    def _save(self):
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps(self._state))
            temporary.replace(self._path)
            self._saved = time.monotonic()

    def close(self):
        with self._lock:
            self._save()


NOT_REACHED = "the fault did not occur"


def run_case(bench, column, case):
    """{"cases", "survived", "refused", "skipped", "failures"}"""
    result = {"cases": 1, "survived": 0, "refused": 0, "skipped": "", "failures": []}
    try:
        verdict = case.run(bench, bench.random(column, case.name))
        if isinstance(verdict, Counts):
            result.update(verdict)
        elif verdict in (SURVIVED, REFUSED):
            result[verdict] = 1
        else:
            raise Failed(f"the case returned no verdict: {verdict!r}")
    except NotReached:
        result.update(cases=0, skipped=NOT_REACHED)
    except Skipped as reason:
        result.update(cases=0, skipped=str(reason))
    except Failed as failure:
        result["failures"] = [str(failure)]
    except Exception:  # a mistake in the test is a failure as well
        result["failures"] = [traceback.format_exc(limit=-4)]
    return result


def reproduce(options, column, case):
    words = ["scripts/torture.sh", "--only", column, "--case", case, "--seed", str(options.seed), "--keep"]
    if options.long:
        words.append("--long")
    if pathlib.Path(options.program) != ROOT / "build/dev/dikkat":
        words += ["--program", options.program]
    return shlex.join(words)


def run_column(bench, options, progress, name, cases, deadline):
    total = {"cases": 0, "survived": 0, "refused": 0, "failed": 0, "skipped": {}, "left": 0, "seconds": 0.0}
    failures = []
    begun = time.monotonic()

    def work(case):
        done = progress.of(name, case.name)
        if done is not None and not done["failures"]:
            return case, done
        if deadline is not None and time.monotonic() > deadline:
            return case, None
        result = run_case(bench, name, case)
        progress.add(name, case.name, result)
        return case, result

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for case, result in pool.map(work, cases):
            if result is None:
                total["left"] += 1
                continue
            for key in ("cases", "survived", "refused"):
                total[key] += result[key]
            total["failed"] += len(result["failures"])
            if result["skipped"]:
                total["skipped"][result["skipped"]] = total["skipped"].get(result["skipped"], 0) + 1
            for text in result["failures"]:
                failures.append((name, case.name, text))
    finally:
        pool.shutdown(cancel_futures=True)  # after an interruption, running cases end, and no other begins
    missed = total["skipped"].get(NOT_REACHED, 0)
    if missed > 2 + total["cases"] // 4:
        total["failed"] += 1
        failures.append((name, "(all)", f"of {total['cases'] + missed} faults {missed} did not come"))
    total["seconds"] = round(time.monotonic() - begun, 1)
    return total, failures


def print_row(widths, cells):
    cells = [str(cell).ljust(width) if i == 0 else str(cell).rjust(width) for i, (width, cell) in enumerate(zip(widths, cells))]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that everything is cleaned up
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:  # by bash's & or nohup: programs would inherit that, but not a handler
            signal.signal(number, lambda *_: None)
    names = [name for name, _, _ in COLUMNS]
    for name in options.only or []:
        if name not in names:
            sys.exit(f"torture: there is no test {name}; there are: {', '.join(names)}")
    if options.list and not options.only:
        for name, title, _ in COLUMNS:
            print(f"{name:<18} {title}")
        return 0
    options.program = str(pathlib.Path(options.program).resolve())
    if not os.access(options.program, os.X_OK):
        sys.exit(f"torture: {options.program} does not exist: cmake --preset dev && cmake --build --preset dev")
    if shutil.which("strace") is None:
        sys.exit("torture: strace is missing: scripts/install-packages.sh --test")
    tools = options.tools or str(pathlib.Path(options.program).parent / "tests/torture")
    identity = [hashlib.sha256(pathlib.Path(options.program).read_bytes()).hexdigest(), options.seed]
    progress = Progress(pathlib.Path(options.state) if options.long and not options.case else None, identity, options.afresh)
    memory = pathlib.Path("/dev/shm")
    in_memory = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > (4 if options.long else 1) << 30
    folder = tempfile.mkdtemp(prefix="dikkat-torture-", dir=memory if in_memory else None)
    os.chmod(folder, 0o755)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    bench = Bench(options.program, tools, options.seed, options.long, folder, options.keep)
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else None

    widths = (72, 9, 9, 9, 7, 7)
    rows, failures, begun = [], [], time.monotonic()
    try:
        if not options.list:
            print_row(widths, ("test", "cases", "survived", "refused", "failed", "seconds"))
            print_row(widths, ("---", "--:", "--:", "--:", "--:", "--:"))
        for name, title, cases_of in COLUMNS:
            if options.only and name not in options.only:
                continue
            try:
                cases = list(cases_of(bench))
            except Exception as error:
                text = str(error) if isinstance(error, Failed) else traceback.format_exc(limit=-4)
                failures.append((name, "(making the cases)", text))
                rows.append({"test": name, "title": title, "cases": 0, "survived": 0, "refused": 0, "failed": 1, "skipped": {}, "left": 0,
                             "seconds": 0})
                print_row(widths, (title, 0, 0, 0, 1, 0))
                continue
            if options.case:
                cases = [case for case in cases if case.name == options.case]
                if not cases:
                    sys.exit(f"torture: {name} has no case {options.case}")
            if options.list:
                print("\n".join(case.name for case in cases))
                continue
            total, failed = run_column(bench, options, progress, name, cases, deadline)
            failures += failed
            rows.append({"test": name, "title": title, **total})
            print_row(widths, (title, f"{total['cases']:,}", f"{total['survived']:,}", f"{total['refused']:,}", f"{total['failed']:,}",
                               f"{total['seconds']:.0f}"))
            for reason, count in total["skipped"].items():
                print(f"    skipped {count}: {reason}")
            if total["left"]:
                print(f"    left for the next call: {total['left']}")
    finally:
        progress.close()
        if not (options.keep and failures):
            shutil.rmtree(folder, ignore_errors=True)
    if options.list:
        return 0
    for name, case, text in failures:
        print(f"\nFAILED {name}, {case}: {text}\n  {reproduce(options, name, case)}")
    if failures and options.keep:
        print(f"\nfolders are kept in {folder}")
    summed = {key: sum(row[key] for row in rows) for key in ("cases", "survived", "refused", "failed")}
    print(f"\ntorture: {summed['cases']:,} cases, {summed['survived']:,} survived, {summed['refused']:,} refused, "
          f"{summed['failed']:,} failed, {time.monotonic() - begun:.0f} s")
    if options.json:
        table = {"program": options.program, "seed": options.seed, "long": options.long, "rows": rows, "failures": failures}
        pathlib.Path(options.json).write_text(json.dumps(table, indent=1) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
