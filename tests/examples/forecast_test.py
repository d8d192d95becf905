"""Runs the forecast of a small file: forecast_test.py PROGRAM. The network is better than the naive forecast, its files are well-formed, and do not depend
on threads or on the order of rows. Files that are not series are refused with exit code 2 and the row, and nothing is written."""
import csv
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

program = pathlib.Path(sys.argv[1]).resolve()
SEASON, HORIZON, STEPS, POINTS, SERIES = 4, 6, 200, 60, 24
SHORTEST = 4 * SEASON + 2 * HORIZON


def rows_of(count=SERIES, points=POINTS):
    draw = random.Random(1)
    for number in range(count):
        size, trend, sway = draw.uniform(1, 100), draw.uniform(0, 0.05), draw.uniform(0.5, 1)
        for t in range(points):
            value = size * (3 + trend * t + sway * math.sin(2 * math.pi * t / SEASON + number) + draw.gauss(0, 0.1))
            yield [f'a "<&, {number}', str(t), f"{value:.5g}"]


def write(path, rows, header=("series", "time", "value")):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def run(*words, threads=2):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120, env=os.environ | {"OMP_NUM_THREADS": str(threads)})


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rows = list(rows_of())
    write("series.csv", rows)
    done = run("series.csv", "out.csv", "out.svg", SEASON, HORIZON, STEPS)
    assert done.returncode == 0, done.stderr
    network, naive = ([float(word) for word in line.replace("%", "").split()[-3:]] for line in done.stdout.splitlines()
                      if line.startswith(("network", "seasonal")))
    assert network[0] < 0.9 * naive[0] and network[1] < 0.9 * naive[1], done.stdout
    assert 60 < network[2] < 95, done.stdout

    # The forecasts: the names of the file, all steps, quantiles in order, and a picture of four series.
    with open("out.csv", newline="") as file:
        made = list(csv.DictReader(file))
    assert [(row["series"], int(row["step"])) for row in made] == [(f'a "<&, {s}', step + 1) for s in range(SERIES) for step in range(HORIZON)]
    assert all(float(row["q0.1"]) < float(row["q0.5"]) < float(row["q0.9"]) for row in made)
    picture = xml.parse("out.svg").getroot()
    tag = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in picture.iter(tag + "text")] == [f'a "<&, {s}' for s in range(4)]
    assert len(list(picture.iter(tag + "polyline"))) == 20

    # The same bits on one thread, and for other rows of a series first; "order" and months are times, too.
    write("turned.csv", sorted(([name, f"{2000 + int(t) // 12}-{int(t) % 12 + 1:02}", value] for name, t, value in rows),
                               key=lambda row: (int(row[0].split()[-1]), -int(row[1].replace("-", "")))), ("series", "order", "value"))
    done = run("turned.csv", "turned-out.csv", "turned.svg", SEASON, HORIZON, STEPS, threads=1)
    assert done.returncode == 0, done.stderr
    assert pathlib.Path("turned-out.csv").read_bytes() == pathlib.Path("out.csv").read_bytes()

    # Constant series, and one with a step, are no reason to fail.
    write("flat.csv", [[name, t, 1e29 if name == "a" else 5 if t < 30 else 7] for name in "ab" for t in range(POINTS)])
    done = run("flat.csv", "flat-out.csv", "flat.svg", SEASON, HORIZON, 20)
    assert done.returncode == 0, done.stderr
    with open("flat-out.csv", newline="") as file:
        assert all(math.isfinite(float(row[q])) for row in csv.DictReader(file) for q in ["q0.1", "q0.5", "q0.9"])

    # Bad input.
    few = list(rows_of(2))
    changed = lambda at, column, text: [row if i != at else [*row[:column], text, *row[column + 1:]] for i, row in enumerate(few)]
    bad = {
        "value nan": (changed(70, 2, "nan"), "row 72"), "value text": (changed(70, 2, "12,5"), "row 72"), "value empty": (changed(3, 2, ""), "row 5"),
        "value inf": (changed(0, 2, "1e400"), "row 2"), "time text": (changed(7, 1, "monday"), "row 9"), "time month": (changed(7, 1, "2024-13"), "row 9"),
        "time twice": (changed(7, 1, "6"), "row 9"), "a gap": (few[:50] + few[51:], "row 52"), "a short row": (few[:9] + [few[9][:2]] + few[10:], "row 11"),
        "too short": (few[:POINTS + SHORTEST - 1], f"row {POINTS + 2}"), "no rows": ([], "row 1"),
    }
    for name, (wrong, place) in bad.items():
        write("bad.csv", wrong)
        done = run("bad.csv", "bad-out.csv", "bad.svg", SEASON, HORIZON, STEPS)
        assert done.returncode == 2 and f"bad.csv: {place}:" in done.stderr, f"{name}: ended with {done.returncode}: {done.stderr}"
    write("shortest.csv", few[:POINTS + SHORTEST])
    assert run("shortest.csv", "shortest-out.csv", "shortest.svg", SEASON, HORIZON, 5).returncode == 0
    write("bad.csv", few, ("series", "day", "value"))
    done = run("bad.csv", "bad-out.csv", "bad.svg", SEASON, HORIZON, STEPS)
    assert done.returncode == 2 and "bad.csv: row 1: found no column time" in done.stderr, done.stderr
    for words in [[], ["series.csv", "bad-out.csv"], ["none.csv", "bad-out.csv", "bad.svg"], ["series.csv", "bad-out.csv", "bad-out.csv"],
                  ["series.csv", "none/bad-out.csv", "bad.svg"], ["series.csv", "series.csv", "bad.svg"], ["series.csv", "bad-out.csv", "bad.svg", 0],
                  ["series.csv", "bad-out.csv", "bad.svg", 4, "six"]]:
        done = run(*words)
        assert done.returncode == 2 and done.stderr, f"{words} ended with {done.returncode}"
    assert not list(pathlib.Path().rglob("bad-out.csv")) and not pathlib.Path("bad.svg").exists()
