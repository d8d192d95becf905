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
    mistral    as Mistral 7B v0.1: a sliding window of 4 in all layers, untied, BF16
    smollm3    as SmolLM3: no RoPE in the last of each four layers (no_rope_layers), tied, F32
    granite    as Granite 4.1: four multipliers, tied, F32
    granite_hybrid  as Granite 4.0 350M: the class that may have experts and Mamba layers, with attention only; gate and up in one tensor, tied, F32
    olmo2      as OLMo 2: norms after the branches and of whole rows of queries and keys, untied, F32
    gemma3     as Gemma 3 270M: layer_types, sliding windows of 4 on two of three layers, norms of 1 + w, tied, BF16
    gemma3_v5  as transformers 5 saves Gemma 3: rope_parameters for both kinds of layer; F32
    phi3       as Phi-4-mini: q, k and v in one tensor, gate and up in another, RoPE on three quarters of a head, LongRoPE from 16 to 512 positions,
               a window that no text fills, tied, BF16
    phi3_v5    as transformers 5 saves a Phi-3: rope_parameters with the original context and half a head, a window of 5, untied, F32

config.json has the keys, and the forms of values, that transformers writes for the family; sizes are small. expected.json holds

    tokens    (B, T)
    logits    (B, T, V), computed here in float64 by NumPy from the stored (rounded) weights, with the published names and formulas
    loss      mean cross-entropy of each row's tokens 2 ... T given those before, over B * (T - 1), as transformers computes it for labels = tokens
    prompt, greedy  4 tokens, and the 12 that follow them if the most likely one is taken each time. No choice is close: the best logit is more
                    than 1e-3 of the largest magnitude above the second

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


MISTRAL = {key: value for key, value in LLAMA_V5.items() if key not in ("attention_bias", "mlp_bias", "pretraining_tp", "rope_parameters", "dtype")}
MISTRAL |= {"architectures": ["MistralForCausalLM"], "eos_token_id": EOS, "head_dim": 8, "max_position_embeddings": 64, "model_type": "mistral",
            "rope_theta": 10000.0, "sliding_window": 4, "torch_dtype": "bfloat16", "transformers_version": "4.34.0.dev0"}
SMOLLM3 = {key: value for key, value in LLAMA.items() if key not in ("head_dim", "rope_scaling")}
SMOLLM3 |= {"architectures": ["SmolLM3ForCausalLM"], "layer_types": ["full_attention"] * 5, "max_position_embeddings": 64, "max_window_layers": 28,
            "model_type": "smollm3", "no_rope_layer_interval": 4, "no_rope_layers": [1, 1, 1, 0, 1], "num_hidden_layers": 5, "pad_token_id": EOS,
            "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 5000000.0, "sliding_window": None, "use_sliding_window": False,
            "transformers_version": "4.54.0"}
GRANITE = {key: value for key, value in LLAMA.items() if key not in ("head_dim", "rope_scaling", "pretraining_tp")}
GRANITE |= {"architectures": ["GraniteForCausalLM"], "attention_multiplier": 0.2, "embedding_multiplier": 12.0, "logits_scaling": 7.0,
            "max_position_embeddings": 64, "model_type": "granite", "residual_multiplier": 0.22, "rope_scaling": None, "rope_theta": 10000.0}
GRANITE_HYBRID = GRANITE | {
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "init_method": "mup",
    "layer_types": ["attention", "attention"],
    "logits_scaling": 4,
    "mamba_chunk_size": 256,
    "mamba_conv_bias": True,
    "mamba_d_conv": 4,
    "mamba_d_head": 16,
    "mamba_d_state": 256,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
    "mamba_n_heads": 2,
    "mamba_proj_bias": False,
    "model_type": "granitemoehybrid",
    "normalization_function": "rmsnorm",
    "num_experts_per_tok": 0,
    "num_local_experts": 0,
    "output_router_logits": False,
    "position_embedding_type": "rope",
    "router_aux_loss_coef": 0.01,
    "shared_intermediate_size": 20,
}
del GRANITE_HYBRID["mlp_bias"]
OLMO2 = {key: value for key, value in LLAMA.items() if key not in ("head_dim", "rope_scaling", "pretraining_tp", "mlp_bias")}
OLMO2 |= {"architectures": ["Olmo2ForCausalLM"], "max_position_embeddings": 64, "model_type": "olmo2", "rms_norm_eps": 1e-06, "rope_scaling": None,
          "tie_word_embeddings": False, "transformers_version": "4.47.0"}
