"""Compares vectors of texts by PyTorch in float64, from an exported folder with files of sentence-transformers, with dikkat's.

    torch_vectors.py FOLDER VECTORS.npy < IDS.json      IDS: the ids of the texts of the first rows

The forward pass is that of examples/load_in_pytorch.py with a head that changes nothing; pooling and normalization are what modules.json and
1_Pooling/config.json ask for. Prints the largest difference. Ends with 1 if it is more than 1e-5, and with 77 if there is no PyTorch.
"""
import json
import pathlib
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
sys.dont_write_bytecode = True
from load_in_pytorch import MODELS, read_safetensors  # noqa: E402

folder = pathlib.Path(sys.argv[1])
read = lambda name: json.loads((folder / name).read_text())
types = [module["type"].rsplit(".", 1)[1] for module in read("modules.json")]
assert types == ["Transformer", "Pooling", "Normalize"], f"found the modules {types}"
transformer, pooling = (read(name) for name in ("config.json", "1_Pooling/config.json"))
assert read("tokenizer_config.json")["pad_token"], "sentence-transformers pads batches"
assert read("sentence_bert_config.json")["max_seq_length"] > 0
modes = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value]
pool = {"pooling_mode_mean_tokens": lambda x: x.mean(0), "pooling_mode_lasttoken": lambda x: x[-1]}[modes[0]]
assert len(modes) == 1, f"found the poolings {modes}"

weights = read_safetensors(folder / "model.safetensors")
width = pooling["word_embedding_dimension"]
weights["lm_head.weight"] = torch.eye(width, dtype=torch.float64)  # logits are the features then
features = lambda ids: MODELS[transformer["model_type"]](transformer | {"tie_word_embeddings": False}, weights, torch.tensor(ids))

data = pathlib.Path(sys.argv[2]).read_bytes()
rows = torch.frombuffer(bytearray(data[10 + int.from_bytes(data[8:10], "little"):]), dtype=torch.float32).view(-1, width).double()
largest = 0.0
for ids, row in zip(json.load(sys.stdin), rows):
    vector = pool(features(ids))
    largest = max(largest, (vector / vector.norm() - row).abs().max().item())
print(f"{largest:.1e}")
sys.exit(not largest <= 1e-5)
