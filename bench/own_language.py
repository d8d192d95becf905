#!/usr/bin/env python3
"""What do new tokens gain, if a model of English learns Turkish? Trains a small model on English books. Then it learns Turkish law and manual
pages in equal processor time with the old tokens and with new ones (dikkat tokenizer extend), for several seeds. Prints tables (Markdown).

  python3 bench/own_language.py --english en_books.txt --law tr_anayasa.txt --pages manpages-tr_2.0.6-2_all.deb

--pages is Debian's package manpages-tr (apt-get download manpages-tr). Both models of a seed train at once, with a thread each, so that a busy
machine slows both. A run's steps follow from the processor time of a short run of the same kind. Runs and results are kept in --out; what is
there is not done again.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from runs import Results, add_arguments, mean_and_error

ENGLISH = """
[model]
n_layer = 4
n_head = 2
n_embd = 128
block_size = 128
bias = false
norm = "rms_norm"
norm_eps = 1e-6
positions = "rope"
qk_norm = true
activation = "silu"
gated = true

[tokenizer]
kind = "bpe"
vocab_size = 4096

[data]
val_fraction = 0

[optim]
kind = "muon"
muon_coefficients = "turbo"
muon_normalize = true
learning_rate = 4e-3
schedule = "wsd"
decay_share = 0.8
min_lr_share = 0
warmup_steps = 50
beta1 = 0.8
beta2 = 0.95

