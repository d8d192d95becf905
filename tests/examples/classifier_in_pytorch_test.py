"""Compares the probabilities of classifiers that dikkat has exported with PyTorch's in float64: classifier_in_pytorch_test.py DIKKAT SOURCE_DIR. Models of
two families are trained for some steps, with one label and with several. Ends with 77 (skipped) if Python has no PyTorch."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
if importlib.util.find_spec("torch") is None:
    print(f"skipped: {sys.executable} has no PyTorch (apt-get install python3-torch)")
    sys.exit(77)
sys.path.insert(0, str(source / "examples"))
sys.dont_write_bytecode = True
from load_in_pytorch import load  # noqa: E402

KINDS = {
    "GPT2": ["model.positions=learned", "model.norm=layer_norm", "model.gated=false", "model.activation=gelu", "model.bias=true", "model.qkv_bias=true"],
    "Llama": ["model.positions=rope", "model.norm=rms_norm", "model.gated=true", "model.activation=silu", "model.bias=false", "model.qkv_bias=false",
              "model.tie_embeddings=false"],
}
TEXT = "the baker baked, the cat slept, and the clock told the same hour to all who asked. " * 20
TEXTS = ["the cat", "a clock told the hour to all", "b", "who asked the baker? the cat slept."]


def dikkat(*arguments, given=None):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, input=given)
    assert done.returncode == 0, done.stderr
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "corpus.txt").write_text(TEXT)
    words = TEXT.split()
    rows = [(" ".join(words[i:i + 2 + i % 5]), i % 3) for i in range(90)]
    (folder / "one.jsonl").write_text("".join(json.dumps({"text": text, "label": "abc"[kind]}) + "\n" for text, kind in rows))
    (folder / "several.jsonl").write_text("".join(json.dumps({"text": text, "label": list("abc"[:kind])}) + "\n" for text, kind in rows))
    for kind, keys in KINDS.items():
        base = folder / kind
        dikkat("train", "--corpus", folder / "corpus.txt", "--out", base, "--set", "tokenizer.kind=byte", "model.n_layer=2", "model.n_head=2",
               "model.n_embd=32", "model.block_size=64", "train.batch_size=4", "train.max_steps=10", "train.eval_interval=10", *keys)
        for data, ways in (("one", []), ("several", ["--full"])):
            run, out = folder / f"{kind}-{data}", folder / f"{kind}-{data}-hf"
            dikkat("finetune", base, "--data", folder / f"{data}.jsonl", "--labels", "label", "--out", run, *ways, "--set", "train.max_steps=30",
                   "optim.learning_rate=0.01")
            dikkat("export", run, "--out", out)
            config = json.loads((out / "config.json").read_text())
            assert config["architectures"] == [f"{kind}ForSequenceClassification"], config
            model, answers = load(out), dikkat("classify", run, "-", "--json", given="\n".join(TEXTS)).splitlines()
            largest, spread = 0, 0
            for text, answer in zip(TEXTS, map(json.loads, answers), strict=True):
                last = model(list(text.encode()))[-1]  # a token is a byte
                theirs = (last.sigmoid() if data == "several" else last.softmax(0)).tolist()
                ours = [answer["probabilities"][config["id2label"][str(i)]] for i in range(len(theirs))]
                largest = max(largest, max(abs(a - b) for a, b in zip(ours, theirs, strict=True)))
                spread = max(spread, max(theirs) - min(theirs))
            assert largest < 1e-6, f"{kind}, {data}: {largest}"
            assert spread > 0.01, f"{kind}, {data}: the probabilities are nearly equal, {spread}"
            print(f"{kind}, {data}: {largest:.1e}")
