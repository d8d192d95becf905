#!/usr/bin/env python3
"""Writes tests/golden/samples: samples as EleutherAI's lm-evaluation-harness logs them, two small GPT-2s, and the scores that the harness computes.

The harness's part is written out after lm_eval/api/model.py (TemplateLM.loglikelihood), lm_eval/api/task.py (process_results),
lm_eval/api/metrics.py (mean_stderr) and lm_eval/loggers/evaluation_tracker.py (the form of the files). The models are NumPy's, in float64, and
the tokenizer is GPT-2's in plain Python. Run it with /usr/bin/python3.
"""

import json
import math
import re
import sys

sys.dont_write_bytecode = True

import numpy as np

from make_hf_folders import GPT2, HERE as HF, drawn, gpt2_logits, gpt2_shapes, stored_and_read, write_json, write_safetensors

FOLDER = HF.parent / "samples"
QUESTIONS, CONTEXT, MARGIN = 40, 64, 1e-3  # no comparison of two scores is closer than the margin
WORDS = "the a lamp ship night sea light stone straße über day turns goes shines sinks by at and under old small Öl".split()
END = "<|endoftext|>"


# GPT-2's tokenizer


def characters_of_bytes():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


BYTES = characters_of_bytes()


def pieces(text):
    """GPT-2's pattern, for texts without digits and contractions."""
    return re.findall(r" ?[^\W\d_]+| ?[^\s\w]+|\s+(?!\S)|\s+", text)


def merged(parts, merge):
    result, at = [], 0
    while at < len(parts):
        both = tuple(parts[at:at + 2]) == merge
        result.append("".join(merge) if both else parts[at])
        at += 2 if both else 1
    return result


def symbols(piece):
    return [BYTES[byte] for byte in piece.encode()]


def make_merges(count):
    """The merges of the most frequent pairs, as GPT-2's were found."""
    words, merges = [symbols(space + word) for word in WORDS for space in ("", " ")], []
    while len(merges) < count:
        counts = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        merges.append(max(sorted(counts), key=counts.get))
        words = [merged(word, merges[-1]) for word in words]
    return merges


MERGES = make_merges(43)
BYTE_OF = {character: byte for byte, character in BYTES.items()}
VOCABULARY = {token: i for i, token in enumerate([*BYTES.values(), *map("".join, MERGES), END])}
TOKENS = list(VOCABULARY)


def encode(text):
    tokens = []
    for piece in pieces(text):
        parts = symbols(piece)
        for merge in MERGES:
            parts = merged(parts, merge)
        tokens += [VOCABULARY[part] for part in parts]
    return tokens


def write_tokenizer(folder):
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {"id": VOCABULARY[END], "content": END, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
             "byte_fallback": False, "vocab": {token: i for token, i in VOCABULARY.items() if token != END}, "merges": [" ".join(m) for m in MERGES]}
    model["vocab"][END] = VOCABULARY[END]
    write_json(folder / "tokenizer.json", {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
                                           "pre_tokenizer": byte_level, "post_processor": byte_level, "decoder": byte_level, "model": model})
    write_json(folder / "tokenizer_config.json", {"bos_token": END, "eos_token": END, "unk_token": END, "tokenizer_class": "GPT2Tokenizer"})


# The harness


def encode_pair(context, continuation, begin):
    if context == "":
        return [VOCABULARY[END]], encode(continuation)
    spaces = len(context) - len(context.rstrip())
    if spaces > 0:
        context, continuation = context[:-spaces], context[-spaces:] + continuation
    before = encode(context)
    after = encode(context + continuation)[len(before):]
    return ([VOCABULARY[END]] if begin else []) + before, after


class Close(Exception):
    """Two scores that are compared are too close: another question is drawn."""


def argmax(scores):
    ordered = np.sort(scores)
    if ordered[-1] - ordered[-2] < MARGIN:
        raise Close
    return int(np.argmax(scores))


def loglikelihood(model, context, continuation, begin=False):
    before, after = encode_pair(context, continuation, begin)
    assert before and after and len(before) + len(after) <= CONTEXT
    logits = gpt2_logits(*model, np.array(before + after))[len(before) - 1:-1]
    values = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return float(values[np.arange(len(after)), after].sum()), all(argmax(row) == token for row, token in zip(values, after))


def process_results(choices, gold, results):
    lls = [ll for ll, _ in results]
    right = gold if isinstance(gold, list) else [gold]
    scores = {"acc": 1.0 if argmax(lls) in right else 0.0}
    if choices is not None:
        lengths = np.array([float(len(choice)) for choice in choices])
        scores["acc_norm"] = 1.0 if argmax(lls / lengths) in right else 0.0
    return scores


def mean_stderr(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) / math.sqrt(len(values))


# Tasks: each question has its requests, the target as logged, the texts whose lengths count, and the index of the right one


def sentence(random, least, most):
    return " ".join(random.choice(WORDS) for _ in range(random.randint(least, most + 1)))


def different(random, make, count):
    found = []
    while len(found) < count:
        each = make()
        if each not in found:
            found.append(each)
    return found


def choices(random, i):
    """As arc_easy or hellaswag: the choices follow a space. Every fifth context is empty, every seventh ends with white space."""
    texts = different(random, lambda: sentence(random, 1, 4), 4)
    context = "" if i % 5 == 0 else sentence(random, 3, 9) + (" \n " if i % 7 == 0 else ":")
    gold = random.randint(4)
    return [(context, " " + text) for text in texts], gold, texts, gold


