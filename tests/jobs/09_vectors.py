"""Search in company documents: given passages of a manual, and questions with the passage that answers each, ends in vectors that find the right passage
for questions about others, the same over HTTP and in PyTorch."""
import base64
import json
import pathlib
import random
import struct
import subprocess

from job import ROOT, Server, dikkat, main, read_lines, write_lines

PRODUCTS = """Aldra Brento Calvix Dormo Eltana Farrow Gorint Halden Istria Jorvik Kelmar Lunder Morven Norsk Ostria Pellam Quarto Rovena
Selkirk Tamber Ulvik Varda Wendel Yarrow""".split()
KINDS = ["pump", "printer", "boiler", "camera", "mixer", "heater"]
# Of each topic: questions, and the passages that answer them. They share few words.
TOPICS = [
    (["How do I reset the {}?", "The {} does not react any more, what now?", "My {} hangs after an update."],
     "Hold the red key of the {} for ten seconds until all lamps go out, then let go. It starts again with the settings of the factory."),
    (["Which oil does the {} need?", "What do I grease the {} with?", "Lubricant for the {}?"],
     "Moving parts of the {} take a thin layer of mineral grease of class two, twice a year. Wipe off what is left with a dry cloth."),
    (["How long does the guarantee of the {} last?", "Is the {} still under warranty?", "Who pays if the {} breaks in the first year?"],
     "Defects of the {} that appear within three years of the purchase are repaired free of charge if you show the receipt."),
    (["How do I clean the {}?", "The {} is dirty.", "May I wash the {} with soap?"],
     "Pull the plug first. The housing of the {} tolerates warm water and a soft sponge, but no solvents and no steam."),
    (["Where do I get spare parts for the {}?", "I need a new seal for the {}.", "Can I order a part of the {}?"],
     "The catalog on page ninety lists every component of the {} with its number; dealers deliver within a week."),
    (["How loud is the {}?", "The {} makes too much noise.", "Does the {} disturb the neighbors?"],
     "At full speed we measured forty decibels at a distance of one meter from the {}; rubber feet make it quieter."),
    (["Which cable fits the {}?", "How do I connect the {} to the mains?", "What voltage does the {} take?"],
     "Use the socket on the back of the {} and a grounded line of 230 volts, secured with sixteen amperes."),
    (["The {} leaks.", "Water comes out below the {}.", "There is a puddle under the {}."],
     "Tighten both clamps of the {} by a quarter turn. If drops still fall, the gasket has to be replaced by a technician."),
    (["How do I dispose of the {}?", "Where can I throw the {} away?", "Is the {} household waste?"],
     "Bring the worn out {} to a collection point for electronics; the battery has to be taken out and handed in separately."),
    (["Can children use the {}?", "Is the {} dangerous?", "From which age is the {} allowed?"],
     "Persons below fourteen may only operate the {} under supervision, since its surfaces reach eighty degrees."),
    (["What does the blinking lamp on the {} mean?", "The {} shows an error.", "Why does the {} flash?"],
     "Two short signals of the {} report an empty tank, three a blocked filter, and a steady one a fault of the sensor."),
    (["How much power does the {} draw?", "Is the {} expensive to run?", "Electricity costs of the {}?"],
     "In normal service the {} consumes six hundred watts, and less than one in standby."),
]
SHAPE = """
[model]
n_layer = 3
n_head = 4
n_embd = 128
n_hidden = 320
block_size = 256
bias = false
tie_embeddings = true
norm = "rms_norm"
positions = "rope"
activation = "silu"
gated = true

[tokenizer]
kind = "bpe"
vocab_size = 1200

[data]
pack = "best_fit"
window = 64

[optim]
kind = "muon"
learning_rate = 4e-3
warmup_steps = 20

[train]
batch_size = 16
max_steps = 150
eval_tokens = 2048
"""


def passages_and_questions(draw):
    """Returns all passages, and the questions with the index of their passage: those to learn from, and those about other passages."""
    passages, learned, others = [], [], []
    for product in PRODUCTS:
        name = f"{product} {draw.choice(KINDS)}"
        held_out = set(draw.sample(range(len(TOPICS)), 3))
        for topic, (questions, passage) in enumerate(TOPICS):
            some = [(question.format(name), len(passages)) for question in questions]
            (others if topic in held_out else learned).extend(some)
            passages.append(passage.format(f"{name}"))
    return passages, learned, others


