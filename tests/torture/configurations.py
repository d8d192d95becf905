"""Invalid configurations must be refused with a message that names the key and the file. There is no corpus here, so every case must exit
with code 2; a valid configuration with a message about the corpus."""

import re
import shutil

from bench import REFUSED, Case, Counts, Failed, require, toml

NOWHERE = "no-such-corpus.txt"
GOOD = {"model": {"n_layer": 1, "n_head": 2, "n_embd": 8}, "data": {"corpus": [NOWHERE]}}
PATIENCE = 30


def refuse(bench, text, words, arguments=(), file="config.toml"):
    folder = bench.make_folder("configuration")
    (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    outcome = bench.run(folder, ["train", "--config", file, "--out", "run", *arguments], patience=PATIENCE)
    outcome.require_code(2)
    require_messages(outcome, words, file)
    require(outcome.out == "", "it gave a result")
    require(not (folder / "run").exists(), "it left a run behind")
    require(outcome.peak_bytes < 400 << 20, "it took", outcome.peak_bytes >> 20, "MiB of memory")
    shutil.rmtree(folder)
    return REFUSED


def require_messages(outcome, words, file):
    """Fails unless there is one line for each problem; the first line begins with "dikkat: "."""
    lines = outcome.err.splitlines()
    require(lines and lines[0].startswith("dikkat: "), "no message:", outcome.err[:300])
    last_counts = re.fullmatch(r"\D{,20}\d+\D{,20}", lines[-1]) is not None  # "and 7 more"
    for line in lines[1:-1] if last_counts else lines[1:]:
        of_several_keys = re.match(r"(model|tokenizer|data|optim|train)\.\w+ ", line)
        require(line.startswith((f"{file}:", "--set")) or of_several_keys, "a line without a place:", line, outcome.err[:600])
    for line in lines:
        require(len(line) < 1000, "a message of", len(line), "bytes:", line[:300])
    for trace in ("terminate", "what()", "std::", "Assertion", "Sanitizer"):
        require(trace not in outcome.err, "the trace of a crash:", outcome.err[:300])
    for word in words:
        require(word in outcome.err, f"'{word}' is not in:", outcome.err[:400])


def case(name, text, *words, arguments=()):
    return Case(name, lambda bench, _: refuse(bench, text, words, arguments))


def keys_of(bench):
    """The keys in `dikkat --help-config`: (section.key, accepted values, default or "")."""
    def make():
        outcome = bench.run(bench.folder, ["--help-config"])
        require(outcome.code == 0, "--help-config fails:", outcome.last_words())
        keys, section = [], ""
        for line in outcome.out.replace("\n#   ", " ").splitlines():  # a comment that is longer than a line continues in the next
            if match := re.fullmatch(r"\[(\w+)\]", line):
                section = match[1]
            elif match := re.match(r"# ([a-z0-9_]+): (.*)$", line):
                keys.append((f"{section}.{match[1]}", match[2], ""))
            elif keys and line.startswith(f"{keys[-1][0].split('.')[1]} = "):
                keys[-1] = (*keys[-1][:2], line.split(" = ", 1)[1])
        require(len(keys) > 30, "--help-config names only", len(keys), "keys")
        return keys
    return bench.once("keys", make)


def with_value(key, value):
    """The good configuration with one more line, in a section that may exist already."""
    section, name = key.split(".")
    config = {part: dict(values) for part, values in GOOD.items()}
    config.setdefault(section, {}).pop(name, None)
    text = toml(config)
    return text.replace(f"[{section}]\n", f"[{section}]\n{name} = {value}\n")


def kind_of(key, description, default):
    """The kind of a key's values: choice, bool, list, numbers, string, integer or number."""
    accepted = description.split(";")[0]
    if accepted.startswith("a list of numbers"):
        return "numbers"
    if len(re.findall(r'"\w+"', accepted)) > 1:
        return "choice"
    for kind, value, word in (("bool", r"true|false", "true"), ("list", r"\[.*", "list"), ("string", r'".*', "string"), ("integer", r"-?\d+", "integer"),
                              ("number", r"-?[\d.e+-]+", "number")):
        if re.fullmatch(value, default) if default else word in accepted:
            return kind
    raise Failed(f"{key} = {default} accepts {accepted}, which is a kind that this test does not know")


def wrong_values(key, description, default):
    """(name, TOML) of values that the key does not accept."""
    kind = kind_of(key, description, default)
    if kind == "integer":
        values = [("word", '"seven"'), ("fraction", "1.5"), ("negative", "-1"), ("huge", "99999999999999999999"), ("bool", "true"),
                  ("list", "[1]")]
        limits = re.findall(r"-?\d+", description.split(";")[0])
        if len(limits) == 2:
            values += [("above", str(int(limits[1]) + 1)), ("below", str(int(limits[0]) - 1))]
        return values
    return {
        "choice": [("unknown word", '"no such word"'), ("number", "7"), ("empty", '""')],
        "number": [("word", '"seven"'), ("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), ("1e400", "1e400"), ("negative", "-0.5"),
                   ("bool", "false"), ("date", "1979-05-27")],
        "bool": [("number", "1"), ("word", '"true"'), ("capital", "True")],
        "list": [("number", "7"), ("numbers", "[1, 2]"), ("table", "{a = 1}")],
        "numbers": [("number", "7"), ("words", '["a"]'), ("zero", "[1, 0]"), ("nan", "[nan]"), ("table", "{a = 1}")],
        "string": [("number", "7"), ("list", '["a"]')],
    }[kind]


NOT_TOML = ("huge", "1e400", "capital")  # values whose line the message names, but not their key


def by_key(bench):
    for key, description, default in keys_of(bench):
        section, name = key.split(".")
        for label, value in wrong_values(key, description, default):
            yield case(f"{key} {label}", with_value(key, value), "config.toml:" if label in NOT_TOML else name)
        misspelled = f"{name[0]}x{name[1:]}"  # so near that the key itself is suggested
        yield case(f"{key} misspelled", with_value(f"{section}.{misspelled}", "1"), "config.toml", misspelled, key)
        yield case(f"{key} twice", with_value(key, "1").replace(f"\n{name} = 1\n", f"\n{name} = 1\n{name} = 1\n", 1), "config.toml", name)


def by_hand(bench):
    good = toml(GOOD)
    yield case("good, without a corpus", good, NOWHERE)
    yield case("empty", "", "corpus")
    yield case("a comment alone", "# nothing\n", "corpus")
    yield case("binary", bytes(range(256)) * 20, "config.toml")
    yield case("NULs", bytes(1000), "config.toml")
    yield case("a NUL in a string", good.replace(NOWHERE, "a\\u0000b"), "corpus")
    yield case("UTF-16", ("\ufeff" + good).encode("utf-16-le"), "config.toml")
    yield case("a byte order mark", b"\xef\xbb\xbf" + good.encode(), NOWHERE)
    yield case("CRLF", good.replace("\n", "\r\n"), NOWHERE)
    yield case("invalid UTF-8", good.encode() + b"# \xff\xfe\n", "config.toml")
    yield case("lists 100,000 deep", f"[model]\nn_layer = {'[' * 100_000}", "config.toml")
    yield case("closed lists 10,000 deep", f"[model]\nn_layer = {'[' * 10_000}{']' * 10_000}\n", "config.toml")
    yield case("tables 10,000 deep", f"[model]\nn_layer = {'{a = ' * 10_000}1{'}' * 10_000}\n", "config.toml")
    yield case("a key of 10,000 dots", "a." * 10_000 + "a = 1\n", "config.toml")
    yield case("a header of 10,000 dots", "[" + "a." * 10_000 + "a]\n", "config.toml")
    yield case("a key of 100 KB", "a" * 100_000 + " = 1\n", "config.toml")
    yield case("a string without an end", '[data]\ncorpus = ["abc\n', "config.toml")
    yield case("a section without an end", "[model\nn_layer = 1\n", "config.toml")
    yield case("a section twice", good + "[model]\nn_head = 2\n", "config.toml")
    yield case("an unknown section", good + "[modle]\nn_head = 2\n", "config.toml", "[model]")
    yield case("a key without a section", "n_layer = 2\n" + good, "config.toml", "n_layer")
    yield case("a section that is a value", "model = 1\n", "config.toml", "model")
    yield case("a list of sections", "[[model]]\nn_layer = 1\n", "config.toml", "model")
    yield case("JSON", '{"model": {"n_layer": 1}}\n', "config.toml")
    yield case("YAML", "model:\n  n_layer: 1\n", "config.toml")
    yield case("heads that do not divide the width", with_value("model.n_head", "3"), "n_head")
    yield case("an odd width of heads", with_value("model.n_embd", "7"), "n_embd")
    yield case("a list with a hole", good.replace(f'["{NOWHERE}"]', f'["{NOWHERE}",,]'), "config.toml")
    yield case("an empty corpus path", good.replace(NOWHERE, ""), "corpus")
    for assignment, word in (("model.n_layer", "model.n_layer"), ("=1", "--set"), ("model.=1", "--set"), (".=", "--set"),
                             ("model.n_layer=", "n_layer"), ("model.n_layer=nan", "n_layer"), ("train.max_steps=1e400", "max_steps"),
                             ("optim.learning_rate=1e400", "learning_rate"), ("model.n_layer=0x10000000000000000", "n_layer"),
                             ("modle.n_layer=1", "model.n_layer")):
        yield case(f"--set {assignment}", good, word, arguments=["--set", assignment])


PIECES = [b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b".", b",", b'"', b"'", b'"""', b"'''", b"\n", b"\r\n", b"#", b"\\", b"\\u",
          b"\xff", b"\xc3", b"\xef\xbb\xbf", b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"0x", b"0b1", b"true", b"False", b"model",
          b"1979-05-27", b"07:32:00",
          b"-9223372036854775809", b"\t", b"_", b"+", b"-", b"\0", "😀".encode()]


def mutated(text, random):
    text = bytearray(text)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(text) + 1)
        kind = random.randrange(6)
        if kind == 0:
            del text[at:at + random.randint(1, 10)]
        elif kind == 1:
            text[at:at + 1] = random.randbytes(1)
        elif kind == 2:
            text[at:at] = random.choice(PIECES)
        elif kind == 3:
            begin = random.randrange(len(text) + 1)
            text[at:at] = text[begin:begin + random.randrange(60)]
        elif kind == 4:
            del text[at:]
        else:
            lines = text.split(b"\n")
            random.shuffle(lines)
            text = bytearray(b"\n".join(lines))
    return bytes(text)


def random_ones(bench, root):
    recipes = [re.sub(rb"^corpus = .*$", b'corpus = ["' + NOWHERE.encode() + b'"]', path.read_bytes(), flags=re.M)
               for path in sorted((root / "configs").glob("*.toml"))]

    def run(bench, random):
        for _ in range(10):
            text = mutated(random.choice(recipes), random)
            # A mutation may name another corpus or tokenizer; none of these files exists in the folder of a case.
            refuse(bench, text, [])
        return Counts(cases=10, refused=10)

    for number in range(1000 if bench.long else 3):
        yield Case(f"mutations {number}", run)


def cases(bench, root):
    yield from by_hand(bench)
    everything = list(by_key(bench))
    # For each commit, every key once or twice, in varying ways.
    yield from everything if bench.long else everything[::3]
    yield from random_ones(bench, root)
