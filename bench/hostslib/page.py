"""Samples of bench/hosts to tables: medians, the better peer, the floor, goals.

Role:     the section of bench/RESULTS-cluster.md; no measuring here.
Users:    bench/hosts.
"""
from dataclasses import dataclass

from comparelib import report, sections

from hostslib.ends import KINDS
from hostslib.peers import TITLES

TITLE = "Two hosts"
INTRODUCTION = """\
Two virtual hosts on this machine (namespaces, joined by veth devices; `tests/cluster/hosts.sh`), each with half of its
cores. All are started by the same ssh, use the same interface, and alternate. Medians; a `*` marks a figure with fewer than
three undisturbed samples or a spread (interquartile range) over 10 %. The floor: between hosts a
ping-pong of UCX's active messages alone; of processes of one host, as many that meet in a page that they share, without MPI
(`bench/mpi/processes.c`). A goal below 1 of the floor asks for less time than is needed without any MPI. Where the goal is the
peer's own time, that was taken in quicker minutes than the floor's, or the peer goes another way (Open MPI's own TCP)."""
PEERS = ("openmpi", "openmpi-ucx", "mpich")
# Figures of ours -> the floor's.
FLOORS = {"latency": "net_UCX", "start": "ssh",
          **{name: name for name in ("barrier_of_processes", "allreduce_8B_of_processes")}}
NAMES = {"latency": "one way", "allreduce_8B": "allreduce, 8 B", "bcast_64KiB": "broadcast, 64 KiB",
         "blocked_cpu": "CPU, all ranks wait", "start": "start and end", "start_less_ssh": "less ssh's time",
         "barrier_of_processes": "barrier", "allreduce_8B_of_processes": "allreduce, 8 B",
         "blocked_cpu_of_processes": "CPU, all ranks wait", "many": "ring, broadcast, allreduce",
         "wrong_results": "ranks with a wrong result",
         **{f"ends_{kind}": text for kind, text in KINDS.items()}}


@dataclass
class Goal:
    text: str
    measured: str
    is_met: bool | None     # None: no peer came to an end
    of_floor: str = ""      # the time that a peer's part allows, as a part of the floor's


def summaries(taken):
    """{experiment: {series: {key: Figure}}} of {experiment: {series: [Sample]}}."""
    return {name: {mpi: report.summarise(items) for mpi, items in by_mpi.items()}
            for name, by_mpi in taken.items()}


def better_peer(figures, key):
    """The Figure of the fastest peer that has one, or None."""
    found = [figures[name][key] for name in PEERS if key in figures.get(name, {})]
    return min(found, key=lambda figure: figure.value) if found else None


def floor_of(figures, key):
    return figures.get("floor", {}).get((FLOORS.get(key[0], ""), key[1])) or (
        figures.get("floor", {}).get(("ssh", 2)) if key[0] == "start" else None)


def what(key):
    name, parameter = key
    text = NAMES.get(name, name)
    return f"{text}, {report.parameter_text(name, parameter)}" if name == "latency" else text


def ratio(one, other):
    return f"{one.value / other.value:.2f}" if one and other and other.value else "–"


def table(figures, names):
    """The table of one experiment: {series: {key: Figure}}."""
    keys = list(dict.fromkeys(key for name in names for key in sorted(
        figures.get(name, {}), key=lambda key: (list(NAMES).index(key[0]) if key[0] in NAMES else -1,
                                                key[1]))))
    has_floor = any(floor_of(figures, key) for key in keys)
    shown = [name for name in names if name in figures]
    head = ["", "unit", *[TITLES[name] for name in shown], "ours / better peer"]
    head += ["floor", "ours / floor"] if has_floor else []
    rows = []
    for key in keys:
        having = [figures[name].get(key) for name in shown]
        ours, unit = figures.get("ours", {}).get(key), next(figure.unit for figure in having if figure)
        row = [what(key), unit, *[figure.text() if figure else "–" for figure in having],
               ratio(ours, better_peer(figures, key))]
        if has_floor:
            floor = floor_of(figures, key)
            row += [floor.text() if floor else "–", ratio(ours, floor)]
        rows.append(row)
    return sections.table(head, rows)


