#!/usr/bin/env python3
"""Draws the pictures of the course from what its lessons made: pictures.py OUT_FOLDER, in the folder of the course, after lessons 1 to 4. The pictures of
the pages are those of docs/images."""
import json
import pathlib
import re
import subprocess
import sys

COLORS = ["#cfe2ff", "#ffe5b4", "#d6f0d0", "#f5d0e6", "#e4dcf7"]
BLUE, ORANGE = "#1f5fbf", "#d9730d"


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14">\n'
            f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y}" {more}>{words}</text>'


def tokens():
    """The same words as characters, and as pieces."""
    words, parts = "The lighthouse keeper", []
    pieces = re.findall(r'^ +\d+ +"(.*)"$', run("dikkat", "tokenizer", "inspect", "pieces.json", "--text", words), re.MULTILINE)
    for row, (name, cut) in enumerate([(f"{len(words)} characters", list(words)), (f"{len(pieces)} pieces", pieces)]):
        x, y = 130, 14 + 50 * row
        parts.append(text(10, y + 20, name))
        for i, piece in enumerate(cut):
            parts += [f'<rect x="{x}" y="{y}" width="{24 * len(piece) - 2}" height="30" fill="{COLORS[i % len(COLORS)]}"/>']
            parts += [text(x + 24 * j + 11, y + 20, "␣" if letter == " " else letter, 'text-anchor="middle"') for j, letter in enumerate(piece)]
            x += 24 * len(piece)
    return svg(650, 110, parts)


def attention():
    """The weights of the question mark, for three trained models."""
    parts = [text(250 + 46 * i + 20, 24, name, 'text-anchor="middle"') for i, name in enumerate([*map(str, range(1, 9)), "?"])]
    for row, (name, words) in enumerate([("recalls letter 1", ["1"]), ("recalls letter 5", ["5"]), ("letter 1, without positions", ["1", "no-positions"])]):
        line = next(line for line in run("./attention", *words).splitlines() if line.startswith("weights of the last"))
        parts.append(text(10, 62 + 46 * row, name))
        for i, weight in enumerate(map(float, re.findall(r"\d\.\d+", line))):
            x, y = 250 + 46 * i, 36 + 46 * row
            parts += [f'<rect x="{x}" y="{y}" width="42" height="42" fill="{BLUE}" fill-opacity="{weight:.3f}" stroke="#bbb"/>',
                      text(x + 21, y + 26, f"{weight:.2f}", f'text-anchor="middle" font-size="12" fill="{"white" if weight > 0.5 else "black"}"')]
    return svg(680, 184, parts)


def losses():
    """The losses of a model that memorizes a small text, and of the same model on the whole book."""
    parts, left, right, top, bottom, high, steps = [], 60, 470, 20, 240, 4.2, 400
    x, y = (lambda step: left + (right - left) * step / steps), (lambda loss: bottom - (bottom - top) * loss / high)
    for loss in range(5):
        parts += [f'<line x1="{left}" x2="{right}" y1="{y(loss)}" y2="{y(loss)}" stroke="#ddd"/>', text(left - 24, y(loss) + 5, loss)]
    parts += [text(x(step), bottom + 22, step, 'text-anchor="middle"') for step in range(0, steps + 1, 100)]
    parts.append(text((left + right) / 2, bottom + 44, "steps", 'text-anchor="middle"'))
    for row, (folder, name, color) in enumerate([("runs/small", "20 kB", ORANGE), ("runs/whole", "131 kB", BLUE)]):
        lines = [json.loads(line) for line in pathlib.Path(folder, "metrics.jsonl").read_text().splitlines()]
        evaluations = [line for line in lines if line["event"] == "eval"]
        for key, dashes, label, below in [("val_loss", "", "validation", 2), ("train_loss", "5 4", "training", 10)]:
            points = " ".join(f'{x(line["step"]):.1f},{y(line[key]):.1f}' for line in evaluations)
            parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}"/>')
            parts.append(text(right + 12, y(evaluations[-1][key]) + below, f"{name}, {label}", f'fill="{color}" font-size="12"'))
    return svg(650, 300, parts)


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    for picture in [tokens, attention, losses]:
        (out / f"course-{picture.__name__}.svg").write_text(picture())
