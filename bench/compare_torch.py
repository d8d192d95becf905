#!/usr/bin/env python3
"""Times dikkat against PyTorch on this machine: the same work, batch and threads, in turn, in one call.

    /usr/bin/python3 bench/compare_torch.py [--work NAME ...] [--tree DIR] [--long] [--threads N] [--rounds R] [--json]

A row of the table is one case: training steps of the character model and of GPT-2, and the parts that take most of their time. Each
round runs our program and then each PyTorch, each in its own process, so that their threads do not disturb each other. A process warms
up, then times each run and prints the median. The table shows median, minimum and maximum over the rounds; a ratio is PyTorch's time
divided by ours in the same round, so above 1 we are faster. Messages go to stderr, the table or JSON to stdout. If a case cannot be run, for
example because one of our programs is missing, its row reports this.

There are up to two PyTorches: the one of this machine, and that of a Debian 13 tree (2.6), which `scripts/try-debian.sh --torch DIR` makes
(root, 2 GB). Without a tree, only the first is timed, and a message says so.

PyTorch runs nanoGPT's step: uniformly random tokens, loss, backward, clip_grad_norm_, AdamW with two parameter groups, zero_grad. From 2.4 on it
uses scaled_dot_product_attention and the fused AdamW; 1.13 has attention with explicit matrices. It is compared at its best: OpenBLAS is
given the right core type, and the C library keeps memory (see environment()). Before the first round each of TORCH_SETTINGS is tried, then, for
a training step, each of FORMS (f32, autocast to bf16, and both compiled), and the fastest is used. A PyTorch whose products come from the
reference BLAS is not timed, as it would be many times slower than it has to be.

A case in bf16 trains with our train.precision = "bf16". PyTorch is the same in both, its best.

The recipe (--work recipe, --long) is the whole of configs/shakespeare-char.toml in a process, timed from outside: start-up, 2,000 steps, nine
evaluations of 20 batches of each part of the text, and checkpoints. Its text is not part of the project; give it with --corpus.

Needs Python 3.11 (tomllib) and PyTorch, on Debian python3-torch and libopenblas0-openmp; and our programs in build/dev.
"""

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable

sys.dont_write_bytecode = True
import torch_works  # noqa: E402
from torch_works import EVAL_BATCHES, ROOT, Problem, evaluation_interval, load_config, model_shape, needed  # noqa: E402

# Settings of PyTorch's threads. With OpenBLAS for pthreads, PyTorch's loops run in OpenMP's threads and its products in OpenBLAS's. While one
# pool works, the other one spins. On a machine with as many cores as threads they get in each other's way.
TORCH_SETTINGS = {
    "as installed": {},
    "OpenMP threads that spin briefly": {"GOMP_SPINCOUNT": "1000"},
    "OpenMP threads that spin longer": {"GOMP_SPINCOUNT": "20000"},
    "products on one thread": {"OPENBLAS_NUM_THREADS": "1"},
}

# How PyTorch computes a training step: options of its process. The compiled ones need PyTorch 2.
FORMS = {"f32": [], "autocast": ["--autocast"], "f32, compiled": ["--compiled"], "autocast, compiled": ["--autocast", "--compiled"]}


# Our side: commands that print one JSON object, and the times in that object.


def program(args, name):
    return str(pathlib.Path(args.build) / "bench" / f"bench_{name}")


def step_command(args, work):
    command = [program(args, "step"), "--config", config_of(work, args), "--steps", str(args.steps), "--warmup", str(args.warmup), "--json"]
    for assignment in work.set:
        command += ["--set", assignment]
    return command + (["--vocab-size", str(args.vocab_size)] if args.vocab_size else [])


def runs_command(name):
    return lambda args, work: [program(args, name), "--runs", str(args.steps), "--warmup", str(args.warmup), "--json"]


def attention_command(time):
    return lambda args, work: [program(args, "attention"), "--batch", "1", "--heads", "12", "--head-size", "64", "--time", str(time),
                               "--json"]


