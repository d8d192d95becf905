"""Is a tuned model worse than before? Given a model, text to tune it on and questions, ends in the difference with its error, and in scores over HTTP, as
lm-evaluation-harness asks for them, that choose as many right answers."""
import json
import random
import re

from job import DATA, Server, dikkat, main, read_lines, write_lines
from stand_in import gemma

TASKS, CHOICES = 120, 4


def tasks(draw):
    """Questions that the model knows, each with its answer among three others that differ in the last word."""
    kinds = {}
    for line in read_lines(DATA / "questions.jsonl"):
        kind = re.search("capital|opposite| and ", line.get("completion", ""))
        if kind:
            kinds.setdefault(kind.group(), []).append((line["prompt"], *line["completion"].rsplit(" ", 1)))
    asked = [(prompt, begin, end, kind) for kind, lines in sorted(kinds.items()) for prompt, begin, end in lines]
    for prompt, begin, end, kind in draw.sample(asked, TASKS):
        ends = draw.sample(sorted({other for _, _, other in kinds[kind]} - {end}), CHOICES - 1)
        answer = draw.randrange(CHOICES)
        ends.insert(answer, end)
        yield {"prompt": prompt, "choices": [f"{begin} {one}" for one in ends], "answer": answer}


def given():
    gemma("gemma-3-270m-it")
    draw = random.Random(11)
    write_lines("tasks.jsonl", tasks(draw))
    places = ["at the pier", "in the lamp room", "on the bell buoy", "by the river", "in the valley", "at the mill", "in the hall", "on the wall"]
    things = ["the blue rope", "the tin box", "the brass key", "the last lantern", "the long oar", "the ledger", "the kettle", "the spare sail"]
    asked = ["Where is {}?", "Where do I find {}?", "I cannot find {}.", "Who has {}?", "Have you seen {}?", "I need {}.", "Is {} here?", "Fetch {}, please."]
    write_lines("chats.jsonl", [{"prompt": words.format(thing), "completion": f"You will find {thing} {place}, as always."}
                                for thing, place in zip(things, places) for words in asked])


def chosen_over_http(server, task):
    """Returns the likeliest choice as an evaluation program finds it: from the log probabilities of prompt and choice."""
    prompt = server.post("/tokenize", {"messages": [{"role": "user", "content": task["prompt"]}]})["tokens"]
    choices = [server.post("/tokenize", {"content": choice})["tokens"] for choice in task["choices"]]
    asked = {"prompt": [prompt + choice for choice in choices], "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True, "seed": 1234}
    scores = [choice["logprobs"]["token_logprobs"] for choice in server.post("/v1/completions", asked)["choices"]]
    sums = [sum(score[len(prompt):-1]) for score in scores]
    return sums.index(max(sums))


def figure(most, errors, _):
    found = json.loads(dikkat("eval", "runs/tuned", "--tasks", "tasks.jsonl", "--beside", "gemma-3-270m-it", "--json"))
    difference, error = (found["difference"]["choices"][name] for name in ("difference", "standard_error"))
    questions = read_lines("tasks.jsonl")
    with Server("runs/tuned") as server:
        right = sum(chosen_over_http(server, task) == task["answer"] for task in questions)
    text = f"{difference:+.3f} +- {error:.3f}; over HTTP {right} of {len(questions)} right, by eval {found['choices']['right']}"
    return text, error <= most and difference < -errors * error and right == found["choices"]["right"]


main(given, figure)
