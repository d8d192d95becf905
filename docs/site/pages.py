#!/usr/bin/env python3
"""Puts the pages of the site into place: pages.py DIKKAT SOURCE_DIR OUT. Pages of docs/ are copied; those about keys and commands are made by the
program. A link to a file that is not a page of the site becomes its name."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

program, source, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
pages = out / "pages"
shutil.rmtree(pages, ignore_errors=True)
(pages / "reference").mkdir(parents=True)
shutil.copytree(source / "docs/images", pages / "images")
(pages / "api").mkdir()
(pages / "api/index.html").write_text("")  # Doxygen writes it later
shutil.copy(source / "docs/site/mkdocs.yml", out / "mkdocs.yml")
shutil.copy(source / "docs/site/site.css", pages / "site.css")

docs = source / "docs"
texts = [path for path in sorted(docs.rglob("*.md")) if docs / "site" not in path.parents]


def for_site(text, folder):
    """Returns the text with links that lead to pages of the site. `folder` is the text's folder in the repository."""
    below_docs = (source / folder).resolve() if folder != "." else docs  # the README becomes a page beside those of docs/

    def link(match):
        mark, name, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return match.group(0)
        place = (source / folder / path).resolve()
        if place in texts or place.parent == docs / "images":
            return f"{mark}[{name}]({os.path.relpath(place, below_docs)}{'#' + anchor if anchor else ''})"
        return f"{name} (`{path}`)" if name.strip("`") != path else f"`{path}`"
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, text)


def dikkat(*words, columns=100):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": str(columns)}).stdout


(pages / "index.md").write_text(for_site((source / "README.md").read_text(), "."))
for path in texts:
    page = pages / path.relative_to(docs)
    page.parent.mkdir(exist_ok=True)
    page.write_text(for_site(path.read_text(), path.parent.relative_to(source)))

keys = ["# Keys of a configuration", "", "Made from the program's own description: `dikkat --help-config`.", ""]
about = []  # lines of the comment that is being read
for line in dikkat("--help-config", columns=10_000).splitlines():
    if match := re.fullmatch(r"\[(\w+)\]", line):
        keys += [f"## [{match.group(1)}]", ""]
    elif not line:
        about = []
    elif match := re.fullmatch(r"# (\w+): (.*)", line):
        name, expected = match.groups()
        keys += [f"### {name}", "", " ".join(about).replace("<", "&lt;"), "", f"{expected[0].upper()}{expected[1:]}.", ""]
    elif line.startswith("#"):
        about.append(line[1:].strip())
        if re.match(r"# \w+ +\(", line):
            about = []  # a default that follows from other keys; "expected" says from which
    elif match := re.match(r"(\w+) = (.*)", line):
        keys += [f"Default: `{match.group(2)}`", ""]
(pages / "reference/keys.md").write_text("\n".join(keys) + "\n")

commands = ["# Commands", "", "Made from the program's own description: `dikkat COMMAND --help`.", ""]


def add_command(words, level):
    text = dikkat(*words, "--help")
    commands.extend([f"{'#' * level} dikkat {' '.join(words)}".rstrip(), "", "```", text.rstrip(), "```", ""])
    for name in re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text.partition("\nCommands:\n")[2], re.MULTILINE):
        add_command([*words, name], min(level + 1, 4))


add_command([], 2)
(pages / "reference/commands.md").write_text("\n".join(commands) + "\n")
