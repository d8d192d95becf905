#!/usr/bin/env python3
"""Which ingredients of a recipe lower the loss that a given time buys? Trains only one ingredient, all of them, and all but one.

  python3 bench/ablation.py pace FILE     measures the time of a step of each variant; nothing else may run meanwhile
  python3 bench/ablation.py train FILE    trains each variant for as many steps as fit into the time, with each seed
  python3 bench/ablation.py table FILE    prints the table (Markdown)

FILE (bench/ablation/*.toml) has the configuration, the text, the seconds, the seeds and the ingredients. Results are kept in --out (by default
runs/ablation/NAME). A variant with a result is not run again, so an experiment may be interrupted, and a new ingredient costs only its own runs.
The steps of a variant are seconds / (milliseconds of its step). The loss then depends only on the file and the pace, and other programs may
run on the machine during the training.
"""

import argparse
import itertools
import math
import pathlib
import shutil
import statistics
import sys
import tomllib

from runs import Results, add_arguments, mean_and_error, of_length, train

PACE = {"rounds": 5, "steps": 30, "warmup": 10}  # the first steps do not count; [pace] of the file has others


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
    """Variants with equal settings share one run."""
    last = dict(setting.split("=", 1) for setting in settings)
    return ",".join(f"{key}={value}" for key, value in sorted(last.items())) or "base"


def time_steps(args, experiment, settings):
    """Medians of a short run: milliseconds of a step, and of the optimizer in it."""
    pace = PACE | experiment.get("pace", {})
    run = train(args.program, experiment["config"], experiment["corpus"], args.out / "pace",
                [*settings, *of_length(pace["steps"], pace["warmup"] / pace["steps"]), "train.eval_tokens=64", "train.log_interval=1"])
    shutil.rmtree(args.out / "pace")
    steps = run.steps(after=pace["warmup"])
    return statistics.median(line["ms"] for line in steps), statistics.median(line["optimizer_ms"] for line in steps)


def measure_pace(args, experiment, pace):
    """Milliseconds of a step: those of the base, undisturbed, times the ratio of the variant to the base. Each variant takes turns with the base,
    because a shared machine is faster in one minute than in the next."""
    for turn in range((PACE | experiment.get("pace", {}))["rounds"]):
        for name, settings in variants(experiment).items():
            key = key_of(settings)
            known = pace.values.get(key, {"ratios": [], "optimizer": []})
            if len(known["ratios"]) > turn:
                continue
            base, _ = time_steps(args, experiment, variants(experiment)["base"])
            ms, optimizer = time_steps(args, experiment, settings)
            pace.put("base ms", min(base, pace.values.get("base ms", math.inf)))
            pace.put(key, {"ratios": known["ratios"] + [ms / base], "optimizer": known["optimizer"] + [optimizer / ms]})
            print(f"{name}: {ms:.2f} ms, of the base {base:.2f}", file=sys.stderr)


def ms_of(pace, key):
    return pace.values["base ms"] * statistics.median(pace.values[key]["ratios"])


def measure_loss(args, experiment, pace, losses):
    for seed in experiment["seeds"]:
        for name, settings in variants(experiment).items():
            key, result = key_of(settings), f"{key_of(settings)} seed {seed}"
            if result in losses.values or (args.only and name not in args.only):
                continue
            if key not in pace.values:
                raise SystemExit(f"ablation.py: {name} has no pace, expected one; run it with pace first")
            steps = round(1000 * experiment["seconds"] / ms_of(pace, key))
            run = train(args.program, experiment["config"], experiment["corpus"], args.out / "run",
                        [*settings, *of_length(steps, experiment["warmup"]), f"train.seed={seed}"])
            losses.put(result, {"loss": run.last_loss(), "steps": steps, "seconds": sum(line["ms"] for line in run.steps()) / 1000})
            print(f"{name}, seed {seed}: {steps} steps, {run.last_loss():.4f}", file=sys.stderr)
            shutil.rmtree(args.out / "run")


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
    add_arguments(parser, out=None)
    parser.add_argument("--only", nargs="+", help="names of variants to train")
    args = parser.parse_args()
    experiment = tomllib.loads(args.file.read_text())
    args.out = args.out or pathlib.Path("runs/ablation") / args.file.stem
    args.out.mkdir(parents=True, exist_ok=True)
    pace, losses = Results(args.out / "pace.json"), Results(args.out / "losses.json")
    if args.what == "pace":
        measure_pace(args, experiment, pace)
    elif args.what == "train":
        measure_loss(args, experiment, pace, losses)
    else:
        print_table(experiment, pace, losses)


if __name__ == "__main__":
    main()
