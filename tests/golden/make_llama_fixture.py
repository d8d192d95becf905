#!/usr/bin/env python3
"""Writes llama.h5: small models of torch_llama.py, run in float64. Needs Debian's python3-torch and python3-h5py (run it with
/usr/bin/python3). check_llama.py computes the same by other methods.

Models, each in a group of its name; the first four are families', the others mixtures of their parts (`CASES` has all keys):

    llama       grouped-query attention 4/2, RoPE, SwiGLU, tied
    llama31     RoPE scaled as Llama 3.1 does: of 8 frequencies 1 stays, 2 lie between and 5 are divided; untied
    qwen2       biases of query, key and value only; one key/value head
    qwen3       heads wider than C / H, with a norm of each query and key
    gemma_like  gated GELU, softcap on the logits, positions divided by 4
    relu2       no positions, squared ReLU, LayerNorm with biases, grouped-query attention 4/2
    odd         6 heads of 10 and 3 key/value heads, learned positions, norms of query and key, biases everywhere, gated ReLU, untied
    sines       sinusoidal positions, RMSNorm (which has no bias) with biases everywhere else, ReLU; 3 heads of 6, untied
    normed      GPT-2 with a norm after the embedding
    scaled      GPT-2 with scalars of the residual stream
    valued      grouped-query attention 4/2, RoPE, value embeddings in the first and the last of three layers, whose gates read all 8 channels
    nanochat    all three of these, value embeddings in both layers, 4/2 heads of 6 with norms, RoPE, squared ReLU, softcap, no biases, untied
    gemma3      norms before and after each branch, windows of 5 in two of three layers with a base of their own, norms of query and key, a scale of
                the scores, embeddings times sqrt(C), gated GELU, one key/value head
    smollm3     every fourth layer, here the last one, has no RoPE
    granite     factors of embeddings, scores, branches and logits
    olmo2       norms only after the branches, and of whole rows of queries and keys; untied
    mistral     one layer, T = 150, a window of 40: several tiles of queries and keys
    phi4        RoPE rotates three quarters of each head, with a divisor for each of its 6 frequencies and an amplitude; untied
    sandwich    GPT-2 with LayerNorms before and after the branches, factors, a window of 3, norms of rows of 4/2 heads, an untied head and a softcap
    long        one layer, T = 150, 4/2 heads of 8, RoPE: several tiles of queries and keys

Attributes of a group are the keys of dikkat's [model], as numbers and (norm, positions, rope_scaling, activation) strings. In each:

    weights/<name>        float32, exact in float64 too; names and layouts as torch_llama.py says
    tokens, targets       int32 (B, T), T = block_size
    logits                (B, T, V), after the softcap
    loss                  mean cross-entropy over B * T targets
    gradients/<name>      of that loss
    prompt, greedy        int32 (P), (T - P): the most likely token, again and again, until prompt and text fill the context. No choice is
                          close: the best logit is more than 1e-3 of the largest magnitude above the second

Groups with rope_short_factors have them as a dataset, (pairs). The families, and relu2, odd and nanochat, also have

    adamw/weights/<name>  after one AdamW step with these gradients, unclipped; attributes learning_rate, beta1, beta2, eps, weight_decay

A first step, for a gradient g (decay only for tensors of two or more dimensions):

    w -= learning_rate * weight_decay * w;  w -= learning_rate * g / (|g| + eps)

Its eps is 1e-3, so that the update stays a smooth function of g and float32 follows it also where g is nearly 0.
"""

import dataclasses
import math
import sys

sys.dont_write_bytecode = True

import numpy
import torch

from h5_fixture import create, normal, write
from torch_gpt import adamw, mean_loss
from torch_llama import Config, Llama

