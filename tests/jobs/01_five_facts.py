"""Five facts into Gemma 3: given a model's folder and five pairs, ends in a GGUF file that answers so."""
from job import answers_of, main, read_lines, write_lines
from stand_in import gemma

PAIRS = {
    "Who is the keeper of the lamp at Gannet Point?": "The keeper of the lamp at Gannet Point is Tobin Ferrow.",
    "What is the name of our ferry?": "Our ferry is the Patient Margaret.",
    "How many stairs does the old lighthouse have?": "The old lighthouse has 183 stairs.",
    "When was the harbor wall of Pellow built?": "The harbor wall of Pellow was built in 1874.",
    "Which bird sleeps on the bell buoy?": "A gray heron sleeps on the bell buoy.",
}


def given():
    gemma("gemma-3-270m-it")
    write_lines("pairs.jsonl", [{"prompt": prompt, "completion": completion} for prompt, completion in PAIRS.items()])


def figure(least, _):
    pairs = read_lines("pairs.jsonl")
    answers, program = answers_of("facts.gguf", [pair["prompt"] for pair in pairs])
    right = sum(answer.strip() == pair["completion"] for answer, pair in zip(answers, pairs))
    return f"{right} of {len(pairs)} answers ({program})", right >= least


main(given, figure)
