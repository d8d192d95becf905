"""Failing system calls while a run saves: injected by strace, on a full file system, and with a limit on the size of files."""

import errno
import os
import shutil
import subprocess

import kills
import traced
from bench import (REFUSED, SURVIVED, Case, NotReached, Skipped, checkpoint_name, finish, reference, require, require_same_result,
                   require_whole, result_of, settings, steps_in)

STEPS = kills.STEPS


def name_of(code):
    """The name by which strace injects an error. Python knows this one by its other name."""
    return "EOPNOTSUPP" if code == errno.EOPNOTSUPP else errno.errorcode[code]


# The calls that every save needs: if one of them fails without a message, the save was lost silently.
NEEDED = ("fallocate", "pwrite64", "ftruncate", "fsync", "rename")


def judge(bench, folder, outcome, values, log, before, code, silent=False, needed=False):
    """Checks a run in which a call failed with the errno `code` (None: any). `needed`: the run must have failed."""
    if not traced.came(log):
        require(outcome.code == 0, "no fault came, and it failed:", outcome.last_words()[:300])
        raise NotReached()
    require(not needed or outcome.code != 0, "the error was not told, and the run ended well")
    outcome.require_code(0, 1, 2)  # 2: a folder that cannot be listed is an error that people can correct
    steps = require_whole(bench, folder)
    expected = traced.steps_left(log, before)
    require(steps == expected, f"checkpoints {steps} are there, expected {expected}")
    left = [path.name for path in (folder / "run").rglob(".tmp-*")]
    require(not left, "temporary files were left behind:", left)
    result = reference(bench, STEPS, values)[0]
    if outcome.code == 0:
        require_same_result(result_of(folder / "run", STEPS), result)
        return SURVIVED
    if not silent and not traced.words_lost(log):
        outcome.require_message(*([os.strerror(code)] if code is not None else []), alone=False)
    finish(bench, folder, None, STEPS, result)
    return REFUSED


def fail_at(event, values, effect, for_ever, code, silent=False):
    def run(bench, _):
        folder = kills.copy_of(bench, kills.half_done(bench, values), "error")
        log = folder / "log"
        when = f"{event.ordinal}{'+' if for_ever else ''}"
        outcome = bench.run(folder, ["resume", "run"], before=traced.injecting(log, event.call, effect, when))
        needed = event.call in NEEDED and code not in (None, errno.EINTR)
        verdict = judge(bench, folder, outcome, values, log, steps_in(kills.half_done(bench, values) / "run"), code, silent, needed)
        shutil.rmtree(folder)
        return verdict
    return run


def fail_in_the_beginning(event, is_new, values, code):
    """An error before the first step: the run begins all the same, or reports why it does not."""
    def run(bench, _):
        begin = begin_arguments(values)
        before = kills.half_done(bench, values)
        folder = bench.make_folder("error") if is_new else kills.copy_of(bench, before, "error")
        log = folder / "log"
        outcome = bench.run(folder, begin if is_new else ["resume", "run"],
                            before=traced.injecting(log, event.call, f"error={name_of(code)}", event.ordinal))
        if not traced.came(log):
            require(outcome.code == 0, "no fault came, and it failed:", outcome.last_words()[:300])
            raise NotReached()
        outcome.require_code(0, 1, 2)
        require(event.call not in NEEDED or outcome.code != 0, "the error was not told, and the run went on")
        result = reference(bench, STEPS, values)[0]
        if outcome.code == 0:
            require_same_result(result_of(folder / "run", STEPS), result)
            return SURVIVED
        if not traced.words_lost(log):
            outcome.require_message(alone=False)
        steps = require_whole(bench, folder)
        require(is_new or set(steps) >= set(steps_in(before / "run")), "checkpoints are gone; there are", steps)
        if (folder / "run").exists():
            finish(bench, folder, begin, STEPS, result)
        shutil.rmtree(folder)
        return REFUSED
    return run