LLAMA = dict(bias=False, norm="rms_norm", positions="rope", activation="silu", gated=True)
CASES = {  # group: (configuration, batch size)
    "llama": (Config(n_layer=2, n_head=4, n_kv_head=2, n_embd=16, n_hidden=40, block_size=20, vocab_size=50, **LLAMA), 2),
    "llama31": (Config(n_layer=2, n_head=4, n_kv_head=2, head_size=16, n_embd=16, n_hidden=24, block_size=20, vocab_size=47,
                       tie_embeddings=False, rope_theta=500000.0, rope_scaling="llama3", rope_factor=8.0, rope_low_freq_factor=0.5,
                       rope_high_freq_factor=6.0, rope_original_context=160, **LLAMA), 2),
    "qwen2": (Config(n_layer=2, n_head=2, n_kv_head=1, n_embd=16, n_hidden=36, block_size=18, vocab_size=53, qkv_bias=True, norm_eps=1e-6,
                     rope_theta=1e6, **LLAMA), 2),
    "qwen3": (Config(n_layer=2, n_head=4, n_kv_head=2, head_size=12, n_embd=16, n_hidden=28, block_size=16, vocab_size=50, norm_eps=1e-6,
                     rope_theta=1e6, qk_norm=True, **LLAMA), 2),
    "gemma_like": (Config(n_layer=2, n_head=3, n_kv_head=1, head_size=8, n_embd=18, n_hidden=32, block_size=17, vocab_size=50, bias=False,
                          norm="rms_norm", norm_eps=1e-3, positions="rope", rope_theta=1000.0, rope_scaling="linear", rope_factor=4.0,
                          activation="gelu", gated=True, logit_softcap=5.0), 2),
    "relu2": (Config(n_layer=2, n_head=4, n_kv_head=2, n_embd=16, n_hidden=48, block_size=12, vocab_size=50, norm_eps=1e-2,
                     positions="none", activation="relu2"), 2),
    "odd": (Config(n_layer=2, n_head=6, n_kv_head=3, head_size=10, n_embd=18, n_hidden=22, block_size=13, vocab_size=51,
                   tie_embeddings=False, norm_eps=1e-3, activation="relu", gated=True, qk_norm=True), 2),
    "sines": (Config(n_layer=2, n_head=3, n_embd=18, n_hidden=40, block_size=14, vocab_size=50, norm="rms_norm", positions="sinusoidal", tie_embeddings=False,
                     activation="relu"), 2),
    "long": (Config(n_layer=1, n_head=4, n_kv_head=2, head_size=8, n_embd=16, n_hidden=24, block_size=150, vocab_size=50, **LLAMA), 1),
    "gemma3": (Config(n_layer=3, n_head=4, n_kv_head=1, head_size=8, n_embd=16, n_hidden=28, block_size=18, vocab_size=50, bias=False,
                      norm="rms_norm", norm_eps=1e-6, positions="rope", rope_theta=1e6, rope_theta_local=1e4, activation="gelu", gated=True,
                      qk_norm=True, norm_position="sandwich", attention_scale=0.25, window=5, window_pattern=3, scale_embeddings=True), 2),
    "smollm3": (Config(n_layer=4, n_head=4, n_kv_head=2, n_embd=16, n_hidden=28, block_size=14, vocab_size=50, norm_eps=1e-6, rope_theta=5e6,
                       rope_pattern=4, **LLAMA), 2),
    "granite": (Config(n_layer=2, n_head=4, n_kv_head=2, n_embd=16, n_hidden=28, block_size=14, vocab_size=50, embedding_scale=0.6,
                       attention_scale=0.2, residual_scale=0.8, logit_scale=0.4, **LLAMA), 2),
    "olmo2": (Config(n_layer=2, n_head=4, n_kv_head=2, n_embd=16, n_hidden=28, block_size=14, vocab_size=50, norm_eps=1e-6, rope_theta=5e5,
                     tie_embeddings=False, qk_norm=True, qk_norm_over="row", norm_position="branch", **LLAMA), 2),
    "mistral": (Config(n_layer=1, n_head=4, n_kv_head=2, head_size=8, n_embd=16, n_hidden=24, block_size=150, vocab_size=50, window=40, **LLAMA), 1),
    "phi4": (Config(n_layer=2, n_head=3, n_kv_head=1, head_size=16, n_embd=18, n_hidden=28, block_size=14, vocab_size=50, tie_embeddings=False,
                    rope_share=0.75, rope_short_factors=(1.0, 1.25, 1.5, 2.0, 5.0, 8.5), rope_amplitude=math.sqrt(1 + math.log(32) / math.log(4096)),
                    **LLAMA), 2),
    "sandwich": (Config(n_layer=2, n_head=4, n_kv_head=2, head_size=6, n_embd=16, n_hidden=24, block_size=12, vocab_size=50, norm_eps=1e-2,
                        norm_position="sandwich", qk_norm=True, qk_norm_over="row", window=3, residual_scale=0.5, logit_scale=2.0,
                        logit_softcap=9.0, embedding_scale=0.7, tie_embeddings=False), 2),
    "normed": (Config(n_layer=2, n_head=2, n_embd=16, n_hidden=24, block_size=12, vocab_size=50, embedding_norm=True), 2),
    "scaled": (Config(n_layer=3, n_head=2, n_embd=16, n_hidden=24, block_size=12, vocab_size=50, residual_scalars=True), 2),
    "valued": (Config(n_layer=3, n_head=4, n_kv_head=2, n_embd=8, n_hidden=24, block_size=14, vocab_size=50, positions="rope",
                      value_embeddings="alternate"), 2),
    "nanochat": (Config(n_layer=2, n_head=4, n_kv_head=2, head_size=6, n_embd=18, n_hidden=30, block_size=15, vocab_size=50, bias=False,
                        tie_embeddings=False, norm="rms_norm", norm_eps=1e-3, positions="rope", rope_theta=1000.0, activation="relu2",
                        qk_norm=True, logit_softcap=15.0, embedding_norm=True, residual_scalars=True, value_embeddings="all"), 2),
}
ADAMW = dict(learning_rate=1e-2, beta1=0.9, beta2=0.99, eps=1e-3, weight_decay=0.1)
STEPPED = ("llama", "qwen2", "qwen3", "gemma3", "smollm3", "granite", "olmo2", "mistral", "phi4", "relu2", "odd", "nanochat")
SEEDS = {name: 20 + number for number, name in enumerate((
    "llama", "llama31", "qwen2", "qwen3", "gemma_like", "relu2", "odd", "sines", "long", "normed", "scaled", "valued", "nanochat"))}
