"""Trains one model on several ranks under a launcher, and compares them with one process: ranks_test.py DIKKAT SOURCE_DIR MPIRUN [PART...]. Equal means the same bytes of
the last checkpoint, and the same metrics except for times. Without parts, all are run: bits, preferences, vectors, resume, refusals, death."""
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

program, source, mpirun = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), shutil.which(sys.argv[3])
is_open_mpi = "openmpi" in sys.argv[3]
failures = []

STEPS = 6
COMMON = ["model.n_layer=2", "model.n_head=2", "model.n_embd=32", "model.block_size=24", "train.batch_size=2", "train.gradient_accumulation_steps=8",
          "train.lanes=8", f"train.max_steps={STEPS}", "train.eval_interval=3", "train.eval_tokens=480", "train.checkpoint_interval=2", "train.keep_last=9",
          "optim.warmup_steps=2", "model.dropout=0.1"]
TALES = ["--corpus", str(source / "data/tales.txt")]
KINDS = {
    "adamw": TALES,
    "muon": [*TALES, "--set", "optim.kind=muon", "optim.muon_normalize=true", "optim.ema_decay=0.9", "train.recompute=block", "train.quantize=q4",
             "train.quantize_share=0.5"],
    "bpe": [*TALES, "--set", "tokenizer.kind=bpe", "tokenizer.vocab_size=300", "train.precision=bf16", "train.emulate_bf16=true", "train.async_save=false",
            "train.accumulation_schedule=3:16", "optim.kind=muon", "train.recompute=cheap"],
    "pairs": ["--config", "frozen.toml", "--corpus", str(source / "data/pairs.tsv"), "--set", "optim.kind=sgd"],
}


def environment(threads):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command_of(ranks, words):
    if ranks == 0:
        return [program, *words]
    options = ["--oversubscribe", "--bind-to", "none"] if is_open_mpi else []
    return [mpirun, *options, "-n", str(ranks), program, *words]


