#!/usr/bin/env python3
"""Writes preference.json: twenty steps of each method of preference tuning in plain PyTorch (float64), of adapters and of all weights. Needs
Debian's python3-torch (run it with /usr/bin/python3).

    config          the model of torch_gpt.py; rank and alpha of the adapters; learning_rate, beta1, beta2, eps of AdamW without decay
    weights/<path>  the first values, with three decimals, which are rounded to float32; adapters/<path> those of A and B (B is 0)
    pairs           sequences 2 i (chosen) and 2 i + 1 (rejected): tokens, and where the answer begins
    judged          sequences 2 i (good or bad) and 2 i + 1 (another answer behind the same prompt); good: for each i
    results/<method>/<full or adapters>
                    settings, the losses of the steps, and the log-probabilities of all answers after them

The reference is the first model. The losses are means over pairs or judged answers; formulas are those of the papers, as TRL has them.
"""

import json
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

from h5_fixture import HERE
from torch_gpt import GPT, GPTConfig

CONFIG = GPTConfig(n_layer=1, n_head=2, n_embd=8, block_size=16, vocab_size=1030)
RANK, ALPHA, STEPS = 2, 4.0, 20
ADAMW = {"learning_rate": 2e-2, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3}  # eps: rounding of a gradient near 0 must not become a step
METHODS = {
    "dpo": {"beta": 0.5, "label_smoothing": 0.1},
    "ipo": {"beta": 0.5, "sft_share": 0.25},
    "orpo": {"beta": 0.2},
    "simpo": {"beta": 2.0, "gamma": 0.75},
    "kto": {"beta": 0.5, "good_weight": 1.5, "bad_weight": 0.75, "sft_share": 0.1},
}


def decimals(*shape, mean=0.0, std=1.0):
    """Numbers of three decimals, as float32 holds them."""
    values = torch.round((mean + std * torch.randn(*shape, dtype=torch.float64)) * 1000) / 1000
    return values.float().double()


def sequences(prompts, answers):
    return [{"tokens": p + a, "answer": len(p)} for p, a in zip(prompts, answers)]


def log_probabilities(model, examples):
    """The sum over each answer's tokens, and their numbers."""
    length = max(len(e["tokens"]) for e in examples)
    tokens = torch.tensor([e["tokens"] + [0] * (length - len(e["tokens"])) for e in examples])
    at = torch.arange(1, length)
    scored = torch.stack([(at >= e["answer"]) & (at < len(e["tokens"])) for e in examples])
    chosen = F.log_softmax(model(tokens[:, :-1]), dim=-1).gather(2, tokens[:, 1:, None]).squeeze(2)
    return (chosen * scored).sum(1), scored.sum(1)


def loss_of(method, s, l, n, r, good):
    c, w, nc, nw = l[0::2], l[1::2], n[0::2], n[1::2]
    share = s.get("sft_share", 0.0)
    if method == "kto":
        z = (w - r[1::2]).mean().clamp(min=0).detach()
        ratio = c - r[0::2]
        terms = torch.where(good, s["good_weight"] * (1 - torch.sigmoid(s["beta"] * (ratio - z))),
                            s["bad_weight"] * (1 - torch.sigmoid(s["beta"] * (z - ratio))))
        ordinary = torch.where(good, -c / nc, torch.zeros_like(c))
        return ((1 - share) * terms + share * ordinary).mean()
    if method == "dpo":
        x, e = s["beta"] * ((c - r[0::2]) - (w - r[1::2])), s["label_smoothing"]
        terms = -(1 - e) * F.logsigmoid(x) - e * F.logsigmoid(-x)
    elif method == "ipo":
        terms = ((c - r[0::2]) / nc - (w - r[1::2]) / nw - 1 / (2 * s["beta"])) ** 2
    elif method == "orpo":
        odds = [a - torch.log1p(-torch.exp(a)) for a in (c / nc, w / nw)]
        terms = -c / nc - s["beta"] * F.logsigmoid(odds[0] - odds[1])
    else:
        terms = -F.logsigmoid(s["beta"] * (c / nc - w / nw) - s["gamma"])
    return ((1 - share) * terms + share * -c / nc).mean()


