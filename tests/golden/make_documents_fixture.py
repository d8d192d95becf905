#!/usr/bin/env python3
"""Writes documents.h5: the worked examples of the course's documents 002 and 004. Needs Debian's python3-torch and python3-h5py
(run it with /usr/bin/python3). With --print it also prints the weights as C++, for examples/attention_step_by_step.cpp.

Document 004, "Attention Mechanisms":

    shiny/embeddings (3, 3)   "Hello shiny sun!": float64
    shiny/weights (3), terms (3, 3), context (3)
                              softmax of the dot products with "shiny", each word's weighted embedding, their sum: computed from the
                              decimal figures with 60 digits, then rounded once to float64
    shiny/document_terms (3, 3), document_context (3)
                              these as the document prints them, to four decimals and not all correct
    sentence (6, 3)           "Your journey starts with one step": float32
    self_attention/           SelfAttention_v2(3, 2), manual_seed(789)
    causal_attention/         CausalAttention(3, 2), manual_seed(123), no dropout
    multi_head_attention/     MultiHeadAttention(3, 2, num_heads=2), manual_seed(123); with out_proj (2, 2), out_bias (2)
                              each: w_query w_key w_value (2, 3) float32 as PyTorch draws them, y (6, 2) in float64 from these
                              weights, y_float32 (6, 2) as the document's own code gives it

Document 002's generate_text_simple (the context cut to its last block_size tokens, softmax of the last position's logits, argmax,
append), run on a small random GPT of torch_gpt.py:

    generate/                 the configuration as attributes, weights/<name> float32, prompt_<i> and generated_<i> int32 for
                              i = 0 ... prompts - 1, and `margin`: the smallest distance between the two largest logits of all
                              steps, at least 5e-3, so that rounding does not matter (a float32 run gives the same ids)
"""

import dataclasses
import sys
from decimal import Decimal, getcontext

sys.dont_write_bytecode = True

import torch
from torch import nn

from h5_fixture import create, normal, write
from torch_gpt import GPT, GPTConfig

HELLO_SHINY_SUN = (("0.34", "0.22", "0.54"), ("0.53", "0.34", "0.98"), ("0.29", "0.54", "0.93"))
DOCUMENT_TERMS = ((0.0779, 0.0504, 0.1237), (0.2156, 0.1382, 0.3983), (0.1057, 0.1972, 0.3390))
DOCUMENT_CONTEXT = (0.3992, 0.3858, 0.8610)
SENTENCE = ((0.43, 0.15, 0.89), (0.55, 0.87, 0.66), (0.57, 0.85, 0.64), (0.22, 0.58, 0.33), (0.77, 0.25, 0.10), (0.05, 0.80, 0.55))
CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=24, block_size=8, vocab_size=29, tie_embeddings=False)
PROMPT_LENGTHS, NEW_TOKENS, MIN_MARGIN = (1, 5, 11), 24, 5e-3  # the last prompt is longer than the block


def shiny(group):
    getcontext().prec = 60
    words = [[Decimal(x) for x in word] for word in HELLO_SHINY_SUN]
    exps = [sum(a * b for a, b in zip(word, words[1])).exp() for word in words]
    weights = [e / sum(exps) for e in exps]
    terms = [[w * x for x in word] for w, word in zip(weights, words)]
    context = [sum(column) for column in zip(*terms)]
    for name, values in (("embeddings", words), ("terms", terms), ("document_terms", DOCUMENT_TERMS)):
        write(group, {name: torch.tensor([[float(x) for x in row] for row in values], dtype=torch.float64)})
    for name, values in (("weights", weights), ("context", context), ("document_context", DOCUMENT_CONTEXT)):
        write(group, {name: torch.tensor([float(x) for x in values], dtype=torch.float64)})


def heads(x, count):
    """(T, C) -> (heads, T, C / heads)"""
    return x.view(x.size(0), count, -1).transpose(0, 1)


