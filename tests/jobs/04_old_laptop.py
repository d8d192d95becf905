"""A learner's first GPT on an old laptop, an i5-3320M of 2012 without AVX2: given a text, ends in a model of some 45 thousand parameters that has learned
from it. Here the laptop is an emulated Ivy Bridge that runs the program which scripts/old-processors.sh builds for it."""
import json
import pathlib
import re
import shutil

from job import DATA, ROOT, dikkat, main

EMULATOR, PROGRAM = shutil.which("qemu-x86_64"), ROOT / "build/ivybridge/dikkat"
UNTRAINED = 5.95  # nats: the logarithm of the number of tokens


def given():
    shutil.copy(DATA / "tales.txt", "my-text.txt")
    if EMULATOR and PROGRAM.exists():
        command = pathlib.Path("bin/dikkat")
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nGOMP_SPINCOUNT=1000 exec {EMULATOR} -cpu IvyBridge {PROGRAM} "$@"\n')  # else it starts itself once more
        command.chmod(0o755)


def figure(least_parameters, least_nats):
    version = pathlib.Path("commands.txt").read_text()
    lines = [json.loads(line) for line in pathlib.Path("runs/first/metrics.jsonl").read_text().splitlines()]
    header = lines[0]
    evaluations = [line for line in lines if line["event"] == "eval"]
    first, last = next(line["loss"] for line in lines if line["event"] == "step"), evaluations[-1]["val_loss"]
    assert lines[-1]["event"] == "finish" and abs(first - UNTRAINED) < 0.3, f"found a first loss of {first}, expected about {UNTRAINED}"
    assert max(line["memory"] for line in evaluations) < 1 << 30, f"found more than 1 GiB of memory: {evaluations}"
    likeliest = ["--prompt", "The harbour", "--temperature", 0, "--max-new-tokens", 60]
    assert dikkat("sample", "runs/first", *likeliest) == dikkat("sample", "first.gguf", *likeliest), "the exported model writes another text"
    chosen = re.search(r"^instructions (.*)$", version, re.MULTILINE).group(1)
    where = f"an emulated Ivy Bridge, {chosen}" if EMULATOR and PROGRAM.exists() else f"this processor, {chosen}"
    assert not where.startswith("an emulated") or chosen == "SSE4.2", f"found the kernels for {chosen} on a processor without AVX2"
    words = set(re.findall("[a-z]+", pathlib.Path("my-text.txt").read_text().lower()))
    # A token may be a part of a symbol, so the sample is not always UTF-8.
    written = re.findall("[a-z]{3,}", pathlib.Path("sample.txt").read_text(errors="replace").lower())
    real = sum(word in words for word in written) / len(written)
    return (f"{header['parameters']:,} parameters, loss {first:.2f} to {last:.2f}, {100 * real:.0f} % of the sample's words are real; {where}",
            header["parameters"] >= least_parameters and first - last >= least_nats)


main(given, figure)
