#!/usr/bin/env python3
"""Checks an answer of the course: check.py EXERCISE ANSWER, such as check.py 1.2 2.9. Run it in the folder of the course.

Answers are not stored: each is computed again from the texts, and from the files and programs that the lesson made. Prints whether the answer is right,
or a hint. Exit code 0: right, 1: not right, 2: the exercise cannot be checked."""
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

TALES = "data/tales.txt"


class Wrong(Exception):
    """The answer is not right. The message is a hint."""


class Missing(Exception):
    """The answer cannot be checked: a file that the lesson makes is not there, or a command fails."""


# --- What answers are computed from ---


def needed(path, lesson):
    """Returns a path that lesson `lesson` makes."""
    path = pathlib.Path(path)
    if not path.exists():
        raise Missing(f"found no {path} in {pathlib.Path.cwd()}: do the steps of lesson {lesson} first, in the folder of the course")
    return path


def run(*words):
    """Returns what a command prints."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Missing(f"found no program {words[0]}: source ~/dikkat/docs/course/start.sh in this terminal first") from None
    if done.returncode != 0:
        raise Missing(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def evaluation(model, *words):
    return json.loads(run("dikkat", "eval", model, *words, "--json"))


def evaluations_of(folder):
    """Returns (step, validation loss) of each evaluation of a run."""
    lines = [json.loads(line) for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines()]
    found = [(line["step"], line["val_loss"]) for line in lines if line["event"] == "eval"]
    if not found:
        raise Missing(f"{folder} has no evaluation yet: let its training finish")
    return found


def number(answer):
    """Returns the number of an answer. A decimal comma and a sign % are understood."""
    try:
        return float(answer.strip().rstrip("%").replace(",", "."))
    except ValueError:
        raise Wrong(f"found \"{answer}\", expected a number") from None


def compare(answer, right, tolerance, mistakes=()):
    """Throws Wrong unless the answer is the right number. `mistakes` are (number, hint) of usual ones."""
    given = number(answer)
    if abs(given - right) <= tolerance:
        return
    for other, hint in mistakes:
        if abs(given - other) <= max(tolerance, abs(other) / 200):
            raise Wrong(hint)
    raise Wrong("that is too high" if given > right else "that is too low")


# --- Lesson 1: text to tokens ---


def secret_word(answer):
    ids = [50, 47, 45, 46, 58, 46, 53, 59, 57, 43]
    tokenizer = needed("chars.json", 1)
    try:
        given = json.loads(run("dikkat", "tokenizer", "encode", tokenizer, "--text", answer, "--json"))
    except Missing:
        raise Wrong("the tokenizer does not know all of these characters") from None
    if given != ids:
        raise Wrong(f"your text has {len(given)} tokens, and the exercise {len(ids)}: dikkat tokenizer decode prints the text" if len(given) != len(ids)
                    else "the text has the right length, and other characters; lower case counts")


def pieces_of(size, text):
    """Trains a tokenizer and returns (tokens of a text, bytes per token of the tales)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pieces.json"
        run("dikkat", "tokenizer", "train", "--corpus", TALES, "--vocab-size", size, "--out", path)
        tokens = json.loads(run("dikkat", "tokenizer", "encode", path, "--text", text, "--json"))
        found = re.search(r"([\d.]+) bytes per token", run("dikkat", "corpus", "inspect", TALES, "--tokenizer", path))
        return len(tokens), float(found.group(1))


def bytes_per_token(answer):
    needed("data", 1)
    right = pieces_of(1024, "a")[1]
    compare(answer, right, 0.011, [(1 / right, "that is tokens per byte: divide bytes by tokens"),
                                   (pieces_of(512, "a")[1], "that is the tokenizer of 512 pieces: train one of 1024")])


def smallest_vocabulary(answer):
    needed("data", 1)
    size = number(answer)
    if not size.is_integer() or not 257 <= size <= 4096:
        raise Wrong(f"found {answer}, expected a size of a vocabulary, a whole number from 257 to 4096")
    if pieces_of(int(size), " water")[0] > 1:
        raise Wrong("with this vocabulary, \" water\" is more than one token: the blank before it counts")
    if size - 20 >= 257 and pieces_of(int(size) - 20, " water")[0] == 1:
        raise Wrong("it is one token, but a vocabulary that is 20 smaller is enough, too")


# --- Lesson 2: a bigram ---


def counts_of(text):
    return collections.Counter(zip(text, text[1:]))


