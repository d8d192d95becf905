"""try_program.py [--peer PROGRAM] [--instructions NAME] COMMAND...: runs dikkat, which may be in an emulator: `try_program.py qemu-aarch64 -L TREE
TREE/usr/bin/dikkat`. A quickstart of some steps, resume, sample, eval and export. With a peer, which is dikkat for this machine, the losses must agree.
The program must say that it runs the kernels for these instructions, if they are given."""
import argparse
import filecmp
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

SMALL = ("train.max_steps=6 train.batch_size=2 train.eval_interval=3 train.eval_tokens=128 train.checkpoint_interval=3 train.log_interval=1 "
         "optim.warmup_steps=2 optim.learning_rate=2e-2 train.precision=f32 model.n_layer=2 model.n_embd=64 model.n_head=2").split()
CLOSE = 1e-3  # nats

parser = argparse.ArgumentParser()
parser.add_argument("--peer")
parser.add_argument("--instructions")
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()
assert args.command, "expected the command that starts dikkat"
# Otherwise the program starts itself once more, which needs binfmt_misc.
environment = {**os.environ, "GOMP_SPINCOUNT": "1000", "OMP_NUM_THREADS": "2"}


def run(*words, command=args.command):
    began = time.monotonic()
    done = subprocess.run([*command, *map(str, words)], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=1800)
    assert done.returncode == 0, f"dikkat {' '.join(map(str, words))}\nended with {done.returncode}: {done.stderr[-2000:]}"
    print(f"  dikkat {words[0]}: {time.monotonic() - began:.1f} s", flush=True)
    return done.stdout


def losses(folder):
    """The run's losses: of each step, and of each evaluation."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["event"] == "step"] + [line["val_loss"] for line in lines if line["event"] == "eval"]


def train(folder, config="quickstart", command=args.command):
    run("train", "--config", config, "--out", folder, "--quiet", "--set", *SMALL, command=command)


version = run("--version", "--verbose")
print(version, end="")
chosen = re.search(r"^instructions (.*)$", version, re.MULTILINE).group(1)
assert args.instructions in (None, chosen), f"--version --verbose: found the instructions {chosen}, expected {args.instructions}"
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "text.txt").write_text("Once there was a miller who had nothing left but his mill, and behind it a great apple tree.\n" * 8)
    train(work / "run")
    found = losses(work / "run")
    assert len(found) == 8 and found[5] < found[0] - 0.3, f"expected six steps that learn and two evaluations, found {found}"

    # What was stopped after step 3 comes to the same bits.
    shutil.copytree(work / "run", work / "resumed")
    (work / "resumed/checkpoints/step-000000006.h5").unlink()
    run("resume", work / "resumed", "--quiet")
    last = "checkpoints/step-000000006.h5"
    assert filecmp.cmp(work / "run" / last, work / "resumed" / last, shallow=False), "resume: expected the bits of the run that never stopped"
    print("  resume: equal bits")

    evaluated = json.loads(run("eval", work / "run", "--corpus", work / "text.txt", "--json"))["loss"]
    likeliest = ["--temperature", 0, "--prompt", "Once there was", "--max-new-tokens", 40]
    text = run("sample", work / "run", *likeliest)
    assert len(text) > 20, f"sample: {text!r}"
    for exported in ("model.gguf", "model-hf"):
        run("export", work / "run", "--out", work / exported)
        assert run("sample", work / exported, *likeliest) == text, f"sample: {exported} continues the prompt in another way than the run"

    if args.peer:
        peer = [args.peer]
        train(work / "peer", pathlib.Path(__file__).resolve().parents[2] / "configs/quickstart.toml", peer)
        expected = losses(work / "peer")
        furthest = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        assert furthest < CLOSE, f"losses: found {found}, expected those of {args.peer}: {expected}"
        there = json.loads(run("eval", work / "run", "--corpus", work / "text.txt", "--json", command=peer))["loss"]
        assert abs(there - evaluated) < CLOSE, f"eval: found {evaluated}, expected {there}, as {args.peer} measures"
        print(f"  losses: {found[0]:.4f} to {found[5]:.4f}, at most {furthest:.2e} from {args.peer}'s; eval {evaluated:.6f}, there {there:.6f}")
print("try_program: passed")