# ---- goals ----------------------------------------------------------------------------------------

def goals(data):
    """The Goals whose figures are there."""
    found = []

    def add(text, experiment, key, limit, against=None, unit=""):
        """limit: of ours, or of ours by what `against(figures, key)` finds."""
        figures = data.get(experiment, {})
        ours = figures.get("ours", {}).get(key)
        other = against(figures, key) if against else None
        if ours and against is better_peer and not other and figures.keys() & set(PEERS):
            found.append(Goal(text, "no peer has a figure", None))
        if not ours or (against and not (other and other.value)):
            return
        value = ours.value / other.value if other else ours.value
        floor = floor_of(figures, key) if against is better_peer else None
        found.append(Goal(text, report.number(value) + unit, value <= limit,
                          report.number(limit * other.value / floor.value) if floor else ""))

    for size, label in ((8, "8 B"), (8192, "8 KiB"), (1 << 20, "1 MiB")):
        add(f"{label} between hosts: at most 1.15 of raw UCX", "latency", ("latency", size), 1.15, floor_of)
        add(f"{label} between hosts: not behind the better peer", "latency", ("latency", size), 1.0,
            better_peer)
    for name in ("barrier", "allreduce_8B", "bcast_64KiB"):
        add(f"{NAMES.get(name, name)}, 2 hosts with 16 ranks each: at most 0.1 of the better peer",
            "collectives", (name, 32), 0.1, better_peer)
    add("2 hosts with 64 ranks each that wait: under 2 % of a core on each", "blocked",
        ("blocked_cpu", 128), 2.0, unit=" %")
    add("2 hosts with 64 ranks each start and end within 1.5 s", "start", ("start", 128), 1.5, unit=" s")
    add("of that ours, without ssh's part: 0.3 s", "start", ("start_less_ssh", 128), 0.3, unit=" s")
    add("start of 2 hosts with 64 ranks each: at most 0.2 of the better peer", "start", ("start", 128), 0.2,
        better_peer)
    for name in ("barrier", "allreduce_8B"):
        add(f"{NAMES.get(name, name)} of 16 processes: at most 0.2 of the better peer", "processes",
            (f"{name}_of_processes", 16), 0.2, better_peer)
    add("16 processes that wait: at most 0.2 of the better peer's CPU", "processes",
        ("blocked_cpu_of_processes", 16), 0.2, better_peer)
    add("8 processes with 128 ranks each: no wrong result", "many", ("wrong_results", 1024), 0)
    for kind, text in KINDS.items():
        limit = 6.0 if kind == "cable" else 1.0
        add(f"{text}: all has ended within {limit:.0f} s", "ends", (f"ends_{kind}", 8), limit, unit=" s")
    return found


def goals_table(data):
    says = {True: "yes", False: "**no**", None: "–"}
    rows = [[goal.text, goal.measured, says[goal.is_met], goal.of_floor] for goal in goals(data)]
    return sections.table(["goal", "measured", "met", "the goal, of the floor"], rows) if rows else ""


# ---- the section ----------------------------------------------------------------------------------

def problems(by_mpi):
    """A line for each MPI that could not do everything."""
    lines = []
    for mpi, items in by_mpi.items():
        for error in dict.fromkeys(sample.error for sample in items if sample.error):
            lines.append(f"- {TITLES.get(mpi, mpi)}: {error}")
    return "\n".join(lines)


def disturbances(by_mpi):
    items = [sample for samples in by_mpi.values() for sample in samples]
    quiet = sum(sample.quiet for sample in items)
    worst = max((sample.foreign for sample in items), default=0)
    steal = max((sample.steal for sample in items), default=0)
    return (f"{len(items)} samples, {quiet} of them quiet; at most {worst:.2f} cores used by other "
            f"programs and {steal:.2f} stolen.")


def section(taken, names, experiments):
    """The text of all tables: {experiment: {series: [Sample]}}."""
    data = summaries(taken)
    parts = [goals_table(data)]
    for name, by_mpi in taken.items():
        text = experiments[name][0]
        parts += [f"### {text[0].upper()}{text[1:]}", table(data[name], names), problems(by_mpi),
                  disturbances(by_mpi)]
    return "\n\n".join(part for part in parts if part)
