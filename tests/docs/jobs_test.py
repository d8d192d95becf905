"""Holds docs/JOBS.md to the scripts of tests/jobs, and checks what runs them: jobs_test.py SOURCE_DIR. The jobs themselves take minutes (scripts/jobs.sh)."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
RUN = "tests/jobs/run.py"

PAGE = """# Jobs

## 1. One

```sh
word=$(cat given.txt)
echo "$word and more" > made.txt; sleep 600 &
echo $! > pid.txt
```

**Expected:** at least LEAST
words. **Time:** a second.

## 12. Another

```sh
program > made.txt
```

**Expected:** 1 or 2. **Time:** a second.
"""
SCRIPT = """import pathlib, sys
if sys.argv[1] == "given":
    pathlib.Path("given.txt").write_text("word")
else:
    words = len(pathlib.Path("made.txt").read_text().split())
    print(words, "words", sys.argv[2:])
    sys.exit(words < float(sys.argv[2]))
"""


def run(tree, *words):
    return subprocess.run([sys.executable, "-B", tree / RUN, *words], capture_output=True, text=True, timeout=60)


def rows(output):
    return {int(row.split("|")[0]): row.split(" | ")[2] for row in output.splitlines() if re.match(r" *\d+ \|", row)}


# The page of the project has a section for each script.
listed = run(source, "--list")
assert listed.returncode == 0, listed.stderr
assert len(rows(listed.stdout)) >= 6, listed.stdout

with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    for part in ["tests/jobs", "docs", "bin"]:
        (tree / part).mkdir(parents=True)
    shutil.copy(source / RUN, tree / RUN)
    program = tree / "bin/program"
    program.write_text("#!/bin/sh\necho from the path\n")
    program.chmod(0o755)
    for name in ["01_one.py", "12_another.py"]:
        (tree / "tests/jobs" / name).write_text(SCRIPT)
    page = tree / "docs/JOBS.md"

    # Figures that are reached: the commands see the user's files and the program, and the script the expected numbers.
    page.write_text(PAGE.replace("LEAST", "3"))
    done = run(tree, program)
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout) == {1: "3 words ['3']", 12: "3 words ['1', '2']"}, done.stdout
    left = pathlib.Path("/proc", next(tree.glob("build/jobs/01_*/pid.txt")).read_text().strip(), "stat")
    assert not left.exists() or left.read_text().split()[2] == "Z", "a command that the page left running was not ended"
    assert rows(run(tree, program, "12").stdout).keys() == {12}

    # A figure that is not reached, and commands that fail.
    page.write_text(PAGE.replace("LEAST", "4").replace("program >", "false; program >"))
    done = run(tree, program)
    assert done.returncode == 1 and rows(done.stdout) == {1: "FAILED", 12: "FAILED"}, done.stdout
    assert "3 words" in done.stderr and "commands ended with 1" in done.stderr, done.stderr

    # Jobs that do not exist, a script without a section, and a section without a script.
    done = run(tree, program, "12", "7", "one")
    assert done.returncode == 2 and "7, one" in done.stderr, done.stderr
    shutil.copy(tree / "tests/jobs/01_one.py", tree / "tests/jobs/05_no_section.py")
    assert run(tree, "--list").returncode == 1
    (tree / "tests/jobs/05_no_section.py").unlink()
    assert run(tree, "--list").returncode == 0
    page.write_text(PAGE.replace("## 12.", "## 13."))
    assert run(tree, "--list").returncode == 1
