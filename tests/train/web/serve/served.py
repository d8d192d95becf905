"""A small model, and `dikkat serve` for it: what the tests beside this file share."""
import atexit
import http.client
import json
import pathlib
import signal
import subprocess
import tempfile


def train(program, source, folder, *settings):
    """Trains a small model on the beginning of a text of the repository. Returns its run, and the text."""
    text = (source / "data/tales.txt").read_text()[:60_000]
    (pathlib.Path(folder) / "text.txt").write_text(text)
    run = f"{folder}/run"
    small = ["tokenizer.kind=bpe", "tokenizer.vocab_size=400", "train.max_steps=10", "train.batch_size=2", "train.eval_interval=10",
             "train.eval_tokens=512", "optim.warmup_steps=2"]
    trained = subprocess.run([program, "train", "--corpus", f"{folder}/text.txt", "--out", run, "--set", *small, *settings],
                             capture_output=True, text=True)
    assert trained.returncode == 0, trained.stderr
    return run, text


class Server:
    def __init__(self, program, run, *options, address_space=None):
        """`address_space` is the limit of the server's memory (ulimit -v), in kilobytes."""
        limit = [] if address_space is None else ["bash", "-c", 'ulimit -v "$0" && exec "$@"', str(address_space)]
        self._log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*limit, program, "serve", run, "--port", "0", "--json", *options], stdout=subprocess.PIPE,
                                        stderr=self._log, text=True)
        atexit.register(self.process.kill)  # if the test fails
        told = self.process.stdout.readline()
        assert told, self.log()
        self.told = json.loads(told)
        self.address = self.told["url"].split("/")[2]

    def log(self):
        """The end of what the server has printed."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-4000:]

    def memory(self, key):
        """A line of the process's status, in kilobytes: VmRSS is the resident memory, VmHWM its peak."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))

    def send(self, path, body):
        connection = http.client.HTTPConnection(self.address, timeout=300)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection

    def status(self, path, body=None):
        """Sends a request. Returns the status of its response, and the text."""
        connection = http.client.HTTPConnection(self.address, timeout=300)
        connection.request("GET" if body is None else "POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        assert code == 0, f"serve ended with {code}: {self.log()}"
