"""Tests the torture: programs that each break a promise, and the torture test that must find it. mutants.py PROGRAM TOOLS"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# The mutation (mutants.cpp), and the test that must fail.
MUTANTS = (
    ("deaf", "signals"),
    ("open", "ticks"),
    ("forgets", "kill-at-random"),
    ("removes-too-early", "error-at-syscall"),
    ("removes-too-early", "kill-at-syscall"),
    ("sync-always-done", "error-at-syscall"),
    ("sees-no-full-disk", "full-disk"),
    ("forgets", "rank-kills"),
    ("deaf", "rank-signals"),
)


def main():
    program, tools = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    overlooked = []
    with tempfile.TemporaryDirectory() as folder:
        for mutant, column in MUTANTS:
            wrapper = pathlib.Path(folder) / mutant
            wrapper.write_text(f"#!/bin/sh\nDIKKAT_MUTANT={mutant} LD_PRELOAD={shlex.quote(str(tools / 'libmutants.so'))}${{LD_PRELOAD:+:$LD_PRELOAD}} "
                               f'exec {shlex.quote(str(program))} "$@"\n')
            os.chmod(wrapper, 0o755)
            outcome = subprocess.run([sys.executable, HERE / "torture.py", "--program", wrapper, "--tools", tools, "--only", column],
                                     capture_output=True, text=True, check=False)
            found = outcome.returncode == 1 and "\nFAILED " in outcome.stdout
            print(f"{mutant}, {column}: {'found out' if found else 'OVERLOOKED'}", flush=True)
            if not found:
                overlooked.append(mutant)
                print(outcome.stdout, outcome.stderr, sep="\n")
    return 1 if overlooked else 0


if __name__ == "__main__":
    sys.exit(main())