def fail_and_go_on(event, code):
    """An error within a save, with on_failed_save = "continue": the run reports it and continues, unless it hits the last checkpoint."""
    values = {"train.on_failed_save": "continue", "train.async_save": True}

    def run(bench, _):
        folder = kills.copy_of(bench, kills.half_done(bench, values), "continue")
        log = folder / "log"
        outcome = bench.run(folder, ["resume", "run"],
                            before=traced.injecting(log, event.call, f"error={name_of(code)}", event.ordinal))
        if not traced.came(log):
            raise NotReached()
        outcome.require_code(0, 1)
        require(os.strerror(code) in outcome.err, "the error is not reported:", outcome.err[-300:])
        steps = require_whole(bench, folder)
        result = reference(bench, STEPS, values)[0]
        if outcome.code == 1:
            said = outcome.last_words()
            begun = "/metrics.jsonl: " not in said and "/config.toml: " not in said  # another thread writes these before the first step
            require(checkpoint_name(STEPS) in said or not begun, "it ended over another checkpoint than the last:", said)
            require(STEPS not in steps, "the last checkpoint is there")
            verdict = REFUSED
        else:
            require(STEPS in steps, "it ended well without its last checkpoint; there are", steps)
            # Except the best one, which may not have been saved.
            found = result_of(folder / "run", STEPS)
            require(found["metrics"] == result["metrics"], "silently wrong: the metrics differ from those of the undisturbed run")
            verdict = SURVIVED
        shutil.rmtree(folder)
        return verdict
    return run


FAILING = ("openat", "fallocate", "pwrite64", "pread64", "ftruncate", "fsync", "close", "rename", "unlink", "write", "newfstatat",
           "getdents64")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EINTR")


