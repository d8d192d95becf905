#!/usr/bin/env python3
"""Writes distill.json: a teacher's distributions, and twenty steps of a student that learns from them, in plain PyTorch (float64). Needs Debian's
python3-torch (run it with /usr/bin/python3).

    config            the model of torch_gpt.py; top; learning_rate, beta1, beta2, eps of AdamW without decay
    teacher/<path>    the teacher's weights, with three decimals, which are rounded to float32; student/<path> the student's first ones
    tokens            rows of tokens: each but the last is an input, and each but the first a target
    records           of each target: the teacher's likeliest ids, ascending, their log-probabilities, and for the temperatures 1 and 2 the
                      logarithm of the sum of p^(1/T) over the others
    results           share, temperature, and the losses of the steps

The loss is (1 - share) cross-entropy + share temperature^2 cross-entropy against the teacher's bins: its likeliest tokens and all others together.
"""

import json
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

from h5_fixture import HERE
from torch_gpt import GPT, GPTConfig

CONFIG = GPTConfig(n_layer=1, n_head=2, n_embd=8, block_size=16, vocab_size=150)
TOP, STEPS, TEMPERATURES = 6, 20, (1.0, 2.0)
ADAMW = {"learning_rate": 2e-2, "beta1": 0.9, "beta2": 0.99, "eps": 1e-3}  # eps: rounding of a gradient near 0 must not become a step
SETTINGS = ((0.6, 1.0), (0.5, 2.0), (1.0, 2.0))


def decimals(*shape, mean=0.0, std=1.0):
    """Numbers of three decimals, as float32 holds them."""
    values = torch.round((mean + std * torch.randn(*shape, dtype=torch.float64)) * 1000) / 1000
    return values.float().double()


def first_weights(std):
    weights = {}
    for name, p in GPT(CONFIG).named_parameters():
        is_gain = "ln_" in name and name.endswith("weight")
        weights[name] = decimals(*p.shape, mean=1.0 if is_gain else 0.0, std=std if name == "wte.weight" else 0.3)
    return weights


def make_model(weights):
    model = GPT(CONFIG).double()
    model.load_state_dict(weights)
    return model


def bins_of(log_q, named):
    """Log-probabilities of the named classes and of all others together."""
    of_named = log_q.gather(-1, named)
    others = log_q.scatter(-1, named, float("-inf"))
    return torch.cat([of_named, others.logsumexp(-1, keepdim=True)], -1)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(44)
    teacher_weights, student_weights = first_weights(1.0), first_weights(0.5)
    tokens = torch.randint(CONFIG.vocab_size, (3, 13))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    with torch.no_grad():
        teacher = make_model(teacher_weights)(inputs)
    named = teacher.topk(TOP, -1).indices.sort(-1).values
    log_p = F.log_softmax(teacher, -1)
    tails = [(log_p / t).scatter(-1, named, float("-inf")).logsumexp(-1) for t in TEMPERATURES]
    results = []
    for share, temperature in SETTINGS:
        t = bins_of(F.log_softmax(teacher / temperature, -1), named).exp()
        model = make_model(student_weights)
        optimizer = torch.optim.AdamW(model.parameters(), lr=ADAMW["learning_rate"], betas=(ADAMW["beta1"], ADAMW["beta2"]), eps=ADAMW["eps"],
                                      weight_decay=0.0)
        losses = []
        for _ in range(STEPS):
            logits = model(inputs)
            ordinary = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            taught = -(t * bins_of(F.log_softmax(logits / temperature, -1), named)).sum(-1).mean()
            loss = (1 - share) * ordinary + share * temperature**2 * taught
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results.append({"share": share, "temperature": temperature, "losses": losses})
    listed = lambda weights: {name: [round(x, 3) for x in w.flatten().tolist()] for name, w in weights.items()}
    records = [{"ids": named[b, i].tolist(), "log_probabilities": log_p[b, i].gather(-1, named[b, i]).tolist(),
                "tails": [tail[b, i].item() for tail in tails]} for b in range(inputs.shape[0]) for i in range(inputs.shape[1])]
    config = {"n_layer": CONFIG.n_layer, "n_head": CONFIG.n_head, "n_embd": CONFIG.n_embd, "block_size": CONFIG.block_size,
              "vocab_size": CONFIG.vocab_size, "top": TOP, "temperatures": list(TEMPERATURES), **ADAMW}
    fixture = {"config": config, "teacher": listed(teacher_weights), "student": listed(student_weights), "tokens": tokens.tolist(),
               "records": records, "results": results}
    (HERE / "distill.json").write_text(json.dumps(fixture, separators=(",", ":")).replace('],"', '],\n"') + "\n")


if __name__ == "__main__":
    main()
