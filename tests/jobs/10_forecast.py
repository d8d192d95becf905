"""Forecasts of many short series: given a CSV, ends in the quantiles of the next 24 steps, which this script knows and the program has not seen."""
import csv
import math
import random
import shutil

from job import ROOT, install_library, main

SERIES, SEASON, HORIZON, POINTS = 100, 12, 24, 120
LEVELS = {"q0.1": 0.1, "q0.5": 0.5, "q0.9": 0.9}


def made():
    """Returns the values of each series: a trend, a season of its own, and noise. The last HORIZON of them are the future."""
    draw = random.Random(10)
    series = {}
    for number in range(SERIES):
        size = 10 ** draw.uniform(0, 3)
        trend, sway, phase = draw.uniform(-0.01, 0.03), draw.uniform(0.3, 1), draw.uniform(0, 2 * math.pi)
        series[f"shop {number + 1}"] = [
            size * (5 + trend * t + sway * math.sin(2 * math.pi * t / SEASON + phase) + 0.3 * sway * math.sin(4 * math.pi * t / SEASON)
                    + draw.gauss(0, 0.2)) for t in range(POINTS + HORIZON)]
    return series


def given():
    install_library("installed")
    shutil.copytree(ROOT / "examples", "examples")
    with open("sales.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["series", "time", "value"])
        for name, values in made().items():
            rows.writerows([name, f"{2015 + t // 12}-{t % 12 + 1:02}", f"{value:.6g}"] for t, value in enumerate(values[:POINTS]))


def figure(least):
    """The loss of each forecast of the future, divided by what the past error of a seasonal naive forecast is."""
    forecasts = {}
    with open("forecast.csv", newline="") as file:
        for row in csv.DictReader(file):
            forecasts.setdefault(row["series"], []).append(row)
    assert "<polyline" in open("forecast.svg").read()
    network = naive = inside = 0.0
    for name, values in made().items():
        past, future = values[:POINTS], values[POINTS:]
        rows = forecasts[name]
        assert [int(row["step"]) for row in rows] == list(range(1, HORIZON + 1)), f"{name}: found other steps than 1 to {HORIZON}"
        scale = sum(abs(b - a) for a, b in zip(past, past[SEASON:])) / (POINTS - SEASON)
        for step, (row, truth) in enumerate(zip(rows, future)):
            low, middle, high = (float(row[level]) for level in LEVELS)
            assert low <= middle <= high, f"{name}, step {step + 1}: the quantiles cross"
            network += sum(max(level * (truth - float(row[q])), (1 - level) * (float(row[q]) - truth)) for q, level in LEVELS.items()) / 3 / scale
            lag = (step // SEASON + 1) * SEASON
            errors = sorted(past[t] - past[t - lag] for t in range(lag, POINTS))
            last = past[POINTS + step - lag]
            bounds = [last + errors[int(0.1 * (len(errors) - 1))], last, last + errors[int(0.9 * (len(errors) - 1))]]
            naive += sum(max(level * (truth - q), (1 - level) * (q - truth)) for q, level in zip(bounds, LEVELS.values())) / 3 / scale
            inside += low <= truth <= high
    count = SERIES * HORIZON
    lower = 100 * (1 - network / naive)
    return (f"pinball loss {network / count:.3f}, seasonal naive {naive / count:.3f}: {lower:.0f} % lower; {100 * inside / count:.0f} % inside of the "
            "quantiles 0.1 to 0.9"), lower >= least


main(given, figure)