[train]
batch_size = 16
precision = "auto"
"""
KINDS = ("old", "new")  # tokens
HELD_OUT = {"law": "turkish-law-held-out.txt", "pages": "turkish-pages-held-out.txt", "english": "english-held-out.txt"}


def text_of_page(source):
    """The text of a manual page: its lines without troff's requests and fonts."""
    source = re.sub(r"^\.ig\n.*?^\.\.\n", "", source, flags=re.MULTILINE | re.DOTALL)
    lines = []
    for line in source.splitlines():
        heading = re.match(r"\.(?:SH|SS|B|I|BR|IR) (.*)", line)
        line = heading.group(1).strip('"') if heading else line
        if not line.startswith((".", "'")):
            line = re.sub(r"\\f\[?[A-Z]{1,2}\]?", "", line)
            lines.append(re.sub(r"\\(?:\(..|[&/,|^]|s[-+]?\d)", "", line).replace("\\-", "-").replace("\\e", "\\"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def write_texts(args):
    """Writes the texts to train on and those that are held out: the last tenth of the law, every tenth page, the end of the books."""
    if all((args.out / name).exists() for name in HELD_OUT.values()):
        return
    law = args.law.read_text().replace("\r\n", "\n")
    cut = law.rindex("\n", 0, len(law) * 9 // 10) + 1
    books = args.english.read_text()
    end = books.index("\n\n", len(books) - 399_000)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", args.pages, folder], check=True)
        files = sorted(file for file in pathlib.Path(folder).glob("usr/share/man/tr/*/*.gz") if file.is_file() and not file.is_symlink())
        pages = [text_of_page(gzip.decompress(file.read_bytes()).decode()) for file in files]
    pages = [page for page in pages if len(page) > 200]  # the others only name another page
    texts = {"turkish-law.txt": law[:cut], "turkish-law-held-out.txt": law[cut:], "english.txt": books[:end], "english-held-out.txt": books[end:],
             "turkish-pages.txt": "\n".join(page for i, page in enumerate(pages) if i % 10), "turkish-pages-held-out.txt": "\n".join(pages[::10])}
    for name, text in texts.items():
        (args.out / name).write_text(text)


class Bench:
    def __init__(self, args):
        self.args = args
        self.program = pathlib.Path(args.program).resolve()
        self.results = Results(args.out / "results.json")

    def call(self, *words, threads=1):
        """Returns what a command prints, and its seconds of processor time."""
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as messages:
            process = subprocess.Popen([str(self.program), *map(str, words)], stdout=printed, stderr=messages, cwd=self.args.out,
                                       env=os.environ | {"OMP_NUM_THREADS": str(threads)})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            printed.seek(0)
            messages.seek(0)
            if process.returncode != 0:
                raise SystemExit(f"dikkat {' '.join(map(str, words))} ended with {process.returncode}: {messages.read()}")
            return printed.read(), usage.ru_utime + usage.ru_stime

    def once(self, name, make):
        if name not in self.results.values:
            self.results.put(name, make())
        return self.results.values[name]

    def both(self, make):
        """Returns make(kind) for the old tokens and the new ones, which run at once."""
        with ThreadPoolExecutor(2) as pool:
            return dict(zip(KINDS, pool.map(make, KINDS)))

    def make_models(self):
        """Trains the English model, and extends it."""
        args = self.args
        (args.out / "english.toml").write_text(ENGLISH)
        if not (args.out / "runs/old").exists():
            self.call("train", "--config", "english.toml", "--corpus", "english.txt", "--out", "runs/old", "--set", f"train.max_steps={args.english_steps}", threads=2)
        return self.once("extended", lambda: json.loads(self.call(
            "tokenizer", "extend", "runs/old", "--corpus", "turkish-law.txt", "turkish-pages.txt", "--add", args.add, "--old-text", "english-held-out.txt", "--out",
            "runs/new", "--json")[0]))

    def tune(self, kind, run, steps, seed):
        """Tunes a model on both Turkish texts. Returns the seconds of processor time."""
        args = self.args
        settings = {"train.max_steps": steps, "optim.decay_steps": steps, "train.seed": seed, "train.checkpoint_interval": steps, "train.keep_last": 1,
                    "data.pack": "stream", "data.val_fraction": 0, "train.batch_size": 16, "train.gradient_accumulation_steps": 1, "train.precision": "auto"}
        return self.call("finetune", f"runs/{kind}", "--data", "turkish-law.txt", "turkish-pages.txt", "--replay", "english.txt", "--replay-share",
                         args.replay_share, "--full", "--out", run, "--set", *(f"{key}={value}" for key, value in settings.items()), *args.tuning)[1]

    def seconds_of_step(self):
        """Returns the processor time of a step of each kind: the difference between a long and a short run."""
        short, long = 10, 40
        times = {steps: self.both(lambda kind: self.tune(kind, f"runs/timed-{kind}-{steps}", steps, 1)) for steps in (short, long)}
        return {kind: (times[long][kind] - times[short][kind]) / (long - short) for kind in KINDS}

    def bits(self, model):
        """Returns the bits per byte of each held-out text."""
        return {name: json.loads(self.call("eval", model, "--corpus", file, "--json")[0])["bits_per_byte"] for name, file in HELD_OUT.items()}

    def run(self, kind, seed, steps):
        run = f"runs/{kind}-{seed}"
        seconds = self.tune(kind, run, steps, seed)
        return {"seconds": seconds, "steps": steps, "bits": self.bits(run)}


def with_error(values):
    mean, error = mean_and_error(values)
    return f"{mean:.3f} ± {error:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--english", type=pathlib.Path, required=True)
    parser.add_argument("--law", type=pathlib.Path, required=True)
    parser.add_argument("--pages", type=pathlib.Path, required=True)
    parser.add_argument("--english-steps", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60, help="processor time of the steps of a tuned model")
    parser.add_argument("--add", type=int, default=4000)
    parser.add_argument("--replay-share", type=float, default=0.7)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--tuning", nargs="+", default=["optim.learning_rate=8e-4", "optim.new_rows_lr_scale=3"], metavar="KEY=VALUE", help="for all tuned models")
    add_arguments(parser, out=pathlib.Path("runs/own-language"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    write_texts(args)
    bench = Bench(args)
    extended = bench.make_models()
    before = bench.once("before", lambda: bench.bits("runs/old"))
    step = bench.once("seconds of a step", bench.seconds_of_step)
    for seed in args.seeds:
        if f"new-{seed}" not in bench.results.values:
            for kind, found in bench.both(lambda kind: bench.run(kind, seed, round(args.seconds / step[kind]))).items():
                bench.results.put(f"{kind}-{seed}", found)
    words = {name: bench.once(f"words of {name}", lambda: json.loads(bench.call("tokenizer", "compare", "runs/old", "runs/new", "--corpus", file, "--json")[0]))
             for name, file in HELD_OUT.items()}

    of_old = extended["old_text"]
    print(f"{extended['tokens'] - extended['first_new_token']:,} new tokens after {extended['first_new_token']:,}; they replace"
          f" {100 * of_old['replaced_tokens'] / of_old['tokens_before']:.2f} % of the tokens of held-out English.\n")
    print("| held-out text | tokens per word, old | new | fewer |\n|---|--:|--:|--:|")
    for name, one in words.items():
        old, new = (one[side]["tokens_per_word"] for side in "ab")
        print(f"| {name} | {old:.3f} | {new:.3f} | {100 * (1 - new / old):.1f} % |")
    runs = {kind: [bench.results.values[f"{kind}-{seed}"] for seed in args.seeds] for kind in KINDS}
    print("\n| model | steps | processor seconds | law | pages | english | english, compared with before |\n|---|--:|--:|--:|--:|--:|--:|")
    print("| before | | | " + " | ".join(f"{before[name]:.3f}" for name in HELD_OUT) + " | |")
    for kind, ones in runs.items():
        bits = {name: [one["bits"][name] for one in ones] for name in HELD_OUT}
        worse = [100 * (one / before["english"] - 1) for one in bits["english"]]
        print(f"| {kind} tokens | {ones[0]['steps']:,} | {with_error([one['seconds'] for one in ones])} | " +
              " | ".join(with_error(bits[name]) for name in HELD_OUT) + f" | {with_error(worse)} % |")


if __name__ == "__main__":
    main()
