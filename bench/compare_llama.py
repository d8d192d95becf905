#!/usr/bin/env python3
"""Times dikkat against llama.cpp on this machine: the same model, weights and threads, in turn, in one call.

    bench/compare_llama.py [--model NAME ...] [--weights TYPE ...] [--threads N] [--rounds R] [--json]

A row of the table is a model and a type of weights. It has tokens per second of generation (one sequence, greedy on llama.cpp's side, after a prompt
of 16 tokens) and of reading a prompt of 512 tokens. Each round runs our program and then llama.cpp, each in its own process, which warms
up first. The table shows median, minimum and maximum over the rounds; a ratio is our rate divided by llama.cpp's in the same round, so
above 1 we are faster. Messages go to stderr, the table or JSON to stdout.

The models have random weights and the shapes of configs/. They are made once, with our program, in build/llama: one step of training,
exported as GGUF in each type. Both sides read the GGUF of that type; where our program cannot keep weights in a type
(bench_sample --weights), its row has only llama.cpp's figures.

llama.cpp is the one in npm's node-llama-cpp, which scripts/clients.sh installs in build/clients, on its CPU backend. It is compared at its
best: before the first round it runs with and without flash attention, and each figure is taken with the faster setting. Its keys and values
are f16, its default. Its times are taken around llama_decode() only (bench/llama_speed.mjs): choosing the token is part of our time but
not of llama.cpp's. The JSON has llama.cpp's own counters of the same work beside them. Node's pool of threads has one thread here: with its
usual four, the threads of llama.cpp are moved between processors all the time, which makes it much slower.

Other work on the machine spoils the figures, most of all those of llama.cpp, whose threads spin while they wait for one another. A round in which other
processes had more than --others of the processors' time is run again, a few times, and then marked.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = {"smollm2-135m": [], "gpt2-124m": ["model.vocab_size=50257"]}  # of configs/, with the keys that they leave open
WEIGHTS = {"f32": "f32", "f16": "bf16", "bf16": "bf16", "q8_0": "q8", "q4_0": "q4"}  # type in GGUF: bench_sample --weights
START, PROMPT = 16, 512
FIGURES = ("generation", "prompt")
ATTEMPTS = 5


class Problem(Exception):
    pass


def output_of(command, env=None):
    """Runs one process and returns its output."""
    try:
        run = subprocess.run(command, env=env, capture_output=True, text=True)
    except OSError as error:
        raise Problem(f"{command[0]} cannot be run: {error.strerror}")
    if run.returncode != 0:
        words = run.stderr.strip().splitlines()
        raise Problem(f"{pathlib.Path(command[0]).name} ended with exit code {run.returncode}: {words[-1] if words else 'it said nothing'}")
    return run.stdout


# The models.


def gguf_file(model, weights, args):
    """The path of a model's GGUF file of this type, which is made if it does not exist."""
    folder = pathlib.Path(args.work)
    file = folder / f"{model}-{weights}.gguf"
    if file.exists():
        return file
    program = str(pathlib.Path(args.build) / "dikkat")
    run = folder / model
    if not run.exists():
        print(f"making {model} in {folder}", file=sys.stderr)
        unfinished = folder / f"{model}.partial"
        shutil.rmtree(unfinished, ignore_errors=True)
        keys = ["tokenizer.vocab_size=600", "model.block_size=1024", "train.max_steps=1", "train.batch_size=1",
                "train.gradient_accumulation_steps=1", "train.eval_tokens=1024", *MODELS[model]]
        output_of([program, "train", "--config", str(ROOT / "configs" / f"{model}.toml"), "--corpus", str(ROOT / "data" / "tales.txt"),
                   "--out", str(unfinished), "--quiet", "--threads", str(args.threads), "--set", *keys])
        unfinished.rename(run)
    output_of([program, "export", str(run), "--out", str(file), "--dtype", weights])
    return file


# Both sides run in turn.


def ours(file, weights, args):
    program = str(pathlib.Path(args.build) / "bench" / "bench_sample")
    command = [program, "--model", str(file), "--samples", "1", "--prompts", f"{START},{PROMPT}", "--tokens", str(args.tokens), "--json"]
    if "--weights" in output_of([program, "--help"]):
        command += ["--weights", WEIGHTS[weights]]
    elif weights != "f32":
        return None
    result = json.loads(output_of(command, os.environ | {"OMP_NUM_THREADS": str(args.threads)}))
    if result["threads"] != args.threads:
        raise Problem(f"bench_sample ran on {result['threads']} threads, expected {args.threads}")
    of_prompt = {case["prompt"]: case for case in result["cases"]}
    return {"generation": of_prompt[START]["tokens_per_s"], "prompt": of_prompt[PROMPT]["prompt_tokens_per_s"], "result": result}


def llama(file, flash_attention, args):
    options = {"threads": args.threads, "prompt": PROMPT, "start": START, "tokens": args.tokens, "flash_attention": flash_attention}
    command = [args.node, str(ROOT / "bench" / "llama_speed.mjs"), str(pathlib.Path(args.clients) / "node_modules"), str(file),
               json.dumps(options)]
    result = json.loads(output_of(command, os.environ | {"UV_THREADPOOL_SIZE": "1"}))
    if result["threads"] != args.threads:
        raise Problem(f"llama.cpp ran on {result['threads']} threads, expected {args.threads}")
    return {"generation": 1e3 / statistics.median(result["decode_ms"]), "prompt": 1e3 * PROMPT / result["prompt_ms"], "result": result}


