#!/usr/bin/env python3
"""Writes gpt.h5: small GPTs run by PyTorch in float64. Needs Debian's python3-torch and python3-h5py (run it with /usr/bin/python3).

Three models, the first at the root of the file and the others in a group of their name:

    /           2 layers, 2 heads, width 32: tied head, all biases; with ten AdamW steps
    /untied     2 layers, 3 heads, width 18: its own lm_head, no biases on query, key and value
    /unbiased   1 layer,  2 heads, width 16: tied head, no bias anywhere, LayerNorm included

Each has, beside the configuration as attributes,

    weights/<name>            float32, exact in float64 too; Linear weights (out, in), c_attn's rows q | k | v
    tokens, targets           int32 (steps, B, T); all below but adamw/ is about the first of the steps
    logits                    (B, T, V)
    loss                      mean cross-entropy over B * T targets
    gradients/<name>          of that loss
    weighted/target_weights   (B, T), some of them 0
    weighted/loss             sum(weight * cross-entropy) / normaliser (an attribute that is not the sum of the weights)
    weighted/gradients/<name> of that loss, for a few tensors

and the first also has the results of ten steps of training:

    adamw/learning_rates      (10)
    adamw/losses              (10) before each step's update
    adamw/grad_norms          (10) before clipping
    adamw/weights/<name>      after the tenth step

A step: g *= min(1, max_norm / (norm + clip_epsilon)), clip_epsilon = 1e-6 as in torch.nn.utils.clip_grad_norm_; then
AdamW at learning rate lr, t = 1, 2, ...:

    w -= lr * weight_decay * w                        for tensors of two or more dimensions only
    m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
    w -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

The schedule is nanoGPT's, it = 0 ... 9, warmup = 3, decay = 10, with lr_max = 1e-2 and lr_min = 1e-3:

    it < warmup    lr = lr_max (it + 1) / (warmup + 1)
    otherwise      lr = lr_min + (lr_max - lr_min) (1 + cos(pi (it - warmup) / (decay - warmup))) / 2

The true gradient of a key bias is 0, and Adam divides a gradient by its size: rounding noise decides that bias's update in
float32, so compare it after training only in float64 (where eps holds it still). The losses do not depend on it.
"""

import dataclasses
import math
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

from h5_fixture import create, normal, write
from torch_gpt import GPT, GPTConfig, adamw, mean_loss

STEPS = 10
LR_MAX, LR_MIN, WARMUP = 1e-2, 1e-3, 3
BETAS, WEIGHT_DECAY, MAX_NORM = (0.9, 0.99), 0.1, 1.3  # clips most steps and not all
CASES = {  # group: (configuration, batch size, batches)
    "/": (GPTConfig(n_layer=2, n_head=2, n_embd=32, block_size=16, vocab_size=65), 3, STEPS),
    "/untied": (GPTConfig(n_layer=2, n_head=3, n_embd=18, block_size=12, vocab_size=50, qkv_bias=False, tie_embeddings=False), 2, 1),
    "/unbiased": (GPTConfig(n_layer=1, n_head=2, n_embd=16, block_size=8, vocab_size=11, bias=False, qkv_bias=False), 2, 1),
}
WEIGHTED_GRADIENTS = ("wte.weight", "lm_head.weight", "ln_f.weight", "h.0.attn.c_attn.weight")


@torch.no_grad()
def fill(model):
    """Far from any usual start, so that a mistake shows: nothing is 0 or 1, no tensor is negligible."""
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            p.copy_(normal(*p.shape, std=0.2))
        elif ".ln_" in "." + name and name.endswith("weight"):
            p.copy_(normal(*p.shape, mean=1.0, std=0.25))
        else:
            p.copy_(normal(*p.shape, std=0.15))


def gradients(model, loss):
    model.zero_grad(set_to_none=True)
    loss.backward(retain_graph=True)
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def learning_rate(it):
    if it < WARMUP:
        return LR_MAX * (it + 1) / (WARMUP + 1)
    return LR_MIN + (LR_MAX - LR_MIN) * (1 + math.cos(math.pi * (it - WARMUP) / (STEPS - WARMUP))) / 2


def train(model, tokens, targets):
    optimizer = adamw(model, LR_MAX, BETAS, WEIGHT_DECAY)
    rates, losses, norms = [], [], []
    for it in range(STEPS):
        rates.append(learning_rate(it))
        for group in optimizer.param_groups:
            group["lr"] = rates[-1]
        optimizer.zero_grad(set_to_none=True)
        loss = mean_loss(model(tokens[it]), targets[it])
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM).item())
        optimizer.step()
    return {name: torch.tensor(values, dtype=torch.float64)
            for name, values in (("learning_rates", rates), ("losses", losses), ("grad_norms", norms))}


def weighted_loss(logits, targets, weights, normaliser):
    each = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), reduction="none")
    return (weights.view(-1) * each).sum() / normaliser


def write_case(group, config, batch_size, batches):
    model = GPT(config).double()
    fill(model)
    tokens, targets = torch.randint(config.vocab_size, (2, batches, batch_size, config.block_size))
    logits = model(tokens[0])
    loss = mean_loss(logits, targets[0])
    write(group, {"tokens": tokens, "targets": targets, "logits": logits, "loss": loss}, batch_size=batch_size,
          **{key: value if isinstance(value, float) else int(value) for key, value in dataclasses.asdict(config).items()})
    write(group.create_group("weights"), {name: p.float() for name, p in model.named_parameters()})
    write(group.create_group("gradients"), gradients(model, loss))

    target_weights = torch.randint(8, targets[0].shape) / 4.0  # 0, 0.25 ... 1.75
    normaliser = 37.5
    loss = weighted_loss(logits, targets[0], target_weights.double(), normaliser)
    weighted = group.create_group("weighted")
    write(weighted, {"target_weights": target_weights.double(), "loss": loss}, normaliser=normaliser)
    write(weighted.create_group("gradients"), {k: g for k, g in gradients(model, loss).items() if k in WEIGHTED_GRADIENTS})

    if batches == STEPS:
        trained = group.create_group("adamw")
        write(trained, train(model, tokens, targets), beta1=BETAS[0], beta2=BETAS[1], eps=1e-8, weight_decay=WEIGHT_DECAY,
              max_norm=MAX_NORM, clip_epsilon=1e-6, lr_max=LR_MAX, lr_min=LR_MIN, warmup_steps=WARMUP, decay_steps=STEPS)
        write(trained.create_group("weights"), dict(model.named_parameters()))


def main():
    torch.set_num_threads(1)  # so that the files come out the same, byte for byte
    torch.manual_seed(2)
    with create("gpt.h5") as file:
        for name, case in CASES.items():
            write_case(file.require_group(name), *case)


if __name__ == "__main__":
    main()
