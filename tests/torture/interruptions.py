"""Signals in every phase of a run, several processes on one directory, and stops followed by a resume with another number of threads."""

import re
import shutil
import signal
import time

import kills
import traced
from bench import (REFUSED, SURVIVED, TINY, Case, NotReached, finish, metric_lines, reference, require, require_same_result, require_whole,
                   result_of, settings, steps_in, stopped_at, tiny_text, toml)

STEPS = kills.STEPS
SIGNALS = ("INT", "TERM", "HUP", "INT twice", "QUIT")
PHASES = ("init", "step", "save", "save beside training", "evaluation", "anywhere")
EVALUATING = {"train.eval_interval": 2, "train.eval_tokens": 0, "train.max_steps": 4}


def evaluating(bench):
    """A run whose evaluations take most of its time."""
    def make():
        text = bench.folder / "validation.txt"
        text.write_text(tiny_text(80_000))
        return {**EVALUATING, "data.validation": [str(text)]}
    return bench.once("evaluating", make)


def after_a_signal(bench, folder, outcome, name, begin, max_steps, expected, began, too_late):
    """`too_late`: the signal came at the end of the run, which may then have ended as if there had been none."""
    number = getattr(signal, "SIG" + name.split()[0])
    own = -number if name == "QUIT" else 128 + number  # QUIT is not handled, so it kills
    outcome.require_code(own, *([0] if too_late else []))
    steps = require_whole(bench, folder)
    if outcome.code == 0:
        require_same_result(result_of(folder / "run", max_steps), expected)
        return SURVIVED
    if name in ("INT", "TERM", "HUP") and began:  # one signal, after the run began
        require("dikkat resume run" in outcome.err, "it did not report that it saved:", outcome.err[-300:])
        require(stopped_at(folder / "run") == max(steps, default=-1), "it stopped at", stopped_at(folder / "run"), "and saved", steps)
        require(f"step {max(steps)} " in outcome.err, "it did not report the step that it saved:", outcome.err[-300:])
    finish(bench, folder, begin, max_steps, expected)
    return SURVIVED


def signal_in(phase, name):
    def run(bench, random):
        values = {"train.async_save": phase != "save"}
        folder = bench.make_folder("signal")
        if phase in ("evaluation", "anywhere"):
            values = evaluating(bench) if phase == "evaluation" else {**kills.RANDOM_VALUES, "train.max_steps": kills.RANDOM_STEPS}
            max_steps = values["train.max_steps"]
            rest = {key: value for key, value in values.items() if key != "train.max_steps"}
            expected, seconds = reference(bench, max_steps, rest)
            begin = ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": max_steps, **rest})]
            process = bench.start(folder, begin)
            try:
                if phase == "evaluation":
                    process.until(lambda: metric_lines(folder / "run") >= 2)
                    time.sleep(random.uniform(0, 0.1))  # in which the step is saved, and the evaluation begins
                else:
                    time.sleep(random.uniform(0, 1.1 * seconds))
                number = getattr(signal, "SIG" + name.split()[0])
                process.send(number)
                too_late = process.ended() or last_step_is_made(folder / "run", max_steps)
                missed = phase == "evaluation" and an_evaluation_is_done(folder / "run")  # on a machine that delayed the judge
                if name.endswith("twice"):
                    time.sleep(random.uniform(0.001, 0.05))
                    process.send(number)
                outcome = process.wait(bench.patience)
            finally:
                process.kill_if_running()
            began = phase == "evaluation"
            if began and not missed and not name.endswith("twice"):
                require(not an_evaluation_is_done(folder / "run"), "the evaluation was not cut off")
        else:
            max_steps, began = STEPS, phase != "init"
            expected = reference(bench, STEPS, values)[0]
            begin = kills.begin_arguments(values)
            before, later = kills.calls_of_a_run(bench, values)
            if phase == "init":
                events = before
            elif phase == "step":
                events = [e for e in later if e.call == "write" and r'event\":\"step' in e.text]
            else:
                events = [e for e in later if e.call in ("fallocate", "pwrite64", "pread64", "ftruncate", "fsync", "rename")]
            event = random.choice(events)
            log = folder / "log"
            number = getattr(signal, "SIG" + name.split()[0])
            outcome = traced.run_and_signal(bench, folder, begin, log, event.call, event.ordinal, number, name.endswith("twice"))
            if outcome.code == 0 and traced.signals_in(log) == 0:
                raise NotReached()
            began = began and traced.signals_in(log) == 1
            too_late = outcome.code == 0 and traced.was_too_late(log, max_steps)
        number = getattr(signal, "SIG" + name.split()[0])
        if outcome.code == -number and not began and metric_lines(folder / "run") == 0 and not steps_in(folder / "run"):
            require(name == "QUIT" or not outcome.err, "the signal's own end, after the program had said something")
            outcome.code = -number if name == "QUIT" else 128 + number  # before main() begins, the signal has its default effect
        verdict = after_a_signal(bench, folder, outcome, name, begin, max_steps, expected, began, too_late)
        shutil.rmtree(folder)
        return verdict
    return run


