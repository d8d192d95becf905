#!/usr/bin/env python3
"""Times dikkat against PyTorch on this machine: the same model, batch and threads, in turn, in one call.

    /usr/bin/python3 bench/compare_torch.py [--config FILE] [--threads N] [--rounds R] [--json]

Each round runs our program and then PyTorch, each in a process of its own, so that neither's threads disturb the other's. A process
warms up, then times every step by itself and gives the median. The table shows median, least and greatest of the rounds; a ratio
is PyTorch's time over ours in the same round, so above 1 we are faster. Words on the way go to stderr, the table or JSON to stdout.

PyTorch runs nanoGPT's step: eager, attention by explicit matrices (Debian's 1.13 has no scaled_dot_product_attention), tokens drawn
evenly at random, loss, backward, clip_grad_norm_, AdamW with two parameter groups, zero_grad. It is compared at its best: its
OpenBLAS is told the right kind of core (see environment()), and before the first round each of TORCH_SETTINGS is tried and the
fastest is kept.

Needs Python 3.11 (tomllib) and PyTorch, on Debian python3-torch and libopenblas0-pthread; and our program, build/dev/bench/bench_step.
"""

import argparse
import dataclasses
import importlib.util
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Callable

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "golden"))  # torch_gpt.py: the model that the golden tests are made with

# PyTorch's loops run in OpenMP's threads and its products in OpenBLAS's. While one pool works the other one spins, and on as many
# cores as threads they take turns at being in the way: steps of a small model then take two to three times as long.
TORCH_SETTINGS = {
    "as installed": {},
    "OpenMP threads that spin briefly": {"GOMP_SPINCOUNT": "1000"},
    "products on one thread": {"OPENBLAS_NUM_THREADS": "1"},
}


class Problem(Exception):
    """A sentence for the person who reads, and the exit code: 2 for what was given or is not installed, 1 for a failure."""

    def __init__(self, text, code=2):
        super().__init__(text)
        self.code = code


# The configuration, as far as a training step depends on it.


def load_config(path):
    try:
        import tomllib
    except ImportError:
        raise Problem(f"{sys.executable} is Python {sys.version.split()[0]}, which has no tomllib: run this with Python 3.11 or later, "
                      "on Debian /usr/bin/python3")
    try:
        config = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}; --config takes a TOML file such as configs/shakespeare-char.toml")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Problem(f"{path} is not TOML: {error}")
    for section in ("model", "tokenizer", "data", "optim", "train"):
        if not isinstance(config.setdefault(section, {}), dict):
            raise Problem(f"{path}: {section} is {config[section]!r}, expected a section [{section}]")
    return config


def needed(config, section, name):
    if name not in config[section]:
        raise Problem(f"the configuration has no {section}.{name}, and PyTorch's model cannot be built without it: add it to the file")
    return config[section][name]