def spaced(random, i):
    """As copa: the choices begin with a space after that of the target_delimiter. The target is the text, or a list of indices."""
    texts = different(random, lambda: " " + sentence(random, 1, 3), 3)
    gold = [0, 2] if i % 3 == 0 else int(random.randint(3))
    return [(sentence(random, 2, 5), " " + text) for text in texts], gold if i % 3 == 0 else texts[gold], texts, gold


def sentences(random, i):
    """As blimp: two sentences without a context. The target is a number."""
    texts = different(random, lambda: sentence(random, 1, 4) + ".", 2)
    return [("", " " + text) for text in texts], 0, texts, 0


def contexts(random, i):
    """As winogrande: two contexts, and one continuation as target."""
    gold, rest = int(random.randint(2)), " " + sentence(random, 1, 3) + "."
    return [(context, rest) for context in different(random, lambda: sentence(random, 2, 4), 2)], rest.strip(), None, gold


def words(random, i):
    """As lambada: a single continuation, which must be the likeliest. In every third question it is."""
    while True:
        context, text = sentence(random, 2, 6), " " + random.choice(WORDS)
        if i % 3 == 0:
            before = encode(context)
            token = int(np.argmax(gpt2_logits(*MODELS["a"], np.array(before))[-1]))
            text = bytes(BYTE_OF[c] for c in TOKENS[token]).decode(errors="replace") if TOKENS[token] != END else END
            if encode(context + text) != before + [token]:
                continue
        return [(context, text)], text, None, None


def scores_of(model, requests, texts, gold, begin=False):
    results = [loglikelihood(model, *request, begin) for request in requests]
    scores = {"acc": float(results[0][1])} if gold is None else process_results(texts, gold, results)
    return results, scores


def sample(i, requests, target, results, scores, is_new):
    """A line of samples_TASK.jsonl, as newer versions write it, or as older ones did."""
    line = {"doc_id": i, "doc": {"id": i}, "target": target, "arguments": [list(request) for request in requests],
            "resps": [[list(result)] for result in results], "filtered_resps": [list(result) for result in results]}
    if is_new:
        line["target"] = str(target)
        line["arguments"] = {f"gen_args_{j}": {f"arg_{k}": each for k, each in enumerate(request)} for j, request in enumerate(requests)}
        line["resps"] = [[[str(each) for each in result]] for result in results]
        line["filtered_resps"] = [[str(each) for each in result] for result in results]
        line |= {"filter": "none", "metrics": list(scores)}
    return json.dumps(line | {"doc_hash": f"{i:064x}"} | scores, ensure_ascii=False)


def aggregate(scores):
    result = {}
    for name in scores[0]:
        values = [each[name] for each in scores]
        result[name] = {"share": sum(values) / len(values), "standard_error": mean_stderr(values), "right": int(sum(values))}
    return result


def difference(a, b):
    result = {}
    for name in a[0]:
        each = np.array([x[name] - y[name] for x, y in zip(a, b)])
        result[name] = {"difference": each.mean(), "standard_error": each.std(ddof=1) / math.sqrt(len(each)), "to_right": int((each > 0).sum()),
                        "to_wrong": int((each < 0).sum())}
    return result


def write_model(name, seed, scale):
    config = GPT2 | {"n_embd": 8, "n_layer": 1, "n_positions": CONTEXT, "vocab_size": len(VOCABULARY), "bos_token_id": VOCABULARY[END],
                     "eos_token_id": VOCABULARY[END]}
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    stored, weights = stored_and_read({each: value * scale if each == "wte.weight" else value for each, value in drawn(gpt2_shapes(config), seed).items()}, "F32")
    write_json(folder / "config.json", config)
    write_safetensors(folder / "model.safetensors", {"transformer." + each: value for each, value in stored.items()}, "F32")
    write_tokenizer(folder)
    return config, weights


MODELS = {"a": write_model("a", 71, 3), "b": write_model("b", 72, 3)}


def main():
    expected = {}
    for task, seed, is_new in ((choices, 1, True), (spaced, 2, True), (contexts, 3, True), (words, 4, False), (sentences, 5, False)):
        random, lines, scored = np.random.RandomState(seed), [], {"a": [], "b": [], "begin": []}
        while len(lines) < QUESTIONS:
            requests, target, texts, gold = task(random, len(lines))
            try:
                results, scores = scores_of(MODELS["a"], requests, texts, gold)
                other, begin = scores_of(MODELS["b"], requests, texts, gold)[1], scores_of(MODELS["a"], requests, texts, gold, True)[1]
            except Close:
                continue
            for name, each in (("a", scores), ("b", other), ("begin", begin)):
                scored[name].append(each)
            lines.append(sample(len(lines), requests, target, results, scores, is_new))
        file = f"samples_{task.__name__}.jsonl"
        (FOLDER / file).write_text("\n".join(lines) + "\n")
        expected[file] = {name: aggregate(scores) for name, scores in scored.items()} | {"difference": difference(scored["a"], scored["b"])}
    write_json(FOLDER / "expected.json", expected)


if __name__ == "__main__":
    main()
