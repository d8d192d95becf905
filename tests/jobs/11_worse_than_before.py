"""Is a tuned model worse than before? Given a model, a tuned run and questions, ends in the difference with its error, and in scores over HTTP that choose
the same answers."""
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
    places = ["at the pier", "in the lamp room", "on the bell buoy", "by the river", "in the valley", "at the mill"]
    things = ["the blue rope", "the tin box", "the brass key", "the last lantern", "the long oar", "the ledger", "the kettle", "the spare sail"]
    write_lines("chats.jsonl", [{"prompt": f"Where is {thing}?", "completion": f"You will find {thing} {draw.choice(places)}, as always."}
                                for thing in things for _ in range(8)])


def chosen_over_http(server, task):
    """Returns the likeliest choice as an evaluation program finds it: from the log probabilities of prompt and choice."""
    prompt = server.post("/tokenize", {"messages": [{"role": "user", "content": task["prompt"]}]})["tokens"]
    choices = [server.post("/tokenize", {"content": choice})["tokens"] for choice in task["choices"]]
    asked = {"prompt": [prompt + choice for choice in choices], "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True, "seed": 1234}
    scores = [choice["logprobs"]["token_logprobs"] for choice in server.post("/v1/completions", asked)["choices"]]
    sums = [sum(score[len(prompt):-1]) for score in scores]
    return sums.index(max(sums))


def figure(most, least):
    found = json.loads(dikkat("eval", "runs/tuned", "--tasks", "tasks.jsonl", "--beside", "gemma-3-270m-it", "--json"))
    difference = found["difference"]["choices"]
    questions = read_lines("tasks.jsonl")
    with Server("runs/tuned") as server:
        right = sum(chosen_over_http(server, task) == task["answer"] for task in questions)
    same = right == found["choices"]["right"]
    changed = difference["to_right"] + difference["to_wrong"]
    text = (f"{difference['difference']:+.3f} +- {difference['standard_error']:.3f} ({changed} of {len(questions)} answers changed); "
            f"the server's scores: {right} right, eval's: {found['choices']['right']}")
    return text, difference["standard_error"] <= most and same and changed >= least


main(given, figure)
