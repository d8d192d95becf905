"""Training runs, started by bench/ablation.py and bench/recipes.py. Needs only Python 3.11 and the program."""

import json
import math
import pathlib
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Run:
    lines: list[dict]  # of metrics.jsonl
    seconds: float     # of the whole process, from outside

    def steps(self, after=0):
        return [line for line in self.lines if line["event"] == "step" and line["step"] > after]

    def last_loss(self):
        return next(line["val_loss"] for line in reversed(self.lines) if line["event"] == "eval")


class Results:
    """Results by name, in a JSON file that is written after each measurement: an interrupted experiment continues from there."""

    def __init__(self, path):
        self.path = path
        self.values = json.loads(path.read_text()) if path.exists() else {}

    def put(self, key, value):
        self.values[key] = value
        self.path.write_text(json.dumps(self.values, indent=1, sort_keys=True) + "\n")


def add_arguments(parser, out):
    parser.add_argument("--out", type=pathlib.Path, default=out, help="where runs and results are kept; results that are there are not measured again")
    parser.add_argument("--program", default="build/release/dikkat")


def train(program, config, corpus, folder, settings):
    """Trains into a folder, whose old contents are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [program, "train", "--config", config, "--out", folder]
    command += ["--corpus", *corpus] if corpus else []
    command += ["--set", *settings] if settings else []
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise SystemExit(f"dikkat ended with {done.returncode}: {done.stderr.splitlines()[-1]}\n  {' '.join(map(str, command))}")
    return Run([json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()], seconds)


def of_length(steps, warmup):
    """Settings of a run of `steps` steps, whose schedule ends with it and which measures the whole validation split there."""
    return [f"train.max_steps={steps}", f"optim.decay_steps={steps}", f"optim.warmup_steps={round(warmup * steps)}", f"train.eval_interval={steps}",
            "train.eval_tokens=0"]


def mean_and_error(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
