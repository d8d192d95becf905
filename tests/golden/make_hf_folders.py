#!/usr/bin/env python3
"""Writes the folders of hf/: small models laid out as Hugging Face publishes them, each with the logits that it must give.

    make_hf_folders.py [--tokenizer FOLDER=FILE ...]     /usr/bin/python3, with NumPy; FILE is put into that folder as tokenizer.json

    gpt2       as transformers 4 saves it: names begin with "transformer.", the head is tied and absent, F32
    gpt2_hub   as OpenAI's files on the hub are: names without that prefix, buffers h.N.attn.bias and h.N.attn.masked_bias among the weights, an
               old config.json; F32
    llama      as Llama 3.2: head_dim, rope_scaling of type llama3, tied, F32
    llama_v5   as transformers 5 saves it: rope_parameters, dtype, a list of end tokens; untied, BF16 in two shards with an index, the cut
               going through a layer
    qwen2      as Qwen2.5: biases of q, k and v only, no head_dim and no rope_scaling, tied, F32
    qwen3      as Qwen3-0.6B: heads wider than C / H, q_norm and k_norm, rope_scaling null; tied and yet with a copy of the table as
               lm_head.weight, F16

config.json has the keys, and the forms of values, that transformers writes for the family; sizes are small. expected.json holds

    tokens    (B, T)
    logits    (B, T, V), computed here in float64 by NumPy from the stored (rounded) weights, with the published names and formulas
    loss      mean cross-entropy of each row's tokens 2 ... T given those before, over B * (T - 1), as transformers computes it for labels = tokens

Nothing here goes through dikkat's names; check_llama.py compares the logits with those of torch_llama.py.
"""

import argparse
import json
import math
import pathlib
import shutil
import struct

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent / "hf"
VOCABULARY, BATCH, TIME = 60, 2, 10
BOS, EOS = 58, 59

GPT2 = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1,
    "bos_token_id": EOS,
    "embd_pdrop": 0.1,
    "eos_token_id": EOS,
    "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2",
    "n_embd": 16,
    "n_head": 2,
    "n_inner": None,
    "n_layer": 2,
    "n_positions": 16,
    "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.1,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "summary_activation": None,
    "summary_first_dropout": 0.1,
    "summary_proj_to_labels": True,
    "summary_type": "cls_index",
    "summary_use_proj": True,
    "torch_dtype": "float32",
    "transformers_version": "4.46.3",
    "use_cache": True,
    "vocab_size": VOCABULARY,
}
GPT2_HUB = {key: value for key, value in GPT2.items()
            if key not in ("n_inner", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights", "torch_dtype",
                           "transformers_version", "use_cache")}
GPT2_HUB |= {"n_ctx": 16, "n_head": 4, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}}
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "head_dim": 12,
    "hidden_act": "silu",
    "hidden_size": 16,
    "initializer_range": 0.02,
    "intermediate_size": 28,
    "max_position_embeddings": 1024,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 32.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 128,  # wavelengths 6 (stays), 56 (between), 499 and longer (divided)
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "transformers_version": "4.45.0.dev0",
    "use_cache": True,
    "vocab_size": VOCABULARY,
}
LLAMA_V5 = {key: value for key, value in LLAMA.items() if key not in ("rope_scaling", "rope_theta", "torch_dtype")}
LLAMA_V5 |= {
    "dtype": "bfloat16",
    "eos_token_id": [EOS, 57],
    "head_dim": 8,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "pad_token_id": None,
    "rope_parameters": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 128,  # wavelengths 6 (stays), 63 (between), 628 and 6,283 (divided)
        "rope_theta": 10000.0,
        "rope_type": "llama3",
    },
    "tie_word_embeddings": False,
    "transformers_version": "5.0.0",
}
QWEN2 = {
    "architectures": ["Qwen2ForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": EOS,
    "eos_token_id": EOS,
    "hidden_act": "silu",
    "hidden_size": 24,
    "initializer_range": 0.02,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "max_window_layers": 2,
    "model_type": "qwen2",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "sliding_window": 64,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "transformers_version": "4.40.1",
    "use_cache": True,
    "use_mrope": False,
    "use_sliding_window": False,
    "vocab_size": VOCABULARY,
}
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "head_dim": 12,
    "hidden_act": "silu",
    "hidden_size": 16,
    "initializer_range": 0.02,
    "intermediate_size": 28,
    "max_position_embeddings": 64,
    "max_window_layers": 2,
    "model_type": "qwen3",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": True,
    "torch_dtype": "float16",
    "transformers_version": "4.51.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": VOCABULARY,
}


