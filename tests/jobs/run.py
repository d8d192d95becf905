"""Does the jobs of docs/JOBS.md as a user would: run.py PROGRAM [NUMBER...]. `run.py --list` only lists them. For each, tests/jobs/NN_NAME.py writes the user's files into a fresh folder
below build/jobs, bash runs the commands of the page there, and the script checks the end against the figure that the page expects. Prints a row for each
job. Exits with 1 if one fails, and with 2 if it is asked for a job that does not exist."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = ROOT / "build/jobs"
PAGE = ROOT / "docs/JOBS.md"
MOST_SECONDS = 600


class Failed(Exception):
    pass


class Job:
    """A section of the page, and its script."""

    def __init__(self, number, name, section):
        blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        expected = re.findall(r"\*\*Expected:\*\* (.*?)\. \*\*Time:\*\*", section, re.DOTALL)
        scripts = list(pathlib.Path(__file__).parent.glob(f"{number:02}_*.py"))
        assert len(blocks) == len(expected) == len(scripts) == 1, (
            f"job {number}: found {len(blocks)} blocks of commands and {len(expected)} expected figures in {PAGE}, and {len(scripts)} scripts, expected one each")
        self.number, self.name, self.commands, self.script = number, name, blocks[0], scripts[0]
        self.expected = " ".join(expected[0].split())
        self.folder = JOBS / self.script.stem

    def run(self, environment):
        """Returns the figure, and the seconds of the commands. Throws Failed. Programs that the script puts into bin/ are found first."""
        environment = environment | {"PATH": f"{self.folder / 'bin'}:{environment['PATH']}"}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        script = [sys.executable, self.script]
        self._call("given", [*script, "given"], environment)
        began = time.monotonic()
        self._call("commands", ["bash", "-e", "-c", self.commands], environment)
        seconds = time.monotonic() - began
        least = re.findall(r"\d+(?:\.\d+)?", self.expected)
        figure = self._call("figure", [*script, "figure", *least], environment)
        return figure.strip().splitlines()[-1], seconds

    def _call(self, part, words, environment):
        """Returns what a command prints. Ends what it leaves running, such as a server."""
        printed, log = self.folder / f"{part}.txt", self.folder / f"{part}.log"
        with open(printed, "w") as output, open(log, "w") as messages:
            process = subprocess.Popen(words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=messages,
                                       start_new_session=True)
            try:
                code = process.wait(timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                raise Failed(f"{part}: takes more than {MOST_SECONDS} seconds") from None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if code != 0:
            raise Failed(f"{part} ended with {code}: {printed.read_text()[-1000:]}{log.read_text()[-2000:]}")
        return printed.read_text()


def read_page():
    """Returns the jobs by number."""
    sections = re.findall(r"^## (\d+)\. (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    jobs = {int(number): Job(int(number), name, section) for number, name, section in sections}
    scripts = {int(script.name[:2]) for script in pathlib.Path(__file__).parent.glob("[0-9][0-9]_*.py")}
    assert jobs.keys() == scripts, f"found scripts for the jobs {sorted(scripts)}, and {sorted(jobs)} in {PAGE}, expected the same"
    return jobs


def main():
    program, *asked = sys.argv[1:]
    jobs = read_page()
    if program == "--list":
        for job in jobs.values():
            print(f"{job.number:3} | {job.name} | {job.expected}")
        return
    unknown = [word for word in asked if not word.isdecimal() or int(word) not in jobs]
    if unknown:
        print(f"jobs.sh: found {', '.join(unknown)}, expected some of {', '.join(map(str, jobs))}", file=sys.stderr)
        sys.exit(2)
    shutil.rmtree(JOBS / "shared", ignore_errors=True)
    environment = os.environ | {"PATH": f"{pathlib.Path(program).resolve().parent}:{os.environ['PATH']}"}
    failed = False
    print("job | what for | figure | expected | seconds")
    for number in dict.fromkeys(map(int, asked or jobs)):
        job = jobs[number]
        try:
            figure, seconds = job.run(environment)
            print(f"{number:3} | {job.name} | {figure} | {job.expected} | {seconds:.0f}", flush=True)
        except Failed as reason:
            failed = True
            print(f"{number:3} | {job.name} | FAILED | {job.expected} |", flush=True)
            print(f"{job.folder}: {reason}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