def by_strace(bench):
    for asynchronous in (False, True):
        values = {"train.async_save": asynchronous}
        mode = "async" if asynchronous else "sync"
        events = kills.calls_of_saves(bench, values)
        if bench.long:
            events = kills.chosen(events, True, 0)
        events = [e for e in events if e.call in FAILING]
        if not bench.long:
            # The first, a middle and the last call of each kind, with alternating errors.
            events = [e for call in FAILING for of_kind in [[e for e in events if e.call == call]] if of_kind
                      for e in ([of_kind[0], of_kind[len(of_kind) // 2], of_kind[-1]] if not asynchronous else of_kind[-1:])]
        for number, event in enumerate(events):
            kinds = [(error, for_ever) for error in ERRORS for for_ever in (False, True)]
            if not bench.long or event.call in ("pread64", "pwrite64"):  # hundreds of calls, so that each kind has its share of them
                kinds = [kinds[(number * 3) % 8]]
            for error, for_ever in kinds:
                # If nothing can be written any more, no message can be expected.
                silent = event.call == "write" and for_ever
                yield Case(f"{mode} {event.name} {error}{' for ever' if for_ever else ''}",
                           fail_at(event, values, f"error={error}", for_ever, getattr(errno, error), silent))
        # A disk that loses a write and reports success: reading back must find it.
        writes = [e for e in events if e.call == "pwrite64" and e.wanted_bytes() > 0]
        for event in writes if bench.long else writes[-2:]:
            yield Case(f"{mode} {event.name} lost", fail_at(event, values, f"retval={event.wanted_bytes()}", False, None))
            if event.wanted_bytes() > 1:
                yield Case(f"{mode} {event.name} lost in part", fail_at(event, values, f"retval={event.wanted_bytes() // 2}", False, None))


    yield from lacking_file_systems(bench)
    values = {"train.async_save": False}
    pairs = [(event, is_new) for event, is_new in kills.calls_of_beginnings(bench, values) if event.call in FAILING]
    for number, (event, is_new) in enumerate(pairs):
        if bench.long or number % (len(pairs) // 12 + 1) == 0:
            code = (errno.ENOSPC, errno.EIO, errno.EDQUOT)[number % 3]
            yield Case(f"{'train' if is_new else 'resume'} {event.name} {name_of(code)}",
                       fail_in_the_beginning(event, is_new, values, code))
    values = {"train.on_failed_save": "continue", "train.async_save": True}
    events = [e for e in kills.calls_of_saves(bench, values) if e.call in NEEDED and "metrics" not in e.text]
    for number, event in enumerate(events):
        if number % (7 if bench.long else len(events) // 8 + 1) == 0:
            code = (errno.ENOSPC, errno.EIO, errno.EDQUOT)[number % 3]
            yield Case(f"going on {event.name} {name_of(code)}", fail_and_go_on(event, code))


def go_on_without(call, code, is_new):
    """A file system that does not support the call: only a guard is missing, so the run warns and continues to the same bits."""
    values = {"train.async_save": False}

    def run(bench, _):
        folder = bench.make_folder("lacking") if is_new else kills.copy_of(bench, kills.half_done(bench, values), "lacking")
        log = folder / "log"
        outcome = bench.run(folder, begin_arguments(values) if is_new else ["resume", "run"],
                            before=traced.injecting(log, call, f"error={name_of(code)}", "1+"))
        require(traced.came(log), "the call was not made")
        outcome.require_code(0)
        imitated = call == "fallocate" and code == errno.EOPNOTSUPP  # by the C library, which writes instead
        require(imitated or os.strerror(code) in outcome.err, "no warning:", outcome.err[-300:])
        require_same_result(result_of(folder / "run", STEPS), reference(bench, STEPS, values)[0])
        shutil.rmtree(folder)
        return SURVIVED
    return run


def lacking_file_systems(bench):
    for call in ("flock", "fsync", "fallocate"):
        for code in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL) + ((errno.ENOLCK,) if call == "flock" else ()):
            for is_new in (True, False) if bench.long else (code == errno.ENOSYS,):
                yield Case(f"{'train' if is_new else 'resume'} without {call} {name_of(code)}", go_on_without(call, code, is_new))


def begin_arguments(values):
    return kills.begin_arguments(values)


def bytes_of_a_checkpoint(bench):
    def make():
        folder = bench.make_folder("size")
        outcome = bench.run(folder, ["train", "--config", "tiny.toml", "--out", "run", *settings({"train.max_steps": 1})])
        require(outcome.code == 0, "the run to measure failed:", outcome.last_words())
        return (folder / "run" / "checkpoints" / checkpoint_name(1)).stat().st_size
    return bench.once("bytes of a checkpoint", make)


def after_a_full_disk(bench, folder, outcome, begin, values, code):
    """Frees the space in `folder`."""
    outcome.require_code(0, 1, 2)
    require_whole(bench, folder)
    result = reference(bench, STEPS, values)[0]
    if outcome.code == 0:
        require_same_result(result_of(folder / "run", STEPS), result)
        return SURVIVED
    outcome.require_message(alone=False)
    said = outcome.last_words()
    require(os.strerror(code) in said or "train.keep_last" in said, "the reason is not reported:", said[:300])
    if not (folder / "run" / "checkpoints").is_dir():
        require(not steps_in(folder / "run"))
        shutil.rmtree(folder / "run", ignore_errors=True)
        again = bench.run(folder, begin)
        require(again.code == 0, "it does not start again:", again.last_words()[:300])
        require_same_result(result_of(folder / "run", STEPS), result)
        return REFUSED
    finish(bench, folder, begin, STEPS, result)
    return REFUSED


def small_file_system(kib, values):
    def run(bench, _):
        if not bench.is_root:
            raise Skipped("a file system of its own takes root to mount")
        folder = bench.make_folder("full")
        room = folder / "disk"
        room.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "dikkat-torture", str(room)],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            raise Skipped("tmpfs cannot be mounted here: " + mounted.stderr.strip().replace(str(room), "FOLDER"))
        try:
            (room / "tiny.toml").symlink_to(folder / "tiny.toml")
            begin = begin_arguments(values)
            outcome = bench.run(room, begin)
            if kib << 10 < bytes_of_a_checkpoint(bench):
                outcome.require_code(2)
                outcome.require_message("train.keep_last", "bytes")
                require(not (room / "run").exists(), "a run was begun that has no room")
            subprocess.run(["mount", "-o", "remount,size=64m", str(room)], check=True)
            verdict = after_a_full_disk(bench, room, outcome, begin, values, errno.ENOSPC)
        finally:
            subprocess.run(["umount", "-l", str(room)], check=False)
        shutil.rmtree(folder)
        return verdict
    return run


def small_files(limit, values):
    def run(bench, _):
        folder = bench.make_folder("small-files")
        begin = begin_arguments(values)
        outcome = bench.run(folder, begin, before=["prlimit", f"--fsize={limit}"], pipes=True)
        verdict = after_a_full_disk(bench, folder, outcome, begin, values, errno.EFBIG)
        shutil.rmtree(folder)
        return verdict
    return run


def full_disks(bench):
    count = 150 if bench.long else 15
    for number in range(count):
        values = {"train.async_save": number % 2 == 0}
        kib = 4 + 4 * round(number * 130 / (count - 1))  # 4 to 524 KiB: from no room at all to enough; a page is 4 KiB
        if number == 0 or kib != 4 + 4 * round((number - 1) * 130 / (count - 1)):
            yield Case(f"file system of {kib} KiB", small_file_system(kib, values))
    for number in range(count):
        values = {"train.async_save": number % 2 == 1}
        limit = round(300_000 * (number / (count - 1)) ** 1.5) + (1 if number else 0)
        yield Case(f"files of {limit} bytes", small_files(limit, values))
