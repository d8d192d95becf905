"""examples/load_in_pytorch.py on the folders of tests/golden/hf, whose logits NumPy has computed: load_in_pytorch_test.py SOURCE_DIR. Ends with 77
(skipped) where Python has no PyTorch."""
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


def run(*arguments):
    return subprocess.run([sys.executable, str(source / "examples/load_in_pytorch.py"), *map(str, arguments)], capture_output=True, text=True)


for folder in folders:
    difference = load_in_pytorch.largest_difference(load_in_pytorch.load(folder), json.loads((folder / "expected.json").read_text()))
    assert difference <= 1e-12, f"{folder.name}: {difference}"
    print(f"{folder.name}: {difference:.1e}")

right = run(folders[0], "--compare", folders[0] / "expected.json")
assert right.returncode == 0 and "largest difference" in right.stdout, right
wrong = run(folders[0], "--compare", folders[1] / "expected.json")
assert wrong.returncode == 1 and "largest difference" in wrong.stdout and not wrong.stderr, wrong

shown = run(folders[0], 17, 4, 29)
assert shown.returncode == 0, shown.stderr
assert [line.split()[0] for line in shown.stdout.splitlines()] == ["17", "4", "29"], shown.stdout
