#!/usr/bin/env python3
"""Counts the modules of the sources, their dependencies and their levels, from what the sources include.

    scripts/dependencies.py           one line for each module: level, files, lines, and the modules that it includes
    scripts/dependencies.py --why A B the includes by which module A depends on module B

A module is a folder of autograd/ or train/, or layers or optim. Its level is 1 more than the highest level among those that it includes.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def module_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ("autograd", "train") else parts[0]


def read_sources():
    """Returns {path: (lines, included paths)} of the product's sources."""
    sources = {}
    for top in ("autograd", "layers", "optim", "train"):
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".h", ".cpp"):
                text = file.read_text()
                included = re.findall(r'^#include "((?:autograd|layers|optim|train)/[^"]+)"', text, re.M)
                sources[str(file.relative_to(ROOT))] = (text.count("\n"), included)
    return sources


def main(arguments):
    sources = read_sources()
    uses = {module_of(path): set() for path in sources}
    for path, (_, included) in sources.items():
        uses[module_of(path)] |= {module_of(i) for i in included} - {module_of(path)}

    if arguments[:1] == ["--why"] and len(arguments) == 3:
        for path, (_, included) in sources.items():
            for i in included:
                if module_of(path) == arguments[1] and module_of(i) == arguments[2]:
                    print(f"{path} includes {i}")
        return 0
    if arguments:
        print(f"dependencies.py: found {' '.join(arguments)}, expected nothing or --why A B", file=sys.stderr)
        return 2

    levels = {}

    def level_of(module, above=()):
        if module in above:
            sys.exit(f"dependencies.py: a circle: {' -> '.join([*above, module])}")
        if module not in levels:
            levels[module] = 1 + max((level_of(m, (*above, module)) for m in uses[module]), default=0)
        return levels[module]

    for module in sorted(uses, key=lambda m: (level_of(m), m)):
        own = [lines for path, (lines, _) in sources.items() if module_of(path) == module]
        print(f"{levels[module]:2}  {module:20} {len(own):4} files {sum(own):6} lines  {' '.join(sorted(uses[module]))}")
    below = [m for m in uses if m.startswith("train/")]
    inside = sum(len([u for u in uses[m] if u.startswith("train/")]) for m in below)
    print(f"{len(uses)} modules on {max(levels.values())} levels with {sum(map(len, uses.values()))} dependencies; "
          f"train/ has {len(below)} modules with {sum(len(uses[m]) for m in below)} dependencies, {inside} of them within train/")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
