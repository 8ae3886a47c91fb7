"""What bench/hosts measures: each experiment is a list of jobs for each MPI, and how to read them.

Role:     figures are (name, parameter) -> (value, unit), as in comparelib.
Users:    bench/hosts.
"""
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from comparelib import machine
from hostslib import ends, virtual

RANKS_PER_HOST = 16         # of collectives
WAITING_PER_HOST = 64       # of blocked jobs, and of jobs that start
WATCHED_S = 2.0             # of a blocked job
MANY = (8, 128)             # processes, ranks in each
PORT = 7471                 # of the raw UCX's two processes
LEAD_S = 10                 # until the second one has connected


@dataclass
class Context:
    hosts: virtual.Hosts
    series: list            # peers.Series, ours first
    build: Path             # with a folder of programs for each MPI
    net: Path               # the program of bench/micro/net.cpp
    quick: bool = False
    limit_s: float = 90.0   # of a job
    broken: set = field(default_factory=set)

    def program(self, series, name):
        return self.build / series.mpi.name / name


class Taking:
    """A Sample during its measurement."""

    def __init__(self):
        self.sample, self.watch = machine.Sample(), virtual.Watch()

    def add(self, name, parameter, value, unit):
        self.sample.figures[(name, parameter)] = (value, unit)

    def blame(self, what, error):
        if error:
            self.sample.error += ("; " if self.sample.error else "") + f"{what}: {error}"

    def done(self):
        self.sample.foreign, self.sample.steal = self.watch.done()
        return self.sample


def measure(context, what, commands, all_cores=False):
    """A Sample out of the BENCH lines of jobs on the hosts."""
    taking = Taking()
    for command in commands:
        output, _, error = context.hosts.run(command, context.limit_s, all_cores=all_cores)
        taking.sample.figures.update(machine.figures(output))
        taking.blame(what, error)
    return taking.done()


# ---- the floor --------------------------------------------------------------------------------

def raw_ucx(context):
    """A ping-pong of UCX alone, and of our network module, between the hosts."""
    rounds, taking = (3 if context.quick else 20), Taking()
    variables = ["env", f"UCX_NET_DEVICES={virtual.INTERFACE}", "UCX_WARN_UNUSED_ENV_VARS=n"]
    first, second = context.hosts.names
    waiting = machine.start(context.hosts.on(
        first, [*variables, context.net, rounds, "--listen", PORT]))
    other = machine.start(context.hosts.on(
        second, [*variables, context.net, rounds, "--connect", first, PORT]))
    try:
        output, _ = waiting.communicate(timeout=context.limit_s)
        other.communicate(timeout=LEAD_S)
        taking.blame("UCX", "" if waiting.returncode == 0 else f"status {waiting.returncode}")
        taking.sample.figures.update(machine.figures(output))
    except subprocess.TimeoutExpired:
        taking.blame("UCX", f"no end within {context.limit_s:.0f} s")
    for process in (waiting, other):
        machine.end_session(process)
        process.stdout.close()
    context.hosts.clean()
    return taking.done()


def ssh_alone(context):
    """The cost that no MPI can avoid: a connection of ssh, and a process at its end."""
    taking = Taking()
    _, seconds, error = context.hosts.run([context.hosts.agent, context.hosts.names[1], "true"], 30)
    taking.blame("ssh", error)
    taking.add("ssh", len(context.hosts.names), seconds, "s")
    return taking.done()


def bare_processes(context):
    """Processes that meet in a page that they share."""
    return measure(context, "processes", [[context.build / "processes", f"--processes={RANKS_PER_HOST}"]],
                   all_cores=True)


# ---- each returns a Sample for one MPI -----------------------------------------------------------

def latency(context, series):
    words = [context.program(series, "latency"), "--sizes=8,8k,1M"]
    return measure(context, "latency", [series.on_hosts(context.hosts, 1, words)])


def collectives(context, series):
    words = [context.program(series, "collectives"), "--which=barrier,allreduce_8B,bcast"]
    return measure(context, "collectives", [series.on_hosts(context.hosts, RANKS_PER_HOST, words)])


