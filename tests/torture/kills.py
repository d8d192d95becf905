"""kill -9: at every system call of a save, and at random times of a run."""

import re
import shutil
import signal
import time

import traced
from bench import (BEFORE_THE_FIRST, REFUSED, SURVIVED, Case, Failed, NotReached, finish, metric_lines, reference, require,
                   require_whole, settings, steps_in)

STEPS = 8


def begin_arguments(values):
    return ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": STEPS, **values})]


def half_done(bench, values):
    """A folder with a run that was killed in the save of its third step, so it has at least one checkpoint."""
    def make():
        folder = bench.make_folder("half-done")
        begin = begin_arguments(values)
        event = None
        for _ in range(5):  # background saves may use several threads; then no thread makes three renames
            plan = traced.trace(bench, folder, begin)
            shutil.rmtree(folder / "run")
            event = next((e for e in plan if e.call == "rename" and "step-000000003" in e.text), None)
            if event is not None:
                break
        require(event is not None, "no plan has the save of step 3")
        outcome = bench.run(folder, begin, before=traced.injecting(folder / "log", "rename", "signal=SIGKILL", event.ordinal))
        require(outcome.code == -signal.SIGKILL, "the preparing kill did not come:", outcome.err[-300:])
        # Saves run beside training, on a thread that varies, so the moment of the kill varies too.
        steps = steps_in(folder / "run")
        require(steps and max(steps) < STEPS - 2, "the preparing kill came too late:", steps)
        return folder
    return bench.once(("half done", str(values)), make)


FIRST_STEP = r'event\\":\\"step'


def calls_of_resume(bench, values):
    """The calls of `resume` on the killed run: those before its first step, and those from there to its end."""
    def make():
        folder = copy_of(bench, half_done(bench, values), "plan")
        return halves(traced.trace(bench, folder, ["resume", "run"]))
    return bench.once(("calls", str(values)), make)


def calls_of_a_run(bench, values):
    """These calls for a new run."""
    def make():
        return halves(traced.trace(bench, bench.make_folder("plan"), begin_arguments(values)))
    return bench.once(("calls of a run", str(values)), make)


def halves(events):
    first = next(i for i, event in enumerate(events) if re.search(FIRST_STEP, event.text))
    for call in ("fallocate", "pwrite64", "pread64", "fsync", "rename", "unlink"):
        require(any(event.call == call for event in events[first:]), "a save makes no call of", call)
    return events[:first], events[first:]


def calls_of_saves(bench, values):
    return calls_of_resume(bench, values)[1]


def calls_of_beginnings(bench, values):
    """The calls of a new run and of `resume` in the run's folder before the first step: pairs of an event and whether it is of the new run."""
    pairs = []
    for events, is_new in ((calls_of_a_run(bench, values)[0], True), (calls_of_resume(bench, values)[0], False)):
        where = next(i for i, event in enumerate(events) if '"run' in event.text)
        pairs += [(event, is_new) for event in events[where:]]
    return pairs


def copy_of(bench, folder, name):
    copy = bench.make_folder(name)
    shutil.copytree(folder / "run", copy / "run")
    return copy


