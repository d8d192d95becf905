#!/usr/bin/env python3
"""Times ranks of dikkat against PyTorch's DistributedDataParallel over Gloo: the same model, tokens per step and threads, in turn, in one call.

    /usr/bin/python3 bench/compare_ddp.py [--network GBIT ...] [--ranks R] [--threads N] [--steps N] [--rounds R] [--set KEY=VALUE ...] [--json]

By default GPT-2 124M with 4 x 64 tokens in a micro-batch, 8 micro-batches in a step, shared by two ranks. Each round runs dikkat under mpirun and
then PyTorch, first on this machine (PyTorch over loopback; MPI by its default, which is shared memory), and then, for each --network, in network
namespaces whose links carry GBIT Gbit/s in each direction (root only; bench/namespaces.py). Times are medians without the first step. A ratio is
PyTorch's time divided by ours in the same round, so above 1 we are faster.

PyTorch runs nanoGPT's step as bench/compare_torch.py does, in f32, on random tokens. All micro-batches but the last run under no_sync(); the last one's
backward pass exchanges gradients bucket by bucket while it computes; then come clip_grad_norm_, AdamW and zero_grad. Gradients are views of the buckets,
which saves a copy, and no buffers are sent. At the end all ranks must have the same weights.

Needs PyTorch, on Debian python3-torch and libopenblas0-openmp, and what bench/ranks.py needs.
"""

import argparse
import contextlib
import hashlib
import json
import pathlib
import shutil
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import ranks as dikkat  # noqa: E402
from compare_torch import TORCH_SETTINGS, check_installed, environment  # noqa: E402
from namespaces import Network, adopt_orphans, end_in_order, run_jobs  # noqa: E402
from ranks import cell, column, figures_of, others_cell, others_said, print_table, run_in_network, say, with_others  # noqa: E402
from torch_works import ROOT, Problem, load_config, model_shape, needed  # noqa: E402

SETTING = "OpenMP threads that spin briefly"  # of TORCH_SETTINGS; it matters to a rank of several threads


# PyTorch's side, with each rank in its own process.


def torch_worker(args):
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel
    from torch_gpt import GPT, GPTConfig, adamw, mean_loss

    torch.set_num_threads(args.threads)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    config = load_config(args.config, args.set)
    shape, optim = GPTConfig(**model_shape(config)), config["optim"]
    torch.manual_seed(1)
    model = GPT(shape)
    model.initialise()
    # The mask's buffers are equal on all ranks, and Gloo does not send booleans.
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, [name for name, _ in model.named_buffers()])
    model = DistributedDataParallel(model, gradient_as_bucket_view=True, broadcast_buffers=False)
    optimizer = adamw(model, optim["learning_rate"], (optim["beta1"], optim["beta2"]), optim["weight_decay"])
    batch_size, micro_batches = needed(config, "train", "batch_size"), config["train"]["gradient_accumulation_steps"] // ranks
    torch.manual_seed(2 + rank)
    lines = open(args.worker / "metrics.jsonl", "w", buffering=1) if rank == 0 else None
    for number in range(1, args.steps + 1):
        batches = torch.randint(shape.vocab_size, (micro_batches, 2, batch_size, shape.block_size))
        start = time.perf_counter()
        for at, (inputs, targets) in enumerate(batches):
            with contextlib.nullcontext() if at == micro_batches - 1 else model.no_sync():
                (mean_loss(model(inputs), targets) / micro_batches).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), optim["grad_clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - start
        tokens = ranks * batches[:, 0].numel()
        if lines:
            lines.write(json.dumps({"event": "step", "step": number, "ms": 1e3 * seconds, "tokens": tokens, "tokens_per_s": tokens / seconds}) + "\n")
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).digest()
    digests = [torch.zeros(len(digest), dtype=torch.uint8) for _ in range(ranks)]
    distributed.all_gather(digests, torch.tensor(list(digest), dtype=torch.uint8))
    if any(not torch.equal(digests[0], other) for other in digests):
        sys.exit(f"rank {rank}: after {args.steps} steps the ranks' weights differ")


