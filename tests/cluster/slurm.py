"""A Slurm of the test's own: controller and node daemons on this machine, as root, without systemd.

Two nodes are two node daemons here. What it needs (Debian's slurmctld, slurmd, slurm-client, munge) `./run` does not
install: these packages are services, which Debian starts.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "scontrol", "scancel")
PACKAGES = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
{nodes}
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""


def reason_against():
    """Why there can be no Slurm here; None: there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=path()) is None]
    if missing:
        return f"no {', '.join(missing)}: apt-get install --no-install-recommends {PACKAGES}"
    if os.getuid() != 0:
        return "Slurm's daemons want root here"
    return None


def path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """with Slurm() as slurm: subprocess.run([...], env=slurm.environment)"""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="slurm-test-")
        os.chmod(self.folder, 0o755)
        self.daemons = []
        self.environment = {**os.environ, "PATH": path(), "SLURM_CONF": self.folder + "/slurm.conf"}
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        ports = free_ports(3)
        host = socket.gethostname()
        nodes = "\n".join(f"NodeName=n{k} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[k]} "
                          "CPUs=16 State=UNKNOWN" for k in (1, 2))
        for name in ("state", "spool.n1", "spool.n2", "tmp.n1", "tmp.n2"):
            os.mkdir(os.path.join(self.folder, name))
        self.write("slurm.conf", CONFIGURATION.format(host=host, folder=self.folder, ports=ports,
                                                      nodes=nodes).encode())
        self.write("munge.key", os.urandom(1024))
        self.daemon("munged", "--force", "--foreground", "--num-threads=2",
                    *(f"--{what}-file={self.folder}/munge.{what}" for what in ("key", "pid", "log", "seed")),
                    f"--socket={self.folder}/munge.socket")
        self.wait(lambda: os.path.exists(self.folder + "/munge.socket"), "munged")
        self.daemon("slurmctld", "-D")
        for node in ("n1", "n2"):
            self.daemon("slurmd", "-D", "-N", node)
        self.wait(self.is_idle, "the nodes")

    def write(self, name, content):
        with open(os.path.join(self.folder, name), "wb") as file:
            os.fchmod(file.fileno(), 0o600 if name == "munge.key" else 0o644)
            file.write(content)

    def daemon(self, *words):
        with open(os.path.join(self.folder, words[0] + ".out"), "ab") as out:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=out, stderr=out))

    def is_idle(self):
        shown = subprocess.run(["scontrol", "show", "node", "-o"], env=self.environment,
                               capture_output=True, text=True)
        return shown.stdout.count("State=IDLE ") == 2

    def wait(self, condition, what, seconds=60):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until or any(d.poll() is not None for d in self.daemons):
                raise RuntimeError(f"Slurm does not start: {what}; {self.logs()}")
            time.sleep(0.1)

    def logs(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".out", ".log")):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    text += f"--- {name}\n" + "".join(file.readlines()[-15:])
        return text

    def __exit__(self, *_):
        if len(self.daemons) > 1:
            subprocess.run(["scancel", "--full", "--user=root"], env=self.environment, capture_output=True,
                           timeout=30)
            try:
                self.wait(self.is_idle, "the end of all jobs", 10)
            except RuntimeError:
                pass
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