def recipe_command(args, work):
    config = load_config(config_of(work, args))
    return [str(pathlib.Path(args.build) / "dikkat"), "train", "--config", config_of(work, args), "--corpus", args.corpus, "--threads",
            str(args.threads), "--set", f"train.eval_tokens={EVAL_BATCHES * config['train']['batch_size'] * config['model']['block_size']}",
            f"train.eval_interval={evaluation_interval(config['train']['max_steps'])}"]


def times_in(row):
    """ms_median or median_ms, and so on."""
    return {f"ms_{k}": float(row.get(f"ms_{k}", row.get(f"{k}_ms"))) for k in ("median", "min", "max")}


def whole(result):
    return times_in(result) | {k: result[k] for k in ("peak_bytes",) if k in result}


def case(*names):
    """The sum of the cases whose name, description or pass is one of these."""
    def take(result):
        rows = result.get("cases", result.get("rows"))
        found = [times_in(row) for name in names for row in rows if name in (row.get("name"), row.get("what"), row.get("pass"))]
        if len(found) != len(names):
            raise KeyError(f"no cases {', '.join(names)}")
        return {k: sum(times[k] for times in found) for k in found[0]}

    return take


# The cases, each of which is a row of the table.


@dataclasses.dataclass(frozen=True)
class Work:
    title: str
    ours: Callable  # (args, work) -> the command
    torch: Callable  # config -> a closure that does the work once
    take: Callable = whole  # our JSON object -> ms_median, ms_min, ms_max, and peak_bytes if it is comparable
    config: str = "configs/shakespeare-char.toml"
    set: tuple = ()
    most_steps: int = 1000
    most_warmup: int = 1000
    long: bool = False
    whole_process: bool = False  # timed from outside
    forms: bool = False  # PyTorch has several FORMS of it


def gpt2_step(batch, time, **more):
    return Work(f"GPT-2 124M step, {batch} x {time}", step_command, torch_works.training_step, config="configs/gpt2-124m.toml",
                set=(f"model.block_size={time}", f"train.batch_size={batch}", "train.gradient_accumulation_steps=1"),
                most_warmup=2, forms=True, **more)


def in_bf16(work):
    return dataclasses.replace(work, title=work.title + ", bf16", set=work.set + ("train.precision=bf16",))


WORKS = {
    "gpt2-4x64": gpt2_step(4, 64, most_steps=5),
    "gpt2-1x1024": gpt2_step(1, 1024, most_steps=3),
    "gpt2-4x1024": gpt2_step(4, 1024, most_steps=2, long=True),
    "step": Work("character model's step", step_command, torch_works.training_step, forms=True),
    "gpt2-4x64-bf16": in_bf16(gpt2_step(4, 64, most_steps=5)),
    "gpt2-1x1024-bf16": in_bf16(gpt2_step(1, 1024, most_steps=3)),
    "step-bf16": in_bf16(Work("character model's step", step_command, torch_works.training_step, forms=True)),
    "recipe": Work("character model's recipe", recipe_command, torch_works.training_step, long=True, whole_process=True),
    "attention-1024": Work("attention, 12 x 64, T 1024", attention_command(1024), torch_works.attention(1024), case("forward", "backward"),
                           most_steps=10, most_warmup=2),
    "attention-4096": Work("attention, 12 x 64, T 4096", attention_command(4096), torch_works.attention(4096), case("forward", "backward"),
                           most_steps=3, most_warmup=1),
    "head": Work("linear + cross-entropy, 1024 x 768 x 50257", runs_command("head"), torch_works.head, case("forward + backward"), most_steps=3,
                 most_warmup=1),
    "gelu": Work("GELU, 1024 x 3072", runs_command("elementwise"), torch_works.gelu, case("gelu forward + backward")),
    "adamw": Work("AdamW with clipping, 124M", runs_command("optimizer"), torch_works.update, case("gradient norm, clipping and adamw"),
                  config="configs/gpt2-124m.toml", most_steps=10, most_warmup=2),
}


def config_of(work, args):
    return args.config if work is WORKS["step"] and args.config else str(ROOT / work.config)


def torch_config(work, args):
    config = load_config(config_of(work, args), work.set)
    if args.vocab_size:
        config["model"]["vocab_size"] = args.vocab_size
    elif not args.config and "vocab_size" not in config["model"]:
        config["model"]["vocab_size"] = 65  # that of tinyshakespeare, which the configuration leaves open; bench_step has the same
    return config


