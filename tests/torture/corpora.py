"""Corpora that are mistakes or malicious: the program must train on them or refuse them with a message."""

import gzip
import os
import re
import shutil
import socket
import struct
import tempfile
import time

from bench import REFUSED, SURVIVED, Case, Skipped, metric_lines, require, require_whole, settings, tiny_text

MEMORY = 500 << 20  # bytes; the model is tiny, so this is the limit for reading
BLOCK = 16          # tiny.toml's block_size


def zstd_frame(data):
    """A zstd frame with one uncompressed block of less than 256 bytes."""
    block = (len(data) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xB5\x2F\xFD\x20" + bytes([len(data)]) + block + data


def llmc_shard(tokens, magic=20240520, version=1, said=None, width=2):
    header = struct.pack("<3i", magic, version, len(tokens) if said is None else said).ljust(1024, b"\0")
    return header + b"".join(token.to_bytes(width, "little") for token in tokens)


TEXT = tiny_text().encode()
META = '{"itos": ["a", "b", "c", "d"], "stoi": {"a": 0, "b": 1, "c": 2, "d": 3}}'
BIN = {"tokenizer.kind": "char", "tokenizer.path": "meta.json", "data.val_fraction": 0.1}
CHAR = {"tokenizer.kind": "char"}
WORD = {"tokenizer.kind": "word"}
BPE = {"tokenizer.kind": "bpe", "tokenizer.vocab_size": 300}
PAIRS = {"model.kind": "encoder_decoder", **WORD}


def runs(name, contents, values=None, file="corpus.txt", **options):
    return corpus_case(name, contents, values or {}, file, None, **options)


def refused(name, contents, words, values=None, file="corpus.txt", **options):
    return corpus_case(name, contents, values or {}, file, [words] if isinstance(words, str) else words, **options)


def corpus_case(name, contents, values, file, words, given=None, stdin=None, user=None, patience=120):
    """`contents`: the bytes of `file`, or a function that prepares the folder; `words`: what the refusal must name, None if training must work."""
    def run(bench, _):
        folder = bench.make_folder(name)
        (folder / "meta.json").write_text(META)
        if callable(contents):
            contents(folder)
        elif contents is not None:
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(contents)
        before = []
        if user == "nobody" and bench.is_root:
            if shutil.which("setpriv") is None:
                raise Skipped("root can read everything, and setpriv, to run as another user, is not installed")
            before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            probe = bench.run(folder, ["--version"], before=before)
            if probe.code != 0:
                raise Skipped("root reads everything, and the program lies where nobody else can start it")
        # A refused corpus must leave no run directory behind.
        arguments = ["train", "--config", "tiny.toml", "--out", "run", "--corpus", *(given or [file]),
                     *settings({"train.max_steps": 2, "train.checkpoint_interval": 2, **values})]
        source = open(folder / stdin, "rb") if stdin else None
        outcome = bench.run(folder, arguments, before=before, stdin=source, patience=patience)
        if source:
            source.close()
        require(outcome.peak_bytes < MEMORY, "it took", outcome.peak_bytes >> 20, "MiB of memory")
        if words is None:
            require(outcome.code == 0, f"exit code {outcome.code}:", outcome.last_words()[:400])
            require(require_whole(bench, folder), "no checkpoint")
            verdict = SURVIVED
        else:
            outcome.require_code(2)
            outcome.require_message(*words)
            require(outcome.out == "", "it gave a result:", outcome.out[:200])
            require(not (folder / "run").exists(), "it left a run behind")
            verdict = REFUSED
        shutil.rmtree(folder)
        return verdict
    return Case(name, run)


def fifo(folder):
    os.mkfifo(folder / "corpus.txt")


def listening_socket(folder):
    here = os.open(folder, os.O_RDONLY)  # paths of sockets are short
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"/proc/self/fd/{here}/corpus.txt")
    server.close()
    os.close(here)


def files(**contents):
    def make(folder):
        for name, data in contents.items():
            path = folder / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return make


def link(target):
    return lambda folder: os.symlink(target, folder / "corpus.txt")


def unreadable_file(folder):
    (folder / "corpus.txt").write_bytes(TEXT)
    os.chmod(folder / "corpus.txt", 0)


def unreadable_folder(folder):
    files(texts__a_dot_txt=TEXT)(folder)
    os.chmod(folder / "texts", 0)


def sparse(size):
    def make(folder):
        with open(folder / "corpus.txt", "wb") as file:
            file.truncate(size)
    return make


