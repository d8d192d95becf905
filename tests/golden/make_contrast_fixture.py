#!/usr/bin/env python3
"""Writes contrast.json: the loss of vectors in plain PyTorch (float64), and its gradient. Needs Debian's python3-torch (run it with
/usr/bin/python3).

    places, ids    of each text: its place in its pair (0 anchor, 1 positive, 2 and more negatives), and what tells equal texts
    pooled         (texts, C), three decimals
    results/<temperature>
                   the loss of each pair, and the gradient of their mean with respect to pooled

The formula is that of MultipleNegativesRankingLoss of sentence-transformers: cross-entropy of cosines / temperature. Candidates are the
positives and negatives of all pairs, except right answers: the anchor's own text, and positives of other pairs with the same anchor.
"""

import json
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

from h5_fixture import HERE

WIDTH = 11
# The texts of each pair. Pairs 1 and 5 have one anchor, pair 3 has the positive of pair 0, and pair 6 has its own anchor as a negative.
PAIRS = [(10, 20), (11, 21, 30), (12, 22), (13, 20, 31, 32), (14, 24), (11, 25), (16, 26, 16), (17, 10)]


def main():
    torch.manual_seed(63)
    places = [place for pair in PAIRS for place in range(len(pair))]
    ids = [text for pair in PAIRS for text in pair]
    values = {text: torch.round(torch.randn(WIDTH, dtype=torch.float64) * 1000) / 1000 for text in sorted(set(ids))}
    pooled = torch.stack([values[text] for text in ids]).float().double()
    at = lambda wanted: [i for i, place in enumerate(places) if wanted(place)]
    anchors, candidates = at(lambda place: place == 0), at(lambda place: place == 1) + at(lambda place: place > 1)
    right = {}
    for pair in PAIRS:
        right.setdefault(pair[0], {pair[0]}).add(pair[1])
    fixture = {"width": WIDTH, "places": places, "ids": ids, "pooled": pooled.flatten().tolist(), "results": {}}
    for temperature in (0.05, 1.0):
        x = pooled.clone().requires_grad_()
        v = F.normalize(x, dim=1)
        scores = v[anchors] @ v[candidates].T / temperature
        left_out = torch.tensor([[j != i and ids[candidate] in right[ids[anchor]] for j, candidate in enumerate(candidates)]
                                 for i, anchor in enumerate(anchors)])
        losses = F.cross_entropy(scores.masked_fill(left_out, -float("inf")), torch.arange(len(PAIRS)), reduction="none")
        losses.mean().backward()
        fixture["results"][str(temperature)] = {"losses": losses.tolist(), "gradient": x.grad.flatten().tolist()}
    (HERE / "contrast.json").write_text(json.dumps(fixture, separators=(",", ":")).replace('],"', '],\n"') + "\n")


main()
