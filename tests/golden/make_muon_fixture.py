#!/usr/bin/env python3
"""Writes muon.h5: twenty steps of Muon, written out in plain PyTorch, in float64. Needs Debian's python3-torch and python3-h5py (run it with
/usr/bin/python3).

    first/<name>        weights before the first step
    gradients/<name>    (20, ...): of each step
    last/<name>         weights after the last step
    momentum/<name>     of the matrices, likewise

Names: wide (12, 20), tall (20, 12), square (10, 10), qkv (24, 16), which is three matrices of 8 rows, embedding (9, 12), bias (12). The
first four are hidden matrices: with momentum m = 0.95 m + 0.05 g and u = 0.05 g + 0.95 m,

    X = u / (|u| + 1e-7), transposed if it has more rows than columns
    5 times: A = X X^T;  X = a X + (b A + c A^2) X;  (a, b, c) = (3.4445, -4.7750, 2.0315)
    weight = weight (1 - lr wd) - lr 0.2 sqrt(max(rows, columns)) X

The other two are torch.optim.AdamW's, the bias without decay. The learning rate of step t = 1, 2, ... is lr / t. Attributes: lr, wd, beta1,
beta2 (eps is 1e-8).
"""

import sys

sys.dont_write_bytecode = True

import torch

from h5_fixture import create, normal, write

STEPS, LR, WD, BETAS = 20, 0.05, 0.1, (0.8, 0.95)
SHAPES = {"wide": (12, 20), "tall": (20, 12), "square": (10, 10), "qkv": (24, 16), "embedding": (9, 12), "bias": (12,)}
MATRICES = ("wide", "tall", "square", "qkv")


def orthogonalised(u):
    x = u / (u.norm() + 1e-7)
    if u.shape[0] > u.shape[1]:
        x = x.T
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def muon_step(weight, momentum, gradient, lr):
    momentum.lerp_(gradient, 0.05)
    u = gradient.lerp(momentum, 0.95)
    weight.mul_(1 - lr * WD)
    weight.add_(orthogonalised(u), alpha=-lr * 0.2 * max(weight.shape) ** 0.5)


def main():
    torch.set_num_threads(1)  # so that the file comes out the same, byte for byte
    torch.manual_seed(5)
    weights = {name: normal(*shape, std=0.3) for name, shape in SHAPES.items()}
    gradients = {name: normal(STEPS, *shape) for name, shape in SHAPES.items()}
    momentum = {name: torch.zeros_like(weights[name]) for name in MATRICES}
    with create("muon.h5") as file:
        file.attrs.update(lr=LR, wd=WD, beta1=BETAS[0], beta2=BETAS[1])
        write(file.create_group("first"), {name: w.float() for name, w in weights.items()})
        write(file.create_group("gradients"), {name: g.float() for name, g in gradients.items()})
        others = [{"params": [weights["embedding"].requires_grad_()], "weight_decay": WD},
                  {"params": [weights["bias"].requires_grad_()], "weight_decay": 0.0}]
        adamw = torch.optim.AdamW(others, lr=LR, betas=BETAS, eps=1e-8)
        for step in range(STEPS):
            lr = LR / (step + 1)
            for name in MATRICES:
                parts = 3 if name == "qkv" else 1
                for w, m, g in zip(*(t.chunk(parts) for t in (weights[name], momentum[name], gradients[name][step]))):
                    muon_step(w, m, g, lr)
            for group in adamw.param_groups:
                group["lr"] = lr
            for name in ("embedding", "bias"):
                weights[name].grad = gradients[name][step].clone()
            adamw.step()
        write(file.create_group("last"), weights)
        write(file.create_group("momentum"), momentum)


if __name__ == "__main__":
    main()