# The contents of the files


def gpt2_shapes(c):
    """The shapes of the tensors of a GPT-2. Conv1D weights are (in, out)."""
    width, shapes = c["n_embd"], {}
    shapes["wte.weight"], shapes["wpe.weight"] = (c["vocab_size"], width), (c["n_positions"], width)
    for i in range(c["n_layer"]):
        for name, size in ((f"h.{i}.attn.c_attn", (width, 3 * width)), (f"h.{i}.attn.c_proj", (width, width)),
                           (f"h.{i}.mlp.c_fc", (width, 4 * width)), (f"h.{i}.mlp.c_proj", (4 * width, width))):
            shapes[name + ".weight"], shapes[name + ".bias"] = size, size[1:]
        for name in ("ln_1", "ln_2"):
            shapes[f"h.{i}.{name}.weight"] = shapes[f"h.{i}.{name}.bias"] = (width,)
    shapes["ln_f.weight"] = shapes["ln_f.bias"] = (width,)
    return shapes


def llama_shapes(c):
    """In the order of the modules, which is that of shards. Linear weights are (out, in)."""
    width, hidden = c["hidden_size"], c["intermediate_size"]
    size = c.get("head_dim", width // c["num_attention_heads"])
    queries, keys = size * c["num_attention_heads"], size * c["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        for name, out, into in (("q", queries, width), ("k", keys, width), ("v", keys, width), ("o", width, queries)):
            shapes[f"{at}self_attn.{name}_proj.weight"] = (out, into)
            if c["model_type"] == "qwen2" and name != "o":
                shapes[f"{at}self_attn.{name}_proj.bias"] = (out,)
        if c["model_type"] == "qwen3":
            shapes[f"{at}self_attn.q_norm.weight"] = shapes[f"{at}self_attn.k_norm.weight"] = (size,)
        shapes[f"{at}mlp.gate_proj.weight"] = shapes[f"{at}mlp.up_proj.weight"] = (hidden, width)
        shapes[f"{at}mlp.down_proj.weight"] = (width, hidden)
        shapes[f"{at}input_layernorm.weight"] = shapes[f"{at}post_attention_layernorm.weight"] = (width,)
    shapes["model.norm.weight"] = (width,)
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (c["vocab_size"], width)
    return shapes


def drawn(shapes, seed):
    """Far from any usual start, so that a mistake shows: nothing is 0 or 1, no tensor is negligible."""
    random = np.random.RandomState(seed)  # NumPy promises not to change the numbers of this generator
    is_norm = lambda name: "norm" in name or "ln_" in name
    return {name: random.normal(1.0 if is_norm(name) and name.endswith("weight") else 0.0, 0.3 if len(shape) > 1 else 0.25, shape)
            for name, shape in shapes.items()}


# Element types: the bytes of a tensor, and the numbers that they mean


def bf16_words(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")  # to the nearest, ties to even


TYPES = {
    "F32": (lambda x: x.astype("<f4"), lambda stored: stored.astype(np.float64)),
    "F16": (lambda x: x.astype("<f2"), lambda stored: stored.astype(np.float64)),
    "BF16": (bf16_words, lambda stored: (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)),
}


def write_safetensors(path, tensors, dtype):
    """tensors: the stored arrays by name."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(tensors):
        stored = tensors[name]
        header[name] = {"dtype": dtype, "shape": list(stored.shape), "data_offsets": [len(data), len(data) + stored.nbytes]}
        data += stored.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n")


# The models, by their published names


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(q, k, v):
    """(H, T, D) each."""
    time = q.shape[1]
    scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])
    return softmax(np.where(np.tri(time, dtype=bool), scores, -np.inf)) @ v


def gpt2_logits(c, w, tokens):
    """tokens (T) to logits (T, V), as modeling_gpt2."""

    def conv1d(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def layer_norm(x, name):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + c["layer_norm_epsilon"]) * w[name + ".weight"] + w[name + ".bias"]

    def heads(x):
        return x.reshape(len(tokens), c["n_head"], -1).swapaxes(0, 1)

    x = w["wte.weight"][tokens] + w["wpe.weight"][:len(tokens)]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        q, k, v = map(heads, np.split(conv1d(layer_norm(x, h + "ln_1"), h + "attn.c_attn"), 3, axis=1))
        x = x + conv1d(attended(q, k, v).swapaxes(0, 1).reshape(x.shape), h + "attn.c_proj")
        y = conv1d(layer_norm(x, h + "ln_2"), h + "mlp.c_fc")
        x = x + conv1d(0.5 * y * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))), h + "mlp.c_proj")
    return layer_norm(x, "ln_f") @ w["wte.weight"].T


def inverse_frequencies(c, size):
    rope = c.get("rope_parameters") or dict(c.get("rope_scaling") or {}, rope_theta=c["rope_theta"])
    plain = 1.0 / rope["rope_theta"] ** (np.arange(0, size, 2) / size)
    if rope.get("rope_type", "default") == "default":
        return plain
    result = []
    for f in plain:
        wavelength = 2 * math.pi / f
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        smooth = (rope["original_max_position_embeddings"] / wavelength - low) / (high - low)
        smooth = min(1, max(0, smooth))  # 1 for short waves and 0 for long ones
        result.append((1 - smooth) * f / rope["factor"] + smooth * f)
    return np.array(result)


def llama_logits(c, w, tokens):
    """tokens (T) to logits (T, V), as modeling_llama, modeling_qwen2 and modeling_qwen3."""
    n_heads, n_kv_heads = c["num_attention_heads"], c["num_key_value_heads"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def rms_norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + c["rms_norm_eps"]) * w[name + ".weight"]

    def heads(x, count):
        return x.reshape(len(tokens), count, -1).swapaxes(0, 1)

    def rotate_half(x):
        half = x.shape[-1] // 2
        return np.concatenate((-x[..., half:], x[..., :half]), axis=-1)

    size = c.get("head_dim", c["hidden_size"] // n_heads)
    angles = np.arange(len(tokens))[:, None] * inverse_frequencies(c, size)
    cos, sin = (np.tile(f(angles), 2) for f in (np.cos, np.sin))  # (T, D)
    x = w["model.embed_tokens.weight"][tokens]
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        y = rms_norm(x, at + "input_layernorm")
        q = heads(linear(y, at + "self_attn.q_proj"), n_heads)
        k, v = (heads(linear(y, f"{at}self_attn.{name}_proj"), n_kv_heads) for name in "kv")
        if at + "self_attn.q_norm.weight" in w:
            q, k = rms_norm(q, at + "self_attn.q_norm"), rms_norm(k, at + "self_attn.k_norm")
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = np.repeat(k, n_heads // n_kv_heads, axis=0), np.repeat(v, n_heads // n_kv_heads, axis=0)
        x = x + linear(attended(q, k, v).swapaxes(0, 1).reshape(len(tokens), -1), at + "self_attn.o_proj")
        y = rms_norm(x, at + "post_attention_layernorm")
        gate = linear(y, at + "mlp.gate_proj")
        x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, at + "mlp.up_proj"), at + "mlp.down_proj")
    head = "model.embed_tokens" if c["tie_word_embeddings"] else "lm_head"
    return rms_norm(x, "model.norm") @ w[head + ".weight"].T


# Folders


def write_expected(folder, logits_of, config, weights, seed):
    tokens = np.random.RandomState(seed).randint(0, VOCABULARY, (BATCH, TIME))
    logits = np.array([logits_of(config, weights, row) for row in tokens])
    answers = np.take_along_axis(logits[:, :-1], tokens[:, 1:, None], axis=2)[..., 0]
    loss = (np.log(np.exp(logits[:, :-1]).sum(-1)) - answers).mean()
    rows = ",\n  ".join("[" + ",\n   ".join(json.dumps(row) for row in sequence) + "]" for sequence in logits.tolist())
    (folder / "expected.json").write_text(f'{{"tokens": {json.dumps(tokens.tolist())},\n "loss": {json.dumps(loss)},\n "logits": [\n  {rows}]}}\n')


def new_folder(name, config, generation):
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config)
    if "transformers_version" in config:
        generation = generation | {"transformers_version": config["transformers_version"]}
    write_json(folder / "generation_config.json", generation)
    return folder


def stored_and_read(weights, dtype):
    store, read = TYPES[dtype]
    stored = {name: store(weight) for name, weight in weights.items()}
    return stored, {name: read(each) for name, each in stored.items()}


def write_gpt2(name, config, prefix, buffers, seed):
    folder = new_folder(name, config, {"_from_model_config": True, "bos_token_id": EOS, "eos_token_id": EOS})
    stored, weights = stored_and_read(drawn(gpt2_shapes(config), seed), "F32")
    write_expected(folder, gpt2_logits, config, weights, seed)
    if buffers:  # causal masks, and the value of a masked score
        for i in range(config["n_layer"]):
            stored[f"h.{i}.attn.bias"] = np.tri(config["n_positions"], dtype="<f4")[None, None]
            stored[f"h.{i}.attn.masked_bias"] = np.array(-10000, dtype="<f4")
    write_safetensors(folder / "model.safetensors", {prefix + each: tensor for each, tensor in stored.items()}, "F32")


def write_llama(name, config, dtype, seed, generation, shards=1, with_tied_head=False):
    folder = new_folder(name, config, generation)
    stored, weights = stored_and_read(drawn(llama_shapes(config), seed), dtype)
    write_expected(folder, llama_logits, config, weights, seed)
    if with_tied_head:
        stored["lm_head.weight"] = stored["model.embed_tokens.weight"]
    if shards == 1:
        write_safetensors(folder / "model.safetensors", stored, dtype)
        return
    total = sum(each.nbytes for each in stored.values())
    weight_map, parts, before = {}, {}, 0
    for each, tensor in stored.items():
        file = f"model-{before * shards // total + 1:05}-of-{shards:05}.safetensors"
        weight_map[each] = file
        parts.setdefault(file, {})[each] = tensor
        before += tensor.nbytes
    for file, tensors in parts.items():
        write_safetensors(folder / file, tensors, dtype)
    metadata = {"total_parameters": sum(each.size for each in stored.values()), "total_size": total}
    write_json(folder / "model.safetensors.index.json", {"metadata": metadata, "weight_map": weight_map})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", metavar="FOLDER=FILE", action="append", default=[], help="a tokenizer.json for one of the folders")
    arguments = parser.parse_args()
    write_gpt2("gpt2", GPT2, "transformer.", False, 31)
    write_gpt2("gpt2_hub", GPT2_HUB, "", True, 32)
    write_llama("llama", LLAMA, "F32", 33, {"_from_model_config": True, "bos_token_id": BOS, "eos_token_id": EOS})
    write_llama("llama_v5", LLAMA_V5, "BF16", 34, {"bos_token_id": BOS, "do_sample": True, "eos_token_id": [EOS, 57], "temperature": 0.6, "top_p": 0.9},
                shards=2)
    write_llama("qwen2", QWEN2, "F32", 35, {"bos_token_id": EOS, "do_sample": False, "eos_token_id": EOS, "max_new_tokens": 2048})
    write_llama("qwen3", QWEN3, "F16", 36, {"bos_token_id": BOS, "do_sample": True, "eos_token_id": [EOS, BOS], "pad_token_id": BOS,
                                            "temperature": 0.6, "top_k": 20, "top_p": 0.95}, with_tied_head=True)
    for each in arguments.tokenizer:
        folder, file = each.split("=", 1)
        shutil.copyfile(file, HERE / folder / "tokenizer.json")


if __name__ == "__main__":
    main()