def capped(work, args):
    """The arguments, with fewer runs for work that takes long."""
    return argparse.Namespace(**vars(args) | {"steps": min(args.steps, work.most_steps), "warmup": min(args.warmup, work.most_warmup)})


# The cases run in turn.


def environment(threads):
    """The environment of both sides, which helps PyTorch. Debian's OpenBLAS takes newer processors for old ones, which makes it several times
    slower. PyTorch allocates its tensors anew in each step. By default the C library gives large ones back to the system, so each step maps
    their pages again, which can take longer than the step itself."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    env |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": str(1 << 28)}
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        env.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")
    return env


def output_of(command, env, cwd=None):
    """Runs one process and returns its output."""
    name = pathlib.Path(command[0]).name
    try:
        run = subprocess.run(command, env=env, capture_output=True, text=True, cwd=cwd)
    except OSError as error:
        raise Problem(f"{command[0]} cannot be run: {error.strerror}")
    if run.returncode != 0:
        words = run.stderr.strip().splitlines()
        raise Problem(f"{name} ended with exit code {run.returncode}: {words[-1] if words else 'it said nothing'}",
                      2 if run.returncode == 2 else 1)
    return run.stdout


def timed(command, env, args, take=whole):
    """Runs one process and returns its times and other results."""
    name = pathlib.Path(command[0]).name
    output = output_of(command, env)
    try:
        result = json.loads(output)
        result |= take(result)
        used = int(result.get("threads", args.threads))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Problem(f"{name} printed {output[:200]!r}, expected one JSON object with times ({error})", 1)
    if result["ms_min"] <= 0 or used != args.threads:
        raise Problem(f"{name} ran on {used} threads in {result['ms_min']} ms at least, expected {args.threads} threads and a time above 0", 1)
    return result


def timed_from_outside(command, env):
    """Runs one process in a new folder; returns the milliseconds from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        output = output_of(command, env, folder)
        ms = 1e3 * (time.perf_counter() - start)
    said = json.loads(output) if output.startswith("{") else {}
    return said | {"ms_median": ms, "ms_min": ms, "ms_max": ms}


@dataclasses.dataclass(frozen=True)
class Peer:
    """A PyTorch: the one that runs this program, or that of a Debian tree, in which this machine's files are seen under /mnt."""
    tree: str | None = None

    def command(self, words, paths):
        """A process of it: this program with `words`, and options whose values are files."""
        root = "/mnt" if self.tree else ""
        inner = [root + os.path.abspath(__file__), *words]
        for option, path in paths.items():
            inner += [option, root + os.path.abspath(path)] if path else []
        if not self.tree:
            return [sys.executable, *inner]
        return ["unshare", "--mount", "bash", "-ec", 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; mount --rbind / "$0/mnt"; exec chroot "$0" "$@"',
                self.tree, "python3", *inner]

    def about(self, args, env):
        return json.loads(output_of(self.command(["--torch-worker", "about", "--threads", str(args.threads)], {}), env))


def peers_of(args, env):
    """The PyTorches that there are, each with what it says about itself."""
    found = []
    if importlib.util.find_spec("torch") is not None:
        found.append(Peer())
    if pathlib.Path(args.tree, "usr", "bin", "python3").exists() and os.geteuid() == 0:
        found.append(Peer(os.path.abspath(args.tree)))
    else:
        why = "needs root" if os.geteuid() else "is not there: scripts/try-debian.sh --torch makes it"
        print(f"compare_torch: PyTorch of Debian 13 is skipped: the tree {args.tree} {why}", file=sys.stderr)
    if not found:
        check_installed()
    peers = {peer: peer.about(args, env) for peer in found}
    for peer, about in list(peers.items()):
        if "openblas" not in about["blas"] and "mkl" not in about["blas"]:
            print(f"compare_torch: PyTorch {about['torch']} is skipped: its products come from {about['blas']}, which is slow: "
                  f"apt-get install libopenblas0-openmp{' in ' + peer.tree if peer.tree else ''}", file=sys.stderr)
            del peers[peer]
    if not peers:
        raise Problem("no PyTorch has a fast library of products")
    return peers


