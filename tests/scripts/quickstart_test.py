"""quickstart_test.py DIKKAT SOURCE_DIR: runs the quickstart without its build, and then each line that it suggests to type next, with fewer
steps, and with files in the places of the names in capitals."""
import pathlib
import signal
import subprocess
import sys
import tempfile

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SHORT = "--set train.max_steps=4 train.eval_interval=10 train.eval_tokens=512 train.checkpoint_interval=10 optim.warmup_steps=2"


def run(command, cwd=source, **more):
    done = subprocess.run(command, shell=True, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=250, **more)
    assert done.returncode == 0, f"{command}\nended with {done.returncode}: {done.stderr[-2000:]}"
    return done


def serve(command):
    """Serves until the program listens, and then interrupts it."""
    server = subprocess.Popen(["bash", "-c", f"exec {command} --port 0 --json"], cwd=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert "http://127.0.0.1" in server.stdout.readline(), command
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=60)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    told = run(f"scripts/quickstart.sh --trial {program} {folder}/quickstart").stderr
    lines = {line.split()[1]: line.split("#")[0].strip() for line in told.splitlines() if line.startswith(f"  {program} ")}
    assert list(lines) == ["sample", "report", "finetune", "chat", "serve", "export", "train", "--help"], list(lines)

    (folder / "text.txt").write_text((source / "data/tales.txt").read_text()[:20000])
    here = {"runs/": f"{folder}/", "YOUR-TEXT.txt": f"{folder}/text.txt", "quickstart.gguf": f"{folder}/quickstart.gguf"}
    for command, line in lines.items():
        for name, instead in here.items():
            line = line.replace(name, instead)
        if command in ("finetune", "train"):
            line += f" {SHORT}"
        if command == "serve":
            serve(line)
        else:
            run(line, input="What is the capital of Denmark?\n" if command == "chat" else "")
    assert (folder / "quickstart/report.html").exists() and (folder / "mine/config.toml").exists() and (folder / "talks/config.toml").exists()

    # Its model can go to all programs that take this architecture.
    assert (folder / "quickstart.gguf").read_bytes()[:4] == b"GGUF"
    run(f"{program} export {folder}/quickstart --out {folder}/quickstart-hf")
    assert "Qwen3ForCausalLM" in (folder / "quickstart-hf/config.json").read_text()

    # From another folder it prints where to type the commands.
    elsewhere = run(f"{source}/scripts/quickstart.sh --trial {program} {folder}/quickstart", cwd=folder).stderr
    assert any(str(source) in line for line in set(elsewhere.splitlines()) - set(told.splitlines())), elsewhere
