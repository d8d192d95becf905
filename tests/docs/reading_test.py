"""Holds docs/READING.md to the files that it names: reading_test.py SOURCE_DIR. Every file of a table must exist, and have the number of
lines that the table states, within 10 percent. Totals in the text before a table must equal the sum of its files, within 10 percent."""
import pathlib
import re
import sys

TOLERANCE = 0.1

page = pathlib.Path(sys.argv[1]) / "docs/READING.md"


def is_close(stated, counted):
    return abs(stated - counted) <= TOLERANCE * counted


def number(text):
    return int(text.replace(",", ""))


problems = []
files = totals = 0
for section in re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]:
    heading = section.partition("\n")[0]

    # The rows of the table, such as "| 1 | [path](../path) | 120 | what it shows |".
    counted = {}
    for name, link, stated in re.findall(r"^\| *\d+ *\| *\[([^\]]*)\]\(([^)]*)\) *\| *([\d,]+) *\|", section, re.MULTILINE):
        path = page.parent / link
        if not path.is_file():
            problems.append(f"{name}: found no file at {link}")
            continue
        counted[name] = path.read_bytes().count(b"\n")  # as wc -l
        if not is_close(number(stated), counted[name]):
            problems.append(f"{name}: found {counted[name]} lines, the page has {stated}")
    rows = len(re.findall(r"^\| *\d+ *\|", section, re.MULTILINE))
    if rows == 0 or len(counted) < rows and not problems:
        problems.append(f"{heading}: found {len(counted)} files in {rows} rows, expected a file and its lines in each row")
    files += len(counted)

    # The totals in the text, such as "about 2,050 lines".
    text = "\n".join(line for line in section.splitlines() if not line.startswith("|"))
    found = [number(total) for total in re.findall(r"([\d,]*\d)\s+lines", text)]
    if not found:
        problems.append(f"{heading}: found no total of lines in the text")
    for total in found:
        if not is_close(total, sum(counted.values())):
            problems.append(f"{heading}: found {sum(counted.values())} lines in all, the text has {total}")
    totals += len(found)

assert files > 0, f"{page}: found no table of files"
assert not problems, "docs/READING.md differs from the code:\n" + "\n".join(problems)
print(f"{files} files and {totals} totals are as docs/READING.md states them")
