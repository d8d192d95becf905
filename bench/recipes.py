#!/usr/bin/env python3
"""Which loss do recipes reach, and in which time? Trains each configuration with each seed, in turn, and prints a table (Markdown).

  python3 bench/recipes.py configs/shakespeare-char.toml configs/shakespeare-char-fast.toml --corpus tinyshakespeare.txt

The time is that of the whole process, from outside: start, evaluations and checkpoints included. Nothing else may run meanwhile. The loss is
the last evaluation's. Runs and results are kept in --out; a run with a result is not repeated.
"""

import argparse
import pathlib
import statistics

from runs import Results, add_arguments, mean_and_error, train


def measure(args, config, seed):
    results = Results(args.out / "results.json")
    name = f"{config.stem}-{seed}"
    if name not in results.values:
        run = train(args.program, config, args.corpus, args.out / name, [f"train.seed={seed}", *args.set])
        results.put(name, {"seconds": run.seconds, "loss": run.last_loss(), "step": run.steps()[-1]["step"]})
    return results.values[name]


def with_error(values, digits):
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", type=pathlib.Path)
    parser.add_argument("--corpus", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="for all of them; give them another --out")
    add_arguments(parser, out=pathlib.Path("runs/recipes"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = {config: [] for config in args.configs}
    for seed in args.seeds:
        for config in args.configs:
            results[config].append(measure(args, config, seed))
    first = statistics.mean(one["seconds"] for one in results[args.configs[0]])
    print("| recipe | steps | seconds | of the first's | validation loss |\n|---|--:|--:|--:|--:|")
    for config, runs in results.items():
        seconds = [one["seconds"] for one in runs]
        print(f"| {config.name} | {runs[0]['step']:,} | {with_error(seconds, 1)} | {statistics.mean(seconds) / first:.3f} |"
              f" {with_error([one['loss'] for one in runs], 4)} |")


if __name__ == "__main__":
    main()
