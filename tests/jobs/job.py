"""What the scripts of jobs share. A script NN_NAME.py is called in an empty folder, with dikkat on the PATH, and has two actions:

    given          writes the user's files into the current folder
    figure LEAST   after the commands of docs/JOBS.md: prints the figure, and exits with 0 if it reaches the numbers that the page expects
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data"
SHARED = pathlib.Path.cwd().parent / "shared"  # what several jobs begin with


def main(given, figure):
    """Runs the action of the command line. `figure` takes the expected numbers, and returns the figure and whether it reaches them."""
    action, *least = sys.argv[1:]
    if action == "given":
        given()
        return
    assert action == "figure", f"found {action}, expected given or figure"
    text, is_reached = figure(*map(float, least))
    print(text)
    sys.exit(0 if is_reached else 1)


def dikkat(*words):
    """Returns what a command prints."""
    done = subprocess.run(["dikkat", *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, f"dikkat {' '.join(map(str, words))} ended with {done.returncode}"
    return done.stdout


def install_library(folder):
    """Installs the program on the PATH, and its library, into a folder, as `cmake --install` does for users."""
    build = pathlib.Path(shutil.which("dikkat")).resolve().parent
    with open(pathlib.Path(folder).name + ".log", "w") as log:
        subprocess.run(["cmake", "--install", build, "--prefix", pathlib.Path(folder).resolve()], stdout=log, check=True)


def write_lines(path, objects):
    """Writes a JSONL file."""
    pathlib.Path(path).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects))


def read_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


class Node:
    """The programs from npm that scripts/clients.sh installs, llama.cpp among them."""
    MODULES = ROOT / "build/clients/node_modules"

    @classmethod
    def exists(cls):
        return (cls.MODULES / "node-llama-cpp").is_dir() and (cls.MODULES / "@node-llama-cpp/linux-x64").is_dir()

    @classmethod
    def run(cls, script, *words):
        """Returns what a script beside this file prints, as JSON."""
        own = cls.MODULES / ".bin/node"  # a newer one, if the system's is old
        node = own if own.exists() else shutil.which("node")
        done = subprocess.run([node, ROOT / "tests/jobs" / script, cls.MODULES, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)


def answers_of(model, questions, most=60):
    """Asks a GGUF file questions in its own chat template, one conversation each. Returns the answers of llama.cpp, or of dikkat without it,
    and the program's name."""
    write_lines("asked.jsonl", [{"prompt": question} for question in questions])
    if Node.exists():
        return Node.run("llama_cpp_answers.mjs", model, "asked.jsonl", most), "llama.cpp"
    answers = dikkat("sample", model, "--messages", "asked.jsonl", "--temperature", 0, "--max-new-tokens", most)
    return [json.loads(line)["answer"] for line in answers.splitlines()], "dikkat"


class Server:
    """`dikkat serve`, until the end of a with block."""

    def __init__(self, model, *options):
        self._words = ["dikkat", "serve", str(model), "--port", "0", "--json", *options]

    def __enter__(self):
        self._process = subprocess.Popen(self._words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        told = self._process.stdout.readline()
        assert told, f"{' '.join(self._words)} ended with {self._process.wait()}"
        self._url = json.loads(told)["url"].rstrip("/")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        code = self._process.wait(timeout=60)
        assert code == 0, f"{' '.join(self._words)} ended with {code}"

    def post(self, path, body):
        """Returns the response to a request. Throws urllib.error.HTTPError."""
        import urllib.request
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)


def made_once(name, make):
    """Returns the path of something that several jobs begin with. The first of them makes it: make(path), in an empty folder."""
    path = SHARED / name
    if not path.exists():
        work = SHARED / f"{name}.work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        before = pathlib.Path.cwd()
        os.chdir(work)
        try:
            make(path)
        finally:
            os.chdir(before)
        shutil.rmtree(work)
    return path
