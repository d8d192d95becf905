"""kill -9 at random times of every command that writes, which is then repeated with the same words."""

import dataclasses
import json
import pathlib
import re
import shutil
import signal
import time
from typing import Callable

from bench import (SURVIVED, Case, Failed, require, require_whole, settings, steps_in, tiny_text, toml, TINY)

# A model that all formats can hold, and one for llm.c, which only knows GPT-2.
LLAMA = {"model.positions": "rope", "model.norm": "rms_norm", "model.bias": False, "model.gated": True, "model.activation": "silu",
         "model.n_embd": 32, "model.block_size": 64, "model.dropout": 0, "tokenizer.kind": "bpe", "tokenizer.vocab_size": 300}
SHORT = {"train.max_steps": 12, "train.checkpoint_interval": 3, "train.eval_interval": 6}


@dataclasses.dataclass
class Command:
    name: str
    words: list                   # "{works}" stands for the folder of the inputs
    runs: tuple = ()              # folders of runs that it writes
    whole: tuple = ()             # outputs that are complete as soon as they have their names
    refuses: bool = False         # whether a repeated command refuses to overwrite its result
    prepare: Callable = lambda works, folder: None
    variables: dict = dataclasses.field(default_factory=dict)


def lines_of(objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


def make_works(bench):
    """The inputs of all commands: texts, chats, runs, adapters and exported models."""
    def make():
        works = bench.folder / "works"
        works.mkdir()
        (works / "text.txt").write_text(tiny_text(20_000))
        (works / "small.txt").write_text(tiny_text(3_000))
        (works / "large.txt").write_text(100 * tiny_text(20_000))  # more than the 8 MB from which on tokens are cached
        (works / "chats.jsonl").write_text(lines_of(
            {"prompt": f"What is lamp {i}?", "completion": f"It is ship {i}."} for i in range(40)))
        (works / "pairs.jsonl").write_text(lines_of(
            {"prompt": f"Is it {i}?", "chosen": f"Yes, {i}.", "rejected": "No."} for i in range(40)))
        config = {**TINY, "data": {"corpus": [str(works / "small.txt")]}}
        (works / "works.toml").write_text(toml(config))

        def do(*words):
            outcome = bench.run(works, words)
            require(outcome.code == 0, "the inputs cannot be made:", " ".join(map(str, words)), outcome.err[-500:])
            return outcome.out
        do("train", "--config", "works.toml", "--out", "base", *settings({**LLAMA, **SHORT}))
        do("train", "--config", "works.toml", "--out", "gpt2",
           *settings({**SHORT, "tokenizer.kind": "bpe", "tokenizer.vocab_size": 300, "model.dropout": 0}))
        do("finetune", "base", "--data", "chats.jsonl", "--out", "tuned", *settings(SHORT))
        do("export", "base", "--out", "hf")
        do("export", "base", "--out", "base.gguf")
        do("export", "tuned", "--adapter", "--out", "peft")
        plan = json.loads(do("assistant", "--plan", "--json", "--corpus", "text.txt", "--chats", "chats.jsonl", "--pairs", "pairs.jsonl",
                             "--time", "300s"))
        for stage in plan["stages"]:
            stage["steps"] = 6
            stage["settings"] += [f"{key}={value}" for key, value in
                                  {"train.max_steps": 6, "train.eval_interval": 3, "train.eval_tokens": 512,
                                   "train.checkpoint_interval": 2, "train.batch_size": 2}.items()]
        (works / "assistant.json").write_text(json.dumps(plan))
        return works
    return bench.once("works of commands", make)


def give_plan(works, folder):
    (folder / "out").mkdir()
    shutil.copy(works / "assistant.json", folder / "out" / "assistant.json")


def give_run(works, folder):
    shutil.copytree(works / "base", folder / "run")


SWEEP = "model.n_layer=1,2"
FAST = settings(SHORT)
COMMANDS = (
    Command("train", ["train", "--config", "{works}/works.toml", "--out", "out", *FAST], runs=("out",)),
    Command("train, at once", ["train", "--config", "{works}/works.toml", "--out", "out", *FAST, *settings({"train.async_save": False})],
            runs=("out",)),
    Command("finetune", ["finetune", "{works}/base", "--data", "{works}/chats.jsonl", "--out", "out", *FAST], runs=("out",)),
    Command("finetune on pairs", ["finetune", "{works}/base", "--data", "{works}/pairs.jsonl", "--full", "--out", "out", *FAST], runs=("out",)),
    Command("verify-resume", ["train", "--config", "{works}/works.toml", "--verify-resume", "--out", "out"]),
    Command("sweep", ["sweep", "--config", "{works}/works.toml", "--vary", SWEEP, "--no-halving", "--out", "out", *FAST],
            runs=("out/model.n_layer=1", "out/model.n_layer=2")),
    Command("assistant", ["assistant", "--out", "out"], runs=("out", "out/pretrain", "out/chats", "out/preferences"), prepare=give_plan),
    Command("teach", ["teach", "{works}/base", "--data", "{works}/text.txt", "--out", "out", "--top", "8"]),
    Command("import a folder", ["import", "{works}/hf", "--out", "out"], runs=("out",), whole=("out",), refuses=True),
    Command("import GGUF", ["import", "{works}/base.gguf", "--out", "out"], runs=("out",), whole=("out",), refuses=True),
    Command("merge", ["merge", "{works}/tuned", "--out", "out"], runs=("out",), whole=("out",), refuses=True),
    Command("merge PEFT", ["merge", "{works}/peft", "--base", "{works}/base", "--out", "out"], runs=("out",), whole=("out",), refuses=True),
    Command("export to a folder", ["export", "{works}/base", "--out", "out"], whole=("out",), refuses=True),
    Command("export to GGUF", ["export", "{works}/base", "--out", "out.gguf", "--dtype", "q8_0", "--modelfile"], whole=("out.gguf",),
            refuses=True),
    Command("export to llm.c", ["export", "{works}/gpt2", "--out", "out.bin"], whole=("out.bin",), refuses=True),
    Command("export adapters", ["export", "{works}/tuned", "--adapter", "--out", "out"], whole=("out",), refuses=True),
    Command("export adapters to GGUF", ["export", "{works}/tuned", "--adapter", "--out", "out.gguf"], whole=("out.gguf",), refuses=True),
    Command("tokenizer train", ["tokenizer", "train", "--corpus", "{works}/text.txt", "--vocab-size", "300", "--out", "out"], refuses=True),
    Command("tokenizer train to a file", ["tokenizer", "train", "--corpus", "{works}/text.txt", "--vocab-size", "300", "--out", "out.json"],
            whole=("out.json",), refuses=True),
    Command("config init", ["config", "init", "out.toml"], whole=("out.toml",), refuses=True),
    Command("export-metrics", ["export-metrics", "{works}/base", "--csv", "out.csv", "--tensorboard", "board"], whole=("out.csv",)),
    Command("report", ["report", "{works}/base", "{works}/gpt2", "--out", "out.html"], whole=("out.html",)),
    Command("eval --html", ["eval", "{works}/base", "--html", "out.html"], whole=("out.html",)),
    Command("sample --html", ["sample", "{works}/base", "--prompt", "the lamp", "--max-new-tokens", "9", "--html", "out.html"],
            whole=("out.html",)),
    Command("corpus inspect --html", ["corpus", "inspect", "{works}/text.txt", "--html", "out.html"], whole=("out.html",)),
    Command("runs rm", ["runs", "rm", "run", "--yes"], whole=("run",), refuses=True, prepare=give_run),
    Command("man", ["man", "out"]),
    Command("train on cached tokens", ["train", "--config", "{works}/works.toml", "--corpus", "{works}/large.txt", "--out", "out", *FAST],
            runs=("out",), variables={"XDG_CACHE_HOME": "{folder}/cache"}),
)

CLOCKS = ("ms", "optimizer_ms", "tokens_per_s", "mfu", "memory", "time", "took", "seconds")


def without_clocks(value):
    if isinstance(value, dict):
        return {key: without_clocks(one) for key, one in value.items() if key not in CLOCKS}
    return [without_clocks(one) for one in value] if isinstance(value, list) else value


def comparable(path, folder):
    """A file's contents, without what by design differs from case to case: times, and the path of the case's folder."""
    data = path.read_bytes()
    if path.suffix == ".jsonl" and path.name in ("metrics.jsonl", "results.jsonl"):
        lines = [without_clocks(json.loads(line)) for line in data.decode().split("\n")[:-1]]  # a killed run leaves half a line
        return [line for line in lines if path.name == "results.jsonl" or line["event"] in ("step", "eval")]
    if path.name in ("assistant.json", "sweep.json"):
        return without_clocks(json.loads(data))
    if path.name == "report.md":
        return re.sub(rb"\d+:\d\d(:\d\d)?", b"TIME", data)
    if path.suffix == ".html":
        require(data.startswith(b"<!doctype html>") and data.rstrip().endswith(b"</html>"), path.name, "is not a whole page")
        # The page of an assistant has curves of times.
        return None if path.name == "report.html" else re.sub(rb'"made":[0-9.]+', b"", data)
    if path.suffix == ".h5" and path.parent.parent.name in ("chats", "preferences"):
        return None  # the configuration in it has the path of the case's folder, as has that of config.toml
    return data.replace(bytes(folder), b"FOLDER") if path.name == "config.toml" else data


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def is_hidden(path, folder):
    return any(part.startswith(".tmp-") or part.endswith((".partial", ".unfinished", ".aside")) or ".verify" in part
               for part in path.relative_to(folder).parts)


def contents(folder, below=""):
    """{relative path: contents} of all files with final names."""
    return {str(path.relative_to(folder)): comparable(path, folder) for path in files_in(folder)
            if not is_hidden(path, folder) and path.name != "tiny.toml" and path.relative_to(folder).is_relative_to(below)}


def difference(found, expected):
    """Names what differs; empty if nothing does."""
    return ", ".join(sorted(name for name in found.keys() | expected.keys() if found.get(name, b"?") != expected.get(name, b"?")))


def start(bench, command, folder):
    works = make_works(bench)
    variables = {name: value.replace("{folder}", str(folder)) for name, value in command.variables.items()}
    return bench.start(folder, [word.replace("{works}", str(works)) for word in command.words], variables=variables)


def new_folder(bench, command):
    folder = bench.make_folder(command.name)
    command.prepare(make_works(bench), folder)
    return folder


@dataclasses.dataclass
class Undisturbed:
    before: dict
    after: dict
    seconds: float


def undisturbed(bench, command):
    def make():
        seconds = []
        for _ in range(2):
            folder = new_folder(bench, command)
            before = contents(folder)
            outcome = start(bench, command, folder).wait(bench.patience)
            require(outcome.code == 0, "the undisturbed command failed:", outcome.err[-500:])
            after = contents(folder)
            seconds.append(outcome.seconds)
            shutil.rmtree(folder)
        return Undisturbed(before, after, min(seconds))
    return bench.once(("undisturbed", command.name), make)


def require_no_half(bench, folder, command, expected):
    """Fails if a file or folder has its final name and is not complete."""
    found = contents(folder)
    for output in command.whole:
        of_it = contents(folder, output)
        states = [{name: one for name, one in tree.items() if pathlib.Path(name).is_relative_to(output)}
                  for tree in (expected.before, expected.after)]
        require(not of_it or of_it in states, output, "has its final name and is not complete:", difference(of_it, states[1]))
    for run in command.runs:
        if steps_in(folder / run):
            require_whole(bench, folder, run)
    for name, one in found.items():
        path = pathlib.Path(name)
        grows = path.name in ("metrics.jsonl", "results.jsonl", "assistant.json", "best", "report.md", "report.html") or path.suffix == ".h5"
        require(grows or one in (expected.after.get(name), expected.before.get(name)), "an incomplete file under a final name:", name)


def kill(command):
    def run(bench, random):
        expected = undisturbed(bench, command)
        folder = new_folder(bench, command)
        try:
            while True:
                process = start(bench, command, folder)
                time.sleep(random.uniform(0, 1.02 * expected.seconds))
                process.send(signal.SIGKILL)
                outcome = process.wait(bench.patience)
                is_done = not difference(contents(folder), expected.after)
                outcome.require_code(-signal.SIGKILL, 0, *([2] if command.refuses and is_done else []))
                require_no_half(bench, folder, command, expected)
                if random.random() < 0.6:
                    break
            outcome = start(bench, command, folder).wait(bench.patience)
            outcome.require_code(0, *([2] if command.refuses and is_done else []))
            wrong = difference(contents(folder), expected.after)
            require(not wrong, "the repeated command has other results than an undisturbed one:", wrong)
            left = [str(path.relative_to(folder)) for path in folder.rglob("*") if is_hidden(path, folder)]
            require(not left, "left behind:", ", ".join(left))
        except Failed as failure:
            raise Failed(f"{failure} (folder {folder})") from None
        shutil.rmtree(folder)
        return SURVIVED
    return run


def random_kills(bench):
    make_works(bench)
    for number in range(20 if bench.long else 3):
        for command in COMMANDS:
            yield Case(f"{number} {command.name}", kill(command))
