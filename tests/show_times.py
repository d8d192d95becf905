"""Prints where the time of scripts/test.sh went: show_times.py PARTS TIMES BUDGETS

PARTS has a line for each part of the work: seconds, seconds of processor time, name. TIMES has a line for each test that ran, by measure.sh:
seconds of processor time in the program and in the system, program. BUDGETS has a line for each program that takes more than a second:
program, seconds of processor time. A program that takes a third more than its budget is listed. That is a warning and never a failure,
since machines differ."""
import collections
import pathlib
import sys

SHOWN_PARTS, SHOWN_PROGRAMS = 20, 10


def lines(path):
    path = pathlib.Path(path)
    return path.read_text().splitlines() if path.exists() else []


def main():
    parts_file, times_file, budgets_file = sys.argv[1:]
    parts = [line.split("\t") for line in lines(parts_file)]
    took = collections.Counter()
    for line in lines(times_file):
        user, system, program = line.split()
        took[program] += float(user) + float(system)
    budgets = {}
    for line in lines(budgets_file):
        if line and not line.startswith("#"):
            program, seconds = line.split()
            budgets[program] = float(seconds)

    print("\n== where the time went: seconds, and seconds of processor time")
    for seconds, cpu, name in sorted(parts, key=lambda part: -float(part[0]))[:SHOWN_PARTS]:
        print(f"{float(seconds):8.0f} {float(cpu):8.0f}  {name}")
    print(f"{sum(float(part[0]) for part in parts):8.0f} {sum(float(part[1]) for part in parts):8.0f}  in total")
    if took:
        print("\n== test programs: seconds of processor time, budget")
        for program, cpu in took.most_common(SHOWN_PROGRAMS):
            print(f"{cpu:8.1f} {budgets.get(program, 1):8.0f}  {program}")
        over = [(program, cpu) for program, cpu in took.most_common() if cpu > budgets.get(program, 1) * 4 / 3]
        if over:
            print("\n== WARNING: a third more processor time than tests/budgets.txt has for them")
            for program, cpu in over:
                print(f"{cpu:8.1f} {budgets.get(program, 1):8.0f}  {program}")


if __name__ == "__main__":
    main()