def attend(x, layers, causal, head_count):
    q, k, v = (heads(layer(x), head_count) for layer in layers[:3])
    scores = q @ k.transpose(1, 2)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    y = (torch.softmax(scores / k.size(-1) ** 0.5, dim=-1) @ v).transpose(0, 1).flatten(1)
    return layers[3](y) if len(layers) > 3 else y


def attention(group, sentence, seed, causal, head_count=1, out_proj=False):
    torch.manual_seed(seed)
    layers = [nn.Linear(3, 2, bias=False) for _ in range(3)]
    layers += [nn.Linear(2, 2)] if out_proj else []
    tensors = {name: layer.weight for name, layer in zip(("w_query", "w_key", "w_value", "out_proj"), layers)}
    tensors |= {"out_bias": layers[3].bias} if out_proj else {}
    tensors["y_float32"] = attend(sentence, layers, causal, head_count)
    write(group, tensors)
    write(group, {"y": attend(sentence.double(), [layer.double() for layer in layers], causal, head_count)})


@torch.no_grad()
def generate_text_simple(model, ids, max_new_tokens):
    """The continuation, and the smallest margin on the way."""
    prompt_length, margin = ids.size(1), float("inf")
    for _ in range(max_new_tokens):
        logits = model(ids[:, -CONFIG.block_size:])[:, -1, :]
        first, second = logits[0].topk(2).values.tolist()
        margin = min(margin, first - second)
        ids = torch.cat((ids, torch.softmax(logits, dim=-1).argmax(dim=-1, keepdim=True)), dim=1)
    return ids[0, prompt_length:], margin


def generate(group):
    torch.manual_seed(6)
    model = GPT(CONFIG).double()
    with torch.no_grad():
        for name, p in model.named_parameters():
            mean = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            p.copy_(normal(*p.shape, mean=mean, std=1.0 if name == "wpe.weight" else 0.35))  # positions matter enough to vary the text
    prompts = [torch.randint(CONFIG.vocab_size, (1, length)) for length in PROMPT_LENGTHS]
    continued = [generate_text_simple(model, prompt, NEW_TOKENS) for prompt in prompts]
    again = [generate_text_simple(model.float(), prompt, NEW_TOKENS) for prompt in prompts]
    margin = min(m for _, m in continued)
    assert margin >= MIN_MARGIN, margin
    assert all(torch.equal(a[0], b[0]) for a, b in zip(continued, again))
    for ids, _ in continued:
        assert len(set(ids[-CONFIG.block_size:].tolist())) >= 4, ids  # no token is repeated over and over
    for i, (prompt, (ids, _)) in enumerate(zip(prompts, continued)):
        write(group, {f"prompt_{i}": prompt[0], f"generated_{i}": ids})
    write(group.create_group("weights"), {name: p.float() for name, p in model.named_parameters()})
    group.attrs.update({key: value if isinstance(value, float) else int(value) for key, value in dataclasses.asdict(CONFIG).items()})
    group.attrs.update(prompts=len(prompts), margin=margin)


def print_weights(group):
    print(group.name)
    for name in ("w_query", "w_key", "w_value", "out_proj", "out_bias"):
        if name in group:
            rows = ", ".join("{" + ", ".join(f"{x:.9g}" for x in row) + "}" for row in group[name][()].reshape(-1, group[name].shape[-1]))
            print(f"  {name} = {{{rows}}}")


def main():
    torch.set_num_threads(1)  # so that the files come out the same, byte for byte
    sentence = torch.tensor(SENTENCE)
    with create("documents.h5") as file:
        shiny(file.create_group("shiny"))
        write(file, {"sentence": sentence})
        attention(file.create_group("self_attention"), sentence, 789, causal=False)
        attention(file.create_group("causal_attention"), sentence, 123, causal=True)
        attention(file.create_group("multi_head_attention"), sentence, 123, causal=True, head_count=2, out_proj=True)
        generate(file.create_group("generate"))
        if "--print" in sys.argv:
            for name in ("self_attention", "causal_attention", "multi_head_attention"):
                print_weights(file[name])


if __name__ == "__main__":
    main()