def torch_command(peer, name, args, steps, form="f32"):
    words = ["--torch-worker", name, "--threads", str(args.threads), "--steps", str(steps), "--warmup", str(args.warmup), *FORMS[form]]
    words += ["--vocab-size", str(args.vocab_size)] if args.vocab_size else []
    return peer.command(words, {"--config": args.config, "--corpus": args.corpus})


def fastest_way(peer, about, name, args, env):
    """The setting and form in which this PyTorch takes least time. Settings are tried in f32, then forms in the best setting."""
    work = WORKS[name]
    trial = "step" if work.whole_process else name
    steps = max(min(5, args.steps), args.steps // 5)

    def tried(setting, form):
        ms = timed(torch_command(peer, trial, args, steps, form), env | TORCH_SETTINGS[setting], args)["ms_median"]
        print(f"PyTorch {about['torch']}, {form}, {setting}: {ms:.2f} ms", file=sys.stderr)
        return ms

    by_setting = {setting: tried(setting, "f32") for setting in TORCH_SETTINGS}
    setting = min(by_setting, key=by_setting.get)
    by_form = {"f32": by_setting[setting]}
    for form in FORMS if work.forms else ():
        if form != "f32" and (about["current"] or "compiled" not in form):
            try:
                by_form[form] = tried(setting, form)
            except Problem as problem:  # for example no compiler
                print(f"PyTorch {about['torch']}, {form}: {problem}", file=sys.stderr)
    return setting, min(by_form, key=by_form.get), by_form


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def compare(name, work, all_args, env, peers):
    """Times a case; returns a row for each PyTorch."""
    args = capped(work, all_args)
    command = work.ours(args, work)
    if not os.access(command[0], os.X_OK):
        raise Problem(f"there is no program {command[0]}: build it with cmake --preset dev && cmake --build --preset dev --target "
                      f"{pathlib.Path(command[0]).name}, or say with --build where it is")
    ways = {peer: fastest_way(peer, about, name, args, env) for peer, about in peers.items()}
    rounds = []
    for number in range(1, args.rounds + 1):
        ours = timed_from_outside(command, env) if work.whole_process else timed(command, env, args, work.take)
        theirs = {}
        for peer, (setting, form, _) in ways.items():
            torch_env = env | TORCH_SETTINGS[setting]
            theirs[peer] = (timed_from_outside(torch_command(peer, name, args, 1), torch_env) if work.whole_process else
                            timed(torch_command(peer, name, args, args.steps, form), torch_env, args))
        rounds.append((ours, theirs))
        said = ", ".join(f"PyTorch {peers[peer]['torch']} {result['ms_median']:.2f} ms" for peer, result in theirs.items())
        print(f"{work.title}, round {number} of {args.rounds}: ours {ours['ms_median']:.2f} ms, {said}", file=sys.stderr)

    rows = []
    for peer, (setting, form, by_form) in ways.items():
        pairs = [(ours, theirs[peer]) for ours, theirs in rounds]
        row = {
            "work": work.title, "torch": peers[peer]["torch"], "torch_setting": setting, "torch_form": form, "torch_trials_ms": by_form,
            "ours_ms": spread([ours["ms_median"] for ours, _ in pairs]),
            "torch_ms": spread([torch["ms_median"] for _, torch in pairs]),
            "ratio": spread([torch["ms_median"] / ours["ms_median"] for ours, torch in pairs])}
        if "peak_bytes" in pairs[0][0]:
            row["peak_mb"] = {"ours": max(ours["peak_bytes"] for ours, _ in pairs) / 1e6,
                              "torch": max(torch["peak_bytes"] for _, torch in pairs) / 1e6}
        rows.append(row | {"rounds": [{"ours": ours, "torch": torch} for ours, torch in pairs]})
    return rows


def rows_of(name, work, args, env, peers):
    try:
        return compare(name, work, args, env, peers)
    except Problem as problem:
        print(f"{work.title}: {problem}", file=sys.stderr)
        return [{"work": work.title, "problem": str(problem), "code": problem.code}]


def print_table(results):
    def cell(values):
        return f"{values['median']:.2f} ({values['min']:.2f} - {values['max']:.2f})"

    rows = [("work", "ours, ms", "PyTorch", "PyTorch, ms", "PyTorch / ours", "peak MB, ours and PyTorch", "PyTorch runs")]
    for r in results:
        if "problem" in r:
            rows.append((r["work"], "-", "-", "-", "-", "-", "not run: " + r["problem"].split(":")[0]))
            continue
        memory = f"{r['peak_mb']['ours']:.0f}, {r['peak_mb']['torch']:.0f}" if "peak_mb" in r else ""
        rows.append((r["work"], cell(r["ours_ms"]), r["torch"], cell(r["torch_ms"]), cell(r["ratio"]), memory,
                     f"{r['torch_form']}; {r['torch_setting']}"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def check_installed():
    if importlib.util.find_spec("torch") is None:
        raise Problem(f"{sys.executable} has no PyTorch: apt-get install python3-torch libopenblas0-openmp, and run this with "
                      "/usr/bin/python3")


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = ROOT.parent / "shared" / "data" / "tinyshakespeare.txt"
    parser.add_argument("--work", choices=WORKS, nargs="+", action="extend", help="only these cases (default: all except the long ones)")
    parser.add_argument("--long", action="store_true", help="also the long cases, which take minutes: " +
                        ", ".join(name for name, work in WORKS.items() if work.long))
    parser.add_argument("--threads", type=positive, default=len(os.sched_getaffinity(0)), help="threads of both programs (default: all, %(default)s here)")
    parser.add_argument("--rounds", type=positive, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--steps", type=positive, default=30, help="timed steps of each run, fewer for long cases (default: %(default)s)")
    parser.add_argument("--warmup", type=positive, default=5, help="untimed steps before them (default: %(default)s)")
    parser.add_argument("--config", help="configuration for the case 'step': another model, batch and optimizer")
    parser.add_argument("--vocab-size", type=positive, help="vocabulary size if the configuration does not set it")
    parser.add_argument("--corpus", default=str(shared) if shared.exists() else None, help="tinyshakespeare.txt, for the recipe")
    parser.add_argument("--build", default=str(ROOT / "build" / "dev"), help="build folder with the programs (default: %(default)s)")
    parser.add_argument("--tree", default=str(ROOT / "build" / "torch-tree"), help="Debian tree with another PyTorch (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every round")
    parser.add_argument("--torch-worker", choices=["about", *WORKS], help=argparse.SUPPRESS)
    parser.add_argument("--autocast", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.corpus = args.corpus and str(pathlib.Path(args.corpus).resolve())
    return args


def main(args):
    if args.torch_worker:
        work = WORKS.get(args.torch_worker)
        torch_works.torch_worker(work, work and torch_config(work, args), args)
        return
    works = {name: work for name, work in WORKS.items() if name in (args.work or [n for n, w in WORKS.items() if args.long or not w.long])}
    for name, work in works.items():  # missing programs are reported before anything runs
        model_shape(torch_config(work, args)), needed(torch_config(work, args), "train", "batch_size")
        if work.whole_process and not args.corpus:
            raise Problem(f"--work {name} needs a text: --corpus tinyshakespeare.txt")
    env = environment(args.threads)
    peers = peers_of(args, env)
    results = [row for name, work in works.items() for row in rows_of(name, work, args, env, peers)]
    if all("problem" in r for r in results):
        raise Problem("no work could be run", max(r["code"] for r in results))
    if args.json:
        print(json.dumps({"threads": args.threads, "torch": list(peers.values()), "openblas_coretype": env.get("OPENBLAS_CORETYPE"),
                          "works": results}))
    else:
        print(f"{args.threads} threads, {args.rounds} rounds; " + "; ".join(f"PyTorch {about['torch']}, {about['blas']}" for about in peers.values()))
        print_table(results)


if __name__ == "__main__":
    try:
        main(parse())
    except Problem as problem:
        print(f"compare_torch: {problem}", file=sys.stderr)
        sys.exit(problem.code)
    except KeyboardInterrupt:
        sys.exit(130)
