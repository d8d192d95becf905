#!/usr/bin/env python3
"""Writes nanogpt.pt: the model of hf/gpt2 as nanoGPT's train.py saves it after torch.compile, with an optimizer. Its logits are those of
hf/gpt2/expected.json. Needs Debian's python3-torch (run it with /usr/bin/python3)."""

import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))

import torch
from load_in_pytorch import read_safetensors

weights = {name: tensor.float() for name, tensor in read_safetensors(HERE / "hf/gpt2/model.safetensors").items()}
state = {}
for name, tensor in weights.items():
    is_conv1d = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))  # (in, out)
    state["_orig_mod." + name] = tensor.t().contiguous() if is_conv1d else tensor.clone()
state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]  # tied: one storage, two names
torch.save(
    {
        "model": state,
        "optimizer": {"state": {0: {"exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 6e-4, "params": [0]}]},
        "model_args": dict(n_layer=2, n_head=2, n_embd=16, block_size=16, bias=True, vocab_size=60, dropout=0.0),
        "iter_num": 5000,
        "best_val_loss": torch.tensor(1.5),
        "config": {"dataset": "shakespeare", "compile": True},
    },
    HERE / "nanogpt.pt",
)
