"""Compares examples/load_checkpoint.py with the program: load_checkpoint_test.py DIKKAT SOURCE_DIR. Models of two kinds are trained for some steps, and the
loss that NumPy computes from the file must equal that of `dikkat eval` to 1e-5."""
import json
import pathlib
import subprocess
import sys
import tempfile

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(source / "examples"))
import load_checkpoint  # noqa: E402

TEXT = "the baker baked, the cat slept, and the clock told the same hour to all who asked. " * 40
KINDS = {
    "as GPT-2": ["model.tie_embeddings=true"],
    "untied, without biases": ["model.tie_embeddings=false", "model.bias=false", "model.qkv_bias=false", "tokenizer.kind=byte"],
}


def dikkat(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "corpus.txt").write_text(TEXT)
    held_out = TEXT[7:7 + 5 * 16 + 1]  # 5 windows
    (folder / "text.txt").write_text(held_out)
    for number, (kind, keys) in enumerate(KINDS.items()):
        run = folder / f"run{number}"
        dikkat("train", "--config", str(source / "configs/tales-char.toml"), "--corpus", str(folder / "corpus.txt"), "--out", str(run), "--set",
               "tokenizer.kind=char", "model.positions=learned", "model.qk_norm=false", "model.n_layer=2", "model.n_head=2", "model.n_embd=16",
               "model.block_size=16", "train.batch_size=4", "train.max_steps=30", "train.eval_interval=30", "optim.warmup_steps=1",
               "optim.learning_rate=0.01", *keys)
        expected = json.loads(dikkat("eval", str(run), "--corpus", str(folder / "text.txt"), "--json"))
        checkpoint = load_checkpoint.Checkpoint(run / "checkpoints/step-000000030.h5")
        tokens = checkpoint.encode(held_out)
        assert expected["tokens"] == len(tokens) - 1, (expected, len(tokens))
        found = load_checkpoint.loss(checkpoint, tokens)
        assert 0.1 < found < 4, found
        assert abs(found - expected["loss"]) < 1e-5, f"{kind}: NumPy {found}, dikkat {expected['loss']}"
        assert checkpoint.state["step"] == 30 and checkpoint.tied == (number == 0)
        shown = subprocess.run([sys.executable, str(source / "examples/load_checkpoint.py"), str(run / "checkpoints/step-000000030.h5"),
                                "--loss", held_out], capture_output=True, text=True, check=True)
        assert abs(float(shown.stdout) - expected["loss"]) < 1e-5, shown.stdout
        print(f"{kind}: loss {found:.7f}, dikkat {expected['loss']:.7f}")
