"""Several machines in one, for bench/ranks.py and bench/compare_ddp.py: each rank has its own network namespace, and a link of a given rate to a
switch that all share. Needs root, and iproute2 on Debian.

The switch is a bridge in another namespace, so nothing changes in the network of this machine, and everything is gone when the namespaces are. A link
is a veth pair with a token bucket (tc tbf) at each end: sending and receiving are both limited.
"""

import ctypes
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

IP, TC = "/usr/sbin/ip", "/usr/sbin/tc"
PREFIX = "dikkat"
BURST_SECONDS, LEAST_BURST = 1e-3, 131072  # bytes that pass at once: more than the 64 KB that TCP hands over in one piece
QUEUE_SECONDS = 10e-3                      # what waits in a queue; more is dropped, as by a switch
PORT = 5201
LOOK_EVERY = 0.02  # s; more often would take time from the cores that are measured

# mpirun calls this in place of ssh: after options the first word is the host, and the others are a line for its shell.
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
exec {ip} netns exec {base}-"$host" unshare --uts sh -c "echo $host > /proc/sys/kernel/hostname; $*"
"""


def output_of(*command, check=True):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout


def end_in_order():
    """SIGTERM and SIGHUP end the script as Ctrl-C does: everything is closed, namespaces too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))


def adopt_orphans():
    """mpirun ends before the ranks that it started elsewhere are done. They become our children, so their processor time counts as ours."""
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def wait_for_orphans(seconds=2.0):
    """Waits for orphans; call it only while no Job runs."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
    except ChildProcessError:
        pass


def remove_leftovers():
    """Removes namespaces of scripts that were killed."""
    for entry in json.loads(output_of(IP, "-j", "netns", "list") or "[]"):
        words = entry["name"].split("-")
        if words[0] == PREFIX and len(words) == 3 and not pathlib.Path("/proc", words[1]).exists():
            remove(entry["name"])


def remove(namespace):
    for pid in output_of(IP, "netns", "pids", namespace, check=False).split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    output_of(IP, "netns", "delete", namespace, check=False)


class Network:
    """`with Network(ranks=2, gigabits=10) as network`: hosts node0, node1, ... whose links carry that rate in each direction."""

    def __init__(self, ranks, gigabits):
        if os.geteuid() != 0 or not os.access(TC, os.X_OK):
            sys.exit("a network of namespaces needs root, and tc and ip: apt-get install iproute2")
        self.ranks, self.gigabits = ranks, gigabits
        self.base = f"{PREFIX}-{os.getpid()}"
        self.hosts = [f"node{rank}" for rank in range(ranks)]
        self.folder = None

    def namespace(self, host):
        return f"{self.base}-{host}"

    def address(self, rank):
        return f"10.77.0.{rank + 1}"

    def __enter__(self):
        remove_leftovers()
        try:
            self.build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def build(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dikkat-network-"))
        switch = self.namespace("switch")
        output_of(IP, "netns", "add", switch)
        output_of(IP, "-n", switch, "link", "add", "bridge", "type", "bridge")
        output_of(IP, "-n", switch, "link", "set", "bridge", "up")
        for rank, host in enumerate(self.hosts):
            own = self.namespace(host)
            output_of(IP, "netns", "add", own)
            output_of(IP, "-n", switch, "link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", own)
            output_of(IP, "-n", switch, "link", "set", host, "master", "bridge", "up")
            output_of(IP, "-n", own, "address", "add", f"{self.address(rank)}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                output_of(IP, "-n", own, "link", "set", device, "up")
            self.limit(own, "eth0")
            self.limit(switch, host)
        agent = self.folder / "agent"
        agent.write_text(AGENT.format(ip=IP, base=self.base))
        agent.chmod(0o755)
        self.agent = agent

    def limit(self, namespace, device):
        rate = self.gigabits * 1e9 / 8
        burst = max(LEAST_BURST, rate * BURST_SECONDS)
        output_of(TC, "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{rate * 8:.0f}bit", "burst", f"{burst:.0f}b", "limit",
                  f"{burst + rate * QUEUE_SECONDS:.0f}b")

    def close(self):
        kept = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave namespaces behind
        for host in (*self.hosts, "switch"):
            remove(self.namespace(host))
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        signal.signal(signal.SIGINT, kept)

    def inside(self, rank, command):
        """The command that runs `command` on a host, under the host's name."""
        host = self.hosts[rank]
        return [IP, "netns", "exec", self.namespace(host), "unshare", "--uts", "sh", "-c", 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"', host,
                *map(str, command)]

    def sent(self):
        """Bytes that each host has sent until now."""
        links = [json.loads(output_of(IP, "-n", self.namespace(host), "-j", "-s", "link", "show", "eth0")) for host in self.hosts]
        return [link[0]["stats64"]["tx"]["bytes"] for link in links]

    def throughput(self, seconds=1.0):
        """Gbit/s of plain TCP from the first host to the second and back at the same time: the rate that is left after headers and this machine's work."""
        commands = [self.inside(rank, [sys.executable, __file__, "receive"]) for rank in (0, 1)]
        commands += [self.inside(rank, [sys.executable, __file__, "send", self.address(1 - rank), seconds]) for rank in (0, 1)]
        return [float(text) * 8 / 1e9 for text in run_jobs(commands, None, None)[:2]]


