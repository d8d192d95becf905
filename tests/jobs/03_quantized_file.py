"""A tuned GGUF file from a quantized one: given a Q4_K_M file, as Ollama's are, and a text, ends in a GGUF file that predicts such a text better."""
import json
import pathlib
import random

from job import answers_of, dikkat, made_once, main
from k_quants import write_q4_k_m
from stand_in import make


def write_gguf(path):
    dikkat("export", made_once("gemma", make), "--out", "exact.gguf", "--dtype", "f16")
    write_q4_k_m(pathlib.Path("exact.gguf"), path)


WATCHES = ["first", "middle", "last"]
WINDS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"]
SEEN = ["the mail boat", "two herring boats", "a gray schooner", "the ferry", "nothing", "a collier bound for Pellow", "a line of porpoises", "fog"]
DONE = ["trimmed the wick", "polished the lens", "wound the handle", "counted the oil", "painted the rail", "wrote to the harbor master"]


def page(draw, day):
    """A page of a lighthouse's log book."""
    return (f"Day {day}. {draw.choice(WATCHES).capitalize()} watch. Wind {draw.choice(WINDS)}, force {draw.randrange(1, 10)}. Glass at 29.{draw.randrange(10, 99)}, "
            f"{draw.choice(['rising', 'falling', 'steady'])}. Saw {draw.choice(SEEN)}, {draw.randrange(1, 12)} miles off. {draw.choice(DONE).capitalize()}, and "
            f"{draw.choice(DONE)}. Lamp lit at {draw.randrange(16, 20)}.{draw.randrange(10, 60)}.\n")


def given():
    made_once("gemma", make)
    path = made_once("gemma-3-270m-it-Q4_K_M.gguf", write_gguf)
    for name in [path.name, "sha256-735af2139dc6"]:
        pathlib.Path(name).symlink_to(path)
    draw = random.Random(3)
    pages = [page(draw, day) for day in range(1, 301)]
    pathlib.Path("log.txt").write_text("".join(pages[:270]))
    pathlib.Path("log-held-out.txt").write_text("".join(pages[270:]))


def loss(model):
    return json.loads(dikkat("eval", model, "--corpus", "log-held-out.txt", "--json"))["loss"]


def figure(least):
    before, after = loss("gemma-3-270m-it-Q4_K_M.gguf"), loss("tuned.gguf")
    (answer,), program = answers_of("tuned.gguf", ["What is the capital of Italy?"])
    return f"loss {before:.2f} before, {after:.2f} after; {program} answers", before - after >= least and answer != ""


main(given, figure)