def vocab_size(config):
    """model.vocab_size, or the tokenizer's: 256 bytes, or the distinct characters of the corpus."""
    if "vocab_size" in config["model"]:
        return config["model"]["vocab_size"]
    if needed(config, "tokenizer", "kind") == "byte":
        return 256
    corpus = config["data"].get("corpus", [])
    characters = set()
    for name in corpus if isinstance(corpus, list) else [corpus]:
        try:
            characters.update((ROOT / str(name)).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise Problem(f"the vocabulary is not known, since the corpus {name} cannot be read ({error}): give --vocab-size")
    if not characters:
        raise Problem("the vocabulary is not known, as the configuration has neither model.vocab_size nor data.corpus: give --vocab-size")
    return len(characters)


def model_shape(config):
    """The arguments of GPTConfig."""
    model = config["model"]
    bias = model.get("bias", True)
    return {
        **{name: needed(config, "model", name) for name in ("n_layer", "n_head", "n_embd", "block_size")},
        "vocab_size": vocab_size(config), "dropout": model.get("dropout", 0.0), "bias": bias, "qkv_bias": model.get("qkv_bias", bias),
        "tie_embeddings": model.get("tie_embeddings", True)}


# PyTorch's side, in a process of its own.


def training_step(config):
    """A closure that runs one whole training step."""
    import torch
    from torch_gpt import GPT, GPTConfig, adamw, mean_loss

    torch.manual_seed(1)
    shape = GPTConfig(**model_shape(config))
    model = GPT(shape)
    model.initialise()
    optim, batch_size = config["optim"], needed(config, "train", "batch_size")
    betas = (optim.get("beta1", 0.9), optim.get("beta2", 0.99))
    optimizer = adamw(model, optim.get("learning_rate", 1e-3), betas, optim.get("weight_decay", 0.1))
    max_norm = optim.get("grad_clip", 1.0)
    micro_batches = config["train"].get("gradient_accumulation_steps", 1)
    batches = itertools.cycle(torch.randint(shape.vocab_size, (8, 2, batch_size, shape.block_size)))

    def step():
        for _ in range(micro_batches):
            inputs, targets = next(batches)
            (mean_loss(model(inputs), targets) / micro_batches).backward()
        if max_norm > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def blas_library():
    """The file that PyTorch's matrix products come from, as the process has it mapped."""
    mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
    return next((path for path in sorted(mapped) if any(name in path for name in ("openblas", "mkl_", "libblas", "blis"))), "unknown")


def torch_worker(work, config, args):
    import torch

    torch.set_num_threads(args.threads)
    step = work.torch(config)
    for _ in range(args.warmup):
        step()
    milliseconds = []
    for _ in range(args.steps):
        start = time.perf_counter()
        step()
        milliseconds.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({
        "threads": torch.get_num_threads(), "steps": args.steps, "ms_median": statistics.median(milliseconds),
        "ms_min": min(milliseconds), "ms_max": max(milliseconds), "torch": torch.__version__, "blas": blas_library()}))


# The works: a row of the table each.


@dataclasses.dataclass(frozen=True)
class Work:
    title: str
    ours: Callable  # args -> the command; it prints one JSON object with threads, ms_median, ms_min, ms_max
    torch: Callable  # config -> a closure that does the work once


def step_command(args):
    return [args.ours, "--config", args.config, "--steps", str(args.steps), "--warmup", str(args.warmup), "--json"]


WORKS = {"step": Work("training step", step_command, training_step)}


# Running them in turn.


