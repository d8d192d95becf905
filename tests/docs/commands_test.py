"""Runs the commands of the tutorial, the how-tos and the pages on fine-tuning, labels, distillation, serving and evaluation unchanged: commands_test.py DIKKAT SOURCE_DIR. Blocks that begin with ```sh are run, one
page after another, each in a new folder beside links to the project's data; ```sh no-run marks commands that need a reader's own files. Training is cut
to 20 steps, and an assistant to 20 seconds, since this tests that the commands are right, and not how good the models are."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PAGES = ["docs/TUTORIAL.md", "docs/HOWTO.md", "docs/FINETUNE.md", "docs/LABELS.md", "docs/DISTILL.md", "docs/SERVING.md", "docs/ASSISTANT.md", "docs/EVAL.md", "docs/VECTORS.md"]
SHORT = "train.max_steps=20 train.eval_interval=10 train.eval_tokens=512 train.checkpoint_interval=10 optim.warmup_steps=2 train.sample_tokens=5"

# Replaces the program: it adds --set with fewer steps, and shortens the time of an assistant. The last value of a key counts.
WRAPPER = f"""#!/bin/bash
case $1 in
  train|finetune) exec {program} "$@" --set {SHORT} ;;
  sweep) exec {program} "$@" --set {SHORT} ;;
  assistant)
    words=()
    while (($#)); do
      case $1 in
        --preset | --time) words+=(--time 20s); shift 2 ;;
        *) words+=("$1"); shift ;;
      esac
    done
    exec {program} "${{words[@]}}" ;;
  resume)
    [[ -f $2/assistant.json ]] && exec {program} "$@"
    exec {program} "$@" --set train.max_steps=24 ;;
  *) exec {program} "$@" ;;
esac
"""


def blocks_of(page):
    for match in re.finditer(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        yield match.group(1)


def run(block, folder, environment):
    """Returns a block's exit code and messages. Ends what it leaves running, such as a server, which would answer the next test's requests. A file has the
    messages, because a server would hold a pipe open."""
    with tempfile.TemporaryFile("w+", errors="replace") as messages:
        job = subprocess.Popen(["bash", "-e", "-c", block], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=messages, start_new_session=True)
        try:
            code = job.wait(timeout=280)
        finally:
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        messages.seek(0)
        return code, messages.read()


for name in PAGES:
    blocks = list(blocks_of(source / name))
    assert len(blocks) >= (1 if name == "docs/VECTORS.md" else 2), f"{name} has {len(blocks)} blocks of commands"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for link in ["data", "configs"]:
            (folder / link).symlink_to(source / link)
        (folder / "bin").mkdir()
        wrapper = folder / "bin/dikkat"
        wrapper.write_text(WRAPPER)
        wrapper.chmod(0o755)
        environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": "1000"}
        for block in blocks:
            code, messages = run(block, folder, environment)
            assert code == 0, f"{name}:\n{block}\nended with {code}: {messages[-2000:]}"
        for expected in {"docs/TUTORIAL.md": ["runs/first/report.html", "runs/compare.html"], "docs/HOWTO.md": ["runs/llama-hf/config.json", "runs/llama.gguf", "runs/ended.txt"],
                         "docs/FINETUNE.md": ["runs/merged/config.toml", "adapter.gguf", "adapter-peft/adapter_config.json", "runs/preferred/reference.json"],
                         "docs/LABELS.md": ["runs/mails/metrics.jsonl", "labels.csv"],
                         "docs/DISTILL.md": ["taught/teacher.json", "runs/student/metrics.jsonl", "runs/answers/metrics.jsonl"],
                         "docs/SERVING.md": ["chat.html", "answer.json"],
                         "docs/ASSISTANT.md": ["runs/mine/report.html", "mine.gguf", "answer.json"],
                         "docs/VECTORS.md": ["documents.npy", "question.jsonl"],
                         "docs/EVAL.md": ["questions.jsonl", "tuned.gguf"]}[name]:
            assert (folder / expected).exists(), f"{name}: {expected} was not made"
        print(f"{name}: {len(blocks)} blocks of commands ran")
