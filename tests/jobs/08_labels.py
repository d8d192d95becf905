"""Spam or not, and which department. Given short messages with labels (a known rule, and one label of twenty wrong), ends in the accuracy and macro-F1 of
held-out messages, in labels of new ones, and in a Hugging Face folder that gives the same labels and probabilities."""
import csv
import json
import pathlib
import random

from job import dikkat, main
from stand_in import gemma

MESSAGES, HELD_OUT, WRONG = 900, 300, 0.05
FILLING = ("the a my your our today again please thanks soon early late on at for with about still really just already maybe monday friday week morning "
           "evening office home train river garden window").split()
KINDS = {  # words that make a label
    "spam": "prize winner free cash offer claim bonus lottery".split(),
    "billing": "invoice refund payment charged receipt balance overdue deposit".split(),
    "technical": "error crash login password update broken screen install".split(),
    "other": "lunch party weather football holiday birthday dinner concert".split(),
}
SHARES = [0.2, 0.25, 0.35, 0.2]


def message(draw, label):
    """A message of 4 to 30 words, with one to three words of its label among others."""
    words = draw.choices(FILLING, k=draw.randint(4, 27)) + draw.sample(KINDS[label], draw.randint(1, 3))
    draw.shuffle(words)
    return " ".join(words)


def rows(draw, count, wrong):
    for _ in range(count):
        label = draw.choices(list(KINDS), SHARES)[0]
        text = message(draw, label)
        yield text, draw.choice(list(KINDS)) if draw.random() < wrong else label


def write_table(path, columns, lines):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([columns, *lines])


def given():
    gemma("gemma-3-270m-it")
    draw = random.Random(8)
    write_table("mails.csv", ("Message", "Department"), rows(draw, MESSAGES, WRONG))
    held_out = list(rows(draw, HELD_OUT, 0))
    write_table("held-out.csv", ("Message", "Department"), held_out)
    write_table("new.csv", ("Message",), [[text] for text, _ in held_out])


def figure(accuracy, _, f1):  # the second number is that of F1
    measured = json.loads(dikkat("eval", "runs/mails", "--corpus", "held-out.csv", "--json"))
    with open("held-out.csv", newline="") as file:
        truth = [row["Department"] for row in csv.DictReader(file)]
    with open("labels.csv", newline="") as file:
        given_labels = [row["label"] for row in csv.DictReader(file)]
    assert len(given_labels) == len(truth), (len(given_labels), len(truth))
    right = sum(a == b for a, b in zip(given_labels, truth)) / len(truth)
    assert abs(right - measured["accuracy"]) < 1e-9, (right, measured["accuracy"])
    again = dikkat("classify", "mails-hf", "new.csv", "--columns", "text=Message")
    assert again == pathlib.Path("labels.csv").read_text(), "the exported folder gives other labels or probabilities"
    text = f"accuracy {100 * right:.1f} %, macro-F1 {measured['macro_f1']:.3f}, calibration error {measured['calibration_error']:.3f}"
    return text, right >= accuracy / 100 and measured["macro_f1"] >= f1


main(given, figure)
