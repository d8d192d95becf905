#!/usr/bin/env python3
"""How much time does saving cost a run? Prints, in milliseconds, a normal step, a step that saves (with its copy), and steps during which a save is written.

  python3 bench/saving.py [--config FILE] [--set KEY=VALUE ...] [--saves N]

By default GPT-2 124M with 1 x 256 tokens. Times of steps come from metrics.jsonl; the copy is the extra time between two steps. A step counts as
"during a save" if the unfinished file existed at its end or at the end of the step before. Needs only Python and build/dev/dikkat.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CORES = len(os.sched_getaffinity(0))  # and as many threads train
LOOK_EVERY = 0.01  # s; more often would take time from the cores that are measured
GPT2 = ["tokenizer.kind=byte", "data.corpus=['data/tales.txt']", "model.block_size=256", "train.batch_size=1", "train.gradient_accumulation_steps=1"]


def processor_times(process):
    """Processor time of each thread, in seconds."""
    times = []
    for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"):
        try:
            times.append(sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK"))
        except FileNotFoundError:
            pass  # the thread has ended
    return times


def watch(process, run):
    """[(step, ms of the step, when its line came, is a save being written then)], and the time of the threads that do not train"""
    steps, lines, took = [], run / "metrics.jsonl", 0
    read = 0
    over = False
    while not over:
        over = process.poll() is not None
        text = lines.read_bytes()[read:] if lines.exists() else b""
        now = time.monotonic()
        writing = any((run / "checkpoints").glob(".tmp-*"))
        for line in text[: text.rfind(b"\n") + 1].splitlines(keepends=True):
            read += len(line)
            record = json.loads(line)
            if record["event"] == "step":
                steps.append((record["step"], record["ms"], now, writing))
                took = sum(sorted(processor_times(process))[:-CORES]) or took
        time.sleep(LOOK_EVERY)
    return steps, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/dikkat")
    parser.add_argument("--config", help="configuration instead of GPT-2's")
    parser.add_argument("--set", action="append", default=[], help="section.key=value: overrides the configuration file")
    parser.add_argument("--saves", type=int, default=3)
    parser.add_argument("--interval", type=int, default=8, help="steps between saves")
    options = parser.parse_args()
    config, settings = (options.config, []) if options.config else ("configs/gpt2-124m.toml", GPT2)
    keys = settings + options.set + [f"train.checkpoint_interval={options.interval}", f"train.max_steps={options.interval * (options.saves + 1)}",
                                    "train.eval_interval=1000000"]
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        command = [options.program, "train", "--config", config, "--out", str(run), *(w for key in keys for w in ("--set", key))]
        with open(pathlib.Path(folder) / "told", "w+") as told:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=told)
            steps, took = watch(process, run)
            if process.wait() != 0:
                told.seek(0)
                sys.exit(told.read())
    usual, saving, beside, copies = [], [], [], []
    for (_, _, _, writing_before), (step, ms, came, writing), (_, next_ms, next_came, _) in zip(steps[1:], steps[2:], steps[3:]):
        if step % options.interval == 0:
            copies.append(max(0, (next_came - came) * 1e3 - next_ms))
            saving.append(ms + copies[-1])
        elif writing_before or writing or (step - 1) % options.interval == 0:
            beside.append(ms)
        else:
            usual.append(ms)
    median = statistics.median(usual)
    print("| | steps | median, ms | longest, ms | of a usual step |\n|---|--:|--:|--:|--:|")
    for name, times in (("normal", usual), ("with a save, copy included", saving), ("the copy alone", copies), ("while a save is written", beside)):
        if times:
            middle = statistics.median(times)
            print(f"| {name} | {len(times)} | {middle:.1f} | {max(times):.1f} | {middle / median:.2f} |")
    lost = CORES * sum(ms - median for ms in beside) / 1e3
    print(f"\nSeconds of processor time, a save: {took / (options.saves + 1):.1f} of its writer, {lost / options.saves:.1f} lost to training.")  # + 1: step 0


if __name__ == "__main__":
    main()
