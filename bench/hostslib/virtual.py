"""Virtual hosts for benchmarks: each has a part of this machine's cores.

Role:     creates them (tests/cluster/hosts.sh), runs commands there, lists the processes there with
          their CPU time, and leaves nothing behind.
Users:    bench/hosts, bench/interrupts, hostslib/*.
See also: docs/cluster.md.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comparelib import machine

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests/cluster/hosts.sh"
INTERFACE = "eth0"      # that leads to the other hosts, there
AGENT = """\
#!/bin/sh
exec ssh -x -o BatchMode=yes -F {config} "$@"
"""


def why_not():
    """What is missing here for virtual hosts; empty: nothing."""
    done = subprocess.run(["sh", str(SCRIPT), "check"], capture_output=True, text=True, timeout=30,
                          check=False)
    return done.stderr.strip() if done.returncode else ""


def parts(cores, count):
    """The cores of each host; all cores for each if there are too few."""
    share = len(cores) // count
    return [cores[i * share:(i + 1) * share] if share else list(cores) for i in range(count)]


def process(pid):
    """(state, CPU time in s) of a process, or None."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], sum(map(int, fields[11:13])) * machine.TICK_S


def space_of(pid):
    """The pid namespace of a process; "" if it has ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def all_pids():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


class Hosts:
    """Hosts h1 .. hN. Use: `with Hosts(2) as hosts`."""

    def __init__(self, count):
        self.folder = Path(tempfile.mkdtemp(prefix="bench-hosts-"))
        self.names = [f"h{i + 1}" for i in range(count)]
        self.cores = parts(sorted(os.sched_getaffinity(0)), count)
        self.agent = self.folder / "net/agent"
        self.space, self.own = {}, set()

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):  # else nobody would take them down
            signal.signal(number, lambda which, _: sys.exit(128 + which))
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def up(self):
        # Each host has its own /tmp, except for the entries named here.
        subprocess.run(["sh", str(SCRIPT), "up", str(self.folder / "net"), str(len(self.names))],
                       env={**os.environ, "HOSTS_SHARED": str(ROOT)}, check=True, timeout=60)
        self.agent.write_text(AGENT.format(config=self.folder / "net/ssh_config"))
        self.agent.chmod(0o755)
        self.space = {host: space_of((self.folder / "net" / host).read_text().strip())
                      for host in self.names}
        self.own = {pid for host in self.names for pid in self.pids(host)}
        self.give_cores()

    def down(self):
        subprocess.run(["sh", str(SCRIPT), "down", str(self.folder / "net")], check=False, timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def give_cores(self):
        """Commands that come through ssh get the cores of their host's sshd."""
        for host, cores in zip(self.names, self.cores):
            for pid in self.own:
                if space_of(pid) == self.space[host]:
                    os.sched_setaffinity(pid, cores)

    def on(self, host, command, all_cores=False):
        """The command that runs a command on a host, on its cores."""
        words = ["sh", SCRIPT, "exec", self.folder / "net", host, *command]
        if not all_cores:
            cores = self.cores[self.names.index(host)]
            words = ["taskset", "-c", ",".join(map(str, cores)), *words]
        return [str(word) for word in words]

    def link(self, host, state):
        subprocess.run(["sh", str(SCRIPT), "link", str(self.folder / "net"), host, state],
                       check=True, timeout=10)

    def limit(self, rate):
        """What the cable of each host carries at most, as tc names it; "none"."""
        for host in self.names:
            subprocess.run(["sh", str(SCRIPT), "limit", str(self.folder / "net"), host, rate],
                           check=True, timeout=10)

    def pids(self, host):
        """The processes on a host, without the host's own ones; numbers of this machine."""
        found = []
        for pid in all_pids():
            if pid in self.own or space_of(pid) != self.space[host]:
                continue
            state = process(pid)
            if state and state[0] != "Z":
                found.append(pid)
        return found

    def lines(self, host):
        """{pid: command line} of the same."""
        found = {}
        for pid in self.pids(host):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            found[pid] = words.replace("\0", " ").strip()
        return found

    def jobs_pids(self):
        """The processes of jobs on all hosts, without those of sshd itself."""
        return [pid for host in self.names for pid, line in self.lines(host).items()
                if not line.startswith("sshd:")]

    def clean(self):
        """Kills the remaining processes of a job."""
        for _ in range(100):
            left = [pid for host in self.names for pid in self.pids(host)]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)
        raise RuntimeError(f"processes that do not end: {left}")

    def run(self, command, limit_s, host="h1", all_cores=False):
        """(output, seconds, "" or what went wrong); nothing is left on any host. If the job was
        given up, the output is what it had printed."""
        begin = time.monotonic()
        job = machine.start(self.on(host, command, all_cores))
        try:
            output, _ = job.communicate(timeout=limit_s)
            error = machine.fault_of(job.returncode, output)
        except subprocess.TimeoutExpired:
            machine.end_session(job)
            self.clean()    # other processes may hold the other end of the pipe
            output, _ = job.communicate(timeout=10)
            error = f"no end within {limit_s:.0f} s"
        seconds = time.monotonic() - begin
        self.clean()
        return output, seconds, error


class Watch:
    """Foreign CPU and steal between the construction and done(), as machine.Watch. But ranks on other
    hosts are not children of this process, so foreign is the time of all others that live at the end."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        here, own = space_of(os.getpid()), {os.getpid()}
        used = {}
        for pid in all_pids():
            state = process(pid)
            if state and pid not in own and space_of(pid) == here:
                used[pid] = state[1]
        ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]
        return time.monotonic(), used, int(ticks) * machine.TICK_S

    def done(self):
        """(foreign, steal), in cores."""
        begin, before, stolen = self.start
        now, after, stolen_now = self._read()
        used = sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
        return max(0.0, used) / (now - begin), (stolen_now - stolen) / (now - begin)
