"""Running one benchmark job while watching what else the machine does.

Role:     starts jobs with a time limit, reads their figures, and says for each how much CPU
          time other programs and the hypervisor took meanwhile.
Users:    bench/compare, bench/against, bench/progress-cost, bench/overlap, tests/programs.
"""
import ctypes
import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36     # linux/prctl.h
FOREIGN_LIMIT = 0.10    # of one core: more than this and a sample is not quiet
STEAL_LIMIT = 0.03
MOVED = 1.4             # cores are elsewhere if a line takes so many times as long between them
GAP, APART = 1.35, 1.6  # those of one distance differ at most by so much: neighbours, the least and the greatest
FLOOR = "floor"
LAUNCHERS = re.compile(r"^(mpirun|mpiexec|orterun|orted|hydra|prte)")


@dataclass
class Sample:
    figures: dict = field(default_factory=dict)     # (name, parameter) -> (value, unit)
    foreign: float = 0.0        # cores that other programs used
    steal: float = 0.0          # cores that the hypervisor took
    error: str = ""
    # (name, parameter) -> times of a line between the cores, before and after that figure's job; may lack it
    lines_us: dict = field(default_factory=dict)
    apart: set = field(default_factory=set)     # figures that are not compared; see tell_apart()

    @property
    def quiet(self):
        return self.foreign <= FOREIGN_LIMIT and self.steal <= STEAL_LIMIT

    def is_alike(self, key):
        return key not in self.apart and not self.has_moved(key)

    def has_moved(self, key):
        lines = self.lines_us.get(key)
        return bool(lines) and max(lines) > MOVED * min(lines)

    def line_us(self, key):
        return sum(self.lines_us[key]) / len(self.lines_us[key])


def tell_apart(taken):
    """A hypervisor may move virtual cores, so that a line between them takes two or five times as long in one second as
    in the next. Each figure of {mpi: [Sample]} is compared at one distance only, that of which every MPI has most; in
    the other samples it is marked. A floor's figures are those of the distance nearest to the MPIs'."""
    mpis = {mpi: items for mpi, items in taken.items() if mpi != FLOOR}
    used = []
    for key in keys_of(mpis):
        used += choose_distance(mpis, key, lambda group, counts: (min(counts), sum(counts), -group[0]))
    middle = statistics.median(used) if used else None
    floors = {mpi: items for mpi, items in taken.items() if mpi == FLOOR}
    for key in keys_of(floors):
        choose_distance(floors, key, lambda group, counts: -off(group, middle) if middle else sum(counts))


def keys_of(taken):
    return {key for items in taken.values() for sample in items for key in sample.lines_us}


def off(group, time):
    """How many times as long, or as short, as the nearest of the group."""
    return max(group[0] / time, time / group[1], 1)


def groups_of(times):
    """[[least, greatest]] of each distance, the nearest first."""
    groups = []
    for value in sorted(times):
        if groups and value <= GAP * groups[-1][1] and value <= APART * groups[-1][0]:
            groups[-1][1] = value
        else:
            groups.append([value, value])
    return groups


def choose_distance(taken, key, worth):
    """Marks what is not of the distance of most worth(group, number of samples of each MPI). Returns the times of a line
    of those that are."""
    steady = [[s for s in items if key in s.lines_us and not s.has_moved(key)] for items in taken.values()]
    steady = [items for items in steady if items]
    times = [[sample.line_us(key) for sample in items] for items in steady]

    def value(group):
        return worth(group, [sum(group[0] <= time <= group[1] for time in row) for row in times])

    least, greatest = max(groups_of(time for row in times for time in row), key=value, default=(0, 0))
    used = []
    for sample in (sample for items in steady for sample in items):
        sample.apart.discard(key)
        if least <= sample.line_us(key) <= greatest:
            used.append(sample.line_us(key))
        else:
            sample.apart.add(key)
    return used


def adopt_orphans():
    """From now on what a job leaves behind is a child of ours: a launcher that ends its ranks by a signal does not
    wait for them, and their time would be another program's. Source: prctl(2), PR_SET_CHILD_SUBREAPER."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    """Caller: no job runs."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


