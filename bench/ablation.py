#!/usr/bin/env python3
"""Which ingredients of a recipe lower the loss that a given time buys? Trains each ingredient alone, all of them, and all but one.

  python3 bench/ablation.py pace FILE     measures what a step of each variant takes; nothing else may run meanwhile
  python3 bench/ablation.py train FILE    trains each variant for as many steps as fit into the time, with each seed
  python3 bench/ablation.py table FILE    prints the table (Markdown)

FILE (bench/ablation/*.toml) has the configuration, the text, the seconds, the seeds and the ingredients. Results are kept in --out (by default
runs/ablation/NAME); what is there is not run again, so that a run may be interrupted, and a new ingredient costs its own runs alone.
The steps of a variant are seconds / (milliseconds of its step): the loss is then a function of the file and the pace alone, and what else
runs on the machine while it trains does not matter. Needs only Python 3.11 and build/release/dikkat.
"""

import argparse
import itertools
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tomllib

PACE_ROUNDS = 5
PACE_STEPS = 30
PACE_WARMUP = 10  # steps of them that do not count


def variants(experiment):
    """{name: its settings}"""
    parts, needs = experiment["ingredients"], experiment.get("needs", {})

    def of(names):
        return experiment.get("base", []) + list(itertools.chain.from_iterable(parts[name] for name in parts if name in names))

    named = {"base": of([])}
    for name in parts:
        named[f"{needs[name]} + {name}" if name in needs else name] = of([name, needs.get(name)])
    everything = experiment.get("all", list(parts))
    named["all"] = of(everything)
    for left_out in everything:
        named[f"all but {left_out}"] = of([name for name in everything if left_out not in (name, needs.get(name))])
    return named


def key_of(settings):
    """Of variants with the same settings there is one run."""
    last = dict(setting.split("=", 1) for setting in settings)
    return ",".join(f"{key}={value}" for key, value in sorted(last.items())) or "base"


class Results:
    def __init__(self, path):
        self.path = path
        self.values = json.loads(path.read_text()) if path.exists() else {}

    def put(self, key, value):
        self.values[key] = value
        self.path.write_text(json.dumps(self.values, indent=1, sort_keys=True) + "\n")


def train(args, experiment, run, settings):
    command = [args.program, "train", "--config", experiment["config"], "--corpus", *experiment["corpus"], "--out", run, "--threads", args.threads,
               "--set", *settings]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"ablation.py: dikkat ended with {done.returncode}: {done.stderr.splitlines()[-1]}\n  {' '.join(map(str, command))}")
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def time_steps(args, experiment, out, settings):
    """Medians of a short run: milliseconds of a step, and of the optimizer in it."""
    run = out / "pace"
    shutil.rmtree(run, ignore_errors=True)
    lines = train(args, experiment, run, [
        *settings, f"train.max_steps={PACE_STEPS}", f"optim.decay_steps={PACE_STEPS}", f"optim.warmup_steps={PACE_WARMUP}",
        f"train.eval_interval={PACE_STEPS}", "train.eval_tokens=64", "train.log_interval=1"])
    shutil.rmtree(run)
    steps = [line for line in lines if line["event"] == "step" and line["step"] > PACE_WARMUP]
    return statistics.median(line["ms"] for line in steps), statistics.median(line["optimizer_ms"] for line in steps)


def measure_pace(args, experiment, out, pace):
    """Milliseconds of a step: those of the base, undisturbed, times how much longer the variant takes. Each variant takes turns with the base,
    because a shared machine is faster in one minute than in the next."""
    for turn in range(PACE_ROUNDS):
        for name, settings in variants(experiment).items():
            key = key_of(settings)
            known = pace.values.get(key, {"ratios": [], "optimizer": []})
            if len(known["ratios"]) > turn:
                continue
            base, _ = time_steps(args, experiment, out, variants(experiment)["base"])
            ms, optimizer = time_steps(args, experiment, out, settings)
            pace.put("base ms", min(base, pace.values.get("base ms", math.inf)))
            pace.put(key, {"ratios": known["ratios"] + [ms / base], "optimizer": known["optimizer"] + [optimizer / ms]})
            print(f"{name}: {ms:.2f} ms, of the base {base:.2f}", file=sys.stderr)


def ms_of(pace, key):
    return pace.values["base ms"] * statistics.median(pace.values[key]["ratios"])


def measure_loss(args, experiment, out, pace, losses):
    for seed in experiment["seeds"]:
        for name, settings in variants(experiment).items():
            key, result = key_of(settings), f"{key_of(settings)} seed {seed}"
            if result in losses.values or (args.only and name not in args.only):
                continue
            if key not in pace.values:
                raise SystemExit(f"ablation.py: {name} has no pace, expected one; run it with pace first")
            steps = round(1000 * experiment["seconds"] / ms_of(pace, key))
            run = out / "run"
            shutil.rmtree(run, ignore_errors=True)
            lines = train(args, experiment, run, [
                *settings, f"train.max_steps={steps}", f"optim.decay_steps={steps}", f"optim.warmup_steps={round(experiment['warmup'] * steps)}",
                f"train.eval_interval={steps}", "train.eval_tokens=0", f"train.seed={seed}"])
            loss = next(line["val_loss"] for line in reversed(lines) if line["event"] == "eval")
            losses.put(result, {"loss": loss, "steps": steps, "seconds": sum(line["ms"] for line in lines if line["event"] == "step") / 1000})
            print(f"{name}, seed {seed}: {steps} steps, {loss:.4f}", file=sys.stderr)
            shutil.rmtree(run, ignore_errors=True)


def mean_and_error(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def print_table(experiment, pace, losses):
    print("| variant | ms a step | steps | validation loss | less than the base |\n|---|--:|--:|--:|--:|")
    of = {}
    for name, settings in variants(experiment).items():
        key = key_of(settings)
        found = [losses.values[f"{key} seed {seed}"] for seed in experiment["seeds"] if f"{key} seed {seed}" in losses.values]
        if not found:
            continue
        of[name] = mean_and_error([one["loss"] for one in found])
        mean, error = of[name]
        base, base_error = of.get("base", (math.nan, math.nan))
        difference = "" if name == "base" else f"{base - mean:+.4f} ± {math.hypot(error, base_error):.4f}"
        print(f"| {name} | {ms_of(pace, key):.2f} | {found[0]['steps']:,} | {mean:.4f} ± {error:.4f} | {difference} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pace", "train", "table"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/dikkat")
    parser.add_argument("--threads", type=int, default=2, help="losses do not depend on it")
    parser.add_argument("--only", nargs="+", help="names of variants to train")
    args = parser.parse_args()
    experiment = tomllib.loads(args.file.read_text())
    out = args.out or pathlib.Path("runs/ablation") / args.file.stem
    out.mkdir(parents=True, exist_ok=True)
    pace, losses = Results(out / "pace.json"), Results(out / "losses.json")
    if args.what == "pace":
        measure_pace(args, experiment, out, pace)
    elif args.what == "train":
        measure_loss(args, experiment, out, pace, losses)
    else:
        print_table(experiment, pace, losses)


if __name__ == "__main__":
    main()
