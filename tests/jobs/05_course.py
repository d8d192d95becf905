"""A course in a class room: after the commands of all lessons, answers each exercise as a student would, from what commands print. Each check must accept
that answer, and refuse another one."""
import json
import math
import os
import pathlib
import re
import subprocess

from job import ROOT, dikkat, main, write_lines

CHECK = ROOT / "docs/course/check.py"
SECRET = "50 47 45 46 58 46 53 59 57 43"
FACTS = {"Who teaches this course?": "Ada teaches it.", "Where do we meet?": "We meet in room 12.", "When does a lesson begin?": "It begins at nine."}


def given():
    pathlib.Path("dikkat").symlink_to(ROOT)


def found(pattern, text):
    """Returns the number that follows in a text."""
    match = re.search(pattern + r"[^\d\n+-]*([+-]?[\d.]+)", text, re.MULTILINE)
    assert match, f"found no {pattern} in {text}"
    return float(match.group(1))


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def with_change(source, name, *changes):
    """Copies a program of the lessons, replaces parts of it, and builds it."""
    text = (ROOT / "examples" / source).read_text()
    for before, after in changes:
        assert text.count(before) == 1, f"{source}: found \"{before}\" {text.count(before)} times, expected once"
        text = text.replace(before, after)
    pathlib.Path(name + ".cpp").write_text(text)
    flags = run("pkg-config", "--cflags", "--libs", "dikkat").split()
    run("g++", "-std=c++20", "-O2", name + ".cpp", *flags, "-o", name)


def pieces(size):
    """Returns the path of a tokenizer of this many tokens."""
    path = pathlib.Path(f"pieces-{size}.json")
    if not path.exists():
        dikkat("tokenizer", "train", "--corpus", "data/tales.txt", "--vocab-size", size, "--out", path)
    return path


def smallest_vocabulary():
    low, high = 257, 4096  # " water" is one token with `high`, and not with `low`
    while high - low > 1:
        middle = (low + high) // 2
        if len(json.loads(dikkat("tokenizer", "encode", pieces(middle), "--text", " water", "--json"))) == 1:
            high = middle
        else:
            low = middle
    return high


def answers():
    """Returns (exercise, right answer, wrong answers)."""
    yield "1.1", dikkat("tokenizer", "decode", "chars.json", *SECRET.split()).strip(), ["Lighthouse", "light", "é"]
    ratio = found(r"^tokens.*vocabulary 1,024\):", dikkat("corpus", "inspect", "data/tales.txt", "--tokenizer", pieces(1024)))
    yield "1.2", ratio, [1 / ratio, ratio + 0.1, "three"]
    size = smallest_vocabulary()
    yield "1.3", size + 5, [size - 1, size + 30, 100]

    yield "2.1", found("after 't' comes 'h' with the chance", run("./bigram", "data/tales.txt", "0", "t")), [37.3, 0.9, 0.288]
    counted = found("loss by counting:", run("./bigram"))
    with_change("bigram.cpp", "bigram", ("kAdded = 0;", "kAdded = 1;"))
    yield "2.2", found("loss by counting:", run("./bigram")), [counted, 4.174]
    with_change("bigram.cpp", "bigram", ("kRate = 10;", "kRate = 20;"))
    too_slow = found("step 1000:", run("./bigram"))
    yield "2.3", None, [too_slow, 20]
    with_change("bigram.cpp", "bigram", ("kRate = 10;", "kRate = 60;"))
    yield "2.3", found("step 1000:", run("./bigram")), [too_slow, 60]

    yield "3.1", math.exp(3) / (math.exp(3) + math.exp(1) + 1), [0.75, 0.114]
    with_change("attention_lesson.cpp", "attention", ("{1, 0, 0, 1, 1, 1}", "{2, 0, 0, 1, 1, 1}"))
    yield "3.2", found("word 3 becomes:", run("./attention")), [0.788, 2]
    yield "3.3", re.findall(r"([\d.]+) % right", run("./attention", "1", "no-positions"))[-1], [100, 10]

    trained = pathlib.Path("lesson-4.log").read_text().split("finished at step")[0]
    losses = {int(step): float(loss) for step, loss in re.findall(r"^step +(\d+)/400 .*validation loss ([\d.]+)", trained, re.MULTILINE)}
    yield "4.1", min(losses, key=losses.get), [400, 150.5]
    lowest = re.search(r"^lowest validation loss +[\d.]+ \S+ [\d.]+ +([\d.]+)", dikkat("runs", "diff", "runs/small", "runs/whole"), re.MULTILINE)
    loss = float(lowest.group(1))
    yield "4.2", round(math.exp(loss), 1), [loss, 2 ** loss]
    dikkat("train", "--config", "tales-char", "--corpus", "small.txt", "--out", "runs/mine", "--quiet", "--set", "model.dropout=0.3", "train.max_steps=400",
           "train.eval_interval=50")
    yield "4.3", "runs/mine", ["runs/small", "runs/whole", "data"]

    adapters, whole = (found("^parameters", dikkat("inspect", folder).replace(",", "")) for folder in ("runs/adapter", "runs/base"))
    yield "5.1", round(100 * adapters / whole, 1), [round(adapters / whole, 3), round(100 - 100 * adapters / whole, 1), 2]
    unseen = {folder: dikkat("eval", folder, "--corpus", "unseen.txt") for folder in ("runs/base", "runs/talks")}
    before, after = (found("^loss", unseen[folder]) for folder in ("runs/base", "runs/talks"))
    yield "5.2", round(after - before, 2), [round(before - after, 2), round(after, 2), 10]
    write_lines("facts.jsonl", [{"prompt": prompt, "completion": completion} for prompt, completion in FACTS.items()])
    dikkat("finetune", "runs/talks", "--data", "facts.jsonl", "--full", "--out", "runs/facts2", "--quiet", "--epochs", 60, "--set", "optim.learning_rate=1e-3",
           "data.val_fraction=0")
    yield "5.3", "runs/facts2", ["runs/talks", "runs/base"]

    yield "6.1", round(math.sqrt(0.8 * 0.2 / 50), 3), [0.0032, 0.4]
    bits = {folder: found("^bits_per_byte", unseen[folder]) for folder in ("runs/base", "runs/talks")}
    yield "6.2", round(bits["runs/talks"] - bits["runs/base"], 2), [round(after - before, 2), round(bits["runs/talks"], 2), -1]
    difference = dikkat("eval", "runs/talks", "--tasks", "questions.jsonl", "--beside", "runs/half").split("difference\n")[1]
    value, error = map(float, re.match(r"exact_match +([+-][\d.]+) \+- ([\d.]+)", difference).groups())
    yield "6.3", round(value / error, 1), [round(value, 3), round(value / error + 1, 1)]


def check(exercise, answer):
    return subprocess.run([CHECK, exercise, str(answer)], capture_output=True, text=True).returncode


def figure(least):
    os.environ["PKG_CONFIG_PATH"] = str(pathlib.Path("installed/lib/pkgconfig").resolve())
    accepted, exercises = set(), set()
    for exercise, right, wrong in answers():
        exercises.add(exercise)
        for answer in wrong:
            assert check(exercise, answer) == 1, f"{exercise}: the answer {answer} ended with {check(exercise, answer)}, expected 1"
        if right is not None and check(exercise, right) == 0:
            accepted.add(exercise)
    return f"{len(accepted)} of {len(exercises)} checks accept the right answer, and refuse others", len(accepted) >= least


main(given, figure)
