#!/usr/bin/env python3
"""Computes llama.h5 and the folders of hf/ again by other methods than PyTorch's, and fails if they differ. Run it with /usr/bin/python3.

For each group of llama.h5: logits by NumPy, in loops over sequences, positions, heads and earlier positions, with RoPE as a product of complex
numbers; the loss by its formula; gradients by central differences of that loss, in a few elements of each tensor; the greedy text from logits
of the whole text; the AdamW step by its formula. For each folder of hf/: logits by torch_llama.py, whose names and layouts are dikkat's.
"""

import json
import math
import sys

sys.dont_write_bytecode = True

import h5py
import numpy as np
import torch

from h5_fixture import HERE
from torch_llama import Config, Llama

LOGITS, LOSS, GRADIENT, STEP = 1e-13, 1e-14, 1e-7, 1e-13  # allowed errors, relative to a tensor's largest magnitude


class Group:
    def __init__(self, group):
        self.keys = {key: value.decode() if isinstance(value, bytes) else value for key, value in group.attrs.items()}
        self.keys["rope_short_factors"] = group["rope_short_factors"][()] if "rope_short_factors" in group else None
        self.weights = {name: value[()].astype(np.float64) for name, value in group["weights"].items()}

    def __getattr__(self, key):
        return self.keys[key]

    def linear(self, name, x):
        return np.array([np.dot(row, x) for row in self.weights[name + ".weight"]]) + self.weights.get(name + ".bias", 0)

    def norm(self, name, x):
        if self.keys["norm"] == "rms_norm":
            return self.rms_norm(name, x)
        centred = x - sum(x) / len(x)
        return centred / math.sqrt(sum(centred**2) / len(x) + self.norm_eps) * self.weights[name + ".weight"] + self.weights.get(name + ".bias", 0)

    def rms_norm(self, name, x):
        return x / math.sqrt(sum(x**2) / len(x) + self.norm_eps) * self.weights[name + ".weight"]

    def window_of(self, layer):
        """How many positions a token of this layer sees at most."""
        ends_group = self.window_pattern > 0 and layer % self.window_pattern == self.window_pattern - 1
        return 10**9 if ends_group or self.window == 0 else self.window

    def frequency(self, pair, layer):
        """The frequency of pair number `pair`, in radians per position."""
        pairs = int(self.head_size * self.rope_share) // 2
        if pair >= pairs or self.rope_pattern > 0 and layer % self.rope_pattern == self.rope_pattern - 1:
            return 0
        if self.rope_theta_local and self.window_of(layer) < 10**9:
            return 1 / self.rope_theta_local ** (pair / pairs)
        f = 1 / self.rope_theta ** (pair / pairs)
        if self.rope_short_factors is not None:
            f = f / self.rope_short_factors[pair]
        if self.rope_scaling == "linear":
            return f / self.rope_factor
        if self.rope_scaling == "llama3":
            wavelength = 2 * math.pi / f
            if wavelength < self.rope_original_context / self.rope_high_freq_factor:
                return f
            if wavelength > self.rope_original_context / self.rope_low_freq_factor:
                return f / self.rope_factor
            share = (self.rope_original_context / wavelength - self.rope_low_freq_factor) / (self.rope_high_freq_factor - self.rope_low_freq_factor)
            return share * f + (1 - share) * f / self.rope_factor
        return f

    def placed(self, x, t, layer):
        """A query or key at position t: element i and element i + D / 2 are one complex number, which is turned."""
        half = self.head_size // 2
        z = x[:half] + 1j * x[half:]
        if self.frequency(0, layer) != 0:  # the layer has RoPE
            z[:int(self.head_size * self.rope_share) // 2] *= self.rope_amplitude
        z = z * np.array([complex(math.cos(t * f), math.sin(t * f)) for f in (self.frequency(i, layer) for i in range(half))])
        return np.concatenate((z.real, z.imag))

    def attention(self, layer, inputs, tokens):
        """Computes attention for one sequence, a list of vectors and their tokens."""
        name = f"h.{layer}.attn"
        heads, kv_heads, size = self.n_head, self.n_kv_head, self.head_size
        queries, keys, values = [], [], []
        for t, x in enumerate(inputs):
            row = self.linear(name + ".c_attn", x)
            if name + ".value_gate.weight" in self.weights:
                e, n = self.weights[name + ".value_embedding.weight"][tokens[t]], kv_heads * size
                for i, w in enumerate(self.weights[name + ".value_gate.weight"]):
                    gate = 2 / (1 + math.exp(-sum(w[c] * x[c] for c in range(len(w)))))
                    row[len(row) - n + i * size:len(row) - n + (i + 1) * size] += gate * e[i * size:(i + 1) * size]
            if self.qk_norm and self.qk_norm_over == "row":
                row[:heads * size] = self.rms_norm(name + ".q_norm", row[:heads * size])
                row[heads * size:-kv_heads * size] = self.rms_norm(name + ".k_norm", row[heads * size:-kv_heads * size])
            cut = [row[i * size:(i + 1) * size] for i in range(heads + 2 * kv_heads)]
            q, k, v = cut[:heads], cut[heads:heads + kv_heads], cut[heads + kv_heads:]
            if self.qk_norm and self.qk_norm_over == "head":
                q, k = [self.rms_norm(name + ".q_norm", x) for x in q], [self.rms_norm(name + ".k_norm", x) for x in k]
            if self.positions == "rope":
                q, k = [self.placed(x, t, layer) for x in q], [self.placed(x, t, layer) for x in k]
            queries.append(q), keys.append(k), values.append(v)
        outputs = []
        for t in range(len(inputs)):
            mixed = []
            for head in range(heads):
                group = head // (heads // kv_heads)
                seen = range(max(t + 1 - self.window_of(layer), 0), t + 1)
                e = np.exp([np.dot(queries[t][head], keys[s][group]) * self.attention_scale for s in seen])
                mixed.append(sum(w * values[s][group] for w, s in zip(e, seen)) / sum(e))
            outputs.append(self.linear(name + ".c_proj", np.concatenate(mixed)))
        return outputs

    def act(self, x):
        if self.activation == "gelu":
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        if self.activation == "silu":
            return x / (1 + np.exp(-x))
        return np.where(x > 0, x, 0) ** (2 if self.activation == "relu2" else 1)

    def feed_forward(self, name, x):
        x = self.linear(name + ".c_fc", x)
        hidden = self.act(x[:self.n_hidden]) * x[self.n_hidden:] if self.gated else self.act(x)
        return self.linear(name + ".c_proj", hidden)

    def position(self, t):
        if self.positions == "learned":
            return self.weights["wpe.weight"][t]
        if self.positions == "sinusoidal":
            return np.array([(math.cos if c % 2 else math.sin)(t / 10000 ** (c // 2 * 2 / self.n_embd)) for c in range(self.n_embd)])
        return 0

    def logits(self, tokens):
        """The logits of one sequence: (T, V)."""
        factor = self.embedding_scale * (math.sqrt(self.n_embd) if self.scale_embeddings else 1)
        stream = [factor * self.weights["wte.weight"][token] + self.position(t) for t, token in enumerate(tokens)]
        if self.embedding_norm:
            stream = [self.norm("ln_emb", x) for x in stream]
        embedded = list(stream)
        for layer in range(self.n_layer):
            h = f"h.{layer}."
            valued = h + "attn.value_gate.weight" in self.weights
            assert valued == {"none": False, "all": True, "alternate": (self.n_layer - layer) % 2 == 1}[self.value_embeddings]
            if self.residual_scalars:
                stream = [self.weights[h + "resid_lambda"] * x + self.weights[h + "x0_lambda"] * x0 for x, x0 in zip(stream, embedded)]
            before = {"pre": "{}", "sandwich": "{}", "branch": ""}[self.norm_position]
            after = {"pre": "", "sandwich": "{}_out", "branch": "{}"}[self.norm_position]
            normed = lambda form, norm, x: self.norm(h + form.format(norm), x) if form else x
            attended = self.attention(layer, [normed(before, "ln_1", x) for x in stream], tokens)
            stream = [x + self.residual_scale * normed(after, "ln_1", y) for x, y in zip(stream, attended)]
            hidden = [self.feed_forward(h + "mlp", normed(before, "ln_2", x)) for x in stream]
            stream = [x + self.residual_scale * normed(after, "ln_2", y) for x, y in zip(stream, hidden)]
        z = self.logit_scale * np.array([self.linear("wte" if self.tie_embeddings else "lm_head", self.norm("ln_f", x)) for x in stream])
        return self.logit_softcap * np.tanh(z / self.logit_softcap) if self.logit_softcap else z

    def loss(self, tokens, targets):
        terms = []
        for row, answers in zip(tokens, targets):
            z = self.logits(row)
            terms.extend(np.log(np.exp(z).sum(1)) - z[np.arange(len(answers)), answers])
        return sum(terms) / len(terms)


def error(actual, expected):
    return np.abs(np.asarray(actual) - expected).max() / np.abs(expected).max()


def check(what, found, allowed):
    assert found <= allowed, f"{what}: differs by {found:.1e}, expected at most {allowed:.1e}"
    return found


def gradient_error(group, file, tokens, targets):
    """Central differences in a few elements of each tensor, spread over it."""
    worst, step = 0, 2e-5
    for name, weight in group.weights.items():
        expected = file["gradients"][name][()]
        for place in {0, weight.size // 3, weight.size * 2 // 3, weight.size - 1} if group.block_size < 100 else {weight.size // 2}:
            at = np.unravel_index(place, weight.shape)
            kept, losses = weight[at], []
            for sign in (1, -1):
                weight[at] = kept + sign * step
                losses.append(group.loss(tokens, targets))
            weight[at] = kept
            difference = (losses[0] - losses[1]) / (2 * step)
            worst = max(worst, abs(difference - expected[at]) / np.abs(expected).max())
    return worst


def step_error(group, file):
    setting, worst = file["adamw"].attrs, 0
    for name, w in group.weights.items():
        g = file["gradients"][name][()]
        expected = w * (1 - setting["learning_rate"] * setting["weight_decay"]) if w.ndim >= 2 else w
        expected = expected - setting["learning_rate"] * g / (np.abs(g) + setting["eps"])
        worst = max(worst, error(file["adamw/weights"][name][()], expected))
    return worst


def check_group(name, file):
    group, tokens, targets = Group(file), file["tokens"][()], file["targets"][()]
    logits = check(name + " logits", error([group.logits(row) for row in tokens], file["logits"][()]), LOGITS)
    loss = check(name + " loss", error(group.loss(tokens, targets), file["loss"][()]), LOSS)
    prompt, greedy = file["prompt"][()], file["greedy"][()]
    assert len(prompt) + len(greedy) == group.block_size
    z = group.logits(np.concatenate((prompt, greedy)))[len(prompt) - 1:-1]
    assert (z.argmax(1) == greedy).all(), f"{name}: another greedy text"
    ordered = np.sort(z, 1)
    clear = ((ordered[:, -1] - ordered[:, -2]) / np.abs(z).max(1)).min()
    assert clear > 1e-3, f"{name}: a close choice in the greedy text, {clear:.1e}"
    gradients = check(name + " gradients", gradient_error(group, file, tokens, targets), GRADIENT)
    line = f"{name:10} logits {logits:.0e}, loss {loss:.0e}, gradients {gradients:.0e}, closest choice {clear:.1e}"
    if "adamw" in file:
        line += f", step {check(name + ' step', step_error(group, file), STEP):.0e}"
    print(line, flush=True)


NUMBERS = {"F32": lambda data: np.frombuffer(data, "<f4"), "F16": lambda data: np.frombuffer(data, "<f2"),
           "BF16": lambda data: (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)}


def safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    assert header.pop("__metadata__") == {"format": "pt"} and length % 8 == 0
    end = 0
    for each in header.values():  # one after another, without gaps
        assert each["data_offsets"][0] == end
        end = each["data_offsets"][1]
    assert 8 + length + end == len(data)
    return {name: torch.tensor(NUMBERS[each["dtype"]](data[8 + length:][slice(*each["data_offsets"])]).astype(np.float64)).view(each["shape"])
            for name, each in header.items()}


def dikkat_gpt2(c, w):
    config = Config(n_layer=c["n_layer"], n_head=c["n_head"], n_embd=c["n_embd"], n_hidden=4 * c["n_embd"], block_size=c["n_positions"],
                    vocab_size=c["vocab_size"], norm_eps=c["layer_norm_epsilon"])
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    w = {name: tensor for name, tensor in w.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    return config, {name: tensor.T if name.startswith("h.") and tensor.dim() == 2 else tensor for name, tensor in w.items()}


def in_pairs(qkv, config):
    """Rows q | k | v. In the file the rotated rows of a head come first, a then b, which are pairs. Then come rows that are not rotated. In
    dikkat the rows of a head are a, some others, b and the rest of the others, so that a pair is D / 2 rows apart."""
    pairs, heads = int(config.head_size * config.rope_share) // 2, []
    for number, head in enumerate(qkv.split(config.head_size)):
        a, b, others = head.split((pairs, pairs, config.head_size - 2 * pairs))
        first, second = others.chunk(2) if len(others) else (others, others)
        heads.append(torch.cat((a, first, b, second)) if number < config.n_head + config.n_kv_head else head)
    return torch.cat(heads)


def dikkat_llama(c, w):
    kind = c["model_type"]
    is_gemma, is_olmo, is_granite = kind == "gemma3_text", kind == "olmo2", kind.startswith("granite")
    rope = c.get("rope_parameters") or (c.get("rope_scaling") or {}) | {"rope_theta": c["rope_theta"]}
    local = rope["sliding_attention"]["rope_theta"] if "sliding_attention" in rope else c.get("rope_local_base_freq", 0.0)
    rope = rope.get("full_attention", rope)
    rope_type = rope.get("rope_type", rope.get("type", "default"))
    scaling = dict(rope_scaling="llama3", rope_factor=rope["factor"], rope_low_freq_factor=rope["low_freq_factor"],
                   rope_high_freq_factor=rope["high_freq_factor"],
                   rope_original_context=rope["original_max_position_embeddings"]) if rope_type == "llama3" else {}
    others = {}
    if kind in ("gemma3_text", "mistral"):
        others = dict(window=c["sliding_window"], rope_theta_local=local)
    if is_gemma:
        others |= dict(window_pattern=c["layer_types"].index("full_attention") + 1, scale_embeddings=True, norm_position="sandwich",
                       attention_scale=c["query_pre_attn_scalar"] ** -0.5)
    if is_olmo:
        others = dict(norm_position="branch", qk_norm_over="row")
    if kind == "smollm3":
        others = dict(rope_pattern=c["no_rope_layers"].index(0) + 1)
    if kind == "phi3":
        context = c["original_max_position_embeddings"]
        others = dict(window=c["sliding_window"], rope_share=c.get("partial_rotary_factor", rope.get("partial_rotary_factor")),
                      rope_short_factors=tuple(rope["short_factor"]),
                      rope_amplitude=math.sqrt(1 + math.log(c["max_position_embeddings"] / context, context)))
    if is_granite:
        others = dict(embedding_scale=c["embedding_multiplier"], attention_scale=c["attention_multiplier"],
                      residual_scale=c["residual_multiplier"], logit_scale=1 / c["logits_scaling"])
    config = Config(n_layer=c["num_hidden_layers"], n_head=c["num_attention_heads"], n_kv_head=c["num_key_value_heads"], n_embd=c["hidden_size"],
                    head_size=c.get("head_dim"), n_hidden=c.get("shared_intermediate_size", c["intermediate_size"]), block_size=c["max_position_embeddings"],
                    vocab_size=c["vocab_size"], bias=False, qkv_bias=kind == "qwen2", tie_embeddings=c.get("tie_word_embeddings", True),
                    norm="rms_norm", norm_eps=c["rms_norm_eps"], positions="rope", rope_theta=rope["rope_theta"],
                    activation="gelu" if is_gemma else "silu", gated=True, qk_norm=kind in ("qwen3", "olmo2", "gemma3_text"), **scaling, **others)
    w = {name: weight + 1 if is_gemma and "norm" in name else weight for name, weight in w.items()}
    result = {"wte.weight": w["model.embed_tokens.weight"], "ln_f.weight": w["model.norm.weight"]}
    if not config.tie_embeddings:
        result["lm_head.weight"] = w["lm_head.weight"]
    for i in range(config.n_layer):
        theirs = lambda *names: torch.cat([w[f"model.layers.{i}.{name}"] for name in names])
        norms = {"olmo2": {"ln_1": "post_attention", "ln_2": "post_feedforward"},
                 "gemma3_text": {"ln_1": "input", "ln_1_out": "post_attention", "ln_2": "pre_feedforward", "ln_2_out": "post_feedforward"}}
        ours = {f"{our}.weight": theirs(f"{their}_layernorm.weight")
                for our, their in norms.get(kind, {"ln_1": "input", "ln_2": "post_attention"}).items()}
        ours["attn.c_proj.weight"] = theirs("self_attn.o_proj.weight")
        if kind == "granitemoehybrid":
            ours |= {"mlp.c_proj.weight": theirs("shared_mlp.output_linear.weight"), "mlp.c_fc.weight": theirs("shared_mlp.input_linear.weight")}
        elif kind == "phi3":
            ours |= {"mlp.c_proj.weight": theirs("mlp.down_proj.weight"), "mlp.c_fc.weight": theirs("mlp.gate_up_proj.weight"),
                     "attn.c_attn.weight": in_pairs(theirs("self_attn.qkv_proj.weight"), config)}
            result |= {f"h.{i}.{name}": tensor for name, tensor in ours.items()}
            continue
        else:
            ours |= {"mlp.c_proj.weight": theirs("mlp.down_proj.weight"), "mlp.c_fc.weight": theirs("mlp.gate_proj.weight", "mlp.up_proj.weight")}
        for part in ("weight", "bias") if config.qkv_bias else ("weight",):
            ours["attn.c_attn." + part] = theirs(*(f"self_attn.{name}_proj.{part}" for name in "qkv"))
        if config.qk_norm:
            ours |= {f"attn.{name}_norm.weight": theirs(f"self_attn.{name}_norm.weight") for name in "qk"}
        result |= {f"h.{i}.{name}": tensor for name, tensor in ours.items()}
    return config, result


@torch.no_grad()
def check_folder(folder):
    c, expected = (json.loads((folder / name).read_text()) for name in ("config.json", "expected.json"))
    weights = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= safetensors(file)
    if (folder / "model.safetensors.index.json").exists():
        weight_map = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
        assert all(name in safetensors(folder / file) for name, file in weight_map.items()) and weight_map.keys() == weights.keys()
    config, renamed = (dikkat_gpt2 if c["model_type"] == "gpt2" else dikkat_llama)(c, weights)
    model = Llama(config).double()
    model.load_state_dict(renamed)
    tokens = torch.tensor(expected["tokens"])
    logits = model(tokens)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    text = torch.tensor([expected["prompt"] + expected["greedy"]])
    assert model(text)[0, len(expected["prompt"]) - 1:-1].argmax(-1).tolist() == expected["greedy"], f"{folder.name}: another greedy text"
    print(f"{folder.name:10} logits {check(folder.name + ' logits', error(logits, np.array(expected['logits'])), LOGITS):.0e}, "
          f"loss {check(folder.name + ' loss', error(loss, expected['loss']), LOSS):.0e}")


def main():
    for folder in sorted((HERE / "hf").iterdir()):
        check_folder(folder)
    with h5py.File(HERE / "llama.h5") as file:
        for name in file:
            check_group(name, file[name])


if __name__ == "__main__":
    main()
