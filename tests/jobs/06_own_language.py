"""A model in one's own language: given a model of English and Turkish text, ends in a model whose vocabulary has Turkish word pieces, in other
programs' forms."""
import json
import pathlib
import random

from job import DATA, Node, dikkat, main

STEMS = ["ev", "okul", "kitap", "çocuk", "göl", "deniz", "şehir", "yol", "öğretmen", "köy", "ağaç", "gün", "akşam", "pazar", "kuş", "kapı", "masa", "gemi", "ırmak", "orman"]
VERBS = ["gel", "git", "gör", "bul", "sor", "yaz", "oku", "dur", "kal", "geç"]
ADVERBS = ["bugün", "dün", "yarın", "sonra", "şimdi", "yavaşça", "birlikte", "yine"]
SHAPE = ["model.block_size=128", "tokenizer.vocab_size=1024", "train.max_steps=400", "train.batch_size=8"]


def harmony(word):
    """The vowels that endings have after a word: of two kinds, and of four."""
    last = [letter for letter in word if letter in "aeıioöuü"][-1]
    return ("a" if last in "aıou" else "e"), {"a": "ı", "ı": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}[last]


def noun(draw):
    """A noun with a plural, an owner and a case, each of them or not."""
    word = draw.choice(STEMS)
    if draw.random() < 0.4:
        word += f"l{harmony(word)[0]}r"
    if draw.random() < 0.4 and word[-1] not in "aeıioöuü":
        four = harmony(word)[1]
        word += draw.choice([f"{four}m", f"{four}m{four}z", f"{four}n{four}z"])
    if word[-1] not in "aeıioöuü" and draw.random() < 0.7:
        two, four = harmony(word)
        hard = "t" if word[-1] in "pçtkfhsş" else "d"
        word += draw.choice([f"{hard}{two}", f"{hard}{two}n", two, four, f"{four}n"])
    return word


def verb(draw):
    word = draw.choice(VERBS)
    two, four = harmony(word)
    if word[-1] in "aeıioöuü":
        return word + draw.choice([f"y{two}c{two}k", f"d{four}k", f"m{four}şt{four}"])
    hard = "t" if word[-1] in "pçtkfhsş" else "d"
    return word + draw.choice([f"{two}c{two}k", f"{hard}{four}k", f"{hard}{four}l{two}r", f"m{four}şt{four}", f"m{two}d{four}l{two}r"])


def sentences(draw, count):
    lines = []
    for _ in range(count):
        words = [draw.choice(ADVERBS), *(noun(draw) for _ in range(draw.randint(1, 4))), verb(draw)]
        lines.append(" ".join(words).capitalize() + ".\n")
    return "".join(lines)


def given():
    draw = random.Random(6)
    pathlib.Path("turkish.txt").write_text(sentences(draw, 6000))
    pathlib.Path("turkish-held-out.txt").write_text(sentences(draw, 400))
    tales = (DATA / "tales.txt").read_text()
    cut = tales.rindex("\n\n", 0, len(tales) * 9 // 10)
    pathlib.Path("english.txt").write_text(tales[:cut])
    pathlib.Path("english-held-out.txt").write_text(tales[cut:])
    # A small model stands for one that cannot be downloaded here.
    dikkat("train", "--config", "quickstart", "--corpus", "english.txt", "--out", "read", "--quiet", "--set", *SHAPE)
    dikkat("export", "read", "--out", "english-model")


def figure(least_shorter, most_worse):
    compared = {language: json.loads(dikkat("tokenizer", "compare", "english-model", "runs/turkish", "--corpus", f"{language}-held-out.txt", "--json"))
                for language in ("turkish", "english")}
    change = lambda language, key: 100 * (compared[language]["b"][key] / compared[language]["a"][key] - 1)
    shorter, worse = -change("turkish", "tokens_per_word"), change("english", "bits_per_byte")
    return (f"{shorter:.0f} % fewer tokens per Turkish word; bits per byte of English {worse:+.1f} %, of Turkish {change('turkish', 'bits_per_byte'):+.0f} %;"
            f" {elsewhere()}", shorter >= least_shorter and worse <= most_worse)


def elsewhere():
    """Compares the ids of old and new texts with those of Hugging Face's library and of llama.cpp."""
    if not Node.exists():
        return "the exported files were read by dikkat only"
    texts = [pathlib.Path(f"{language}-held-out.txt").read_text()[:3000] for language in ("turkish", "english")]
    pathlib.Path("texts.json").write_text(json.dumps(texts))
    ours = [json.loads(dikkat("tokenizer", "encode", "runs/turkish", "--text", text, "--json")) for text in texts]
    assert [Node.run("hugging_face_ids.mjs", "turkish-hf", text) for text in texts] == ours, "Hugging Face's tokenizer has other ids"
    assert Node.run("llama_cpp_ids.mjs", "turkish.gguf", "texts.json") == ours, "llama.cpp has other ids"
    old = json.loads(dikkat("tokenizer", "inspect", "english-model", "--json"))["vocab_size"]
    assert any(one >= old for one in ours[0]), "no new token is in the Turkish text"
    return "llama.cpp and Hugging Face's library have the same ids"


main(given, figure)