def torch_command(args, ranks, rank, folder, address, port, device):
    variables = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": address, "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": device}
    return ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable, __file__, "--worker", folder, "--config", args.config,
            "--threads", args.threads, "--steps", args.steps, "--set", *dikkat.settings_of(args, ranks, args.micro_batches, args.steps)]


def torch_run(args, ranks, folder, env, network=None):
    """A process for each rank, on this machine or on a host of the network."""
    out = folder / "torch"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    port = free_port()
    if network is None:
        run_jobs([torch_command(args, ranks, rank, out, "127.0.0.1", port, "lo") for rank in range(ranks)], env, ROOT)
        return figures_of(out)
    commands = [network.inside(rank, torch_command(args, ranks, rank, out, network.address(0), port, "eth0")) for rank in range(ranks)]
    sent = run_in_network(commands, env, out, network, args.steps)
    return figures_of(out) | {"sent": sent and max(sent)}


def free_port():
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


# Both sides run in turn.


def compare(args, ranks, gigabits, folder):
    env = environment(args.threads) | (TORCH_SETTINGS[SETTING] if args.threads > 1 else {})
    with Network(ranks, gigabits) if gigabits else contextlib.nullcontext() as network:
        plain = min(network.throughput()) if network else None
        ours = with_others(lambda: dikkat.together(args, ranks, args.micro_batches, folder, network))
        theirs = with_others(lambda: torch_run(args, ranks, folder, env, network))
    row = {"ranks": ranks, "gigabits": gigabits, "plain_tcp_gigabits": plain, "ours": ours, "torch": theirs, "ratio": theirs["ms"] / ours["ms"],
           "others": max(ours["others"], theirs["others"])}
    where = f"{gigabits:g} Gbit/s (plain TCP {plain:.2f})" if gigabits else "this machine"
    say(f"{ranks} ranks, {where}: ours {ours['tokens_per_s']:.0f} tokens/s, PyTorch {theirs['tokens_per_s']:.0f}, ratio {row['ratio']:.2f}{others_said(row)}")
    return row


def print_rows(rows, args):
    lines = []
    for ranks in args.ranks:
        for gigabits in (None, *(args.network or [])):
            of = [row for row in rows if (row["ranks"], row["gigabits"]) == (ranks, gigabits)]
            lines.append([
                str(ranks), f"{gigabits:g} Gbit/s" if gigabits else "this machine", cell(column(of, "ours", "ms"), ",.0f"),
                cell(column(of, "torch", "ms"), ",.0f"), cell(column(of, "ours", "tokens_per_s"), ",.0f"), cell(column(of, "torch", "tokens_per_s"), ",.0f"),
                cell(column(of, "ratio"), ".2f"), "; ".join(cell(column(of, side, "sent"), ",.1f", 1e-6) for side in ("ours", "torch")), others_cell(of)])
    print_table(["ranks", "network", "ours, ms", "PyTorch, ms", "ours, tokens/s", "PyTorch, tokens/s", "PyTorch / ours", "MB sent: ours; PyTorch",
                 "others, %"], lines)


def main(args):
    end_in_order()
    adopt_orphans()
    check_installed()
    rows = []
    for number in range(1, args.rounds + 1):
        say(f"round {number} of {args.rounds}")
        for ranks in args.ranks:
            for gigabits in (None, *(args.network or [])):
                with tempfile.TemporaryDirectory() as folder:
                    rows.append(compare(args, ranks, gigabits, pathlib.Path(folder)) | {"round": number})
    if args.json:
        print(json.dumps({"config": args.config, "set": args.set, "threads": args.threads, "steps": args.steps, "rows": rows}))
    else:
        print_rows(rows, args)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2], help="2, 4 ... (default: 2)")
    dikkat.add_arguments(parser)
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.worker:
        dikkat.complete(args, parser)
    return args


if __name__ == "__main__":
    try:
        arguments = parse()
        torch_worker(arguments) if arguments.worker else main(arguments)
    except Problem as problem:
        print(f"compare_ddp: {problem}", file=sys.stderr)
        sys.exit(problem.code)
    except KeyboardInterrupt:
        sys.exit(130)
