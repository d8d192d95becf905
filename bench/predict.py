#!/usr/bin/env python3
"""Do short runs predict the loss of a long one? Trains a configuration for 1/64 to 1/8 of its steps, each run with its whole schedule, fits
loss = floor + scale * steps^-exponent to their losses, and compares its prediction with the whole run.

  python3 bench/predict.py configs/tales-char.toml configs/shakespeare-char-fast.toml

The stated error is the largest among the predictions that leave out one of the short runs. Whole runs are those of bench/recipes.py (--out) if they are there.
"""

import argparse
import pathlib

from recipes import measure
from runs import Results, add_arguments, of_length, train

SHARES = [64, 32, 16, 8]
EXPONENTS = [0.02 * i for i in range(1, 101)]


def fit(points):
    """floor, scale and exponent with the smallest sum of squares, among exponents up to 2 and floors that are not negative."""
    best = None
    for exponent in EXPONENTS:
        x, y = [steps ** -exponent for steps, _ in points], [loss for _, loss in points]
        n, mean_x, mean_y = len(points), sum(x) / len(x), sum(y) / len(y)
        scale = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / sum((a - mean_x) ** 2 for a in x)
        floor = mean_y - scale * mean_x
        if floor < 0:
            floor, scale = 0.0, sum(a * b for a, b in zip(x, y)) / sum(a * a for a in x)
        squares = sum((floor + scale * a - b) ** 2 for a, b in zip(x, y))
        if best is None or squares < best[0]:
            best = squares, floor, scale, exponent
    return best[1:]


def predict(points, steps):
    floor, scale, exponent = fit(points)
    return floor + scale * steps ** -exponent


def steps_of(config, settings):
    wanted = [setting.split("=")[1] for setting in settings if setting.startswith("train.max_steps=")]
    in_file = [line.split("=")[1].split("#")[0] for line in config.read_text().splitlines() if line.startswith("max_steps")]
    return int((wanted + in_file)[0].strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", type=pathlib.Path)
    parser.add_argument("--corpus", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="for all of them")
    add_arguments(parser, out=pathlib.Path("runs/recipes"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    short = Results(args.out / "short.json")
    print("| recipe | short runs: steps, loss | steps | predicted | measured | off by | stated error |\n|---|---|--:|--:|--:|--:|--:|")
    for config in args.configs:
        steps, points = steps_of(config, args.set), []
        for share in SHARES:
            name, few = f"{config.stem}-{args.seed} {steps // share} of {steps}", steps // share
            if name not in short.values:
                settings = [f"train.seed={args.seed}", *args.set, *of_length(few, 0.05)]
                short.put(name, train(args.program, config, args.corpus, args.out / "short", settings).last_loss())
            points.append((few, short.values[name]))
        whole = measure(args, config, args.seed)
        if whole["step"] != steps:
            raise SystemExit(f"predict.py: {args.out} has this run with {whole['step']} steps, expected {steps}; --set needs another --out")
        measured, predicted = whole["loss"], predict(points, steps)
        stated = max(abs(predict(points[:i] + points[i + 1:], steps) - predicted) for i in range(len(points)))
        told = ", ".join(f"{few}: {loss:.3f}" for few, loss in points)
        print(f"| {config.name} | {told} | {steps:,} | {predicted:.3f} | {measured:.3f} | {predicted - measured:+.3f} | {stated:.3f} |")


if __name__ == "__main__":
    main()
