#!/usr/bin/env python3
"""Trains adapters (LoRA) of a model of Llama's shape with dikkat and with PyTorch: the same losses, and the time of a step, in turn.

    /usr/bin/python3 bench/compare_lora.py [--config FILE] [--length T] [--loss all|answers] [--rank R] [--steps N] [--rounds R] [--threads N] [--json]

Both start from one checkpoint that dikkat makes: random weights in the shape of configs/smollm2-135m.toml, and adapters of all layers. Both
train on one window of T tokens, N steps with AdamW and clipped gradients, in f32. It is a question and an answer, which has --share of its tokens; the
loss is over all tokens, or only over the answer's. The script compares each step's loss, which must agree to 1e-4, and the
median time of a step without the first two, for N steps in a process of each in turn. A ratio is PyTorch's time divided by ours in the same round.

PyTorch's loop is written as one would write it by hand for a CPU: adapters beside frozen layers, attention with explicit matrices (Debian's 1.13 has no
scaled_dot_product_attention), no gradients for frozen weights, logits of all tokens, and -100 for targets that are not scored, as in Hugging Face's
models. Query, key and value share one A, as ours do. It runs with the settings that
bench/compare_torch.py finds fastest.

Needs PyTorch and h5py, on Debian python3-torch, python3-h5py and libopenblas0-openmp, and our program in build/dev.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time
import tomllib

sys.dont_write_bytecode = True
from compare_torch import TORCH_SETTINGS, environment  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARM_UP = 2
RATE, WEIGHT_DECAY, BETAS, EPS, CLIP = 5e-4, 0.0, (0.9, 0.99), 1e-8, 1.0
TOLERANCE = 1e-4


# PyTorch's side, in its own process.


def torch_worker(args):
    import h5py
    import torch
    from torch.nn import functional as F

    torch.set_num_threads(args.threads)
    shape = tomllib.loads(pathlib.Path(args.config).read_text())["model"]
    layers, heads, key_heads, width = shape["n_layer"], shape["n_head"], shape["n_kv_head"], shape["n_embd"]
    size, eps, theta = width // heads, shape["norm_eps"], shape["rope_theta"]
    file = h5py.File(args.base)
    base = {name: torch.from_numpy(value[()]) for name, value in file["model"].items()}
    adapters = {name: torch.from_numpy(value[()]).requires_grad_() for name, value in h5py.File(args.adapters)["adapter"].items()}
    scale = 2.0  # alpha / rank, with alpha = 2 rank

    window = json.loads(pathlib.Path(args.window).read_text())
    inputs, targets = (torch.tensor(window[name]) for name in ("inputs", "targets"))
    length = len(inputs)
    angles = torch.outer(torch.arange(length).float(), theta ** (-torch.arange(0, size, 2).float() / size))
    cos, sin = torch.cat([angles, angles], 1).cos(), torch.cat([angles, angles], 1).sin()
    mask = torch.full((length, length), -torch.inf).triu(1)

    def rotate(x):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def norm(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * base[name]

    def linear(x, name):
        a, b = adapters[f"{name}.lora_a"], adapters[f"{name}.lora_b"]
        return F.linear(x, base[f"{name}.weight"]) + F.linear(F.linear(x, a) * scale, b)

    def attention(x, at):
        q, k, v = linear(x, f"{at}.attn.c_attn").split([heads * size, key_heads * size, key_heads * size], -1)
        q = rotate(q.view(length, heads, size).transpose(0, 1))
        k = rotate(k.view(length, key_heads, size).transpose(0, 1)).repeat_interleave(heads // key_heads, 0)
        v = v.view(length, key_heads, size).transpose(0, 1).repeat_interleave(heads // key_heads, 0)
        scores = q @ k.transpose(1, 2) / size**0.5 + mask
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, heads * size)
        return linear(mixed, f"{at}.attn.c_proj")

    def loss_of(inputs, targets):
        x = base["wte.weight"][inputs]
        for layer in range(layers):
            at = f"h.{layer}"
            x = x + attention(norm(x, f"{at}.ln_1.weight"), at)
            gate, up = linear(norm(x, f"{at}.ln_2.weight"), f"{at}.mlp.c_fc").chunk(2, -1)
            x = x + linear(F.silu(gate) * up, f"{at}.mlp.c_proj")
        return F.cross_entropy(F.linear(norm(x, "ln_f.weight"), base["wte.weight"]), targets)

    optimizer = torch.optim.AdamW(adapters.values(), lr=RATE, betas=BETAS, eps=EPS, weight_decay=WEIGHT_DECAY)
    losses, milliseconds = [], []
    for _ in range(args.steps):
        start = time.perf_counter()
        loss = loss_of(inputs, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(adapters.values(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        milliseconds.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"losses": losses, "ms": milliseconds}))


# Our side.


def output_of(command, env):
    run = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{pathlib.Path(command[0]).name} ended with exit code {run.returncode}: {run.stderr.strip().splitlines()[-1:]}")
    return run.stdout


def make_base(args, work, env):
    """A checkpoint of random weights, made once for a configuration and length."""
    base = work / f"{pathlib.Path(args.config).stem}-{args.length}-bpe"
    if not base.exists():
        print(f"making {base}", file=sys.stderr)
        output_of([args.program, "train", "--config", args.config, "--corpus", ROOT / "data/tales.txt", "--out", base, "--quiet", "--set",
                   "tokenizer.vocab_size=1024", f"model.block_size={args.length}", "train.max_steps=1", "train.gradient_accumulation_steps=1",
                   "data.val_fraction=0"], env)
    return base


def make_window(args, base, work, env):
    """The corpus that we read, and its inputs and targets, for PyTorch."""
    text = (ROOT / "data/tales.txt").read_text()[1000:]
    corpus, window = work / "window.jsonl", work / "window.json"
    answer = text[:int(3 * args.length * args.share)]
    size = 4 * args.length
    ids = range(args.length + 2)
    while len(ids) > args.length + 1:  # as long a question as the window has room for
        size -= max(len(ids) - args.length - 1, 1)
        if size <= 0:
            sys.exit(f"--share {args.share}: the answer alone fills the window, expected a smaller share")
        corpus.write_text(json.dumps({"prompt": text[len(answer):len(answer) + size], "completion": answer}) + "\n")
        shown = json.loads(output_of([args.program, "corpus", "inspect", corpus, "--chat", "--loss", args.loss, "--tokenizer", base, "--val-fraction", 0, "--json"], env))
        ids, scored = shown["examples"][0]["tokens"], shown["examples"][0]["scored"]
    window.write_text(json.dumps({"inputs": ids[:-1], "targets": [token if is_scored else -100 for token, is_scored in zip(ids[1:], scored[1:])]}))
    print(f"{len(ids) - 1} tokens, of which {sum(scored[1:])} are scored", file=sys.stderr)
    return corpus, window


def our_run(args, base, corpus, work, env):
    out = work / "ours"
    subprocess.run(["rm", "-rf", out], check=True)
    settings = [f"lora.rank={args.rank}", "lora.dropout=0", "data.val_fraction=0", f"chat.loss={args.loss}", f"optim.learning_rate={RATE}",
                "optim.schedule=constant", "optim.warmup_steps=0", f"optim.weight_decay={WEIGHT_DECAY}", f"optim.beta1={BETAS[0]}",
                f"optim.beta2={BETAS[1]}", f"optim.eps={EPS}", f"optim.grad_clip={CLIP}", "train.batch_size=1",
                "train.gradient_accumulation_steps=1", f"train.max_steps={args.steps}", "train.patience=0",
                f"train.checkpoint_interval={args.steps}", "train.keep_last=2", f"model.block_size={args.length}"]
    output_of([args.program, "train", "--config", "finetune", "--init-from", base, "--corpus", corpus, "--out", out, "--quiet", "--set", *settings], env)
    steps = [line for line in map(json.loads, (out / "metrics.jsonl").read_text().splitlines()) if line["event"] == "step"]
    return {"losses": [line["loss"] for line in steps], "ms": [line["ms"] for line in steps]}


def torch_run(args, base, window, work, env, steps=None):
    newest = sorted((base / "checkpoints").glob("step-*.h5"))[-1]
    return json.loads(output_of(["/usr/bin/python3", __file__, "--worker", "--base", newest, "--adapters", work / "ours/checkpoints/step-000000000.h5", "--window",
                                 window, "--config", args.config, "--steps", steps or args.steps, "--threads", args.threads], env))


def median_ms(run):
    return statistics.median(run["ms"][WARM_UP:])


def main(args):
    work = ROOT / "build/lora"
    work.mkdir(parents=True, exist_ok=True)
    env = environment(args.threads)
    base = make_base(args, work, env)
    corpus, window = make_window(args, base, work, env)
    our_run(args, base, corpus, work, env)  # makes the adapters that both sides begin with
    trials = {name: median_ms(torch_run(args, base, window, work, env | extra, WARM_UP + 3)) for name, extra in TORCH_SETTINGS.items()}
    fastest = min(trials, key=trials.get)
    print(f"PyTorch {fastest}: {trials[fastest]:.0f} ms a step, the fastest of {len(trials)} settings", file=sys.stderr)
    rounds = []
    for _ in range(args.rounds):
        ours = our_run(args, base, corpus, work, env)
        theirs = torch_run(args, base, window, work, env | TORCH_SETTINGS[fastest])
        rounds.append({"dikkat_ms": median_ms(ours), "torch_ms": median_ms(theirs), "ratio": median_ms(theirs) / median_ms(ours),
                       "losses_differ": max(abs(a - b) for a, b in zip(ours["losses"], theirs["losses"])), "first_loss": ours["losses"][0],
                       "last_loss": ours["losses"][-1]})
    result = {"config": args.config, "length": args.length, "loss": args.loss, "share": args.share, "rank": args.rank, "steps": args.steps, "threads": args.threads, "torch_setting": fastest, "rounds": rounds}
    if args.json:
        print(json.dumps(result))
    else:
        for name in ("dikkat_ms", "torch_ms", "ratio"):
            values = [one[name] for one in rounds]
            print(f"{name:<10} {statistics.median(values):9.2f}  ({min(values):.2f} to {max(values):.2f})")
        print(f"losses fall from {rounds[0]['first_loss']:.4f} to {rounds[0]['last_loss']:.4f} and differ by at most {rounds[0]['losses_differ']:.1e}")
    if any(not one["losses_differ"] <= TOLERANCE for one in rounds):
        sys.exit(f"losses differ by more than {TOLERANCE}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default=str(ROOT / "configs/smollm2-135m.toml"), help="a model of Llama's shape (default: configs/smollm2-135m.toml)")
    parser.add_argument("--length", type=int, default=512, help="tokens in the window (default: 512)")
    parser.add_argument("--loss", choices=("all", "answers"), default="all", help="which tokens are scored (default: all)")
    parser.add_argument("--share", type=float, default=0.32, help="of the tokens that the answer has, about (default: 0.32, as in data/questions.jsonl)")
    parser.add_argument("--rank", type=int, default=16, help="of the adapters (default: 16)")
    parser.add_argument("--steps", type=int, default=12, help="steps in each run (default: 12)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side (default: 3)")
    parser.add_argument("--threads", type=int, default=2, help="of each side (default: 2)")
    parser.add_argument("--program", default=str(ROOT / "build/dev/dikkat"), help="our program (default: build/dev/dikkat)")
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    for hidden in ("base", "adapters", "window"):
        parser.add_argument(f"--{hidden}", help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch_worker(arguments) if arguments.worker else main(arguments)
