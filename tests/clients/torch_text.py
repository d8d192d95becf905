"""Compares the log probabilities of a text by PyTorch, from an exported folder (examples/load_in_pytorch.py), with dikkat's.

    torch_text.py FOLDER TEXT.json      {"prompt": ids, "tokens": ids, "probabilities": of the tokens}

Prints the largest difference, and ends with 1 if it is more than 1e-5, or if another token is more likely.
"""
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
sys.dont_write_bytecode = True
from load_in_pytorch import load  # noqa: E402

folder, text = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
ids = text["prompt"] + text["tokens"]
logits = load(folder)(ids)[len(text["prompt"]) - 1:-1]
theirs = logits.softmax(dim=1)
chosen = theirs.gather(1, torch.tensor(text["tokens"])[:, None])[:, 0]
difference = (chosen - torch.tensor(text["probabilities"], dtype=torch.float64)).abs().max().item()
print(f"{difference:.1e}")
sys.exit(not (difference <= 1e-5 and theirs.argmax(dim=1).tolist() == text["tokens"]))