def is_open_mpi(mpirun):
    return "HYDRA" not in output_of(mpirun, "--version")


def mpirun_command(mpirun, ranks, command, network=None):
    """The command on `ranks` ranks: on this machine, or each on its own host of the network, which then carries all that they exchange."""
    command = [str(word) for word in command]
    if is_open_mpi(mpirun):
        if network is None:
            return [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
        parameters = {"plm_rsh_agent": network.agent, "btl": "tcp,self", "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
        options = [word for name, value in parameters.items() for word in ("--mca", name, value)]
        return network.inside(0, [mpirun, *options, "--bind-to", "none", "--host", ",".join(network.hosts[:ranks]), "-n", ranks, *command])
    if network is None:
        return [mpirun, "-n", str(ranks), *command]
    options = ["-launcher", "ssh", "-launcher-exec", str(network.agent), "-hosts", ",".join(network.hosts[:ranks]), "-iface", "eth0"]
    # The libraries below MPICH find shared memory on their own, whatever the hosts are called.
    tcp = ["env", "UCX_TLS=tcp,self", "UCX_NET_DEVICES=eth0", "FI_PROVIDER=tcp", "FI_TCP_IFACE=eth0"]
    return network.inside(0, [mpirun, *options, "-n", ranks, *tcp, *command])


def environment(threads):
    return os.environ | {"OMP_NUM_THREADS": str(threads), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Job:
    """A process whose output is kept, and which is ended if we are."""

    def __init__(self, command, env, cwd):
        self.command = [str(word) for word in command]
        self.printed, self.said = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, env=env, cwd=cwd, stdout=self.printed, stderr=self.said, start_new_session=True)

    def is_over(self):
        """A process that failed ends the script with its output."""
        if self.process.poll():
            self.said.seek(0)
            sys.exit(f"{shlex.join(self.command)}\nended with exit code {self.process.returncode}: {self.said.read()[-2000:].strip()}")
        return self.process.returncode is not None

    def output(self):
        self.printed.seek(0)
        return self.printed.read()

    def end(self):
        if self.process.poll() is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(10)
                return
            except subprocess.TimeoutExpired:
                pass
            except ProcessLookupError:
                return


def run_jobs(commands, env, cwd, look=lambda: None):
    """Runs all at once, and calls `look` meanwhile. Returns the output of each."""
    jobs = []
    try:
        for command in commands:
            jobs.append(Job(command, env, cwd))
        while not all([job.is_over() for job in jobs]):
            look()
            time.sleep(LOOK_EVERY)
        return [job.output() for job in jobs]
    finally:
        for job in jobs:
            job.end()


def main(role, *words):
    import socket

    if role == "receive":
        connection, _ = socket.create_server(("", PORT)).accept()
        bytes_read, begin = 0, time.monotonic()
        while piece := connection.recv(1 << 20):
            bytes_read += len(piece)
        print(bytes_read / (time.monotonic() - begin))
    else:
        for _ in range(100):  # until the other host listens
            try:
                connection = socket.create_connection((words[0], PORT))
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        else:
            sys.exit(f"nothing listens on {words[0]}:{PORT}")
        end, piece = time.monotonic() + float(words[1]), bytes(1 << 20)
        while time.monotonic() < end:
            connection.sendall(piece)


if __name__ == "__main__":
    main(*sys.argv[1:])