def one_host(context, series):
    """A process for each rank, on one host with all cores."""
    ranks, name = RANKS_PER_HOST, "one host"
    words = [context.program(series, "collectives"), "--which=barrier,allreduce_8B"]
    sample = measure(context, name, [series.on_one_host(ranks, words)], all_cores=True)
    waiting = Taking()
    watch_blocked(context, waiting, series.on_one_host(
        ranks, [context.program(series, "idle"), "--seconds=30"]), ranks, all_cores=True)
    figures = {(f"{key[0]}_of_processes", key[1]): value
               for key, value in [*sample.figures.items(), *waiting.sample.figures.items()]}
    sample.figures, sample.error = figures, sample.error or waiting.sample.error
    return sample


def blocked(context, series):
    taking, ranks = Taking(), WAITING_PER_HOST
    words = [context.program(series, "idle"), "--seconds=30"]
    watch_blocked(context, taking, series.on_hosts(context.hosts, ranks, words),
                  ranks * len(context.hosts.names))
    return taking.done()


def watch_blocked(context, taking, command, ranks, all_cores=False):
    """CPU time of a job whose ranks all wait, on the host that uses most."""
    hosts = context.hosts
    process = machine.start(hosts.on("h1", command, all_cores))
    try:
        if not ends.waits_for(process, "IDLE", context.limit_s):
            return taking.blame("blocked job", f"{ranks} ranks do not come to wait within "
                                               f"{context.limit_s:.0f} s")
        time.sleep(0.5)
        begin = time.monotonic()
        pids = {host: hosts.pids(host) for host in hosts.names}
        before = {host: machine.cpu_seconds(pids[host]) for host in hosts.names}
        time.sleep(WATCHED_S)
        most = max(machine.cpu_seconds(pids[host]) - before[host] for host in hosts.names)
        taking.add("blocked_cpu", ranks, 100 * most / (time.monotonic() - begin), "% of a core")
        return None
    finally:
        machine.end_session(process)
        process.stdout.close()
        hosts.clean()


def start(context, series):
    """Init and Finalize, wall time; also without the time that ssh alone takes."""
    taking, per_host = Taking(), WAITING_PER_HOST
    ranks = per_host * len(context.hosts.names)
    _, seconds, error = context.hosts.run(
        series.on_hosts(context.hosts, per_host, [context.program(series, "empty")]), context.limit_s)
    taking.blame("start", error)
    ssh = ssh_alone(context).figures.get(("ssh", 2))
    if not error:
        taking.add("start", ranks, seconds, "s")
    if not error and ssh:
        taking.add("start_less_ssh", ranks, max(0.0, seconds - ssh[0]), "s")
    return taking.done()


def many(context, series):
    """1024 ranks; as processes they are too many for the machines this runs on."""
    processes, ranks = MANY
    if not series.is_ours:
        return None
    extra = ["--processes-per-host", processes // len(context.hosts.names)]
    return measure(context, "many", [series.on_hosts(
        context.hosts, processes * ranks // len(context.hosts.names), [context.program(series, "many")],
        extra)])


def ended(context, series):
    return ends.measure(context, series, Taking())


EXPERIMENTS = {     # name -> (what it shows, function, what gives the floor or None, series left out)
    "latency": ("one way of a message between two hosts, a rank on each", latency, raw_ucx, ()),
    "collectives": (f"collectives, 2 hosts with {RANKS_PER_HOST} ranks each", collectives, None, ()),
    "blocked": (f"CPU of a job whose ranks all wait, 2 hosts with {WAITING_PER_HOST} ranks each; the "
                "host that uses most", blocked, None, ("openmpi-ucx",)),
    "start": (f"start and end of a job by ssh, 2 hosts with {WAITING_PER_HOST} ranks each; less "
              "what `ssh h2 true` takes", start, ssh_alone, ("openmpi-ucx",)),
    "processes": (f"{RANKS_PER_HOST} ranks with a process each, on one host with all cores",
                  one_host, bare_processes, ("openmpi-ucx",)),
    "many": (f"{MANY[0]} processes with {MANY[1]} ranks each on two hosts: ring, broadcast and "
             "allreduce", many, None, ("openmpi", "openmpi-ucx", "mpich")),
    "ends": ("from a failure on the second host until no process of the job is left, 2 hosts with "
             f"{ends.RANKS_PER_HOST} ranks each", ended, None, ("openmpi-ucx",)),
}
