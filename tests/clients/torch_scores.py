"""Scores texts by PyTorch in float64 (examples/load_in_pytorch.py): torch_scores.py FOLDER TEXTS.json, where TEXTS are lists of ids. Prints for
each a list with the log probability of each id after the first, and whether it was the likeliest.
"""
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
sys.dont_write_bytecode = True
from load_in_pytorch import load  # noqa: E402

logits_of = load(pathlib.Path(sys.argv[1]))
scores = []
for ids in json.loads(pathlib.Path(sys.argv[2]).read_text()):
    following = torch.tensor(ids[1:])[:, None]
    log = logits_of(ids)[:-1].log_softmax(dim=1)
    chosen = log.gather(1, following)[:, 0]
    scores.append({"log_probabilities": chosen.tolist(), "likeliest": (chosen == log.max(dim=1).values).tolist()})
print(json.dumps(scores))