def chance_of_h(answer):
    text = needed(TALES, 2).read_text()
    counts = counts_of(text)
    after_t = sum(count for (first, _), count in counts.items() if first == "t")
    before_h = sum(count for (_, second), count in counts.items() if second == "h")
    right = counts["t", "h"] / after_t
    compare(answer, right, 0.0011, [(100 * right, "that is in percent: a chance is a number between 0 and 1"),
                                    (counts["t", "h"] / before_h, "that is the chance that a t stands before an h: begin with the t"),
                                    (counts["T", "h"] / sum(count for (first, _), count in counts.items() if first == "T"), "that is for a capital T")])


def loss_with_one_added(answer):
    text = needed(TALES, 2).read_text()
    counts, rows, size = counts_of(text), collections.Counter(text[:-1]), len(set(text))

    def loss(added):
        return -sum(count * math.log((count + added) / (rows[first] + added * size)) for (first, _), count in counts.items()) / (len(text) - 1)
    compare(answer, loss(1), 0.0011, [(loss(0), "that is the loss without anything added: change kAdded, and build the program again")])


def better_rate(answer):
    program = needed("bigram", 2).resolve()
    loss = float(re.search(r"by learning, step 1000: +([\d.]+)", run(program, TALES)).group(1))
    if number(answer) > 5:
        raise Wrong("the answer is the loss after 1000 steps, not the rate")
    compare(answer, loss, 0.0011)
    if loss > 2.3005:
        raise Wrong(f"your program reaches {loss:.3f}, and 2.300 is possible: if a higher kRate lowers the loss, go on, and if it raises it, turn back")


# --- Lesson 3: attention ---