def run(ranks, *words, threads=1, check=True):
    done = subprocess.run(command_of(ranks, words), env=environment(threads), capture_output=True, text=True, timeout=300, cwd=folder)
    if check and done.returncode != 0:
        sys.exit(f"{ranks} ranks, {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done


def train(ranks, out, kind="adamw", more=(), **options):
    words = KINDS[kind]
    cut = words.index("--set") if "--set" in words else len(words)
    return run(ranks, "train", *words[:cut], "--out", out, "--quiet", "--set", *COMMON, *words[cut + 1:], *more, **options)


def sha256(out, step=STEPS):
    return hashlib.sha256((folder / out / f"checkpoints/step-{step:09}.h5").read_bytes()).hexdigest()


def metrics(out):
    """The metrics without values that depend on the clock or the machine."""
    lines = []
    for line in map(json.loads, (folder / out / "metrics.jsonl").read_text().splitlines()):
        if line["event"] in ("step", "eval"):
            lines.append({key: value for key, value in line.items() if key not in ("ms", "tokens_per_s", "mfu", "optimizer_ms", "memory", "time", "exchange_ms", "exchange_wait_ms")})
    return lines


def expect(holds, what):
    print(("ok     " if holds else "FAILED ") + what, flush=True)
    if not holds:
        failures.append(what)


def expect_same(out, other, what):
    expect(sha256(out) == sha256(other), f"{what}: the same checkpoint")
    expect(metrics(out) == metrics(other), f"{what}: the same metrics")


def until(holds, seconds=10):
    """Whether the condition holds before the time is over."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def handles(pid, number):
    """Whether the process has a handler for the signal."""
    caught = next(line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (number - 1) & 1 == 1


def bits():
    for kind in KINDS:
        train(0, f"{kind}-alone", kind)
        for ranks, threads in ((2, 1), (8, 1)) if kind == "adamw" else ((4, 2),):
            train(ranks, f"{kind}-{ranks}", kind, threads=threads)
            expect_same(f"{kind}-{ranks}", f"{kind}-alone", f"{kind} on {ranks} ranks of {threads} threads")
    run(0, "train", *TALES, "--out", "base", "--quiet", "--set", *COMMON, "train.max_steps=2")
    tune = ["finetune", "base", "--data", source / "data/tales.txt", "--quiet", "--set", *COMMON, "model.dropout=0", "lora.rank=4", "train.patience=0"]
    run(0, *tune, "--out", "tuned-alone")
    run(2, *tune, "--out", "tuned-2")
    expect_same("tuned-2", "tuned-alone", "adapters on 2 ranks")


def preferences():
    """Pairs, judged answers and a student: the reference's log-probabilities are shared work, and KTO's estimate belongs to a micro-batch."""
    words = (source / "data/tales.txt").read_text().split()[:400]
    answers = [" ".join(words[5 * i:5 * i + 2 + i % 4]) for i in range(64)]
    pairs = [{"prompt": answers[(7 * i) % 64], "chosen": answers[i], "rejected": answers[(i + 5) % 64]} for i in range(64)]
    judged = [{"prompt": answers[(7 * i) % 64], "completion": answers[i], "label": i % 3 > 0} for i in range(64)]
    for name, lines in (("pairs", pairs), ("judged", judged)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = [*COMMON, "model.dropout=0", "model.block_size=96", "train.eval_tokens=0"]
    bpe = ["tokenizer.kind=bpe", "tokenizer.vocab_size=300"]
    run(0, "train", *TALES, "--out", "answering", "--quiet", "--set", *model, *bpe, "train.max_steps=2")
    for name, out, more in (("pairs", "dpo", ["lora.rank=4"]), ("judged", "kto", [])):
        tune = ["finetune", "answering", "--data", f"{name}.jsonl", "--quiet", *([] if more else ["--full"]), "--set", *model, "train.patience=0", *more]
        run(0, *tune, "--out", f"{out}-alone")
        run(2, *tune, "--out", f"{out}-2")
        expect_same(f"{out}-2", f"{out}-alone", f"{out} on 2 ranks")
        expect(metrics(f"{out}-2")[-1]["rewards_accuracy"] is not None, f"{out} has preferences")
        reference = [(folder / run_directory / "reference.json").read_bytes() for run_directory in (f"{out}-alone", f"{out}-2")]
        expect(reference[0] == reference[1], f"{out} on 2 ranks: the same reference")
    cut = ["data.val_fraction=0.9"]
    run(0, "teach", "answering", "--data", source / "data/tales.txt", "--out", "taught", "--top", "8", "--set", *cut)
    for ranks, out in ((0, "student-alone"), (2, "student-2")):
        run(ranks, "train", *TALES, "--out", out, "--quiet", "--set", *model, *cut, "tokenizer.path=answering", "distill.file=taught", "train.eval_tokens=480")
    expect_same("student-2", "student-alone", "a student on 2 ranks")


def vectors():
    """Pairs of texts: ranks share the vectors of a step, so each compares all of its pairs. Dropout is on, and rows have different lengths."""
    words = (source / "data/tales.txt").read_text().split()[:900]
    pairs = [{"query": " ".join(words[9 * i:9 * i + 1 + i % 4]), "document": " ".join(words[9 * i + 4:9 * i + 6 + i % 3]),
              **({"negative": words[i]} if i % 3 == 0 else {})} for i in range(90)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    run(0, "train", *TALES, "--out", "read", "--quiet", "--set", *COMMON, "train.max_steps=2")
    tune = ["finetune", "read", "--data", "texts.jsonl", "--objective", "embedding", "--quiet", "--full", "--set", *COMMON, "embedding.batch=32"]
    for ranks in (0, 2, 4):
        run(ranks, *tune, "train.patience=0", "--out", f"vectors-{ranks}")
    for ranks in (2, 4):
        expect_same(f"vectors-{ranks}", "vectors-0", f"vectors on {ranks} ranks")
    expect(metrics("vectors-2")[-1]["mrr"] is not None, "vectors-2 has a search")


def resume():
    train(0, "whole")
    train(0, "parts", more=["train.max_steps=2", f"optim.decay_steps={STEPS}"])
    run(4, "resume", "parts", "--quiet", "--set", "train.max_steps=4")
    run(2, "resume", "parts", "--quiet", "--set", f"train.max_steps={STEPS}")
    weights = lambda out: json.loads(run(0, "eval", out, "--newest", "--json").stdout)["loss"]
    expect(weights("parts") == weights("whole"), "2 steps in one process, 2 on four ranks and 2 on two: the weights of one go")
    done = run(2, "resume", "whole")
    expect(names(done, "dikkat resume whole --set train.max_steps="), f"a finished run is reported, and all ranks end: {done.stderr}")


def names(done, *fragments):
    """Whether standard error names all of these: ranks, keys, paths, numbers."""
    return all(fragment in done.stderr for fragment in fragments)


def refused_once(done, *fragments):
    return done.returncode == 2 and done.stderr.count("dikkat:") == 1 and names(done, *fragments)


def two_programs(first, second):
    """Runs one program as rank 0 and another as rank 1. mpirun's own notation for it, with a colon, crashes Open MPI 5.0.7."""
    choice = f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ]; then exec {shlex.join(map(str, second))}; else exec {shlex.join(map(str, first))}; fi'
    options = ["--oversubscribe", "--bind-to", "none"] if is_open_mpi else []
    return subprocess.run([mpirun, *options, "-n", "2", "sh", "-c", choice], env=environment(1), capture_output=True, text=True, cwd=folder, timeout=60)