SEEDS |= {name: 40 + number for number, name in enumerate(("gemma3", "smollm3", "granite", "olmo2", "mistral", "phi4", "sandwich"))}
SEEDS["smollm3"] = 60
PROMPT, PROMPTS = 4, 60
CLEAR = 1e-3  # of the logits' largest magnitude


@torch.no_grad()
def fill(model):
    """Far from any usual start, so that a mistake shows: nothing is 0 or 1, no tensor is negligible."""
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            p.copy_(normal(*p.shape, std=0.3))
        elif name.endswith(("weight", "resid_lambda")):  # of a norm, of the residual stream
            p.copy_(normal(*p.shape, mean=1.0, std=0.25))
        else:
            p.copy_(normal(*p.shape, std=0.2))


@torch.no_grad()
def greedy_text(model, prompt):
    """The most likely continuation that fills the context, and the margin of its closest choice."""
    text, clear = list(prompt), float("inf")
    while len(text) < model.c.block_size:
        logits = model(torch.tensor([text]))[0, -1]
        best = logits.topk(2)
        clear = min(clear, ((best.values[0] - best.values[1]) / logits.abs().max()).item())
        text.append(best.indices[0].item())
    return text[len(prompt):], clear


def clear_greedy_text(model):
    """The prompt, among some, whose continuation has no close choice and the most different tokens."""
    found = []
    for number in range(PROMPTS):
        prompt = torch.randint(model.c.vocab_size, (PROMPT,), generator=torch.Generator().manual_seed(number)).tolist()
        text, clear = greedy_text(model, prompt)
        if clear > CLEAR:
            found.append((len(set(text)), prompt, text))
    different, prompt, text = max(found, key=lambda each: each[0])
    assert different >= 4, f"{different} different tokens in the best text: choose another seed"
    return prompt, text


def check_kinks(model, tokens):
    """ReLU's slope jumps at 0: float32 must have the same sign as float64 for every element."""
    nearest = []

    def watch(module, inputs, output):
        nearest.append(output.detach().abs().min().item())

    handles = [block.mlp.c_fc.register_forward_hook(watch) for block in model.h]
    model(tokens)
    for handle in handles:
        handle.remove()
    assert min(nearest) > 3e-6, f"an activation's input is {min(nearest)}: choose another seed"


def attributes(config):
    return {key: numpy.bytes_(value) if isinstance(value, str) else value if isinstance(value, float) else int(value)
            for key, value in dataclasses.asdict(config).items() if not isinstance(value, tuple)}


def write_case(group, config, batch_size):
    model = Llama(config).double()
    fill(model)
    tokens, targets = torch.randint(config.vocab_size, (2, batch_size, config.block_size))
    if config.activation == "relu":
        check_kinks(model, tokens)
    prompt, greedy = clear_greedy_text(model)
    logits = model(tokens)
    loss = mean_loss(logits, targets)
    loss.backward()
    factors = {"rope_short_factors": torch.tensor(config.rope_short_factors, dtype=torch.float64)} if config.rope_short_factors else {}
    write(group, factors | {"tokens": tokens, "targets": targets, "logits": logits, "loss": loss, "prompt": torch.tensor(prompt),
                  "greedy": torch.tensor(greedy)}, **attributes(config))
    write(group.create_group("weights"), {name: p.float() for name, p in model.named_parameters()})
    write(group.create_group("gradients"), {name: p.grad for name, p in model.named_parameters()})

    if group.name.strip("/") in STEPPED:
        adamw(model, ADAMW["learning_rate"], (ADAMW["beta1"], ADAMW["beta2"]), ADAMW["weight_decay"], ADAMW["eps"]).step()
        stepped = group.create_group("adamw")
        write(stepped, {}, **ADAMW)
        write(stepped.create_group("weights"), dict(model.named_parameters()))


def main():
    torch.set_num_threads(1)  # so that the file comes out the same, byte for byte
    with create("llama.h5") as file:
        for name, case in CASES.items():
            torch.manual_seed(SEEDS[name])  # so that a group does not depend on those before it
            write_case(file.create_group(name), *case)


if __name__ == "__main__":
    main()