def given():
    draw = random.Random(9)
    passages, learned, others = passages_and_questions(draw)
    draw.shuffle(learned)
    pathlib.Path("passages.txt").write_text("".join(f"{passage}\n" for passage in passages))
    pathlib.Path("questions.txt").write_text("".join(f"{question}\n" for question, _ in others))
    write_lines("pairs.jsonl", [{"question": question, "passage": passages[at]} for question, at in learned])
    write_lines("held-out.jsonl", [{"question": question, "passage": passages[at]} for question, at in others])
    # The model: it has read the passages and some questions, and knows nothing of which belongs to which.
    texts = passages + [question for question, _ in learned]
    draw.shuffle(texts)
    write_lines("texts.jsonl", [{"text": text} for text in texts])
    pathlib.Path("shape.toml").write_text(SHAPE)
    dikkat("train", "--config", "shape.toml", "--corpus", "texts.jsonl", "--out", "read", "--quiet")
    dikkat("export", "read", "--out", "SmolLM2-135M")


def npy(path):
    """Returns the rows of a NumPy file of f32, as packed numbers."""
    data = pathlib.Path(path).read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    shape = data[10:begin].decode().split("(")[1].split(")")[0].split(",")
    count, width = int(shape[0]), int(shape[1])
    assert len(data) == begin + 4 * count * width, f"found {len(data)} bytes in {path}, expected {count} x {width} numbers"
    return [data[begin + 4 * width * i:begin + 4 * width * (i + 1)] for i in range(count)]


def numbers(row):
    return struct.unpack(f"<{len(row) // 4}f", row)


def ranks(questions, passages, right):
    """The rank of each question's passage by the product of vectors."""
    for question, own in zip(questions, right):
        scores = [sum(a * b for a, b in zip(question, passage)) for passage in passages]
        yield 1 + sum(score >= scores[own] for i, score in enumerate(scores) if i != own)


def figure(first, ten, reciprocal, before):
    metrics = [line for line in read_lines("runs/vectors/metrics.jsonl") if line["event"] == "eval"]
    found = json.loads(dikkat("eval", "runs/vectors", "--json"))
    questions, passages = npy("questions.npy"), npy("passages.npy")
    _, _, others = passages_and_questions(random.Random(9))
    rank = list(ranks([numbers(q) for q in questions], [numbers(p) for p in passages], [at for _, at in others]))
    recall_1, recall_10 = (sum(one <= k for one in rank) / len(rank) for k in (1, 10))
    mrr = sum(1 / one for one in rank) / len(rank)
    # The same vectors over HTTP, in both forms.
    texts = pathlib.Path("questions.txt").read_text().splitlines()[:40]
    with Server("runs/vectors") as server:
        packed = server.post("/v1/embeddings", {"input": texts, "encoding_format": "base64"})["data"]
        plain = server.post("/v1/embeddings", {"input": texts[7]})["data"]
        ids = [server.post("/tokenize", {"prompt": text})["tokens"] for text in texts[:10]]
    served = [base64.b64decode(one["embedding"]) for one in packed] == questions[:40]
    served = served and struct.pack(f"<{len(plain[0]['embedding'])}f", *plain[0]["embedding"]) == questions[7]
    # The exported folder, by PyTorch.
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/clients/torch_vectors.py", "vectors-hf", "questions.npy"],
                          input=json.dumps(ids), capture_output=True, text=True, check=False)
    torch = {0: f"PyTorch differs by {done.stdout.strip()}", 77: "no PyTorch here"}.get(done.returncode, f"PyTorch: {done.stderr[-200:]}")
    text = (f"of {len(rank)} questions {100 * recall_1:.0f} % first, {100 * recall_10:.0f} % in ten, MRR {mrr:.2f} among {len(passages)} passages; "
            f"MRR of eval {metrics[0]['mrr']:.2f} before, {found['mrr']:.2f} after; {'the same' if served else 'OTHER'} vectors over HTTP; {torch}")
    reached = 100 * recall_1 >= first and 100 * recall_10 >= ten and mrr >= reciprocal and metrics[0]["mrr"] <= before
    return text, reached and served and done.returncode in (0, 77)


main(given, figure)