def refusals():
    done = train(2, "refused", more=["train.lanes=1"], check=False)
    expect(refused_once(done, "train.lanes", " 1", " 2 "), f"too few lanes are refused, by one rank: {done.stderr}")
    done = run(2, "train", "--corpus", "missing.txt", "--out", "refused", "--set", *COMMON, check=False)
    expect(refused_once(done, "missing.txt"), f"a missing corpus is reported once: {done.stderr}")
    done = run(2, "train", *TALES, "--out", "refused", check=False)
    expect(done.returncode == 2 and names(done, "--set train.gradient_accumulation_steps=2"), f"a step that cannot be shared is reported with what works: {done.stderr}")
    (folder / "other.txt").write_text((source / "data/tales.txt").read_text().replace("the", "teh", 1))
    one = [program, "train", *TALES, "--out", "refused", "--set", *COMMON]
    other = [program, "train", "--corpus", "other.txt", "--out", "refused", "--set", *COMMON]
    done = two_programs(one, other)
    expect(done.returncode == 2 and names(done, "rank 1 on ", "corpus", "rank 0"), f"another corpus is refused: {done.stderr}")
    other[other.index("other.txt")] = "missing.txt"
    done = two_programs(one, other)
    expect(done.returncode == 2 and names(done, "dikkat: rank 1 on ", "missing.txt"), f"a corpus that one rank lacks is reported: {done.stderr}")
    done = two_programs(one, ["env", "DIKKAT_TRANSPORT=/nowhere.so", *one])
    expect(done.returncode != 0 and names(done, "dikkat: rank 1 on ", "/nowhere.so"), f"a rank without a transport ends all: {done.stderr}")
    for more, fragment in ((["--corpus", "-"], "standard input"), ([*TALES, "--verify-resume"], "--verify-resume")):
        done = run(2, "train", *more, "--out", "refused", "--set", *COMMON, check=False)
        expect(refused_once(done, fragment), f"{more[-1]} is refused once: {done.stderr}")
    done = run(2, "resume", "nowhere", check=False)
    expect(refused_once(done, "nowhere"), f"a missing run is reported once: {done.stderr}")
    done = subprocess.run([program, "train", *TALES, "--out", "refused"], env={**environment(1), "SLURM_STEP_NUM_TASKS": "4"}, capture_output=True, text=True, cwd=folder)
    expect(refused_once(done, " 4 ", "srun --mpi=pmix"), f"tasks that MPI does not connect: {done.stderr}")
    for variables, code in (({}, 143), ({"PMI_RANK": "1"}, -signal.SIGTERM)):  # MPICH's launcher must see a signal when a rank ends before it is connected
        waiting = subprocess.Popen([program, "train", "--corpus", "-"], env={**environment(1), **variables}, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
        until(lambda: handles(waiting.pid, signal.SIGTERM))
        waiting.send_signal(signal.SIGTERM)
        expect(waiting.wait(60) == code, f"a signal to a process that loads ends it with {code}: {waiting.returncode}, {variables}")
    done = subprocess.run([program, "train", *TALES, "--out", "refused"], env={**environment(1), "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}, capture_output=True, text=True, cwd=folder)
    expect(done.returncode == 0 and done.stderr == "", "and only the first of them reports it")
    done = run(3, "train", *TALES, "--out", "refused", "--set", *COMMON, check=False)
    expect(refused_once(done, "3 ", "2, 4, 8"), f"three ranks are refused once: {done.stderr}")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    expect("libmpi" not in libraries, "the program links no MPI")
    expect(not (folder / "refused").exists(), "nothing is written")


def processes_of(out):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and out.encode() in command_line(pid) and str(program).encode() == command_line(pid).split(b"\0")[0]]


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def death():
    train(0, "unbroken", more=["train.max_steps=400", "train.eval_interval=1000", "train.checkpoint_interval=20", "train.rank_timeout=3"])
    words = ["train", *TALES, "--out", "killed", "--quiet", "--set", *COMMON, "train.max_steps=400", "train.eval_interval=1000", "train.checkpoint_interval=20"]
    words.append("train.rank_timeout=3")
    for end in (signal.SIGKILL, signal.SIGUSR1, signal.SIGSTOP):
        shutil.rmtree(folder / "killed", ignore_errors=True)
        job = subprocess.Popen([str(word) for word in command_of(2, words)], env=environment(1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
        if not until(lambda: (folder / "killed/checkpoints/step-000000040.h5").exists() or job.poll() is not None, 120) or job.poll() is not None:
            job.kill()
            sys.exit(f"{end.name}: no checkpoint of step 40: {job.stderr.read()}")
        ranks = processes_of("killed")
        expect(len(ranks) == 2, f"two ranks run: {ranks}")
        os.kill(ranks[-1], end)
        stderr = job.communicate(timeout=120)[1]
        expect(until(lambda: processes_of("killed") == []), f"{end.name}: no process is left")
        if end == signal.SIGUSR1:
            last = json.loads((folder / "killed/metrics.jsonl").read_text().splitlines()[-1])
            expect(last["event"] == "stop", f"one rank's signal stops all in order: {last}, {stderr}")
            expect(job.returncode == 128 + end, f"and is the exit code: {job.returncode}")
        if end == signal.SIGSTOP:
            expect(all(word in stderr for word in ("dikkat: rank 1 on ", " 3 ", "train.rank_timeout", "killed/checkpoints/step-")), f"a rank that is silent is named: {stderr}")
        run(0, "verify", "killed")
        run(2, "resume", "killed", "--quiet")
        expect(sha256("killed", 400) == sha256("unbroken", 400), f"{end.name}: the last checkpoint goes on to the bits of an unbroken run")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    recipe = (source / "configs/encoder-decoder-tiny.toml").read_text()
    (folder / "frozen.toml").write_text(recipe + "\n[[optim.groups]]\nmatch = \"*.bias\"\nfrozen = true\n")
    for part in sys.argv[4:] or ("bits", "preferences", "vectors", "resume", "refusals", "death"):
        globals()[part]()
sys.exit("\n".join(["these failed:", *failures]) if failures else 0)  # again at the end: the middle of a long log is easily lost
