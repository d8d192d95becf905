#!/usr/bin/env python3
"""Computes logits of a model in a Hugging Face folder (GPT-2, Llama, Qwen2 or Qwen3) in plain PyTorch, such as one that dikkat has exported.

    load_in_pytorch.py FOLDER 17 4 29                           each token's likeliest successors
    load_in_pytorch.py FOLDER --compare FOLDER/expected.json    against {"tokens": [[...]], "logits": [[[...]]]}; ends with 1 where they differ

It needs PyTorch and not the package transformers, reads config.json and *.safetensors, and computes in float64.
"""
import argparse
import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read_safetensors(path):
    """A file is the header's length (8 bytes), the header (JSON: type, shape and place of each tensor), and the tensors one after another."""
    data = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(data, dtype=DTYPES[t["dtype"]], count=math.prod(t["shape"]), offset=begin + t["data_offsets"][0])
            .view(t["shape"]).double() for name, t in header.items()}


def attention(q, k, v):
    """q (H, T, D), k and v (KV, T, D): query head h reads key/value head h // (H / KV). Returns (T, H D)."""
    k, v = (x.repeat_interleave(len(q) // len(x), dim=0) for x in (k, v))
    future = torch.ones(q.size(1), q.size(1)).triu(1).bool()
    weights = F.softmax((q @ k.transpose(1, 2) / math.sqrt(q.size(2))).masked_fill(future, -math.inf), dim=-1)
    return (weights @ v).transpose(0, 1).flatten(1)


def gpt2(c, w, tokens):
    """Logits (T, V) of tokens (T). A Conv1D's weight is (in, out): the transpose of a linear layer's."""
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    conv1d = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    norm = lambda x, name: F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])
    heads = lambda x: x.view(len(tokens), c["n_head"], -1).transpose(0, 1)
    x = w["wte.weight"][tokens] + w["wpe.weight"][:len(tokens)]
    for h in (f"h.{i}." for i in range(c["n_layer"])):
        q, k, v = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, dim=1)
        x = x + conv1d(attention(heads(q), heads(k), heads(v)), h + "attn.c_proj")
        x = x + conv1d(F.gelu(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
    return norm(x, "ln_f") @ w.get("lm_head.weight", w["wte.weight"]).T


def rope_frequencies(c, size):
    """(D / 2): how far a pair of elements turns from one position to the next."""
    rope = c.get("rope_parameters") or (c.get("rope_scaling") or {}) | {"rope_theta": c["rope_theta"]}
    f = rope["rope_theta"] ** (-torch.arange(0, size, 2).double() / size)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "linear", "llama3"):
        sys.exit(f"config.json: RoPE of type {kind}; this example knows default, linear and llama3")
    if kind == "linear":
        return f / rope["factor"]
    if kind == "llama3":  # short waves keep their frequency, long ones are slowed down
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        keep = ((rope["original_max_position_embeddings"] * f / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        return keep * f + (1 - keep) * f / rope["factor"]
    return f


def llama(c, w, tokens):
    """Llama's logits (T, V) of tokens (T). Qwen2 has biases of q, k and v besides, and Qwen3 norms of each query and key."""
    n_heads = c["num_attention_heads"]
    angles = torch.arange(len(tokens))[:, None] * rope_frequencies(c, c.get("head_dim") or c["hidden_size"] // n_heads)
    linear = lambda x, name: F.linear(x, w[name + ".weight"], w.get(name + ".bias"))
    norm = lambda x, name: x * (x.square().mean(-1, keepdim=True) + c["rms_norm_eps"]).rsqrt() * w[name + ".weight"]
    head_norm = lambda x, name: norm(x, name) if name + ".weight" in w else x
    heads = lambda x, count: x.view(len(tokens), count, -1).transpose(0, 1)

    def turned(x):  # elements i and i + D / 2 are a pair
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)

    x = w["model.embed_tokens.weight"][tokens]
    for layer in (f"model.layers.{i}." for i in range(c["num_hidden_layers"])):
        y, own = norm(x, layer + "input_layernorm"), layer + "self_attn."
        q = head_norm(heads(linear(y, own + "q_proj"), n_heads), own + "q_norm")
        k = head_norm(heads(linear(y, own + "k_proj"), c["num_key_value_heads"]), own + "k_norm")
        v = heads(linear(y, own + "v_proj"), c["num_key_value_heads"])
        x = x + linear(attention(turned(q), turned(k), v), own + "o_proj")
        y, own = norm(x, layer + "post_attention_layernorm"), layer + "mlp."
        x = x + linear(F.silu(linear(y, own + "gate_proj")) * linear(y, own + "up_proj"), own + "down_proj")
    return linear(norm(x, "model.norm"), "model.embed_tokens" if c.get("tie_word_embeddings") else "lm_head")


MODELS = {"gpt2": gpt2, "llama": llama, "qwen2": llama, "qwen3": llama}


def load(folder):
    """A function from token ids (T) to logits (T, V)."""
    config, weights = json.loads((folder / "config.json").read_text()), {}
    kind, activation = config["model_type"], config.get("activation_function", config.get("hidden_act"))
    if kind not in MODELS or activation not in ("gelu_new", "silu"):
        sys.exit(f"{folder}: a {kind} with {activation}; this example knows {', '.join(MODELS)}, with gelu_new or silu")
    for path in folder.glob("*.safetensors"):  # one file, or the shards of a large model
        weights |= read_safetensors(path)
    return lambda tokens: MODELS[kind](config, weights, torch.tensor(tokens))


def largest_difference(model, expected):
    """Of the largest logit; expected: {"tokens": B lists of T, "logits": (B, T, V)}."""
    pairs = [(model(tokens), torch.tensor(logits, dtype=torch.float64)) for tokens, logits in zip(expected["tokens"], expected["logits"])]
    return max(((ours - theirs).abs().max() / theirs.abs().max()).item() for ours, theirs in pairs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tokens", type=int, nargs="*")
    parser.add_argument("--compare", type=pathlib.Path, metavar="JSON", help="tokens and their logits, computed elsewhere")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of the largest logit (default: 1e-4)")
    arguments = parser.parse_args()
    model = load(arguments.folder)
    if arguments.compare:
        difference = largest_difference(model, json.loads(arguments.compare.read_text()))
        print(f"largest difference {difference:.1e} of the largest logit")
        sys.exit(not difference <= arguments.tolerance)
    for token, row in zip(arguments.tokens, model(arguments.tokens)):
        best = row.topk(5)
        print(f"{token:6} -> " + "  ".join(f"{i} ({z:.4f})" for i, z in zip(best.indices.tolist(), best.values.tolist())))
