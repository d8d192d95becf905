#!/usr/bin/env python3
"""How long do steps take on a busy machine, depending on how long idle threads spin before they sleep (GOMP_SPINCOUNT)?

    bench/busy.py [--config FILE] [--set KEY=VALUE ...] [--steps N] [--spins N,N,...]

For each spin count, runs bench_step with nothing else, beside a process that keeps one core busy, and twice at the same time. Prints the median step in
milliseconds as a Markdown table. The row "1 thread" shows the limit of one core. Needs only Python, and the programs in build/dev.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def start(args, spins, threads=None):
    env = os.environ | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    if spins is not None:
        env["GOMP_SPINCOUNT"] = str(spins)
    command = [args.build + "/bench/bench_step", "--config", args.config, "--steps", str(args.steps), "--warmup", "5", "--json"]
    for assignment in args.set:
        command += ["--set", assignment]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def median_ms(processes):
    outputs = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("busy: bench_step failed")
    return statistics.mean(json.loads(output)["ms_median"] for output in outputs)


def beside_a_loop(args, spins):
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return median_ms([start(args, spins)])
    finally:
        loop.kill()
        loop.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default=str(ROOT / "configs" / "shakespeare-char.toml"))
    parser.add_argument("--set", action="append", default=[], help="section.key=value: overrides the configuration file")
    parser.add_argument("--steps", type=int, default=200, help="timed steps of each run (default: %(default)s)")
    parser.add_argument("--spins", default="0,100,1000,10000,300000", help="spin counts; libgomp's default is 300,000 (default: %(default)s)")
    parser.add_argument("--build", default=str(ROOT / "build" / "dev"))
    args = parser.parse_args()
    print("| spins | alone, ms | beside a busy process | two at once |\n|---|---|---|---|")
    print(f"| 1 thread | {median_ms([start(args, None, 1)]):.1f} | | |", flush=True)
    for spins in (int(text) for text in args.spins.split(",")):
        alone = median_ms([start(args, spins)])
        beside = beside_a_loop(args, spins)
        two = median_ms([start(args, spins), start(args, spins)])
        print(f"| {spins:,} | {alone:.1f} | {beside:.1f} | {two:.1f} |", flush=True)


if __name__ == "__main__":
    main()