def bomb(byte, mebibytes):
    def make(folder):
        with gzip.open(folder / "corpus.txt.gz", "wb", compresslevel=6) as file:
            for _ in range(mebibytes):
                file.write(byte * (1 << 20) if len(byte) == 1 else byte * ((1 << 20) // len(byte)))
    return make


def shrinking(bench, _):
    """A token file that is truncated while a run has it mapped."""
    folder = bench.make_folder("shrinking")
    (folder / "meta.json").write_text(META)
    (folder / "corpus.bin").write_bytes(b"".join((i * 7 % 4).to_bytes(2, "little") for i in range(1 << 20)))
    process = bench.start(folder, ["train", "--config", "tiny.toml", "--out", "run", "--corpus", "corpus.bin",
                                   *settings({**BIN, "train.max_steps": 1_000_000, "train.eval_interval": 999_999,
                                              "train.checkpoint_interval": 5})])
    try:
        require(process.until(lambda: metric_lines(folder / "run") >= 20), "it does not begin:", process.err()[-300:])
        os.truncate(folder / "corpus.bin", 4096)
        outcome = process.wait(60)
    finally:
        process.kill_if_running()
    outcome.require_code(1, 2)
    outcome.require_message("corpus.bin", alone=False)
    require(require_whole(bench, folder), "no checkpoint is left")
    resumed = bench.run(folder, ["resume", "run"])
    resumed.require_code(2)  # the corpus has changed
    resumed.require_message("corpus.bin")
    shutil.rmtree(folder)
    return REFUSED


def sparse_tokens(bench, _):
    """Ten gigabytes of token 0 in a sparse file: these are valid tokens, so training must work, in bounded memory."""
    folder = bench.make_folder("sparse")
    (folder / "meta.json").write_text(META)
    # This is not on a tmpfs, where reading a page would allocate it.
    with tempfile.NamedTemporaryFile(suffix=".bin", dir="/var/tmp") as corpus:
        corpus.truncate(10 << 30)
        process = bench.start(folder, ["train", "--config", "tiny.toml", "--out", "run", "--corpus", corpus.name,
                                       *settings({**BIN, "train.max_steps": 2})])
        own = 0  # KiB; the system can take pages of the file back
        try:
            deadline = time.monotonic() + 1800
            while not process.ended():
                require(time.monotonic() < deadline, "a hang: no end after 1800 s")
                try:
                    status = open(f"/proc/{process.pid}/status").read()
                    own = max(own, int(re.search(r"RssAnon:\s+(\d+)", status)[1]))
                except (OSError, TypeError):
                    pass  # it has just ended
                time.sleep(0.05)
        finally:
            process.kill_if_running()
    outcome = process.wait(1)
    require(outcome.code == 0, f"exit code {outcome.code}:", outcome.last_words()[:400])
    require(0 < own << 10 < MEMORY, "it took", own >> 10, "MiB of memory")
    shutil.rmtree(folder)
    return SURVIVED


def cases(bench):
    mib = 1 << 20
    line = (b"the lamp turns and ships go by at night " * (mib // 40 + 1))[:mib] * (95 if bench.long else 2)
    name = "corpus.txt"
    few = {"data.val_fraction": 0}
    zipped = gzip.compress(TEXT)
    bad_sum = zipped[:-8] + bytes(4) + zipped[-4:]

    # too little
    yield refused("empty", b"", name)
    yield refused("one byte", b"a", name)
    yield refused("white space alone", b"   \n\n\t  \n", name)
    yield refused("block_size tokens", TEXT[:BLOCK], name, few)
    yield runs("block_size + 1 tokens", TEXT[:BLOCK + 1], few)
    yield runs("a part for validation of a few tokens", TEXT[:BLOCK * 4])
    yield refused("a part for validation of one token", TEXT[:BLOCK * 4], "data.val_fraction", {"data.val_fraction": 0.005})
    # not text
    yield refused("NULs", bytes(5000), [name, "NUL"], CHAR)
    yield refused("a NUL in the middle", TEXT + b"\0" + TEXT, [name, "NUL"], CHAR)
    yield refused("a NUL at the end, bpe", TEXT + b"\0", [name, "NUL"], BPE)
    yield refused("UTF-16 little endian", b"\xff\xfe" + TEXT.decode().encode("utf-16-le"), [name, "UTF-16"], CHAR)
    yield refused("UTF-16 big endian", b"\xfe\xff" + TEXT.decode().encode("utf-16-be"), [name, "UTF-16"], CHAR)
    for kind, values in (("char", CHAR), ("word", WORD), ("bpe", BPE)):
        yield refused(f"invalid UTF-8, {kind}", TEXT + b"\xff\xfe\xc3(" + TEXT, [name, "UTF-8"], values)
        yield runs(f"invalid UTF-8 replaced, {kind}", TEXT + b"\xff\xfe\xc3(" + TEXT, {**values, "data.invalid_utf8": "replace"})
    yield refused("a character cut off at the end", TEXT + "é".encode()[:1], [name, "UTF-8"], CHAR)
    yield refused("an overlong encoding", TEXT + b"\xc0\xaf" + TEXT, [name, "UTF-8"], CHAR)
    yield refused("a surrogate", TEXT + b"\xed\xa0\x80" + TEXT, [name, "UTF-8"], CHAR)
    yield runs("bytes of all kinds, byte tokenizer", bytes(range(1, 256)) * 20)
    yield runs("a byte order mark", b"\xef\xbb\xbf" + TEXT, CHAR)
    yield runs("CRLF", TEXT.replace(b"\n", b"\r\n"), CHAR)
    yield runs("control characters", bytes(range(1, 32)) * 40, CHAR)
    yield runs("emoji and combining marks", "👩‍👩‍👧‍👦e\u0301\u202e ".encode() * 60, CHAR)
    # one long line
    for kind, values in (("byte", {}), ("char", CHAR), ("word", WORD), ("bpe", BPE)):
        yield runs(f"a line of {len(line) // mib} MiB, {kind}", line, values, patience=600)
    yield runs(f"a word of {2 if not bench.long else 8} MiB, byte", b"a" * (mib * (8 if bench.long else 2)))
    # no file
    yield refused("a folder without text", files(texts__cat_dot_png=b"x"), ["texts", ".txt"], given=["texts"])
    yield refused("an empty folder", lambda folder: (folder / "texts").mkdir(), "texts", given=["texts"])
    yield runs("a folder", files(texts__a_dot_txt=TEXT, texts__b__c_dot_md=TEXT, texts__d_dot_png=b"\0"), given=["texts"])
    yield refused("a FIFO", fifo, [name, "FIFO"])
    yield refused("a socket", listening_socket, [name, "socket"])
    for device in ("/dev/zero", "/dev/null", "/dev/full", "/dev/tty"):
        yield refused(device, None, [device, "device"], given=[device])
    yield refused("missing", None, name)
    yield refused("below a file", None, "tiny.toml/x", given=["tiny.toml/x"])
    yield refused("a dangling link", link("nowhere"), name)
    yield refused("a loop of links", link("corpus.txt"), name)
    yield runs("a link", lambda folder: (files(other_dot_txt=TEXT)(folder), link("other.txt")(folder)))
    yield refused("a path too long", None, "aaaa", given=["a" * 300])
    yield runs("an odd name", TEXT, file="a b\t'\"é.txt")
    yield refused("twice", TEXT, name, given=[name, "./" + name])
    yield refused("a pattern like nothing", None, "no-*.txt", given=["no-*.txt"])
    yield refused("unreadable", unreadable_file, name, user="nobody")
    yield refused("an unreadable folder", unreadable_folder, "texts", user="nobody", given=["texts"])
    yield refused("empty standard input", b"", "standard input", given=["-"], stdin=name)
    yield runs("standard input", TEXT, given=["-"], stdin=name)
    # compressed
    gz = "corpus.txt.gz"
    yield runs("gzip", zipped, file=gz)
    yield runs("gzip twice over", zipped + zipped, file=gz)
    yield refused("gzip cut off", zipped[:-40], gz, file=gz)
    yield refused("gzip without its end", zipped[:-4], gz, file=gz)
    yield refused("gzip of other contents than its sum says", bad_sum, gz, file=gz)
    yield refused("gzip with a byte changed", zipped[:200] + bytes([zipped[200] ^ 0x55]) + zipped[201:], gz, file=gz)
    yield refused("gzip's magic alone", b"\x1f\x8b", gz, file=gz)
    yield refused("gzip of nothing", gzip.compress(b""), gz, file=gz)
    yield refused("gzip and junk", zipped + b"junk", gz, file=gz)
    yield refused("gzip of gzip", gzip.compress(bytes(16) + zipped), gz, CHAR, file=gz)
    zst = "corpus.txt.zst"
    yield runs("zstd", zstd_frame(TEXT[:120]) * 8, file=zst)
    yield refused("zstd cut off", zstd_frame(TEXT[:120])[:-20], zst, file=zst)
    yield refused("zstd's magic alone", b"\x28\xB5\x2F\xFD", zst, file=zst)
    yield refused("zstd that says it has 4 EiB", b"\x28\xB5\x2F\xFD\xE0" + (1 << 62).to_bytes(8, "little") + b"\x01\x00\x00", zst, file=zst)
    yield refused("a bomb of zeros", bomb(b"\0", 1000 if bench.long else 100), [gz, "NUL"], CHAR, file=gz)
    yield runs("a bomb of text", bomb(b"lamp\n", 1000 if bench.long else 40), file=gz, patience=600)
    # JSONL
    jsonl = "corpus.jsonl"
    document = b'{"text": "' + TEXT[:900].replace(b"\n", b"\\n") + b'"}\n'
    yield runs("JSONL", document * 3, file=jsonl)
    yield refused("a line that is not JSON", document + b"{\"text\": \n" + document, jsonl, file=jsonl)
    yield refused("a line without the field", document + b'{"body": "x"}\n', [jsonl, "text"], file=jsonl)
    yield refused("a field that is not a string", document + b'{"text": 7}\n', [jsonl, "text"], file=jsonl)
    yield refused("a line that is not an object", document + b'["text"]\n', jsonl, file=jsonl)
    yield refused("a line that is cut off", document + document[:-20], jsonl, file=jsonl)
    yield refused("JSON that is 100,000 deep", document + b"[" * 100_000 + b"\n", jsonl, file=jsonl)
    yield refused("invalid UTF-8 in JSONL", document + b'{"text": "\xff"}\n', jsonl, {**CHAR}, file=jsonl)
    yield refused("half a surrogate in JSONL", document + b'{"text": "\\ud800"}\n', jsonl, file=jsonl)
    # tokens
    bin_ = "corpus.bin"
    tokens = b"\0\0\1\0\2\0\3\0" * 100
    yield runs("tokens", tokens, BIN, file=bin_)
    yield runs("a shard of llm.c", llmc_shard([0, 1, 2, 3] * 100), BIN, file=bin_)
    yield refused("an odd number of bytes", tokens + b"\0", bin_, BIN, file=bin_)
    yield refused("a file of no tokens", b"", bin_, BIN, file=bin_)
    yield refused("tokens that the vocabulary lacks", tokens + b"\x09\0" + tokens, [bin_, "9"], BIN, file=bin_)
    yield refused("tokens without a tokenizer", tokens, [bin_, "tokenizer.path"], file=bin_)
    yield refused("llm.c's magic of another version", llmc_shard([0] * 400, version=9), [bin_, " 9"], BIN, file=bin_)
    yield refused("a wrong magic", llmc_shard([0, 1, 2, 3] * 100, magic=123456789), bin_, BIN, file=bin_)
    yield refused("a shard that is cut off", llmc_shard([0, 1, 2, 3] * 100)[:-10], bin_, BIN, file=bin_)
    yield refused("a shard that says it has more", llmc_shard([0] * 400, said=1 << 30), bin_, BIN, file=bin_)
    yield refused("a shard that says it has fewer than none", llmc_shard([0] * 400, said=-5), bin_, BIN, file=bin_)
    yield Case("tokens that are cut short while they are read", shrinking)
    # pairs
    tsv = "corpus.tsv"
    yield runs("pairs", b"the lamp\tturns now\n" * 60, PAIRS, file=tsv)
    yield refused("pairs without a tab", b"the lamp\tturns\nthe lamp turns\n" * 30, tsv, PAIRS, file=tsv)
    yield refused("pairs with two tabs", b"the lamp\tturns\tnow\n" * 30, tsv, PAIRS, file=tsv)
    yield refused("pairs with NULs", b"the lamp\tturns\0\n" * 30, [tsv, "NUL"], PAIRS, file=tsv)
    yield refused("pairs that are longer than block_size", b"the " * 100 + b"\t" + b"lamp " * 100 + b"\n", tsv, PAIRS, file=tsv)
    if bench.long:
        yield refused("10 GB of nothing", sparse(10 << 30), [name, "NUL"], CHAR)
        yield Case("10 GB of nothing, tokens", sparse_tokens)