def softmax(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def weight_by_hand(answer):
    scores = [3, 1, 0]
    compare(answer, softmax(scores)[0], 0.0015, [(scores[0] / sum(scores), "you divided the scores: softmax divides e^score"),
                                                 (softmax(scores)[1], "that is the second weight"), (2 ** 3 / (2 ** 3 + 2 + 1), "that is with powers of 2, not of e")])


def mixed_word(answer):
    words = [[2, 0], [0, 1], [1, 1]]
    scores = [sum(a * b for a, b in zip(words[2], word)) for word in words]
    mixed = [sum(weight * word[i] for weight, word in zip(softmax(scores), words)) for i in range(2)]
    compare(answer, mixed[0], 0.0011, [(mixed[1], "that is the second number: the first one is asked for"),
                                       (0.788, "that is from before the change: build the program again")])


def without_positions(answer):
    program = needed("attention", 3).resolve()
    share = {words: float(re.findall(r"([\d.]+) % right", run(program, *words))[-1]) for words in [("1",), ("1", "no-positions")]}
    compare(answer, share["1", "no-positions"], 0.11, [(share["1",], "that is with positions")])


# --- Lesson 4: training and overfitting ---


def best_step(answer):
    found = evaluations_of(needed("runs/small", 4))
    compare(answer, min(found, key=lambda one: one[1])[0], 0, [(found[-1][0], "that is the last step: look where the validation loss was lowest")])


def perplexity(answer):
    loss = min(loss for _, loss in evaluations_of(needed("runs/whole", 4)))
    compare(answer, math.exp(loss), 0.05, [(loss, "that is the loss: the perplexity is e to its power"), (2 ** loss, "that is 2 to its power: the loss is in nats, so take e")])


def better_run(answer):
    small, mine = needed("runs/small", 4), needed(answer, 4)
    if mine.resolve() == small.resolve() or not (mine / "metrics.jsonl").exists():
        raise Wrong(f"found {answer}, expected the folder of a run of your own, such as runs/mine")
    text = [json.loads((run_folder / "metrics.jsonl").open().readline())["corpus"] for run_folder in (small, mine)]
    if text[0] != text[1]:
        raise Wrong("this run read another text: give it small.txt, or the losses cannot be compared")
    found, least = evaluations_of(mine), min(loss for _, loss in evaluations_of(small))
    if found[-1][0] > evaluations_of(small)[-1][0]:
        raise Wrong(f"this run has {found[-1][0]} steps, expected no more than runs/small")
    best = min(loss for _, loss in found)
    if best > least - 0.05:
        raise Wrong(f"its lowest validation loss is {best:.3f}, and that of runs/small {least:.3f}: at least 0.05 lower is possible")


# --- Lesson 5: fine-tuning ---


def trained_share(answer):
    adapters, whole = (json.loads(run("dikkat", "inspect", needed(folder, 5), "--json"))["parameters"] for folder in ("runs/adapter", "runs/base"))
    right = 100 * adapters / whole
    compare(answer, right, 0.11, [(right / 100, "that is not in percent: multiply by 100"), (100 - right, "that is the share that is frozen"),
                                  (100 / right, "divide the adapters by the model, not the other way round")])


def forgotten(answer):
    before, after = (evaluation(needed(run_folder, 5), "--corpus", needed("unseen.txt", 5))["loss"] for run_folder in ("runs/base", "runs/talks"))
    compare(answer, after - before, 0.0051, [(before - after, "the loss rose: the difference is positive"), (after, "that is the loss after fine-tuning: subtract the loss before it"),
                                             (before, "that is the loss before fine-tuning")])


def own_facts(answer):
    facts = needed("facts.jsonl", 5)
    known = [json.loads(line) for line in facts.read_text().splitlines() if line.strip()]
    if len(known) < 3 or not all(fact.get("prompt") and fact.get("completion") for fact in known):
        raise Wrong("facts.jsonl has too few facts, expected three lines or more, each {\"prompt\": \"...\", \"completion\": \"...\"}")
    asked = run("dikkat", "sample", needed(answer, 5), "--messages", facts, "--temperature", 0, "--max-new-tokens", 60)
    wrong = [fact["prompt"] for fact, line in zip(known, asked.splitlines()) if json.loads(line)["answer"].strip() != fact["completion"].strip()]
    if wrong:
        raise Wrong(f"{len(wrong)} of {len(known)} answers differ from the file, such as that of \"{wrong[0]}\": train for more epochs")


# --- Lesson 6: measuring ---


def standard_error(answer):
    share, count = 0.8, 50
    right = math.sqrt(share * (1 - share) / count)
    compare(answer, right, 0.0006, [(share * (1 - share) / count, "take the root"), (math.sqrt(share * (1 - share)), "divide by the number of questions before you take the root"),
                                    (2 * right, "that is two standard errors"), (100 * right, "that is in percent: 0.8 is a share of 1")])


def bits_per_byte(answer):
    before, after = (evaluation(needed(folder, 5), "--corpus", needed("unseen.txt", 5)) for folder in ("runs/base", "runs/talks"))
    right = after["bits_per_byte"] - before["bits_per_byte"]
    compare(answer, right, 0.0051, [(after["loss"] - before["loss"], "that is the difference of the losses, in nats for each token: take the bits per byte"),
                                    (after["bits_per_byte"], "that is what the fine-tuned model has: subtract what its base has"), (-right, "it got worse: the number is positive")])


def errors_apart(answer):
    needed("questions.jsonl", 6)
    made = run("dikkat", "eval", needed("runs/talks", 5), "--tasks", "questions.jsonl", "--beside", needed("runs/half", 6), "--json")
    difference = json.loads(made)["difference"]["exact_match"]
    compare(answer, abs(difference["difference"] / difference["standard_error"]), 0.06, [(abs(difference["difference"]), "that is the difference: divide it by its error")])


EXERCISES = {
    "1.1": secret_word, "1.2": bytes_per_token, "1.3": smallest_vocabulary,
    "2.1": chance_of_h, "2.2": loss_with_one_added, "2.3": better_rate,
    "3.1": weight_by_hand, "3.2": mixed_word, "3.3": without_positions,
    "4.1": best_step, "4.2": perplexity, "4.3": better_run,
    "5.1": trained_share, "5.2": forgotten, "5.3": own_facts,
    "6.1": standard_error, "6.2": bits_per_byte, "6.3": errors_apart,
}


def main(words):
    if len(words) != 2 or words[0] not in EXERCISES:
        print(f"check.py: found {' '.join(words) or 'nothing'}, expected an exercise ({', '.join(EXERCISES)}) and one answer, such as check.py 1.2 2.9; "
              "an answer with blanks needs quotes", file=sys.stderr)
        return 2
    exercise, answer = words
    try:
        EXERCISES[exercise](answer)
    except Wrong as hint:
        print(f"{exercise}: not yet. {str(hint)[0].upper()}{str(hint)[1:]}.")
        return 1
    except Missing as reason:
        print(f"check.py: {reason}", file=sys.stderr)
        return 2
    print(f"{exercise}: right.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
