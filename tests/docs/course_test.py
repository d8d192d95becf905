"""Holds the pages of docs/course to each other and to check.py, and checks the exercises that need no program: course_test.py SOURCE_DIR. The others are
checked after all commands of the lessons, by job 5 (tests/jobs/05_course.py)."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1]).resolve()
COURSE = source / "docs/course"
CHECK = COURSE / "check.py"
EXERCISES = [f"{lesson}.{exercise}" for lesson in range(1, 7) for exercise in range(1, 4)]


def check(*words):
    return subprocess.run([sys.executable, "-B", CHECK, *map(str, words)], capture_output=True, text=True, timeout=60)


def expect(exercise, right, wrong):
    """`wrong` are answers, each with a hint of its own or None."""
    done = check(exercise, right)
    assert done.returncode == 0 and exercise in done.stdout, f"{exercise}: {right} ended with {done.returncode}: {done.stdout}{done.stderr}"
    hints = []
    for answer in wrong:
        done = check(exercise, answer)
        assert done.returncode == 1 and done.stdout and not done.stderr, f"{exercise}: {answer} ended with {done.returncode}: {done.stdout}{done.stderr}"
        hints.append(done.stdout)
    assert len(set(hints)) == len(hints), f"{exercise}: two mistakes have one hint: {hints}"


# The pages: six lessons of about the same length, each with its exercises, and each link and picture there.
for lesson in range(1, 7):
    pages = list(COURSE.glob(f"{lesson}-*.md"))
    assert len(pages) == 1, f"lesson {lesson} has {len(pages)} pages"
    text = pages[0].read_text()
    assert 850 <= len(text.split()) <= 1300, f"{pages[0].name} has {len(text.split())} words"
    own = [exercise for exercise in EXERCISES if exercise.startswith(f"{lesson}.")]
    assert re.findall(r"^\*\*(\d\.\d)\*\*", text, re.MULTILINE) == own, f"{pages[0].name}: other exercises than {own}"
    assert all(re.search(rf"check\.py {exercise} \S", text) for exercise in own), f"{pages[0].name}: an exercise has no command that checks it"
    assert re.search(r"^```sh$", text, re.MULTILINE), f"{pages[0].name} has no commands"
for page in COURSE.glob("*.md"):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), f"{page.name}: found no {target}"
listed = check().stderr
assert all(exercise in listed for exercise in EXERCISES), listed

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    # Without the lesson's files, a check says so, and is not a wrong answer.
    for words in [[], ["1.1"], ["7.1", "1"], ["1.1", "two", "words"], ["2.1", "0.5"], ["4.1", "100"], ["5.2", "0.1"]]:
        done = check(*words)
        assert done.returncode == 2 and done.stderr and not done.stdout, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"

    pathlib.Path("data").symlink_to(source / "data")
    tales = pathlib.Path("data/tales.txt").read_text()
    pairs = [tales[i:i + 2] for i in range(len(tales) - 1)]
    of_t, before_h, th = (sum(test(pair) for pair in pairs) for test in [lambda p: p[0] == "t", lambda p: p[1] == "h", lambda p: p == "th"])
    expect("2.1", f"{th / of_t:.3f}".replace(".", ","), [f"{100 * th / of_t:.1f} %", round(th / before_h, 3), 0.9, 0.01, "often"])
    count, row = {pair: 0 for pair in pairs}, {}
    for pair in pairs:
        count[pair] += 1
        row[pair[0]] = row.get(pair[0], 0) + 1
    losses = [-sum(n * math.log((n + added) / (row[pair[0]] + 65 * added)) for pair, n in count.items()) / len(pairs) for added in (0, 1)]
    expect("2.2", round(losses[1], 3), [round(losses[0], 3), 3, 2])

    expect("3.1", 0.844, [0.75, 0.114, 0.727, 0.9])
    shares = [math.exp(score) for score in (2, 1, 2)]
    expect("3.2", round((2 * shares[0] + shares[2]) / sum(shares), 3), [round((shares[1] + shares[2]) / sum(shares), 3), 0.788, 5])
    expect("6.1", round(math.sqrt(0.8 * 0.2 / 50), 3), [0.4, 0.0032, 0.113, 5.66, 0.08])

    # The exercises of lesson 4 read what runs have written.
    def write_run(path, losses, corpus="small"):
        pathlib.Path(path).mkdir(parents=True)
        lines = [{"event": "header", "corpus": corpus}] + [{"event": "eval", "step": step, "val_loss": loss} for step, loss in losses]
        pathlib.Path(path, "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    write_run("runs/small", [(50, 2.1), (100, 1.9), (400, 3.1)])
    write_run("runs/whole", [(50, 2.1), (400, 1.4)], "whole")
    write_run("runs/mine", [(50, 2.0), (400, 1.8)])
    write_run("runs/alike", [(50, 2.0), (400, 1.86)])
    write_run("runs/long", [(50, 2.0), (500, 1.5)])
    expect("4.1", 100, [400, 50, 150])
    expect("4.2", 4.1, [1.4, 2.6, 9])
    expect("4.3", "runs/mine", ["runs/small", "runs/whole", "runs/alike", "runs/long"])
