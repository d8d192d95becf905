#!/usr/bin/env python3
"""Times ranks under mpirun: beside one process of as many threads, or in a network of a given rate.

    python3 bench/ranks.py [--ranks R ...] [--threads N] [--steps N] [--rounds R] [--config FILE] [--set KEY=VALUE ...] [--json]
    python3 bench/ranks.py --network 1 --network 10 [--scaling weak strong] ...

By default GPT-2 124M with 4 x 64 tokens in a micro-batch and 8 micro-batches in a step. Times are from metrics.jsonl, medians without the first step.

Without --network each round runs one process, then R ranks, on this machine. A ratio is the ranks' tokens per second divided by the one process's in
the same round.

With --network (root only) each rank runs in its own network namespace, whose link carries the given Gbit/s in each direction, so ranks
communicate over TCP at that rate (bench/namespaces.py). Strong scaling shares a step's micro-batches among the ranks; weak scaling gives each rank
as many as one process has. The step of one process is measured in the same round, while R - 1 others run the same step on this machine, because the
R ranks share its memory here, and also its cores if there are fewer cores than threads. Bytes are the counters of the links, from the end of
the first step to the end of the last but one.

The column "others" is the largest share of the processors' time that other processes had meanwhile.

Ranks of more threads than the machine has cores take turns. Then exchange and computing get in each other's way, which does not happen on separate
machines: use a small model, or fewer ranks.

Needs the program with its plugin, and mpirun; iproute2 with --network.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib

sys.dont_write_bytecode = True
from compare_llama import processor_seconds  # noqa: E402
from namespaces import Network, adopt_orphans, end_in_order, environment, mpirun_command, run_jobs, wait_for_orphans  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0))
GPT2 = ["tokenizer.kind=byte", "tokenizer.path=", "model.vocab_size=50257", "model.block_size=64", "train.batch_size=4",
        "train.gradient_accumulation_steps=8"]
QUIET = ["train.async_save=false", "data.val_fraction=0", "train.checkpoint_interval=1000", "train.keep_last=1"]


# Runs of the program.


def settings_of(args, ranks, micro_batches, steps):
    return [*(GPT2 if args.gpt2 else []), *QUIET, *args.set, f"train.lanes={ranks}", f"train.gradient_accumulation_steps={micro_batches}",
            f"train.max_steps={steps}"]


def train_command(args, out, ranks, micro_batches):
    """The command that trains into a folder, whose old contents are removed first."""
    shutil.rmtree(out, ignore_errors=True)
    return [args.program, "train", "--config", args.config, "--corpus", args.corpus, "--out", out, "--quiet", "--set",
            *settings_of(args, ranks, micro_batches, args.steps)]


def with_others(run):
    """Returns the result of `run`, with the share of the processors' time that others had meanwhile. It may include the kernel's network work."""
    before = processor_seconds()
    result = run()
    wait_for_orphans()
    after = processor_seconds()
    passed = (sum(after[0]) - sum(before[0])) / os.sysconf("SC_CLK_TCK")
    return result | {"others": ((after[1] - before[1]) - (after[2] - before[2])) / passed}


def read_steps(run):
    """The steps whose lines are complete."""
    path = run / "metrics.jsonl"
    text = path.read_text() if path.exists() else ""
    return [line for line in map(json.loads, text[:text.rfind("\n") + 1].splitlines()) if line["event"] == "step"]


def run_in_network(commands, env, run, network, steps):
    """Runs all at once. Returns the bytes that each host sent in a step, or None if steps were too short. The last step does not count: a save follows."""
    seen = []  # (steps, bytes that each host has sent)

    def look():
        number = len(read_steps(run))
        if (seen[-1][0] if seen else 0) < number < steps:
            seen.append((number, network.sent()))

    run_jobs(commands, env, ROOT, look)
    if len(seen) < 2:
        return None
    (first, before), (last, after) = seen[0], seen[-1]
    return [(end - begin) / (last - first) for begin, end in zip(before, after)]


def figures_of(run):
    """Medians of all steps but the first."""
    steps = read_steps(run)[1:]
    return {key: statistics.median(step[key] for step in steps)
            for key in ("ms", "tokens_per_s", "tokens", "exchange_ms", "exchange_wait_ms") if key in steps[0]}


def parameters_of(run):
    return json.loads((run / "metrics.jsonl").read_text().splitlines()[0])["parameters"]


def alone(args, threads, ranks, folder):
    """One process does the whole step."""
    out = folder / "alone"
    run_jobs([train_command(args, out, ranks, args.micro_batches)], environment(threads), ROOT)
    return figures_of(out)


def together(args, ranks, micro_batches, folder, network=None):
    out = folder / "ranks"
    command = mpirun_command(args.mpirun, ranks, train_command(args, out, ranks, micro_batches), network)
    if network is None:
        run_jobs([command], environment(args.threads), ROOT)
        return figures_of(out)
    sent = run_in_network([command], environment(args.threads), out, network, args.steps)
    expected = bytes_to_send(parameters_of(out), ranks)
    if sent and max(sent) < 0.9 * expected:
        sys.exit(f"a rank sent {max(sent):,.0f} bytes in a step through the network, expected {expected:,.0f}: its MPI has found another way, such as "
                 "shared memory")
    return figures_of(out) | {"sent": sent and max(sent)}


def beside_each_other(args, ranks, folder):
    """Runs as many processes at once as there will be ranks, each of which does the whole step. Returns medians of all, and the number of parameters."""
    outs = [folder / f"copy{number}" for number in range(ranks)]
    run_jobs([train_command(args, out, ranks, args.micro_batches) for out in outs], environment(args.threads), ROOT)
    copies = [figures_of(out) for out in outs]
    return {key: statistics.median(copy[key] for copy in copies) for key in copies[0]} | {"parameters": parameters_of(outs[0])}


# Figures that are computed from the runs.


def bytes_to_send(parameters, ranks):
    return 2 * 4 * parameters * (ranks - 1) / ranks


# The two comparisons.


def say(text):
    print(text, file=sys.stderr, flush=True)


def others_said(measured):
    return f"; others had {measured['others']:.0%} of the processors"


def local_round(args, ranks, folder):
    one = with_others(lambda: alone(args, min(CORES, ranks * args.threads), ranks, folder))
    several = with_others(lambda: together(args, ranks, args.micro_batches, folder))
    row = {"ranks": ranks, "alone": one, "together": several, "ratio": several["tokens_per_s"] / one["tokens_per_s"],
           "others": max(one["others"], several["others"])}
    say(f"{ranks} ranks: {several['ms']:.0f} ms, one process: {one['ms']:.0f} ms, ratio {row['ratio']:.3f}{others_said(row)}")
    return [row]


def network_round(args, ranks, folder):
    rows = []
    for gigabits in args.network:
        one = with_others(lambda: beside_each_other(args, ranks, folder))
        say(f"1 process beside {ranks - 1} more: {one['ms']:.0f} ms{others_said(one)}")
        for scaling in args.scaling:
            micro_batches = args.micro_batches * (ranks if scaling == "weak" else 1)
            with Network(ranks, gigabits) as network:
                plain = min(network.throughput())
                several = with_others(lambda: together(args, ranks, micro_batches, folder, network))
            row = {"ranks": ranks, "gigabits": gigabits, "scaling": scaling, "micro_batches": micro_batches, "plain_tcp_gigabits": plain, "alone": one,
                   "together": several}
            row["efficiency"] = several["tokens_per_s"] / ranks / one["tokens_per_s"]
            row["others"] = max(one["others"], several["others"])
            row["bytes_to_send"] = bytes_to_send(one["parameters"], ranks)
            rows.append(row)
            say(f"{ranks} ranks, {gigabits:g} Gbit/s (plain TCP {plain:.2f}), {scaling}: {several['ms']:.0f} ms{others_said(several)}")
    return rows


def cell(values, form, scale=1):
    values = [scale * value for value in values if value is not None]
    if not values:
        return "-"
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}} to {max(values):{form}})"


def column(rows, *keys):
    for key in keys:
        rows = [row.get(key) if row else None for row in rows]
    return rows


def others_cell(rows):
    return f"{100 * max(column(rows, 'others')):.0f}"


def print_table(head, lines):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")


def print_local(rows, args):
    lines = []
    for ranks in args.ranks:
        of = [row for row in rows if row["ranks"] == ranks]
        lines.append([f"{ranks} of {args.threads} threads", cell(column(of, "alone", "ms"), ",.0f"), cell(column(of, "together", "ms"), ",.0f"),
                      cell(column(of, "together", "exchange_ms"), ",.0f"), cell(column(of, "together", "exchange_wait_ms"), ",.0f"),
                      cell(column(of, "alone", "tokens_per_s"), ",.0f"), cell(column(of, "together", "tokens_per_s"), ",.0f"), cell(column(of, "ratio"), ".3f"),
                      others_cell(of)])
    print_table(["ranks", "one process, ms", "ranks, ms", "exchange, ms", "waited for, ms", "one process, tokens/s", "ranks, tokens/s", "ratio", "others, %"],
                lines)


def print_network(rows, args):
    lines = []
    for ranks in args.ranks:
        of = [row for row in rows if row["ranks"] == ranks]
        lines.append([f"1, beside {ranks - 1} more", "", "", str(args.micro_batches), cell(column(of, "alone", "ms"), ",.0f"), *[""] * 3, "1", ""])
        for gigabits in args.network:
            for scaling in args.scaling:
                of = [row for row in rows if (row["ranks"], row["gigabits"], row["scaling"]) == (ranks, gigabits, scaling)]
                lines.append([str(ranks), f"{gigabits:g}", scaling, str(of[0]["micro_batches"]), cell(column(of, "together", "ms"), ",.0f"),
                              cell(column(of, "together", "exchange_ms"), ",.0f"), cell(column(of, "together", "exchange_wait_ms"), ",.0f"),
                              f"{cell(column(of, 'together', 'sent'), ',.1f', 1e-6)}; {of[0]['bytes_to_send'] / 1e6:,.1f}",
                              cell(column(of, "efficiency"), ".2f"), others_cell(of)])
    print_table(["ranks", "Gbit/s", "scaling", "micro-batches", "ms", "exchange, ms", "waited for, ms", "MB sent; computed", "efficiency",
                 "others, %"], lines)


def positive(text):
    value = float(text) if "." in text else int(text)
    if value <= 0:
        raise ValueError
    return value


def add_arguments(parser):
    """Adds the arguments of this script and of compare_ddp.py."""
    parser.add_argument("--threads", type=positive, help="of a rank (default: the cores, divided by the greatest --ranks)")
    parser.add_argument("--network", type=positive, action="append", help="Gbit/s in each direction; several times for several rates")
    parser.add_argument("--config", help="configuration instead of GPT-2's")
    parser.add_argument("--corpus", type=lambda text: pathlib.Path(text).resolve(), default=ROOT / "data/tales.txt")
    parser.add_argument("--set", nargs="+", action="extend", default=[], help="section.key=value: overrides the configuration")
    parser.add_argument("--steps", type=int, default=5, help="of a run, the first of which does not count (default: 5)")
    parser.add_argument("--rounds", type=positive, default=3, help="(default: 3)")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/dev/dikkat")
    parser.add_argument("--mpirun", default="mpirun", help="Open MPI's, or MPICH's (default: mpirun)")
    parser.add_argument("--json", action="store_true", help="one object with every round instead of the table")


def complete(args, parser):
    """Sets values that follow from the arguments; wrong arguments end the script."""
    if args.steps < 2 or min(args.ranks) < 2:
        parser.error("--steps and --ranks are 2 or more")
    args.threads = args.threads or max(1, CORES // max(args.ranks))
    args.gpt2, args.config = args.config is None, str(pathlib.Path(args.config or ROOT / "configs/gpt2-124m.toml").resolve())
    args.program = args.program.resolve()
    args.micro_batches = micro_batches_of(args)
    for ranks in args.ranks:
        if args.micro_batches % ranks:
            parser.error(f"{ranks} ranks cannot share {args.micro_batches} micro-batches: --set train.gradient_accumulation_steps={ranks}, or a "
                         "multiple")
    for ranks in args.ranks:
        if ranks * args.threads > CORES:
            say(f"{ranks} ranks of {args.threads} threads share {CORES} cores and take turns; so does what they are compared with")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2], help="2, 4 ... (default: 2)")
    parser.add_argument("--scaling", choices=("weak", "strong"), nargs="+", default=["weak", "strong"], help="with --network (default: both)")
    add_arguments(parser)
    args = parser.parse_args()
    complete(args, parser)
    return args


def micro_batches_of(args):
    """The micro-batches of one process in a step."""
    value = tomllib.loads(pathlib.Path(args.config).read_text()).get("train", {}).get("gradient_accumulation_steps", 1)
    for setting in (*(GPT2 if args.gpt2 else []), *args.set):
        key, _, text = setting.partition("=")
        value = int(text) if key == "train.gradient_accumulation_steps" else value
    return value


def main(args):
    end_in_order()
    adopt_orphans()
    rows = []
    for number in range(1, args.rounds + 1):
        say(f"round {number} of {args.rounds}")
        for ranks in args.ranks:
            with tempfile.TemporaryDirectory() as folder:
                rows += [row | {"round": number} for row in (network_round if args.network else local_round)(args, ranks, pathlib.Path(folder))]
    if args.json:
        print(json.dumps({"config": args.config, "set": args.set, "threads": args.threads, "cores": CORES, "steps": args.steps, "rows": rows}))
    else:
        (print_network if args.network else print_local)(rows, args)


if __name__ == "__main__":
    try:
        main(parse())
    except KeyboardInterrupt:
        sys.exit(130)
