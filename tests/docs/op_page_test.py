"""Holds docs/OPS.md to the headers that it is made from, and that it names every op: op_page_test.py SOURCE_DIR."""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
made = subprocess.run([sys.executable, source / "scripts/op_page.py", source], check=True, capture_output=True, text=True).stdout
assert made == (source / "docs/OPS.md").read_text(), "docs/OPS.md differs from the headers: scripts/op_page.py . > docs/OPS.md"

ops = re.findall(r"X\((\w+)\)", (source / "autograd/ops/op.h").read_text())
ops = [name for name in ops if name not in ("name",)]
assert len(ops) > 50, f"op.h lists only {len(ops)} ops"
headings = {name.strip() for line in made.splitlines() if line.startswith("### ") for name in line[4:].split(",")}
missing = [name for name in ops if name not in headings]
assert not missing, f"docs/OPS.md has no {missing}: add their header to PAGES of scripts/op_page.py"