def processor_seconds():
    """Seconds that all processors of the machine have worked, and those of our own ended processes."""
    ticks = [int(text) for text in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    own = os.times()
    return ticks, (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), sum(own[:4])


def undisturbed(run, args):
    """Returns the result of `run`, with the share of the processors' time that others had ("others")."""
    for attempt in range(ATTEMPTS):
        before = processor_seconds()
        result = run()
        after = processor_seconds()
        if result is None:
            return None
        passed = sum(after[0]) - sum(before[0])
        others = ((after[1] - before[1]) - (after[2] - before[2])) * os.sysconf("SC_CLK_TCK") / max(passed, 1)
        result["others"] = others
        if others <= args.others:
            break
        print(f"others had {100 * others:.0f} % of the processors' time", file=sys.stderr)
    return result


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def compare(model, weights, args):
    file = gguf_file(model, weights, args)
    trials = {flash: undisturbed(lambda: llama(file, flash, args), args) for flash in (False, True)}
    best = {figure: max(trials, key=lambda flash: trials[flash][figure]) for figure in FIGURES}
    rounds = []
    for number in range(1, args.rounds + 1):
        own = undisturbed(lambda: ours(file, weights, args), args)
        theirs = {flash: undisturbed(lambda: llama(file, flash, args), args) for flash in sorted(set(best.values()))}
        rounds.append({"ours": own, "llama": {figure: theirs[best[figure]][figure] for figure in FIGURES}, "runs": list(theirs.values()),
                       "others": max(r["others"] for r in [*theirs.values(), *([own] if own else [])])})
        said = "; ".join(f"{figure} {'' if own is None else f'ours {own[figure]:.1f}, '}llama.cpp {rounds[-1]['llama'][figure]:.1f} tokens/s"
                         for figure in FIGURES)
        print(f"{model} {weights}, round {number} of {args.rounds}: {said}", file=sys.stderr)
    row = {"model": model, "weights": weights, "flash_attention": best, "others": max(r["others"] for r in rounds), "rounds": rounds}
    for figure in FIGURES:
        row[figure] = {"llama": spread([r["llama"][figure] for r in rounds])}
        if all(r["ours"] for r in rounds):
            row[figure]["ours"] = spread([r["ours"][figure] for r in rounds])
            row[figure]["ratio"] = spread([r["ours"][figure] / r["llama"][figure] for r in rounds])
    return row


def print_table(rows, args):
    def cell(values, digits):
        return "-" if values is None else f"{values['median']:.{digits}f} ({values['min']:.{digits}f} - {values['max']:.{digits}f})"

    table = [("model", "weights", "generation: ours", "llama.cpp", "ratio", f"prompt of {PROMPT}: ours", "llama.cpp", "ratio",
              "flash attention", "")]
    for row in rows:
        cells = [cell(row[figure].get(side), 2 if side == "ratio" else 1) for figure in FIGURES for side in ("ours", "llama", "ratio")]
        flash = ", ".join("on" if row["flash_attention"][figure] else "off" for figure in FIGURES)
        table.append((row["model"], row["weights"], *cells, flash,
                      f"others had {100 * row['others']:.0f} %" if row["others"] > args.others else ""))
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, nargs="+", default=list(MODELS), help="only these (default: all)")
    parser.add_argument("--weights", choices=WEIGHTS, nargs="+", default=list(WEIGHTS), help="only these types of GGUF (default: all)")
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)), help="threads of both programs (default: all, %(default)s here)")
    parser.add_argument("--rounds", type=positive, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--tokens", type=positive, default=64, help="timed tokens of generation (default: %(default)s)")
    parser.add_argument("--others", type=float, default=0.05, help="largest share of the processors' time that others may have (default: %(default)s)")
    parser.add_argument("--build", default=str(ROOT / "build" / "dev"), help="build folder with our programs (default: %(default)s)")
    parser.add_argument("--work", default=str(ROOT / "build" / "llama"), help="folder of the models (default: %(default)s)")
    parser.add_argument("--clients", default=str(ROOT / "build" / "clients"), help="folder that scripts/clients.sh made (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every round")
    return parser.parse_args()


def main(args):
    for name in ("dikkat", "bench/bench_sample"):  # missing programs are reported before anything runs
        if not os.access(pathlib.Path(args.build) / name, os.X_OK):
            raise Problem(f"there is no program {args.build}/{name}: build it with cmake --preset dev && cmake --build --preset dev --target "
                          f"{pathlib.Path(name).name}, or say with --build where it is")
    modules = pathlib.Path(args.clients) / "node_modules"
    if not (modules / "@node-llama-cpp" / "linux-x64").exists():
        raise Problem(f"there is no llama.cpp in {modules}: scripts/clients.sh installs it, or say with --clients where it is")
    own_node = modules / ".bin" / "node"  # if the system's is too old
    args.node = str(own_node) if own_node.exists() else "node"
    pathlib.Path(args.work).mkdir(parents=True, exist_ok=True)
    rows = [compare(model, weights, args) for model in args.model for weights in args.weights]
    about = rows[0]["rounds"][0]["runs"][0]["result"]
    if args.json:
        print(json.dumps({"threads": args.threads, "llama.cpp": about["build"], "system": about["system"], "rows": rows}))
    else:
        print(f"tokens/s on {args.threads} threads, {args.rounds} rounds; llama.cpp {about['build']}: {about['system']}")
        print_table(rows, args)


if __name__ == "__main__":
    try:
        main(parse())
    except Problem as problem:
        print(f"compare_llama: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