class Adapted(torch.nn.Module):
    """x W^T + alpha / rank (x A^T) B^T"""

    def __init__(self, linear, a):
        super().__init__()
        self.linear = linear
        self.lora_a = torch.nn.Parameter(a)
        self.lora_b = torch.nn.Parameter(torch.zeros(linear.out_features, RANK, dtype=torch.float64))

    def forward(self, x):
        return self.linear(x) + ALPHA / RANK * (x @ self.lora_a.T) @ self.lora_b.T


def make_model(weights, adapters=None):
    model = GPT(CONFIG).double()
    model.load_state_dict(weights)
    if adapters is not None:
        model.requires_grad_(False)
        for block in model.h:
            for owner, name in ((block.attn, "c_attn"), (block.attn, "c_proj"), (block.mlp, "c_fc"), (block.mlp, "c_proj")):
                path = f"h.0.{'attn' if owner is block.attn else 'mlp'}.{name}.lora_a"
                setattr(owner, name, Adapted(getattr(owner, name), adapters[path].clone()))
    return model


def train(method, settings, model, examples, good):
    with torch.no_grad():
        reference, tokens = log_probabilities(model, examples)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=ADAMW["learning_rate"],
                                  betas=(ADAMW["beta1"], ADAMW["beta2"]), eps=ADAMW["eps"], weight_decay=0.0)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(method, settings, log_probabilities(model, examples)[0], tokens, reference, good)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, log_probabilities(model, examples)[0].tolist()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(43)
    draw = lambda count: torch.randint(CONFIG.vocab_size, (count,)).tolist()
    weights = {}
    for name, p in GPT(CONFIG).named_parameters():
        is_gain = "ln_" in name and name.endswith("weight")
        weights[name] = decimals(*p.shape, mean=1.0 if is_gain else 0.0, std=0.5 if name == "wte.weight" else 0.3)
    adapters = {}
    for name, width in (("attn.c_attn", 8), ("attn.c_proj", 8), ("mlp.c_fc", 8), ("mlp.c_proj", 32)):
        adapters[f"h.0.{name}.lora_a"] = decimals(RANK, width, std=0.3)
    prompts = [draw(2 + i % 4) for i in range(6)]
    pairs = sequences([p for p in prompts for _ in range(2)], [draw(2 + i % 5) for i in range(12)])
    answers = [draw(2 + i % 4) for i in range(6)]
    judged = sequences([p for p in prompts for _ in range(2)], [a for i in range(6) for a in (answers[i], answers[(i + 1) % 6])])
    good = [True, False, True, True, False, False]
    results = {}
    for method, settings in METHODS.items():
        results[method] = {"settings": settings}
        for mode in ("full", "adapters"):
            model = make_model(weights, adapters if mode == "adapters" else None)
            losses, last = train(method, settings, model, judged if method == "kto" else pairs, torch.tensor(good))
            results[method][mode] = {"losses": losses, "log_probabilities": last}
    listed = lambda tensors: {name: [round(x, 3) for x in t.flatten().tolist()] for name, t in tensors.items()}
    config = {"n_layer": CONFIG.n_layer, "n_head": CONFIG.n_head, "n_embd": CONFIG.n_embd, "block_size": CONFIG.block_size,
              "vocab_size": CONFIG.vocab_size, "rank": RANK, "alpha": ALPHA, **ADAMW}
    fixture = {"config": config, "weights": listed(weights), "adapters": listed(adapters), "pairs": pairs, "judged": judged, "good": good,
               "results": results}
    (HERE / "preference.json").write_text(json.dumps(fixture, separators=(",", ":")).replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
