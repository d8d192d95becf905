#!/usr/bin/env python3
"""Writes ops.h5: single operations and their gradients by PyTorch in float64. Needs Debian's python3-torch and python3-h5py
(run it with /usr/bin/python3).

One group per operation. Inputs hold values that float32 holds exactly; y is the result, dy a random gradient of it, and d<input>
the gradient of <dy, y>.

    layer_norm           x dy y dx (7, 33), gamma beta dgamma dbeta (33); attribute eps
    gelu                 x dy y dx (200), x from -12 to 12; the tanh form
    softmax              x dy y dx (5, 17), over the last axis; row 4 is spread wide
    causal_attention     qkv dqkv (B, T, 3C), dy y (B, T, C), log_sum_exp (B, H, T) of the scaled scores; attributes B T H D scale
    interval_attention   q dq dy y (B, Tq, C), k v dk dv (B, Tk, C), lo hi int32 (B, Tq): query t sees the keys of [lo, hi),
                         and one that sees none gives y = 0 and no gradient; attributes B Tq Tk H D scale
    cross_entropy        logits dlogits (9, 37), targets int32 (9), weights losses (9), loss = sum(weights * losses) / normaliser;
                         dlogits is the gradient of dloss * loss; attributes normaliser dloss
    smoothed_cross_entropy  as cross_entropy, without losses; attributes normaliser dloss label_smoothing
    embedding            tokens int32 (3, 7) with repeats, wte dwte (11, 6), wpe dwpe (9, 6), dy y (3, 7, 6); rows not used get 0
"""

import math
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

from h5_fixture import create, normal, write


def backward(y, dy, **inputs):
    """The gradients of <dy, y>, named d<input>."""
    return {"d" + name: g for name, g in zip(inputs, torch.autograd.grad((y * dy).sum(), list(inputs.values())))}


def leaf(tensor):
    return tensor.requires_grad_()


def write_op(group, y, inputs, extra={}, **attributes):
    dy = normal(*y.shape)
    write(group, {**inputs, **extra, "y": y, "dy": dy, **backward(y, dy, **inputs)}, **attributes)


def layer_norm(group):
    x, gamma, beta = leaf(normal(7, 33, mean=0.5, std=2.0)), leaf(normal(33, mean=1.0, std=0.3)), leaf(normal(33, std=0.3))
    write_op(group, F.layer_norm(x, (33,), gamma, beta, 1e-5), {"x": x, "gamma": gamma, "beta": beta}, eps=1e-5)


def gelu(group):
    x = leaf(torch.linspace(-12, 12, 200, dtype=torch.float64).float().double())
    write_op(group, F.gelu(x, approximate="tanh"), {"x": x})


def softmax(group):
    scale = torch.tensor([[1.0], [1.0], [1.0], [1.0], [64.0]], dtype=torch.float64)
    x = leaf(normal(5, 17) * scale)
    write_op(group, F.softmax(x, dim=-1), {"x": x})


def heads(x, H):
    """(B, T, C) -> (B, H, T, D)"""
    return x.view(*x.shape[:2], H, -1).transpose(1, 2)


def joined(x):
    """(B, H, T, D) -> (B, T, C)"""
    return x.transpose(1, 2).flatten(2)


def causal_attention(group):
    B, T, H, D = 2, 19, 3, 5
    scale = 1 / math.sqrt(D)
    qkv = leaf(normal(B, T, 3 * H * D))
    q, k, v = (heads(x, H) for x in qkv.split(H * D, dim=2))
    scores = (q @ k.transpose(-2, -1) * scale).masked_fill(~torch.ones(T, T).tril().bool(), float("-inf"))
    y = joined(F.softmax(scores, dim=-1) @ v)
    write_op(group, y, {"qkv": qkv}, {"log_sum_exp": scores.logsumexp(-1)}, B=B, T=T, H=H, D=D, scale=scale)


def interval_attention(group):
    B, Tq, Tk, H, D = 2, 7, 13, 3, 5
    scale = 1 / math.sqrt(D)
    lo = torch.tensor([[0, 0, 3, 5, 12, 6, 0], [1, 0, 0, 9, 13, 2, 4]])
    hi = torch.tensor([[13, 1, 9, 5, 13, 13, 8], [12, 13, 7, 11, 13, 2, 6]])  # none: batch 0 query 3, batch 1 queries 4 and 5
    keys = torch.arange(Tk)
    visible = ((keys >= lo[..., None]) & (keys < hi[..., None])).unsqueeze(1)  # (B, 1, Tq, Tk)
    q, k, v = leaf(normal(B, Tq, H * D)), leaf(normal(B, Tk, H * D)), leaf(normal(B, Tk, H * D))
    scores = heads(q, H) @ heads(k, H).transpose(-2, -1) * scale
    seen = F.softmax(scores.masked_fill(~visible, -1e300), dim=-1) * visible  # exact: exp underflows to 0; a row without keys is 0
    write_op(group, joined(seen @ heads(v, H)), {"q": q, "k": k, "v": v}, {"lo": lo, "hi": hi}, B=B, Tq=Tq, Tk=Tk, H=H, D=D, scale=scale)


def cross_entropy(group):
    scale = torch.ones(9, 1, dtype=torch.float64)
    scale[8] = 32.0  # widely spread: its target is nearly certain or nearly impossible
    logits, targets = leaf(normal(9, 37) * scale), torch.randint(37, (9,))
    weights = torch.tensor([1.0, 0.5, 0.0, 2.0, 1.0, 0.25, 1.0, 0.0, 1.5], dtype=torch.float64)
    normaliser, dloss = 6.5, 1.75
    losses = F.cross_entropy(logits, targets, reduction="none")
    loss = (weights * losses).sum() / normaliser
    write(group, {"logits": logits, "targets": targets, "weights": weights, "losses": losses, "loss": loss,
                  **backward(loss, dloss, logits=logits)}, normaliser=normaliser, dloss=dloss)


def embedding(group):
    tokens = torch.tensor([[3, 1, 3, 3, 0, 10, 1], [5, 5, 5, 5, 5, 5, 5], [10, 9, 0, 3, 1, 0, 7]])
    wte, wpe = leaf(normal(11, 6)), leaf(normal(9, 6))
    write_op(group, F.embedding(tokens, wte) + wpe[: tokens.size(1)], {"wte": wte, "wpe": wpe}, {"tokens": tokens})


def smoothed_cross_entropy(group):
    logits, targets = leaf(normal(9, 37, std=2.0)), torch.randint(37, (9,))
    weights = torch.tensor([1.0, 0.5, 0.0, 2.0, 1.0, 0.25, 1.0, 0.0, 1.5], dtype=torch.float64)
    normaliser, dloss, label_smoothing = 6.5, 1.75, 0.1
    losses = F.cross_entropy(logits, targets, reduction="none", label_smoothing=label_smoothing)
    loss = (weights * losses).sum() / normaliser
    write(group, {"logits": logits, "targets": targets, "weights": weights, "loss": loss, **backward(loss, dloss, logits=logits)},
          normaliser=normaliser, dloss=dloss, label_smoothing=label_smoothing)


def main():
    torch.set_num_threads(1)  # so that the files come out the same, byte for byte
    torch.manual_seed(3)
    with create("ops.h5") as file:
        for op in (layer_norm, gelu, softmax, causal_attention, interval_attention, cross_entropy, embedding,
                   smoothed_cross_entropy):  # new ones last: they share one stream of random numbers
            op(file.create_group(op.__name__))


if __name__ == "__main__":
    main()
