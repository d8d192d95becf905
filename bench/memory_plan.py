#!/usr/bin/env python3
"""Compares the memory that `dikkat plan` predicts with the peak resident set (VmHWM) of a training run with saves and an evaluation.

  python3 bench/memory_plan.py --program build/dev/dikkat [--only tales-char]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

TEXT = ["--corpus", "data/tales.txt"]


def settings(*keys):
    return [word for key in keys for word in ("--set", key)]


CHARACTERS = ["--config", "configs/tales-char.toml"]
GPT2 = ["--config", "configs/gpt2-124m.toml", *TEXT, *settings("train.eval_tokens=2048")]
CASES = {
    "tales-char": (CHARACTERS, 6),
    "tales-char, byte": (CHARACTERS + settings("tokenizer.kind=byte"), 6),
    "tales-char, bpe of 4096": (CHARACTERS + settings("tokenizer.kind=bpe", "tokenizer.vocab_size=4096"), 6),
    "tales-char, accumulation of 4": (CHARACTERS + settings("train.gradient_accumulation_steps=4"), 6),
    "tales-char, recompute = block": (CHARACTERS + settings("train.recompute=block"), 6),
    "tales-char, async_save = false": (CHARACTERS + settings("train.async_save=false"), 6),
    "shakespeare-char": (["--config", "configs/shakespeare-char.toml", *TEXT], 6),
    "encoder-decoder-tiny": (["--config", "configs/encoder-decoder-tiny.toml"], 6),
    "GPT-2 124M, 4 x 64": (GPT2 + settings("model.block_size=64", "train.batch_size=4", "train.gradient_accumulation_steps=1"), 3),
    "GPT-2 124M, 1 x 256": (GPT2 + settings("model.block_size=256", "train.batch_size=1", "train.gradient_accumulation_steps=1"), 3),
    "GPT-2 124M, 2 x 1 x 256, block, async_save = false": (
        GPT2 + settings("model.block_size=256", "train.batch_size=1", "train.gradient_accumulation_steps=2", "train.recompute=block",
                        "train.async_save=false"), 2),
}


def measured(program, arguments, folder):
    process = subprocess.Popen([program, "train", *arguments, "--out", os.path.join(folder, "run")], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(told)
    return usage.ru_maxrss * 1024


def planned(program, arguments):
    return json.loads(subprocess.run([program, "plan", *arguments, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)["peak"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/dikkat")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    print("| configuration | planned | measured | |\n|---|---|---|---|")
    for name, (arguments, steps) in CASES.items():
        if options.only not in name:
            continue
        whole = arguments + settings(f"train.max_steps={steps}", f"train.eval_interval={steps - 1}", "train.checkpoint_interval=2")
        with tempfile.TemporaryDirectory() as folder:
            plan, peak = planned(options.program, whole), measured(options.program, whole, folder)
        print(f"| {name} | {plan / 1e6:.1f} MB | {peak / 1e6:.1f} MB | {100 * (plan / peak - 1):+.1f} % |", flush=True)


if __name__ == "__main__":
    main()