class Watch:
    """Foreign CPU and steal between the construction and done(), when no job runs."""

    def __init__(self):
        adopt_orphans()
        self.start = self._read()

    @staticmethod
    def _read():
        fields = [int(word) for word in
                  Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        user, nice, system, _, _, irq, softirq, steal = fields[:8]
        own = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            usage = resource.getrusage(who)
            own += usage.ru_utime + usage.ru_stime
        busy = (user + nice + system + irq + softirq) * TICK_S
        return time.monotonic(), busy, own, steal * TICK_S

    def done(self):
        """(foreign, steal), in cores."""
        reap_orphans()
        now, busy, own, steal = (b - a for a, b in zip(self.start, self._read()))
        return max(0.0, (busy - own) / now), steal / now


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


PREFERRED = ["sh", "-c", "echo -20 >/proc/self/autogroup; exec \"$@\"", "prefer"]
prefers = False     # compare --prefer


def start(command, **variables):
    if prefers:     # each job is a session of its own, and the system shares time by sessions
        command = [*PREFERRED, *command]
    return subprocess.Popen(command, env={**environment(), **variables}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", start_new_session=True)


def run(command, limit_s):
    """(output, seconds, "" or what went wrong)."""
    begin = time.monotonic()
    process = start(command)
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        end_session(process)
        return "", time.monotonic() - begin, f"no end within {limit_s:.0f} s"
    return output, time.monotonic() - begin, fault_of(process.returncode, output)


def fault_of(status, output):
    """What went wrong with a job that has ended with this status; "": nothing."""
    last = output.strip().splitlines()[-1:] or ["no output"]
    return f"status {status}: {last[0][:120]}" if status else ""


def run_batch(commands, at_once, limit_s):
    """(seconds, "" or what went wrong) of all commands, a given number of them at a time."""
    with tempfile.TemporaryDirectory() as folder:
        return run_batch_in(folder, commands, at_once, limit_s)


def run_batch_in(folder, commands, at_once, limit_s):
    begin, waiting, running = time.monotonic(), list(commands), []
    error = ""
    while (waiting or running) and not error:
        while waiting and len(running) < at_once:
            # Launchers of Open MPI that start at the same time disturb each other's folder.
            own = Path(folder) / str(len(waiting))
            own.mkdir()
            running.append(start(waiting.pop(0), TMPDIR=str(own)))
        time.sleep(0.001)
        for process in [p for p in running if p.poll() is not None]:
            running.remove(process)
            output = process.stdout.read()
            process.stdout.close()
            if process.returncode:
                last = output.strip().splitlines()[-1:] or ["no output"]
                error = f"status {process.returncode}: {last[0][:120]}"
        if time.monotonic() - begin > limit_s:
            error = f"no end within {limit_s:.0f} s"
    for process in running:
        end_session(process)
    return time.monotonic() - begin, error


def figures(output):
    """The BENCH lines of a program's output."""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) == 5 and words[0] == "BENCH":
            found[(words[1], int(words[2]))] = (float(words[3]), words[4])
    return found


def job_processes(launcher):
    """Pids of a job: the launcher's session and all descendants (hydra leaves the session)."""
    parents, sessions = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(entry)], sessions[int(entry)] = int(fields[1]), int(fields[3])
    found = {pid for pid, session in sessions.items() if session == launcher}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return sorted(found)


def end_session(process):
    for pid in job_processes(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def cpu_seconds(pids):
    """CPU time so far of all threads of these processes, to the nanosecond."""
    total = 0
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[0])
            except (OSError, IndexError, ValueError):
                pass
    return total * 1e-9


def pss_kib(pids):
    """Proportional memory of the processes that hold ranks (launchers left out)."""
    total = 0
    for pid in pids:
        try:
            if LAUNCHERS.match(Path(f"/proc/{pid}/comm").read_text()):
                continue
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
        total += int(found.group(1)) if found else 0
    return total


def revision():
    """The checked-out revision of this repository, abbreviated; that of bench/carry where it has been
    carried."""
    carried = Path(__file__).resolve().parents[2] / "REVISION"
    if carried.exists():
        return carried.read_text().strip()
    return subprocess.run(["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],
                          capture_output=True, text=True, check=False).stdout.strip()


def describe():
    """Lines that say on what machine the figures were taken."""
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    release = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return [f"{os.cpu_count()} cores, {model.group(1) if model else 'unknown processor'}",
            f"{release.group(1) if release else 'unknown system'}, Linux {os.uname().release}"]