def last_step_is_made(run, step):
    try:
        return f'"event":"step","step":{step},' in (run / "metrics.jsonl").read_text()
    except FileNotFoundError:
        return False


def an_evaluation_is_done(run):
    return '"event":"eval"' in (run / "metrics.jsonl").read_text()


def signals(bench):
    for number in range(1000 if bench.long else 40):
        phase = PHASES[number % len(PHASES)]
        name = SIGNALS[number // len(PHASES) % len(SIGNALS)]
        yield Case(f"{number} {name} in {phase}", signal_in(phase, name))


def crowd(kind, count):
    """`count` writers at once; exactly one must succeed."""
    def run(bench, random):
        folder = bench.make_folder("crowd")
        endless = {"train.max_steps": 1_000_000, "train.checkpoint_interval": 200, "train.eval_interval": 999_999,
                   "train.log_interval": 999_999}
        begin = ["train", "--config", "tiny.toml", "--out", "run", *settings(endless)]
        if kind != "train":
            short = settings({**endless, "train.max_steps": 3, "optim.decay_steps": 9})
            outcome = bench.run(folder, ["train", "--config", "tiny.toml", "--out", "run", *short])
            require(outcome.code == 0, "no run to go on with:", outcome.last_words())
        resume = ["resume", "run", *settings({"train.max_steps": 1_000_000})]
        processes = []
        try:
            for number in range(count):
                processes.append(bench.start(folder, begin if kind == "train" or (kind == "both" and number % 2) else resume, threads=1))
                time.sleep(random.choice((0, 0, 0.001, 0.02)))
            deadline = time.monotonic() + bench.patience
            while sum(not process.ended() for process in processes) > 1 and time.monotonic() < deadline:
                time.sleep(0.01)
            alive = [process for process in processes if not process.ended()]
            require(len(alive) == 1, len(alive), "of", count, "writers are at work")
            winner = alive[0]
            require(winner.until(lambda: metric_lines(folder / "run") >= 5), "the winner ended:", winner.err()[-300:])
            for process in processes:
                if process is not winner:
                    outcome = process.wait(1)
                    outcome.require_code(2)
                    outcome.require_message("run", alone=True)
                    # Until the winner has written its process id, the message has none. A start may also find the winner's files, or a run
                    # of another configuration that nobody holds yet.
                    numbers = set(re.findall(r"process (\d+)", outcome.last_words()))
                    require(numbers <= {str(winner.pid)}, "another holder is named:", outcome.last_words())
            winner.send(signal.SIGTERM)
            outcome = winner.wait(bench.patience)
            outcome.require_code(143)
        finally:
            for process in processes:
                process.kill_if_running()
        require(require_whole(bench, folder), "no checkpoint is left")
        shutil.rmtree(folder)
        return REFUSED
    return run


def several_processes(bench):
    for number in range(40 if bench.long else 2):
        for kind, count in (("resume", 2), ("resume", 8), ("train", 2), ("train", 8), ("both", 4)):
            yield Case(f"{number} {count} x {kind}", crowd(kind, count))


THREADS = (1, 2, 3, 4, 8)
EXACT_STEPS = 30  # an epoch ends within a step, at 151 windows
EXACT = {"train.checkpoint_interval": 5, "train.eval_interval": 7}


def stopped_and_resumed(step, first, then):
    """Stops after a step with one number of threads and finishes with another."""
    def run(bench, _):
        expected = reference(bench, EXACT_STEPS, EXACT)[0]
        folder = bench.make_folder("exact")
        begin = ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": EXACT_STEPS, **EXACT})]

        def plan():
            folder = bench.make_folder("plan")
            events = traced.trace(bench, folder, begin, threads=first)
            return {int(match[1]): event.ordinal for event in events if event.call == "write"
                    for match in [re.search(r'event\\":\\"step\\",\\"step\\":(\d+),', event.text)] if match}
        ordinal = bench.once(("writes of steps", first), plan)[step]
        outcome = traced.run_and_signal(bench, folder, begin, folder / "log", "write", ordinal, signal.SIGTERM, threads=first)
        outcome.require_code(143)
        require(step in steps_in(folder / "run"), f"step {step} was not saved:", steps_in(folder / "run"))
        finish(bench, folder, None, EXACT_STEPS, expected, threads=then)
        shutil.rmtree(folder)
        return SURVIVED
    return run


def exactness(bench):
    if bench.long:
        pairs = [(step, first, THREADS[(i + step) % 5]) for step in range(1, EXACT_STEPS) for i, first in enumerate(THREADS)]
    else:
        pairs = [(1, 1, 2), (7, 3, 1), (13, 2, 8), (25, 4, 3), (29, 8, 4)]
    for step, first, then in pairs:
        yield Case(f"step {step}, {first} then {then} threads", stopped_and_resumed(step, first, then))


# Models of several sizes, since larger products take other code.
WIDTHS = {
    "tiny": {},
    "width 128": {"n_layer": 2, "n_head": 4, "n_embd": 128, "block_size": 32},
    "GPT-2's width": {"n_layer": 2, "n_head": 12, "n_embd": 768, "block_size": 128},
}
TICK = 1000  # microseconds


def ticking(width, steps):
    """A whole run with a signal every millisecond, and an empty handler, must have the same bits as one without signals."""
    def run(bench, _):
        config = {**bench.tiny_config()}
        config["model"] = {**TINY["model"], **WIDTHS[width]}
        config["train"] = {**TINY["train"], "checkpoint_interval": steps, "eval_interval": steps}
        expected = reference(bench, steps, config=config)[0]
        folder = bench.make_folder("ticks")
        (folder / "tiny.toml").write_text(toml(config))
        variables = {"LD_PRELOAD": str(bench.tools / "libticks.so"), "DIKKAT_TICK": str(TICK), "DIKKAT_TICKS": str(folder / "ticks")}
        outcome = bench.run(folder, ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": steps})],
                            variables=variables)
        outcome.require_code(0)
        ticks = int((folder / "ticks").read_text())
        require(ticks >= 20, "only", ticks, "signals came in", outcome.seconds, "s")
        require_same_result(result_of(folder / "run", steps), expected)
        shutil.rmtree(folder)
        return SURVIVED
    return run


def ticks(bench):
    small, large = (450, 100) if bench.long else (3, 2)
    for width, count, steps in (("tiny", small, 8), ("width 128", small, 8), ("GPT-2's width", large, 4)):
        for number in range(count):
            yield Case(f"{number} {width}", ticking(width, steps))
