#!/usr/bin/env python3
"""Compares dikkat::autograd with libtorch on small programs, forward and backward, on this machine.

    bench/library.py [--build DIR] [--threads 1 2] [--rounds 5] [--seconds 0.3] [--cpu] [--only NAME] [--json]

Both programs run in turn, each in its own process. The table shows the least time of all rounds, which other processes disturb least, and
the medians. A ratio is libtorch's time divided by dikkat's, so above 1 dikkat is faster. A program whose results differ is an error.

The benchmarks are built with -DDIKKAT_BENCH=ON -DDIKKAT_BENCH_TORCH=ON, where libtorch is installed (Debian 13: libtorch-dev, and
libopenblas0-openmp, without which its products are slow): cmake --build DIR --target bench_library_dikkat bench_library_torch
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
import compare_torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDES = ("dikkat", "torch")


def environment(threads):
    """The environment of both sides: compare_torch's, and short spinning. Threads that spin for long make steps slow while another process uses
    a core; dikkat's side shortens that for itself."""
    env = compare_torch.environment(threads) | {"OPENBLAS_NUM_THREADS": str(threads)}
    env.setdefault("GOMP_SPINCOUNT", "1000")
    return env


def times_of(side, threads, args):
    """The lines that one process prints, by the name of the program."""
    command = [str(args.build / "bench" / f"bench_library_{side}"), "--threads", str(threads), "--seconds", str(args.seconds)]
    if args.only:
        command += ["--only", args.only]
    run = subprocess.run(command, env=environment(threads), capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"library.py: {command[0]} ended with exit code {run.returncode}: {run.stderr.strip()}")
    return {line["name"]: line for line in map(json.loads, run.stdout.splitlines())}


def check_equal(name, ours, theirs):
    """Both have computed the same numbers, up to rounding."""
    for mine, other in zip(ours["digests"], theirs["digests"], strict=True):
        if abs(mine - other) > 2e-3 * max(1, abs(mine), abs(other)):
            sys.exit(f"library.py: {name}: dikkat's results are {ours['digests']}, libtorch's {theirs['digests']}, expected the same")


def compare(threads, args):
    """A row for each program: name, least times, median times and ratios."""
    rounds = []
    for number in range(args.rounds):
        print(f"{threads} threads, round {number + 1} of {args.rounds}", file=sys.stderr)
        rounds.append({side: times_of(side, threads, args) for side in SIDES})
    rows = []
    for name in rounds[0]["dikkat"]:
        check_equal(name, rounds[0]["dikkat"][name], rounds[0]["torch"][name])
        row = {"name": name, "threads": threads}
        for side in SIDES:
            row[f"{side}_us_min"] = min(r[side][name]["us_min"] for r in rounds)
            row[f"{side}_us_median"] = statistics.median(r[side][name]["us_median"] for r in rounds)
            row[f"{side}_cpu_us_min"] = min(r[side][name]["cpu_us_min"] for r in rounds)
        least = "cpu_us_min" if args.cpu else "us_min"
        row["ratio"] = row[f"torch_{least}"] / row[f"dikkat_{least}"]
        row["ratio_of_medians"] = row["torch_us_median"] / row["dikkat_us_median"]
        rows.append(row)
    return rows


def print_table(threads, rows, args):
    least = "cpu_us_min" if args.cpu else "us_min"
    print(f"\n{threads} thread{'s' if threads > 1 else ''}      microseconds, least{' of the processor' if args.cpu else ''} (median)")
    print(f"{'program':16} {'dikkat':>20} {'libtorch':>20} {'ratio':>7} {'of medians':>11}")
    for row in rows:
        cells = [f"{row[f'{side}_{least}']:.2f} ({row[f'{side}_us_median']:.2f})" for side in SIDES]
        print(f"{row['name']:16} {cells[0]:>20} {cells[1]:>20} {row['ratio']:7.2f} {row['ratio_of_medians']:11.2f}")
    ratios = [row["ratio"] for row in rows if row["name"] != "recording"]
    if ratios:
        print(f"median ratio {statistics.median(ratios):.2f}, least {min(ratios):.2f}, below 1: {sum(r < 1 for r in ratios)} of {len(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "dev", help="build folder")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads")
    parser.add_argument("--rounds", type=int, default=5, help="times that both programs run")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each program in a round")
    parser.add_argument("--cpu", action="store_true", help="compare least times of the processor, for one thread on a machine that is busy")
    parser.add_argument("--only", help="the name of one program")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args()
    every = []
    for threads in args.threads:
        rows = compare(threads, args)
        every += rows
        if not args.json:
            print_table(threads, rows, args)
    if args.json:
        print(json.dumps(every, indent=1))


if __name__ == "__main__":
    main()
