"""Builds and runs the programs of docs/LIBRARY.md with the installed package: library_page.py PAGE PKG_CONFIG_PATH SCRATCH COMPILER FLAGS...
A block ```cpp with main() is a program, which must end with 0. Other blocks ```cpp are definitions, which must compile; ```cpp norun are
lines out of a context."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

page, packages, scratch, compiler, *flags = sys.argv[1:]
scratch = pathlib.Path(scratch) / "library_page"
scratch.mkdir(exist_ok=True)
environment = {**os.environ, "PKG_CONFIG_PATH": packages}
words = shlex.split(subprocess.run(["pkg-config", "--cflags", "--libs", "dikkat"], env=environment, check=True, capture_output=True, text=True).stdout)
CONTEXT = """#include <algorithm>
#include <cmath>
#include <vector>
#include "dikkat/autograd.h"
namespace mine {
using namespace dikkat;
using dikkat::index;
"""

programs = 0
definitions = ""
for kind, block in re.findall(r"^```cpp( \w+)?\n(.*?)^```$", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL):
    if kind:
        assert kind == " norun", f"a block is marked{kind}, expected norun"
    elif "int main(" in block:
        programs += 1
        name = scratch / f"program{programs}"
        name.with_suffix(".cpp").write_text(block)
        subprocess.run([compiler, *flags, name.with_suffix(".cpp"), "-o", name, *words], check=True)
        ended = subprocess.run([name], cwd=scratch, capture_output=True, text=True)
        assert ended.returncode == 0, f"program {programs} of {page} ended with {ended.returncode}: {ended.stdout} {ended.stderr}"
        print(f"program {programs}: {ended.stdout.split()[-1]}")
    else:
        definitions += block
assert programs == 2 and definitions, f"{page} has {programs} programs, and definitions of {len(definitions)} bytes"
(scratch / "definitions.cpp").write_text(CONTEXT + definitions + "}\n")
subprocess.run([compiler, *flags, "-Wall", "-c", scratch / "definitions.cpp", "-o", scratch / "definitions.o", *[w for w in words if w[:2] == "-I"]], check=True)
