#!/usr/bin/env python3
"""Computes logits of a model in a Hugging Face folder (GPT-2, Llama, Qwen2 or Qwen3) in plain PyTorch, such as one that dikkat has exported.

    load_in_pytorch.py FOLDER 17 4 29       prints the most likely successors of each token

It needs PyTorch but not the package transformers, reads config.json and *.safetensors, and computes in float64.
"""
import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F


def read_safetensors(path):
    """Reads a file: the header's length (8 bytes), the header (JSON: type, shape and place of each tensor), then the tensors."""
    data, types = bytearray(path.read_bytes()), {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
    begin = 8 + int.from_bytes(data[:8], "little")
    header = {name: t for name, t in json.loads(data[8:begin]).items() if name != "__metadata__"}
    return {name: torch.frombuffer(data, dtype=types[t["dtype"]], count=math.prod(t["shape"]), offset=begin + t["data_offsets"][0])
            .view(t["shape"]).double() for name, t in header.items()}


def attention(q, k, v):
    """Returns (T, H D) for q (H, T, D), k and v (KV, T, D). Query head h reads key/value head h // (H / KV)."""
    k, v = (x.repeat_interleave(len(q) // len(x), dim=0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.size(2))
    weights = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf).softmax(dim=-1)
    return (weights @ v).transpose(0, 1).flatten(1)


def gpt2(c, w, tokens):
    """Returns the logits (T, V) of tokens (T). A Conv1D's weight is (in, out), the transpose of a linear layer's."""
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    conv1d = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    norm = lambda x, name: F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], c["layer_norm_epsilon"])
    x = w["wte.weight"][tokens] + w["wpe.weight"][:len(tokens)]
    for h in (f"h.{i}." for i in range(c["n_layer"])):
        qkv = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn").view(len(tokens), 3, c["n_head"], -1)
        x = x + conv1d(attention(*qkv.permute(1, 2, 0, 3)), h + "attn.c_proj")
        x = x + conv1d(F.gelu(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
    return norm(x, "ln_f") @ w.get("score.weight", w.get("lm_head.weight", w["wte.weight"])).T


def rope_frequencies(c, size):
    """Returns the angle by which each pair of elements turns from one position to the next, (D / 2)."""
    rope = c.get("rope_parameters") or (c.get("rope_scaling") or {}) | {"rope_theta": c["rope_theta"]}
    f = rope["rope_theta"] ** (-torch.arange(0, size, 2).double() / size)
    kind, factor = rope.get("rope_type", rope.get("type", "default")), rope.get("factor", 1)
    if kind == "llama3":  # short waves keep their frequency, long ones are slowed down
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        keep = ((rope["original_max_position_embeddings"] * f / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        return keep * f + (1 - keep) * f / factor
    return {"default": f, "linear": f / factor}[kind]


def llama(c, w, tokens):
    """Returns Llama's logits (T, V) of tokens (T). Qwen2 also has biases of q, k and v, and Qwen3 normalizes each query and key."""
    size = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    angles = torch.arange(len(tokens))[:, None] * rope_frequencies(c, size)
    linear = lambda x, name: F.linear(x, w[name + ".weight"], w.get(name + ".bias"))
    norm = lambda x, name: x * (x.square().mean(-1, keepdim=True) + c["rms_norm_eps"]).rsqrt() * w[name + ".weight"]
    heads = lambda x, name: linear(x, name).view(len(tokens), -1, size).transpose(0, 1)

    def turned(x, name):  # by the positions; elements i and i + D / 2 are a pair
        a, b = (norm(x, name) if name + ".weight" in w else x).chunk(2, dim=-1)
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), dim=-1)

    x = w["model.embed_tokens.weight"][tokens]
    for layer in (f"model.layers.{i}." for i in range(c["num_hidden_layers"])):
        y, own = norm(x, layer + "input_layernorm"), layer + "self_attn."
        q, k = (turned(heads(y, f"{own}{name}_proj"), f"{own}{name}_norm") for name in "qk")
        x = x + linear(attention(q, k, heads(y, own + "v_proj")), own + "o_proj")
        y, own = norm(x, layer + "post_attention_layernorm"), layer + "mlp."
        x = x + linear(F.silu(linear(y, own + "gate_proj")) * linear(y, own + "up_proj"), own + "down_proj")
    head = "score" if "score.weight" in w else "model.embed_tokens" if c.get("tie_word_embeddings") else "lm_head"
    return linear(norm(x, "model.norm"), head)


MODELS = {"gpt2": gpt2, "llama": llama, "qwen2": llama, "qwen3": llama}


def load(folder):
    """Returns a function from token ids (T) to logits (T, V), or of a classifier to those of its labels, of which the last row counts."""
    config, files = json.loads((folder / "config.json").read_text()), sorted(folder.glob("*.safetensors"))  # a large model has shards
    weights = {name: tensor for file in files for name, tensor in read_safetensors(file).items()}
    assert config.get("activation_function", config.get("hidden_act")) in ("gelu_new", "silu"), f"{folder}: another activation"
    model = MODELS[config["model_type"]]
    return lambda tokens: model(config, weights, torch.tensor(tokens))


if __name__ == "__main__":
    ids = [int(word) for word in sys.argv[2:]]
    for token, best in zip(ids, load(pathlib.Path(sys.argv[1]))(ids).topk(5)[1].tolist()):
        print(f"{token:6} -> " + " ".join(map(str, best)))
