"""Writes a Hugging Face folder of GPT-2's shape with random weights: random_gpt2.py FOLDER VOCABULARY, where VOCABULARY has GPT-2's encoder.json
and vocab.bpe. The weights are larger than GPT-2's initial ones, so that its log probabilities differ clearly.
"""
import json
import pathlib
import shutil
import sys

import numpy as np

folder, vocabulary = (pathlib.Path(path) for path in sys.argv[1:])
LAYERS, WIDTH, CONTEXT, VOCABULARY = 12, 768, 1024, 50257
shapes = {"wte.weight": (VOCABULARY, WIDTH), "wpe.weight": (CONTEXT, WIDTH)}
for h in (f"h.{i}." for i in range(LAYERS)):
    for norm in ("ln_1", "ln_2"):
        shapes |= {f"{h}{norm}.weight": (WIDTH,), f"{h}{norm}.bias": (WIDTH,)}
    for name, rows, columns in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH), ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):
        shapes |= {f"{h}{name}.weight": (rows, columns), f"{h}{name}.bias": (columns,)}
shapes |= {"ln_f.weight": (WIDTH,), "ln_f.bias": (WIDTH,)}

folder.mkdir(parents=True, exist_ok=True)
shutil.copyfile(vocabulary / "encoder.json", folder / "vocab.json")
shutil.copyfile(vocabulary / "vocab.bpe", folder / "merges.txt")
(folder / "config.json").write_text(json.dumps({
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": LAYERS, "n_head": 12, "n_embd": WIDTH, "n_positions": CONTEXT,
    "vocab_size": VOCABULARY, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "bos_token_id": 50256, "eos_token_id": 50256}))
header, at = {}, 0
for name, shape in shapes.items():
    size = 4 * int(np.prod(shape))
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
    at += size
head = json.dumps(header).encode()
head += b" " * (-len(head) % 8)
random = np.random.default_rng(7)
with open(folder / "model.safetensors", "wb") as file:
    file.write(len(head).to_bytes(8, "little") + head)
    for name, shape in shapes.items():
        weights = random.standard_normal(shape, dtype=np.float32) * np.float32(0.03)
        file.write((weights + 1 if ".ln_" in "." + name and name.endswith("weight") else weights).tobytes())
