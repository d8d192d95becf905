"""Adds the adapters of a folder of PEFT to a base, both as Hugging Face's safetensors, and compares the sum with the merged model: peft_sum.py BASE PEFT MERGED.
It computes PEFT's rule: W + B A * lora_alpha / r, or / sqrt(r) with use_rslora, transposed for Conv1D (fan_in_fan_out). Modules in modules_to_save replace the base's; a tied
head is then one of its own, which a tied merged model must have in its token table."""
import json
import math
import pathlib
import sys

import numpy as np


def load(file):
    data = pathlib.Path(file).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size:][slice(*one["data_offsets"])], "<f4").reshape(one["shape"]) for name, one in header.items()}


base, peft, merged = (pathlib.Path(path) for path in sys.argv[1:])
config = json.loads((peft / "adapter_config.json").read_text())
weights, adapters, expected = load(base / "model.safetensors"), load(peft / "adapter_model.safetensors"), load(merged / "model.safetensors")
scale = config["lora_alpha"] / (math.sqrt(config["r"]) if config["use_rslora"] else config["r"])
modules = {name.removeprefix("base_model.model.").removesuffix(".lora_A.weight") for name in adapters if name.endswith(".lora_A.weight")}
saved = {name.removeprefix("base_model.model."): weight for name, weight in adapters.items() if ".lora_" not in name}
assert len(adapters) == 2 * len(modules) + len(saved)
assert all(name.rsplit(".", 1)[0].endswith(tuple(config["modules_to_save"] or ())) for name in saved)  # as PEFT finds them
changed, worst = 0, 0.0
if "lm_head.weight" in saved and "lm_head.weight" not in weights:
    (table,) = [name for name in weights if name.endswith((".wte.weight", ".embed_tokens.weight"))]
    assert np.array_equal(saved["lm_head.weight"], expected[table]), "the tied head is the merged token table"
for name, weight in weights.items():
    module = name.removesuffix(".weight")
    if name in saved:
        changed += int(np.abs(weight - saved[name]).max() > 1e-4)
        weight = saved[name]
    elif module in modules:
        assert {module, module.split(".")[-1]} & set(config["target_modules"]), module
        a, b = (adapters[f"base_model.model.{module}.lora_{factor}.weight"] for factor in "AB")
        assert a.shape[0] == b.shape[1] == config["r"]
        product = b @ a * scale
        weight = weight + (product.T if config["fan_in_fan_out"] else product)
        changed += int(np.abs(product).max() > 1e-4)
    worst = max(worst, float(np.abs(weight - expected[name]).max()))
wanted = len(modules) + len(saved.keys() & weights.keys())
assert changed == wanted, f"{changed} of {wanted} adapters and modules change anything"
assert worst < 1e-5, f"weights differ by {worst}"
print(f"PEFT's rule gives the merged weights ({len(modules)} adapters and {len(saved)} tensors trained in full, largest difference {worst:.1e})")