GEMMA3 = {
    "_sliding_window_pattern": 3,
    "architectures": ["Gemma3ForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_logit_softcapping": None,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "final_logit_softcapping": None,
    "head_dim": 8,
    "hidden_activation": "gelu_pytorch_tanh",
    "hidden_size": 16,
    "initializer_range": 0.02,
    "intermediate_size": 28,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
    "max_position_embeddings": 64,
    "model_type": "gemma3_text",
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "num_key_value_heads": 1,
    "pad_token_id": 0,
    "query_pre_attn_scalar": 10,
    "rms_norm_eps": 1e-06,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": None,
    "rope_theta": 1000000.0,
    "sliding_window": 4,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.55.0.dev0",
    "use_bidirectional_attention": False,
    "use_cache": True,
    "vocab_size": VOCABULARY,
}
GEMMA3_V5 = {key: value for key, value in GEMMA3.items() if key not in ("rope_theta", "rope_local_base_freq", "rope_scaling", "torch_dtype")}
GEMMA3_V5 |= {"dtype": "float32", "rope_parameters": {"full_attention": {"rope_theta": 1000000.0, "rope_type": "default"},
                                                      "sliding_attention": {"rope_theta": 500.0, "rope_type": "default"}},
              "tie_word_embeddings": True, "transformers_version": "5.0.0"}
PHI3 = {key: value for key, value in LLAMA.items() if key not in ("head_dim", "rope_scaling", "pretraining_tp")}
PHI3 |= {
    "architectures": ["Phi3ForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_phi3.Phi3Config", "AutoModelForCausalLM": "modeling_phi3.Phi3ForCausalLM"},
    "embd_pdrop": 0.0,
    "full_attn_mod": 1,
    "hidden_size": 32,
    "interpolate_factor": 1,
    "lm_head_bias": False,
    "max_position_embeddings": 512,
    "model_type": "phi3",
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "original_max_position_embeddings": 16,
    "partial_rotary_factor": 0.75,
    "resid_pdrop": 0.0,
    "rope_scaling": {"long_factor": [1.0, 1.125, 2.25, 6.0, 17.5, 31.0], "short_factor": [1.0, 1.0625, 1.25, 1.5, 2.5, 3.25], "type": "longrope"},
    "rope_theta": 10000.0,
    "sliding_window": 262144,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.45.0",
}
PHI3_V5 = {key: value for key, value in PHI3.items()
           if key not in ("auto_map", "full_attn_mod", "interpolate_factor", "lm_head_bias", "partial_rotary_factor", "rope_scaling", "rope_theta",
                          "torch_dtype")}
PHI3_V5 |= {"dtype": "float32", "hidden_size": 48, "max_position_embeddings": 128, "num_attention_heads": 4, "num_key_value_heads": 2,
            "original_max_position_embeddings": 32, "sliding_window": 5, "tie_word_embeddings": False, "transformers_version": "5.0.0",
            "rope_parameters": {"factor": 4.0, "long_factor": [1.5, 3.0, 4.0], "original_max_position_embeddings": 32, "partial_rotary_factor": 0.5,
                                "rope_theta": 10000.0, "rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0]}}


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
    width, hidden, kind = c["hidden_size"], c.get("shared_intermediate_size", c["intermediate_size"]), c["model_type"]
    size = c.get("head_dim", width // c["num_attention_heads"])
    queries, keys = size * c["num_attention_heads"], size * c["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], width)}
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        projections = (("qkv", queries + 2 * keys, width),) if kind == "phi3" else (("q", queries, width), ("k", keys, width), ("v", keys, width))
        for name, out, into in (*projections, ("o", width, queries)):
            shapes[f"{at}self_attn.{name}_proj.weight"] = (out, into)
            if kind == "qwen2" and name != "o":
                shapes[f"{at}self_attn.{name}_proj.bias"] = (out,)
        if kind in ("qwen3", "gemma3_text"):
            shapes[f"{at}self_attn.q_norm.weight"] = shapes[f"{at}self_attn.k_norm.weight"] = (size,)
        if kind == "olmo2":
            shapes[f"{at}self_attn.q_norm.weight"], shapes[f"{at}self_attn.k_norm.weight"] = (queries,), (keys,)
        if kind == "granitemoehybrid":
            shapes[f"{at}shared_mlp.input_linear.weight"], shapes[f"{at}shared_mlp.output_linear.weight"] = (2 * hidden, width), (width, hidden)
        elif kind == "phi3":
            shapes[f"{at}mlp.gate_up_proj.weight"], shapes[f"{at}mlp.down_proj.weight"] = (2 * hidden, width), (width, hidden)
        else:
            shapes[f"{at}mlp.gate_proj.weight"] = shapes[f"{at}mlp.up_proj.weight"] = (hidden, width)
            shapes[f"{at}mlp.down_proj.weight"] = (width, hidden)
        norms = {"olmo2": ("post_attention", "post_feedforward"),
                 "gemma3_text": ("input", "post_attention", "pre_feedforward", "post_feedforward")}.get(kind, ("input", "post_attention"))
        for name in norms:
            shapes[f"{at}{name}_layernorm.weight"] = (width,)
    shapes["model.norm.weight"] = (width,)
    if not c.get("tie_word_embeddings", kind == "gemma3_text"):
        shapes["lm_head.weight"] = (c["vocab_size"], width)
    return shapes


def drawn(shapes, seed):
    """Far from any usual start, so that a mistake shows: nothing is 0 or 1, no tensor is negligible."""
    random = np.random.RandomState(seed)  # NumPy promises not to change the numbers of this generator
    is_norm = lambda name: "norm" in name or "ln_" in name
    is_gemma = any("pre_feedforward" in name for name in shapes)  # whose norms multiply by 1 + w
    mean = lambda name: 1.0 if is_norm(name) and name.endswith("weight") and not is_gemma else 0.0
    return {name: random.normal(mean(name), 0.3 if len(shape) > 1 else 0.25, shape) for name, shape in shapes.items()}


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


def attended(q, k, v, scale=None, window=None):
    """(H, T, D) each. With a window, position i sees j where i - j < window."""
    time = q.shape[1]
    scores = q @ k.swapaxes(1, 2) * (scale if scale is not None else 1 / math.sqrt(q.shape[2]))
    distance = np.arange(time)[:, None] - np.arange(time)
    return softmax(np.where((distance >= 0) & (distance < (window or time)), scores, -np.inf)) @ v


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


def rope_of(c):
    return c.get("rope_parameters") or dict(c.get("rope_scaling") or {}, rope_theta=c["rope_theta"])


def rope_type(rope):
    return rope.get("rope_type", rope.get("type", "default"))


def rotary_size(c, size):
    """How many numbers of a head are rotated, the first ones."""
    return int(size * c.get("partial_rotary_factor", rope_of(c).get("partial_rotary_factor", 1.0)))


def attention_factor(c):
    """LongRoPE's factor of cosines and sines."""
    if rope_type(rope_of(c)) != "longrope":
        return 1.0
    original = c["original_max_position_embeddings"]
    return math.sqrt(1 + math.log(c["max_position_embeddings"] / original) / math.log(original))


def inverse_frequencies(c, size, is_local):
    rope = rope_of(c)
    if "full_attention" in rope:
        rope = rope["sliding_attention" if is_local else "full_attention"]
    elif is_local and "rope_local_base_freq" in c:
        rope = {"rope_theta": c["rope_local_base_freq"]}
    plain = 1.0 / rope["rope_theta"] ** (np.arange(0, size, 2) / size)
    if rope_type(rope) == "default":
        return plain
    if rope_type(rope) == "longrope":  # these texts are not longer than the original context
        return plain / np.array(rope["short_factor"])
    result = []
    for f in plain:
        wavelength = 2 * math.pi / f
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        smooth = (rope["original_max_position_embeddings"] / wavelength - low) / (high - low)
        smooth = min(1, max(0, smooth))  # 1 for short waves and 0 for long ones
        result.append((1 - smooth) * f / rope["factor"] + smooth * f)
    return np.array(result)


def llama_logits(c, w, tokens):
    """tokens (T) to logits (T, V), as modeling_llama, _qwen2, _qwen3, _mistral, _smollm3, _granite, _granitemoehybrid, _olmo2, _gemma3 and
    _phi3."""
    kind = c["model_type"]
    is_gemma, is_olmo = kind == "gemma3_text", kind == "olmo2"
    n_heads, n_kv_heads = c["num_attention_heads"], c["num_key_value_heads"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def rms_norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + c["rms_norm_eps"]) * (w[name + ".weight"] + is_gemma)

    def heads(x, count):
        return x.reshape(len(tokens), count, -1).swapaxes(0, 1)

    def rotate_half(x):
        half = x.shape[-1] // 2
        return np.concatenate((-x[..., half:], x[..., :half]), axis=-1)

    size = c.get("head_dim", c["hidden_size"] // n_heads)
    turned = rotary_size(c, size)
    scale = c.get("attention_multiplier", c.get("query_pre_attn_scalar", size) ** -0.5)
    x = w["model.embed_tokens.weight"][tokens] * (math.sqrt(c["hidden_size"]) if is_gemma else c.get("embedding_multiplier", 1))
    for i in range(c["num_hidden_layers"]):
        at = f"model.layers.{i}."
        has_window = c["layer_types"][i] == "sliding_attention" if is_gemma else kind in ("mistral", "phi3")
        angles = np.arange(len(tokens))[:, None] * inverse_frequencies(c, turned, has_window)
        cos, sin = (np.tile(f(angles), 2) * attention_factor(c) for f in (np.cos, np.sin))  # (T, turned)
        y = x if is_olmo else rms_norm(x, at + "input_layernorm")
        if kind == "phi3":
            q, k, v = np.split(linear(y, at + "self_attn.qkv_proj"), (n_heads * size, (n_heads + n_kv_heads) * size), axis=1)
        else:
            q, k, v = (linear(y, f"{at}self_attn.{name}_proj") for name in "qkv")
        if is_olmo:
            q, k = rms_norm(q, at + "self_attn.q_norm"), rms_norm(k, at + "self_attn.k_norm")
        q, k, v = heads(q, n_heads), heads(k, n_kv_heads), heads(v, n_kv_heads)
        if at + "self_attn.q_norm.weight" in w and not is_olmo:
            q, k = rms_norm(q, at + "self_attn.q_norm"), rms_norm(k, at + "self_attn.k_norm")
        if c.get("no_rope_layers", [1] * (i + 1))[i]:
            q, k = (np.concatenate((x[..., :turned] * cos + rotate_half(x[..., :turned]) * sin, x[..., turned:]), axis=-1) for x in (q, k))
        k, v = np.repeat(k, n_heads // n_kv_heads, axis=0), np.repeat(v, n_heads // n_kv_heads, axis=0)
        y = attended(q, k, v, scale, c["sliding_window"] if has_window else None)
        y = linear(y.swapaxes(0, 1).reshape(len(tokens), -1), at + "self_attn.o_proj")
        if is_olmo or is_gemma:
            y = rms_norm(y, at + "post_attention_layernorm")
        x = x + c.get("residual_multiplier", 1) * y
        y = x if is_olmo else rms_norm(x, at + ("pre_feedforward_layernorm" if is_gemma else "post_attention_layernorm"))
        if kind == "granitemoehybrid":
            gate, up = np.split(linear(y, at + "shared_mlp.input_linear"), 2, axis=1)
        elif kind == "phi3":
            gate, up = np.split(linear(y, at + "mlp.gate_up_proj"), 2, axis=1)
        else:
            gate, up = linear(y, at + "mlp.gate_proj"), linear(y, at + "mlp.up_proj")
        act = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) if is_gemma else gate / (1 + np.exp(-gate))
        y = linear(act * up, at + ("shared_mlp.output_linear" if kind == "granitemoehybrid" else "mlp.down_proj"))
        if is_olmo or is_gemma:
            y = rms_norm(y, at + "post_feedforward_layernorm")
        x = x + c.get("residual_multiplier", 1) * y
    head = "lm_head" if "lm_head.weight" in w else "model.embed_tokens"
    return rms_norm(x, "model.norm") @ w[head + ".weight"].T / c.get("logits_scaling", 1)


# Folders


PROMPT, TEXT, PROMPTS, CLEAR = 4, 12, 20, 1e-3


def greedy_text(logits_of, config, weights, prompt):
    """The most likely continuation, and the margin of its closest choice."""
    text, clear = list(prompt), math.inf
    while len(text) < PROMPT + TEXT:
        logits = logits_of(config, weights, np.array(text))[-1]
        second, best = np.argsort(logits)[-2:]
        clear = min(clear, (logits[best] - logits[second]) / np.abs(logits).max())
        text.append(int(best))
    return text[PROMPT:], clear


def clear_greedy_text(logits_of, config, weights):
    """The prompt, among some, whose continuation has no close choice and the most different tokens."""
    found = []
    for number in range(PROMPTS):
        prompt = np.random.RandomState(1000 + number).randint(0, VOCABULARY, PROMPT).tolist()
        text, clear = greedy_text(logits_of, config, weights, prompt)
        if clear > CLEAR:
            found.append((len(set(text)), prompt, text))
    different, prompt, text = max(found, key=lambda each: each[0])
    # Granite's tied table, times 12, makes a small model repeat its last token. Its other texts are in llama.h5.
    least = 1 if config["model_type"].startswith("granite") else 3
    assert different >= least, f"{different} different tokens in the best text: choose another seed"
    return prompt, text


def write_expected(folder, logits_of, config, weights, seed):
    tokens = np.random.RandomState(seed).randint(0, VOCABULARY, (BATCH, TIME))
    logits = np.array([logits_of(config, weights, row) for row in tokens])
    answers = np.take_along_axis(logits[:, :-1], tokens[:, 1:, None], axis=2)[..., 0]
    loss = (np.log(np.exp(logits[:, :-1]).sum(-1)) - answers).mean()
    rows = ",\n  ".join("[" + ",\n   ".join(json.dumps(row) for row in sequence) + "]" for sequence in logits.tolist())
    prompt, greedy = clear_greedy_text(logits_of, config, weights)
    (folder / "expected.json").write_text(f'{{"tokens": {json.dumps(tokens.tolist())},\n "prompt": {json.dumps(prompt)},\n'
                                          f' "greedy": {json.dumps(greedy)},\n "loss": {json.dumps(loss)},\n "logits": [\n  {rows}]}}\n')


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
    ends = {"_from_model_config": True, "bos_token_id": BOS, "eos_token_id": EOS}
    write_llama("mistral", MISTRAL, "BF16", 37, ends)
    write_llama("smollm3", SMOLLM3, "F32", 38, ends)
    write_llama("granite", GRANITE, "F32", 39, ends)
    write_llama("granite_hybrid", GRANITE_HYBRID, "F32", 40, ends)
    write_llama("olmo2", OLMO2, "F32", 41, ends)
    write_llama("gemma3", GEMMA3, "BF16", 42, {"bos_token_id": BOS, "cache_implementation": "hybrid", "do_sample": True, "eos_token_id": [EOS, 57],
                                               "top_k": 64, "top_p": 0.95})
    write_llama("gemma3_v5", GEMMA3_V5, "F32", 43, ends)
    write_llama("phi3", PHI3, "BF16", 44, {"_from_model_config": True, "bos_token_id": BOS, "eos_token_id": [57, EOS]})
    write_llama("phi3_v5", PHI3_V5, "F32", 45, ends)
    for each in arguments.tokenizer:
        folder, file = each.split("=", 1)
        shutil.copyfile(file, HERE / folder / "tokenizer.json")


if __name__ == "__main__":
    main()
