"""Tests bench/ablation.py and recipes.py on a model that trains in an instant: experiments_test.py DIKKAT SOURCE_DIR."""
import json
import pathlib
import subprocess
import sys
import tempfile

program, bench = sys.argv[1], pathlib.Path(sys.argv[2]) / "bench"
sys.path.insert(0, str(bench))
import ablation  # noqa: E402

CONFIG = """
[model]
n_layer = 1
n_head = 1
n_embd = 16
block_size = 16
[tokenizer]
kind = "char"
[train]
batch_size = 4
max_steps = 64
eval_interval = 32
"""
EXPERIMENT = """
config = "{folder}/tiny.toml"
corpus = ["{folder}/corpus.txt"]
seconds = 0.02
seeds = [1, 2]
warmup = 0.05
pace = {{rounds = 1, steps = 6, warmup = 2}}
base = ["optim.kind=adamw"]
[ingredients]
muon = ["optim.kind=muon"]
turbo = ["optim.muon_coefficients=turbo"]
rope = ["model.positions=rope"]
[needs]
turbo = "muon"
"""


def run(script, *arguments):
    done = subprocess.run([sys.executable, str(bench / script), *map(str, arguments), "--program", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def cells(table):
    """The rows below a table's head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "corpus.txt").write_text("the baker baked, the cat slept, and the clock told the same hour to all who asked. " * 40)
    (folder / "tiny.toml").write_text(CONFIG)
    (folder / "tiny-experiment.toml").write_text(EXPERIMENT.format(folder=folder))

    # An ablation: an ingredient comes with those that it needs, when only it is tried and when it is left out.
    out = ["--out", folder / "ablation"]
    refused = subprocess.run([sys.executable, str(bench / "ablation.py"), "train", str(folder / "tiny-experiment.toml"), "--program", program,
                              *map(str, out)], capture_output=True, text=True)
    assert refused.returncode == 1 and "run it with pace first" in refused.stderr, refused.stderr
    run("ablation.py", "pace", folder / "tiny-experiment.toml", *out)
    trained = run("ablation.py", "train", folder / "tiny-experiment.toml", *out).stderr.splitlines()
    assert len(trained) == 12, trained  # two of the eight variants are the same as others
    assert run("ablation.py", "train", folder / "tiny-experiment.toml", *out).stderr == ""  # nothing runs twice
    table = cells(run("ablation.py", "table", folder / "tiny-experiment.toml", *out).stdout)
    assert [row[0] for row in table] == ["base", "muon", "muon + turbo", "rope", "all", "all but muon", "all but turbo", "all but rope"], table
    losses = json.loads((folder / "ablation/losses.json").read_text())
    two = [losses[f"optim.kind=adamw seed {seed}"]["loss"] for seed in (1, 2)]
    assert table[0][3] == f"{sum(two) / 2:.4f} ± {abs(two[0] - two[1]) / 2:.4f}", (table[0], two)
    assert table[3][3] == table[5][3] and table[2][3] == table[7][3], table

    # Recipes: there are as many runs as seeds, with the losses of the runs' own metrics.
    arguments = [folder / "tiny.toml", "--corpus", folder / "corpus.txt", "--seeds", 1, 2, "--out", folder / "recipes"]
    row = cells(run("recipes.py", *arguments).stdout)[0]
    last = [[json.loads(line) for line in (folder / f"recipes/tiny-{seed}/metrics.jsonl").read_text().splitlines()] for seed in (1, 2)]
    two = [[line["val_loss"] for line in lines if line["event"] == "eval"][-1] for lines in last]
    assert row[1] == "64" and row[3] == "1.000" and row[4] == f"{sum(two) / 2:.4f} ± {abs(two[0] - two[1]) / 2:.4f}", (row, two)

assert list(ablation.variants({"ingredients": {"a": ["x=1"]}})) == ["base", "a", "all", "all but a"]
print("ok")
