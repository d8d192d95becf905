#!/usr/bin/env python3
"""Loads a GPT that dikkat has trained into NumPy with h5py, and from there into PyTorch.

    load_checkpoint.py runs/mine/checkpoints/step-000002000.h5               lists its contents
    load_checkpoint.py runs/mine/checkpoints/step-000002000.h5 --loss "..."  prints the loss on a text (tokenizers char and byte)

A checkpoint is an HDF5 file: /model/<parameter>, /optimizer/<slab>/<parameter>, /state/<field>, /config (TOML), /tokenizer (JSON).
The parameters have GPT-2's names, with one difference: Hugging Face's c_attn, c_proj and c_fc are (in, out) and compute x @ W, while
dikkat's are (out, in) and compute x @ W.T, as torch.nn.Linear does. huggingface_weights() transposes them. GELU is the tanh form in both
("gelu_new"). In PyTorch, with the package transformers:

    checkpoint = Checkpoint("step-000002000.h5")
    c = transformers.GPT2Config(vocab_size=checkpoint.vocab_size, n_positions=checkpoint.block_size, n_embd=checkpoint.n_embd,
                                n_layer=checkpoint.n_layer, n_head=checkpoint.n_head, tie_word_embeddings=checkpoint.tied)
    model = transformers.GPT2LMHeadModel(c)
    weights = {name: torch.from_numpy(value) for name, value in huggingface_weights(checkpoint).items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)   # missing: attention masks, and biases of a model without them
"""
import argparse
import json
import tomllib

import h5py
import numpy as np


class Checkpoint:
    """The weights as float32 arrays by name, and the properties of the model."""

    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.weights = {name: value[()] for name, value in file["model"].items()}
            self.state = {name: value[()] for name, value in file["state"].items()}
            self.config = tomllib.loads(file["config"].asstr()[()])
            self.tokenizer = json.loads(file["tokenizer"].asstr()[()])
        model = self.config["model"]
        for key, expected in (("kind", "gpt"), ("norm_position", "pre"), ("positions", "learned"), ("activation", "gelu"),
                              ("final_norm", True), ("scale_embeddings", False), ("embedding_norm", False),
                              ("residual_scalars", False), ("value_embeddings", "none"), ("window", 0), ("embedding_scale", 1),
                              ("residual_scale", 1), ("logit_scale", 1)):
            if model.get(key, expected) != expected:
                raise ValueError(f"{path}: model.{key} is {model[key]}; this example computes GPT-2's, {expected}")
        self.n_head = model["n_head"]
        self.vocab_size, self.n_embd = self.weights["wte.weight"].shape
        self.block_size = self.weights["wpe.weight"].shape[0]
        self.n_layer = 1 + max(int(name.split(".")[1]) for name in self.weights if name.startswith("h."))
        self.tied = "lm_head.weight" not in self.weights

    def encode(self, text):
        if self.tokenizer["kind"] == "char":
            ids = {character: i for i, character in enumerate(self.tokenizer["characters"])}
            return np.array([ids[character] for character in text])
        if self.tokenizer["kind"] == "byte":
            return np.array(list(text.encode()))
        raise ValueError(f"this example has no {self.tokenizer['kind']} tokenizer")


def huggingface_weights(checkpoint):
    """Returns the weights under Hugging Face's names, with the matrices of layers as (in, out)."""
    weights = {}
    for name, value in checkpoint.weights.items():
        is_matrix_of_layer = name.startswith("h.") and value.ndim == 2
        theirs = name if name.startswith("lm_head") else "transformer." + name
        weights[theirs] = np.ascontiguousarray(value.T) if is_matrix_of_layer else value
    if checkpoint.tied:
        weights["lm_head.weight"] = weights["transformer.wte.weight"]
    return weights


def logits(checkpoint, tokens):
    """Computes the forward pass of GPT-2 in NumPy as Hugging Face does: tokens (T) to logits (T, V)."""
    w = {name.removeprefix("transformer."): value for name, value in huggingface_weights(checkpoint).items()}

    def affine(x, name):
        return x @ w[name + ".weight"] + w.get(name + ".bias", 0)

    def layer_norm(x, name):
        centered = x - x.mean(-1, keepdims=True)
        return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w.get(name + ".bias", 0)

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    time, heads, width = len(tokens), checkpoint.n_head, checkpoint.n_embd
    future = np.triu(np.ones((time, time), bool), 1)
    x = w["wte.weight"][tokens] + w["wpe.weight"][:time]
    for layer in range(checkpoint.n_layer):
        h = f"h.{layer}."
        qkv = affine(layer_norm(x, h + "ln_1"), h + "attn.c_attn")
        q, k, v = (part.reshape(time, heads, -1).swapaxes(0, 1) for part in np.split(qkv, 3, -1))
        scores = np.where(future, -np.inf, q @ k.swapaxes(1, 2) / np.sqrt(width / heads))
        x = x + affine((softmax(scores) @ v).swapaxes(0, 1).reshape(time, width), h + "attn.c_proj")
        x = x + affine(gelu(affine(layer_norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    return layer_norm(x, "ln_f") @ w["lm_head.weight"].T


def loss(checkpoint, tokens):
    """Returns the mean cross-entropy of tokens (N) in nats, in windows of the block size as in `dikkat eval`."""
    losses = []
    for begin in range(0, len(tokens) - 1, checkpoint.block_size):
        window = tokens[begin:begin + checkpoint.block_size + 1]
        z = logits(checkpoint, window[:-1]).astype(np.float64)
        top = z.max(-1)
        losses.extend(top + np.log(np.exp(z - top[:, None]).sum(-1)) - z[np.arange(len(z)), window[1:]])
    return float(np.mean(losses))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="a checkpoint: RUN_DIR/checkpoints/step-NNNNNNNNN.h5")
    parser.add_argument("--loss", metavar="TEXT", help="the loss on this text")
    arguments = parser.parse_args()
    loaded = Checkpoint(arguments.file)
    if arguments.loss is None:
        print(f"step {loaded.state['step']}, {loaded.n_layer} layers, {loaded.n_head} heads, width {loaded.n_embd}, "
              f"block {loaded.block_size}, vocabulary {loaded.vocab_size}")
        for name, value in loaded.weights.items():
            print(f"{name:28} {list(value.shape)}")
    else:
        print(f"{loss(loaded, loaded.encode(arguments.loss)):.6f}")
