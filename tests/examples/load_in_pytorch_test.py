"""Tests examples/load_in_pytorch.py on the folders of tests/golden/hf, whose logits NumPy has computed: load_in_pytorch_test.py SOURCE_DIR. Ends with 77
(skipped) if Python has no PyTorch."""
import importlib.util
import json
import pathlib
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
folders = sorted(path for path in (source / "tests/golden/hf").iterdir() if path.is_dir())
assert len(folders) >= 6, folders
if importlib.util.find_spec("torch") is None:
    print(f"skipped: {sys.executable} has no PyTorch (apt-get install python3-torch)")
    sys.exit(77)
sys.path.insert(0, str(source / "examples"))
import load_in_pytorch  # noqa: E402
import torch  # noqa: E402


def largest_difference(model, expected):
    """The largest error, relative to the largest logit; expected: {"tokens": B lists of T, "logits": (B, T, V)}."""
    pairs = [(model(tokens), torch.tensor(logits, dtype=torch.float64)) for tokens, logits in zip(expected["tokens"], expected["logits"])]
    return max(((ours - theirs).abs().max() / theirs.abs().max()).item() for ours, theirs in pairs)


folders = [folder for folder in folders if json.loads((folder / "config.json").read_text())["model_type"] in load_in_pytorch.MODELS]
assert len(folders) >= 6, folders
for folder in folders:
    difference = largest_difference(load_in_pytorch.load(folder), json.loads((folder / "expected.json").read_text()))
    assert difference <= 1e-12, f"{folder.name}: {difference}"
    print(f"{folder.name}: {difference:.1e}")

shown = subprocess.run([sys.executable, str(source / "examples/load_in_pytorch.py"), str(folders[0]), "17", "4", "29"], capture_output=True, text=True)
assert shown.returncode == 0, shown.stderr
assert [line.split()[0] for line in shown.stdout.splitlines()] == ["17", "4", "29"], shown.stdout
