"""Starts and resumes of ranks (mpirun) that cannot work: each is refused with a message, and changes nothing."""

import dataclasses
import os
import re
import shutil
import signal

import kills
from bench import (REFUSED, Failed, NotReached, checkpoint_name, metric_lines, require, require_same_result, require_whole, result_of, settings,
                   steps_in)
from jobs import (FEW, LANES, PATIENCE, SHORT, Job, begin_arguments, cases_of, transport_of, go_on, half_done, launchers, of_rank, require_sentence,
                  setups, undisturbed)


def refused(outcome, folder, *words, once=True, codes=(2,)):
    outcome.require_code(*codes)
    require_sentence(outcome, *words, once=once)
    require(not (folder / "run").exists(), "a run was begun")


def another_program(bench):
    """A copy of the program that claims to be compiled by another compiler."""
    def make():
        folder = bench.make_folder("program")
        bytes_of_it = bench.program.read_bytes()
        named = re.search(rb"(gcc|clang) \d+\.\d", bytes_of_it)
        require(named, "the program does not say which compiler made it")
        at = named.end() - 1
        (folder / "dikkat").write_bytes(bytes_of_it[:at] + (b"8" if bytes_of_it[at:at + 1] == b"9" else b"9") + bytes_of_it[at + 1:])
        (folder / "dikkat").chmod(0o755)
        for launcher in launchers(bench):
            shutil.copy(transport_of(bench, launcher), folder)
        return folder / "dikkat"
    return bench.once("another program", make)


