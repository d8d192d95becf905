"""quickstart_test.py DIKKAT SOURCE_DIR: runs the quickstart without its build, and then each line that it suggests to type next, with fewer steps and with
files in place of the names in capitals."""
import json
import pathlib
import subprocess
import sys
import tempfile

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SHORT = "train.eval_interval=10 train.eval_tokens=512 train.checkpoint_interval=10 optim.warmup_steps=2"


def run(command):
    done = subprocess.run(command, shell=True, cwd=source, capture_output=True, text=True, errors="replace", timeout=250)
    assert done.returncode == 0, f"{command}\nended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stderr


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    said = run(f"scripts/quickstart.sh --trial {program} {folder}/quickstart")
    lines = [line.strip() for line in said.splitlines() if line.startswith(f"  {program} ")]
    words = [line.split()[1] for line in lines]
    assert words == ["sample", "report", "train", "train", "finetune", "--help"], words

    (folder / "text.txt").write_text((source / "data/tales.txt").read_text()[:20000])
    (folder / "chats.jsonl").write_text("".join(
        json.dumps({"messages": [{"role": "user", "content": f"What is {n}?"}, {"role": "assistant", "content": f"It is {n}."}]}) + "\n" for n in range(40)))
    run(f"{program} train --config configs/quickstart.toml --corpus {folder}/text.txt --out {folder}/bpe "
        f"--set tokenizer.kind=bpe tokenizer.vocab_size=300 train.max_steps=4 {SHORT}")
    here = {"runs/words": f"{folder}/words --set train.max_steps=4 {SHORT}", "YOUR-TEXT.txt": f"{folder}/text.txt", "runs/mine": f"{folder}/mine --set train.max_steps=4 {SHORT}",
            "MODEL": f"{folder}/bpe", "chats.jsonl": f"{folder}/chats.jsonl --out {folder}/tuned --set train.max_steps=4 {SHORT}"}
    for line in lines:
        for name, instead in here.items():
            line = line.replace(name, instead)
        run(line)
    assert (folder / "quickstart/report.html").exists() and (folder / "mine/config.toml").exists() and (folder / "tuned/config.toml").exists()
    assert "bpe" in (folder / "words/config.toml").read_text()

    # A tokenizer of characters cannot be fine-tuned on conversations, as the quickstart states.
    refused = subprocess.run([program, "finetune", f"{folder}/quickstart", "--data", f"{folder}/chats.jsonl", "--out", f"{folder}/no"], capture_output=True, text=True)
    assert refused.returncode == 2, refused.stderr

    elsewhere = subprocess.run([source / "scripts/quickstart.sh", "--trial", program, folder / "quickstart"], cwd=folder, capture_output=True, text=True)
    assert any(str(source) in line for line in set(elsewhere.stderr.splitlines()) - set(said.splitlines())), elsewhere.stderr  # where to type them
