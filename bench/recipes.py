#!/usr/bin/env python3
"""What do recipes reach, and in what time? Trains each configuration with each seed, in turn, and prints a table (Markdown).

  python3 bench/recipes.py configs/shakespeare-char.toml configs/shakespeare-char-fast.toml --corpus tinyshakespeare.txt

The time is that of the whole process, from outside: start, evaluations and checkpoints included. Nothing else may run meanwhile. The loss is
the last evaluation's. Runs and results stay in --out; what is there is not run again. Needs only Python 3.11 and build/release/dikkat.
"""

import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import time


def train(args, config, seed):
    run = args.out / f"{config.stem}-{seed}"
    result = run / "result.json"
    if result.exists():
        return json.loads(result.read_text())
    shutil.rmtree(run, ignore_errors=True)
    command = [args.program, "train", "--config", config, "--out", run, "--set", f"train.seed={seed}", *args.set]
    if args.corpus:
        command += ["--corpus", *args.corpus]
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["event"] == "eval"][-1]
    found = {"seconds": seconds, "loss": last["val_loss"], "step": last["step"]}
    result.write_text(json.dumps(found))
    return found


def with_error(values, digits):
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", type=pathlib.Path)
    parser.add_argument("--corpus", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="for all of them")
    parser.add_argument("--program", default="build/release/dikkat")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/recipes"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = {config: [] for config in args.configs}
    for seed in args.seeds:
        for config in args.configs:
            results[config].append(train(args, config, seed))
    first = statistics.mean(one["seconds"] for one in results[args.configs[0]])
    print("| recipe | steps | seconds | of the first's | validation loss |\n|---|--:|--:|--:|--:|")
    for config, runs in results.items():
        seconds = [one["seconds"] for one in runs]
        print(f"| {config.name} | {runs[0]['step']:,} | {with_error(seconds, 1)} | {statistics.mean(seconds) / first:.3f} |"
              f" {with_error([one['loss'] for one in runs], 4)} |")


if __name__ == "__main__":
    main()