def wrong_start(setup, kind):
    def run(bench, random):
        folder = bench.make_folder("start")
        values = setup.values(FEW)
        begin = begin_arguments(values)
        odd = random.randrange(1, setup.ranks)
        start = lambda arguments=begin, setup=setup, **options: Job(bench, folder, setup, arguments, **options).wait()  # noqa: E731
        without_connection = (2, signal.SIGKILL)  # MPICH's launcher must see a signal
        if kind == "singletons":
            processes = [bench.start(folder, begin, threads=1, variables={"SLURM_STEP_NUM_TASKS": str(setup.ranks)}) for _ in range(setup.ranks)]
            for outcome in [process.wait(PATIENCE) for process in processes]:
                refused(outcome, folder, f" {setup.ranks} ", "srun --mpi=pmix")
        elif kind == "too few lanes":
            refused(start(begin_arguments({**values, "train.lanes": setup.ranks // 2})), folder, "train.lanes", f" {setup.ranks} ")
        elif kind == "passes that do not divide":
            rest = {key: value for key, value in values.items() if key != "train.lanes"}
            odd_passes = begin_arguments({**rest, "train.gradient_accumulation_steps": setup.ranks + 1})
            refused(start(odd_passes), folder, "--set train.gradient_accumulation_steps=")
        elif kind == "three ranks":
            refused(start(setup=dataclasses.replace(setup, ranks=3)), folder, "3 ", "2, 4, 8")
        elif kind == "another corpus":
            text = bench.once("another text", lambda: make_text(bench))
            other = [*begin, "--set", f'data.corpus=["{text}"]']
            refused(start(arguments_of={odd: other}), folder, of_rank(odd), "corpus", "rank 0")
        elif kind == "another configuration":
            other = begin_arguments({**values, "optim.learning_rate": 0.02})
            refused(start(arguments_of={odd: other}), folder, of_rank(odd), "configuration", "rank 0")
        elif kind == "another seed":
            other = begin_arguments({**values, "train.seed": 77})
            refused(start(arguments_of={odd: other}), folder, of_rank(odd), "rank 0")
        elif kind == "another program":
            refused(start(other={odd: another_program(bench)}), folder, of_rank(odd), "rank 0", "-O")
        elif kind == "no transport":
            program = bench.once("without transports", lambda: without_transports(bench))
            refused(start(other={rank: program for rank in range(setup.ranks)}), folder, f"dikkat-{setup.launcher}.so", once=False,
                    codes=without_connection)
        elif kind == "no transport on one rank":
            outcome = start(before={odd: ["env", "DIKKAT_TRANSPORT=/nowhere.so"]})
            refused(outcome, folder, of_rank(odd), "/nowhere.so", codes=without_connection)
        elif kind == "a missing corpus":
            refused(start([*begin, "--set", 'data.corpus=["missing.txt"]']), folder, "missing.txt")
        elif kind == "a corpus missing on one rank":
            refused(start(arguments_of={odd: [*begin, "--set", 'data.corpus=["missing.txt"]']}), folder, of_rank(odd), "missing.txt")
        elif kind == "a wrong configuration":
            refused(start([*begin, "--set", "train.batch_size=0"]), folder, "train.batch_size")
        elif kind == "--verify-resume":
            refused(start([*begin, "--verify-resume"]), folder, "--verify-resume")
        elif kind == "a run that is there":
            (folder / "run").mkdir()
            (folder / "run" / "mine").write_text("mine")
            outcome = start()
            outcome.require_code(2)
            require_sentence(outcome, "run", "mine", once=True)
            require(os.listdir(folder / "run") == ["mine"], "something was written:", os.listdir(folder / "run"))
        elif kind == "nothing to resume":
            refused(start(["resume", "run"]), folder, "run", once=True)
        else:
            raise Failed(f"no such start: {kind}")
        shutil.rmtree(folder)
        return REFUSED
    return run


def make_text(bench):
    text = bench.folder / "another.txt"
    text.write_text((bench.folder / "text.txt").read_text().replace("ships", "boats", 1))
    return text


def without_transports(bench):
    folder = bench.make_folder("without")
    shutil.copy(bench.program, folder / "dikkat")
    return folder / "dikkat"


def wrong_resume(setup, kind):
    """A resume that is refused changes nothing, or continues if asked to."""
    def run(bench, random):
        expected = undisturbed(bench, setup, SHORT)[0]
        folder = kills.copy_of(bench, half_done(bench, setup, SHORT), "resume")
        steps = steps_in(folder / "run")
        odd = random.randrange(1, setup.ranks)
        if kind == "too many ranks":
            outcome = Job(bench, folder, dataclasses.replace(setup, ranks=2 * LANES), ["resume", "run"]).wait()
            outcome.require_code(2)
            require_sentence(outcome, "train.lanes", f" {LANES}", f" {2 * LANES} ", once=True)
        elif kind == "another folder":
            (folder / "elsewhere").mkdir()
            outcome = Job(bench, folder, setup, ["resume", "run"], before={odd: ["env", "-C", folder / "elsewhere"]}).wait()
            outcome.require_code(1, 2)
            require_sentence(outcome, of_rank(odd), checkpoint_name(max(steps)), once=True)
        elif kind == "in use":
            holder = bench.start(folder, ["resume", "run", *settings({"train.max_steps": 1_000_000})], threads=1)
            try:
                require(holder.until(lambda: metric_lines(folder / "run") >= 20), "the holder ended:", holder.err()[-300:])
                outcome = Job(bench, folder, setup, ["resume", "run"]).wait()
                outcome.require_code(2)
                require_sentence(outcome, "run", f" {holder.pid}", once=True)
            finally:
                holder.kill_if_running()
            require_whole(bench, folder)
            shutil.rmtree(folder)
            return REFUSED
        elif kind == "damaged":
            newest = folder / "run" / "checkpoints" / checkpoint_name(max(steps))
            whole = bytearray(newest.read_bytes())
            whole[random.randrange(len(whole))] ^= 1 << random.randrange(8)
            newest.write_bytes(whole)
            outcome = Job(bench, folder, setup, ["resume", "run"]).wait()
            outcome.require_code(2)
            require_sentence(outcome, newest.name, once=True)
            if len(steps) == 1:
                raise NotReached()
            outcome = Job(bench, folder, setup, ["resume", "run", "--latest-good"]).wait()
            outcome.require_code(0)
            require_same_result(result_of(folder / "run", SHORT["train.max_steps"]), expected)
            shutil.rmtree(folder)
            return REFUSED
        require(steps_in(folder / "run") == steps, "checkpoints changed:", steps, steps_in(folder / "run"))
        go_on(bench, folder, setup, SHORT, expected, random)
        shutil.rmtree(folder)
        return REFUSED
    return run


STARTS = ("singletons", "too few lanes", "passes that do not divide", "three ranks", "another corpus", "another configuration", "another seed",
          "another program", "no transport", "no transport on one rank", "a missing corpus", "a corpus missing on one rank", "a wrong configuration",
          "--verify-resume", "a run that is there", "nothing to resume")
RESUMES = ("too many ranks", "another folder", "in use", "damaged")


def rank_starts(bench):
    turn = setups(bench)

    def cases():
        for kind in STARTS:
            if bench.long or kind in ("singletons", "another corpus", "another program"):
                for _ in range(3 if bench.long else 1):
                    setup = next(turn)
                    yield f"{kind}; {setup.name}", wrong_start(setup, kind)
        for kind in RESUMES:
            for _ in range(3 if bench.long else kind == "damaged"):
                setup = next(turn)
                yield f"resume: {kind}; {setup.name}", wrong_resume(setup, kind)
    return cases_of(bench, cases())