def environment(threads):
    """The same for both sides. Debian's OpenBLAS takes newer processors for old ones and runs at a fifth of their speed."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        env.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
    return env


def timed(command, env, threads):
    """Runs one process; the JSON object that it printed."""
    name = pathlib.Path(command[0]).name
    try:
        run = subprocess.run(command, env=env, capture_output=True, text=True)
    except OSError as error:
        raise Problem(f"{command[0]} cannot be run: {error.strerror}")
    if run.returncode != 0:
        words = run.stderr.strip().splitlines()
        raise Problem(f"{name} ended with exit code {run.returncode}: {words[-1] if words else 'it said nothing'}",
                      2 if run.returncode == 2 else 1)
    try:
        result = json.loads(run.stdout)
        times = [float(result[k]) for k in ("ms_median", "ms_min", "ms_max")]
        used = int(result["threads"])
    except (ValueError, KeyError, TypeError):
        raise Problem(f"{name} printed {run.stdout[:200]!r}, expected one JSON object with threads, ms_median, ms_min and ms_max", 1)
    if min(times) <= 0 or used != threads:
        raise Problem(f"{name} ran on {used} threads with a median of {times[0]} ms, expected {threads} threads and a time above 0", 1)
    return result


def torch_command(name, args, steps):
    command = [sys.executable, __file__, "--torch-worker", name, "--config", args.config, "--threads", str(args.threads),
               "--steps", str(steps), "--warmup", str(args.warmup)]
    return command + (["--vocab-size", str(args.vocab_size)] if args.vocab_size else [])


def fastest_setting(name, args, env):
    command = torch_command(name, args, max(3, args.steps // 5))
    trials = {setting: timed(command, env | extra, args.threads)["ms_median"] for setting, extra in TORCH_SETTINGS.items()}
    for setting, ms in trials.items():
        print(f"PyTorch {setting}: {ms:.2f} ms", file=sys.stderr)
    return min(trials, key=trials.get)


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def compare(name, work, args, env):
    setting = fastest_setting(name, args, env)
    rounds = []
    for number in range(1, args.rounds + 1):
        rounds.append({"ours": timed(work.ours(args), env, args.threads),
                       "torch": timed(torch_command(name, args, args.steps), env | TORCH_SETTINGS[setting], args.threads)})
        ours, torch = (rounds[-1][side]["ms_median"] for side in ("ours", "torch"))
        print(f"{work.title}, round {number} of {args.rounds}: ours {ours:.2f} ms, PyTorch {torch:.2f} ms", file=sys.stderr)
    return {
        "work": work.title, "torch_setting": setting,
        "ours_ms": spread([r["ours"]["ms_median"] for r in rounds]),
        "torch_ms": spread([r["torch"]["ms_median"] for r in rounds]),
        "ratio": spread([r["torch"]["ms_median"] / r["ours"]["ms_median"] for r in rounds]), "rounds": rounds}


def print_table(results):
    def cell(values):
        return f"{values['median']:.2f} ({values['min']:.2f} - {values['max']:.2f})"

    rows = [("work", "ours, ms", "PyTorch, ms", "PyTorch / ours", "PyTorch runs")]
    rows += [(r["work"], cell(r["ours_ms"]), cell(r["torch_ms"]), cell(r["ratio"]), r["torch_setting"]) for r in results]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def check_installed(works, args):
    if importlib.util.find_spec("torch") is None:
        raise Problem(f"{sys.executable} has no PyTorch: apt-get install python3-torch libopenblas0-pthread, and run this with "
                      "/usr/bin/python3")
    for work in works:
        program = work.ours(args)[0]
        if not os.path.isfile(program) or not os.access(program, os.X_OK):
            raise Problem(f"there is no program {program}: build it with cmake --preset dev && cmake --build --preset dev --target "
                          f"{pathlib.Path(program).name}, or say with --ours where it is")


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default=str(ROOT / "configs" / "shakespeare-char.toml"),
                        help="model, batch and optimizer (default: %(default)s)")
    parser.add_argument("--work", choices=WORKS, action="append", help="only this work; may be repeated (default: all)")
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)), help="of both (default: all, %(default)s here)")
    parser.add_argument("--rounds", type=positive, default=5, help="how often each is run (default: %(default)s)")
    parser.add_argument("--steps", type=positive, default=50, help="timed in each run (default: %(default)s)")
    parser.add_argument("--warmup", type=positive, default=10, help="steps before those (default: %(default)s)")
    parser.add_argument("--vocab-size", type=positive, help="of PyTorch's model, where the configuration does not tell it")
    parser.add_argument("--ours", default=str(ROOT / "build" / "dev" / "bench" / "bench_step"), help="our program (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every round")
    parser.add_argument("--torch-worker", choices=WORKS, help=argparse.SUPPRESS)
    return parser.parse_args()


def main(args):
    config = load_config(args.config)
    if args.vocab_size:
        config["model"]["vocab_size"] = args.vocab_size
    if args.torch_worker:
        torch_worker(WORKS[args.torch_worker], config, args)
        return
    works = {name: WORKS[name] for name in args.work or WORKS}
    model_shape(config), needed(config, "train", "batch_size")  # what is missing is told before anything runs
    check_installed(works.values(), args)
    env = environment(args.threads)
    results = [compare(name, work, args, env) for name, work in works.items()]
    torch = results[0]["rounds"][0]["torch"]
    if "openblas" not in torch["blas"] and "mkl" not in torch["blas"]:
        print(f"PyTorch's products come from {torch['blas']}, which is slow: apt-get install libopenblas0-pthread", file=sys.stderr)
    if args.json:
        print(json.dumps({"config": args.config, "threads": args.threads, "steps": args.steps, "torch": torch["torch"],
                          "blas": torch["blas"], "openblas_coretype": env.get("OPENBLAS_CORETYPE"), "works": results}))
    else:
        print(f"{args.config}: {args.threads} threads, {args.rounds} rounds of {args.steps} steps; PyTorch {torch['torch']}, "
              f"{torch['blas']}")
        print_table(results)


if __name__ == "__main__":
    try:
        main(parse())
    except Problem as problem:
        print(f"compare_torch: {problem}", file=sys.stderr)
        sys.exit(problem.code)
    except KeyboardInterrupt:
        sys.exit(130)