def chosen(events, long, limit):
    """For each commit: all calls of the last saves, but only some of those that occur in long series (pwrite64, pread64 ...). With --long: all
    calls of the last two saves; an evaluation follows the last one."""
    if long:
        return traced.window(events, r'event\\":\\"step\\",\\"step\\":%d,' % (STEPS - 1))
    rows = ("pwrite64", "pread64", "newfstatat", "write", "getdents64", "close", "openat")
    single = [e for e in events if e.call not in rows]
    picked = single[-limit // 2:]
    many = [e for e in events if e.call in rows]
    room = limit - len(picked)
    picked += many[::max(1, len(many) // room)][:room]
    return [e for e in events if e in picked]


def kill_at(event, values):
    def run(bench, _):
        folder = copy_of(bench, half_done(bench, values), "kill")
        log = folder / "log"
        outcome = bench.run(folder, ["resume", "run"], before=traced.injecting(log, event.call, "signal=SIGKILL", event.ordinal))
        if outcome.code == 0:
            raise NotReached()
        outcome.require_code(-signal.SIGKILL)
        steps = require_whole(bench, folder)
        expected = traced.steps_left(log, steps_in(half_done(bench, values) / "run"))
        require(steps, "no checkpoint is left")
        require(len(set(steps) ^ set(expected)) <= 1 and max(steps) >= max(expected),
                f"checkpoints {steps} are there, expected {expected} (one more or less where the kill came)")
        finish(bench, folder, None, STEPS, reference(bench, STEPS, values)[0])
        shutil.rmtree(folder)
        return SURVIVED
    return run


def kill_in_the_beginning(event, is_new, values):
    def run(bench, _):
        begin = begin_arguments(values)
        before = half_done(bench, values)
        folder = bench.make_folder("kill") if is_new else copy_of(bench, before, "kill")
        arguments = begin if is_new else ["resume", "run"]
        outcome = bench.run(folder, arguments, before=traced.injecting(folder / "log", event.call, "signal=SIGKILL", event.ordinal))
        if outcome.code == 0:
            raise NotReached()
        outcome.require_code(-signal.SIGKILL)
        steps = require_whole(bench, folder)
        require(is_new or set(steps) >= set(steps_in(before / "run")), "checkpoints are gone; there are", steps)
        if is_new and not (folder / "run").exists():
            return SURVIVED
        finish(bench, folder, begin, STEPS, reference(bench, STEPS, values)[0])
        shutil.rmtree(folder)
        return SURVIVED
    return run


def model_sizes(bench):
    sizes = {"": {}}
    if bench.long:
        sizes[" 2 layers"] = {"model.n_layer": 2, "model.n_embd": 16}
        sizes[" 5 MB"] = {"model.n_layer": 2, "model.n_embd": 128}  # more than one piece to hash
    return sizes


def at_syscalls(bench):
    for size, model in model_sizes(bench).items():
        for asynchronous in (False, True):
            values = {"train.async_save": asynchronous, **model}
            events = chosen(calls_of_saves(bench, values), bench.long, 30)
            if model:  # for a model, some of the long rows: nothing changes on the disk between two reads, and the smallest model has them all
                rows = {"pread64": 16, "pwrite64": 4}
                events = [e for e in events if e.ordinal % rows.get(e.call, 1) == 0]
            for event in events:
                yield Case(f"{'async' if asynchronous else 'sync'}{size} {event.name}", kill_at(event, values))
    values = {"train.async_save": False}
    pairs = calls_of_beginnings(bench, values)
    for event, is_new in pairs if bench.long else pairs[::len(pairs) // 20 + 1]:
        yield Case(f"{'train' if is_new else 'resume'} {event.name}", kill_in_the_beginning(event, is_new, values))


RANDOM_STEPS = 60
RANDOM_VALUES = {"train.checkpoint_interval": 3, "train.eval_interval": 7}


def kill_at_random(bench, random):
    values = {**RANDOM_VALUES, "train.async_save": random.random() < 0.7}
    expected, seconds = reference(bench, RANDOM_STEPS, values)
    folder = bench.make_folder("random-kill")
    begin = ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": RANDOM_STEPS, **values})]
    arguments = begin
    verdict, newest = SURVIVED, -1
    try:
        while True:
            process = bench.start(folder, arguments)
            time.sleep(random.uniform(0, 1.2 * seconds))
            process.send(signal.SIGKILL)
            outcome = process.wait(bench.patience)
            if outcome.code == 2 and arguments is not begin:
                # The previous kill came before the first checkpoint, and this resume had time to report that.
                require(not steps_in(folder / "run"), "refused to go on:", outcome.last_words()[:300])
            else:
                outcome.require_code(-signal.SIGKILL, 0)
            steps = require_whole(bench, folder)
            require(max(steps, default=-1) >= newest, "step", newest, "was there, and now there are", steps)
            require(steps or metric_lines(folder / "run") <= BEFORE_THE_FIRST, "steps were made, and there is no checkpoint")
            newest = max(steps, default=-1)
            if not steps:
                verdict = REFUSED
            arguments = ["resume", "run"]
            if random.random() < 0.5:
                break
        finish(bench, folder, begin, RANDOM_STEPS, expected)
    except Failed as failure:
        raise Failed(f"{failure} (folder {folder})") from None
    shutil.rmtree(folder)
    return verdict


def at_random_times(bench):
    for number in range(500 if bench.long else 20):
        yield Case(f"kill {number}", kill_at_random)
