"""Figures to tables: medians, spread, ratios, goals; Markdown, CSV and plots.

Role:     turns the samples of all MPIs into what bench/RESULTS.md shows.
Users:    bench/compare, bench/progress-cost, comparelib/history.py, comparelib/pairs.py.
"""
import csv
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

SPREAD_LIMIT = 0.10     # (third quartile - first) / median
QUIET_SAMPLES = 3       # fewer: the figure gets a *
HIGHER_IS_BETTER = {"MB/s", "M/s"}
SERIES = ("ours", "openmpi", "mpich")


@dataclass
class Figure:
    value: float
    unit: str
    spread: float
    quiet: int          # samples that nothing disturbed

    @property
    def steady(self):
        return self.quiet >= QUIET_SAMPLES and self.spread <= SPREAD_LIMIT

    def text(self):
        return number(self.value) + ("" if self.steady else "*")


def number(value):
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


def summarise(samples):
    """(name, parameter) -> Figure, from quiet samples where there are enough."""
    figures = {}
    for key in {key for sample in samples for key in sample.figures}:
        having = [s for s in samples if key in s.figures]
        alike = [s for s in having if s.is_alike(key)] or having
        quiet = [s for s in alike if s.quiet]
        used = quiet if len(quiet) >= QUIET_SAMPLES else alike
        values = sorted(s.figures[key][0] for s in used)
        middle = statistics.median(values)
        spread = 0.0
        if len(values) > 1:
            quarters = statistics.quantiles(values, n=4, method="inclusive")
            spread = (quarters[2] - quarters[0]) / middle if middle else 0.0
        figures[key] = Figure(middle, having[0].figures[key][1], spread, len(quiet))
    return figures


def better_peer(figures_by_mpi, key):
    """(name, Figure) of the better of the peers that have this figure, or None."""
    peers = [(name, figures[key]) for name, figures in figures_by_mpi.items()
             if name in ("openmpi", "mpich") and key in figures]
    if not peers:
        return None
    higher = peers[0][1].unit in HIGHER_IS_BETTER
    return (max if higher else min)(peers, key=lambda item: item[1].value)


# ---- tables ----------------------------------------------------------------------------

FLOOR_OF = {"latency": "copy", "latency_bounce": "copy_bounce"}
# Every rank waits for a line of every other one: the best way to meet with bare flags (bench/mpi/meeting.c).
MEETINGS = ("barrier", "alltoall_8B", "allgather_8B", "allgatherv_8B", "alltoallv_8B", "sendrecv_8B", "pair_isend_8B",
            "pair_persistent_8B")
# A line in one direction, as in the ping-pong (bench/mpi/floor.c).
ONE_LINE = ("pair_bsend_8B", "pair_probe_8B", "pair_any_source_8B", "latency")
# Of ranks that outnumber the cores each has its turn, and an exchange reads and writes all blocks (bench/mpi/switches.c).
TURNS = ("barrier", "allreduce_8B", "ibarrier_and_wait", "comm_split_and_free")
EXCHANGES = ("alltoall_8B", "ialltoall_8B_and_wait")
SUMS = ("allreduce_8B", "reduce_scatter_8B", "reduce_scatter_block_8B")


def floor_of(figures_by_mpi, key):
    """The Figure that bounds this one from below in the same run, or None."""
    floors = figures_by_mpi.get("floor", {})
    name, parameter = key
    if name in ONE_LINE and parameter <= 8:
        return floors.get(("pingpong", 8))
    if name in ("rate", "rate_both", "pairs_rate_8B") and (parameter == 8 or name == "pairs_rate_8B"):
        return floors.get(("ring", 8))
    if name in TURNS and ("turn", parameter) in floors:
        return floors[("turn", parameter)]
    if name in EXCHANGES and ("exchange", parameter) in floors:
        return floors[("exchange", parameter)]
    if name == "layout_halo":
        return floors.get(("halo", parameter))
    if name == "wavefront":
        return floors.get(("wave", parameter))
    if name in MEETINGS:
        return floors.get(("barrier", parameter))
    if name in SUMS:
        return floors.get(("allreduce_8B", parameter))
    if name.startswith(("regions", "hydro")):
        return floors.get(key)
    return floors.get((FLOOR_OF.get(name, ""), parameter))


def parameter_text(name, parameter):
    if name.startswith(("latency", "bandwidth", "rate", "arrays", "heap_arrays", "layout")):
        for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
            if parameter >= size:
                return f"{parameter // size} {unit}"
        return f"{parameter} B"
    return f"{parameter} threads" if name.startswith("threads") else f"{parameter} ranks"


def table(figures_by_mpi):
    """Markdown table of one experiment."""
    keys = sorted({key for name in SERIES for key in figures_by_mpi.get(name, {})})
    keys.sort(key=lambda key: (order_of(key[0]), key[1]))
    has_floor = any(floor_of(figures_by_mpi, key) for key in keys)
    head = ["what", "", "unit", "ours", "Open MPI", "MPICH", "ours / better peer"]
    head += ["floor", "ours / floor"] if has_floor else []
    lines = [head, ["---"] * len(head)]
    for key in keys:
        figures = [figures_by_mpi.get(name, {}).get(key) for name in SERIES]
        ours, peer = figures[0], better_peer(figures_by_mpi, key)
        unit = next(f.unit for f in figures if f)
        arrow = " (higher is better)" if unit in HIGHER_IS_BETTER else ""
        row = [key[0], parameter_text(*key), unit + arrow]
        row += [figure.text() if figure else "–" for figure in figures]
        row += [ratio(ours, peer[1] if peer else None)]
        if has_floor:
            bound = floor_of(figures_by_mpi, key)
            row += [bound.text() if bound else "–", ratio(ours, bound)]
        lines.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def order_of(name):
    order = ("latency", "latency_bounce", "latency_used",
             "latency_same_core", "bandwidth", "rate", "rate_both", "barrier",
             "allreduce_8B", "allreduce_64KiB", "allreduce_1MiB", "alltoall_8B",
             "alltoall_4KiB", "wavefront", "ring_8B", "latency_malloc", "heap_1_thread",
             "heap_4_threads", "heap_arrays_one", "heap_arrays_again", "heap_arrays_zero",
             "heap_arrays_all", "arrays_stencil", "arrays_gather", "arrays_static",
             "jobs_alone", "jobs_2_at_once", "jobs_4_at_once", "jobs_batch_of_40", "launch",
             "idle_cpu", "idle_memory")
    return order.index(name) if name in order else len(order)


def ratio(ours, other):
    return f"{ours.value / other.value:.2f}" if ours and other and other.value else "–"


# ---- goals -----------------------------------------------------------------------------

@dataclass
class Goal:
    text: str
    measured: str
    is_met: bool
    experiment: str
    key: tuple          # (name, parameter) of the figure
    of_floor: str = ""  # the goal, as a multiple of the same run's floor


# Two ranks on two cores: what to reach, of the better peer's value.
ONE_RANK_PER_CORE = (
    ("bandwidth", 1.5, (("rate", 8), ("rate", 64), ("rate_both", 8))),
    ("threads", 3, (("threads_rate", 2), ("threads_rate", 4))),
    ("latency", 0.75, (("latency", 256),)),
    ("latency", 0.95, (("latency_used", 1 << 20),)),
    ("small", 0.5, (("barrier", 2), ("allreduce_8B", 2), ("alltoall_8B", 2), ("allgather_8B", 2))),
    ("small", 0.75, tuple((name, 2) for name in (
        "allgatherv_8B", "alltoallv_8B", "reduce_scatter_8B", "reduce_scatter_block_8B",
        "bcast_8B_root_changes", "bcast_512B_root_changes", "gather_8B_root_changes",
        "gather_512B_root_changes", "scatter_8B_root_changes", "scatter_512B_root_changes",
        "reduce_8B_root_changes", "reduce_512B_root_changes", "neighbor_allgather_8B",
        "neighbor_alltoall_8B", "comm_split_and_free", "sendrecv_8B", "pair_isend_8B", "pair_persistent_8B",
        "pair_ssend_8B", "pair_bsend_8B", "pair_probe_8B"))),
    ("small", 0.5, (("pair_any_source_8B", 2),)),
    ("small", 0.17, (("comm_dup_and_free", 2),)),
    ("start", 1.0, tuple((f"start_{name}_8B", 2) for name in ("ibcast", "ireduce", "iallreduce", "ibarrier"))),
    ("small", 0.8, tuple((name, 2) for name in (
        "iallreduce_8B_and_wait", "ibcast_8B_and_wait", "ibarrier_and_wait",
        "ialltoall_8B_and_wait"))),
    ("small", 0.9, (("scan_8B", 2), ("exscan_8B", 2))),
    ("layouts", 0.5, (("layout_half", 64 << 10), ("layout_quarter", 64 << 10))),
    ("layouts", 0.8, (("layout_face", 32 << 10), ("layout_halo", 32 << 10),
                      ("layout_random_8B", 64 << 10), ("layout_random_64B", 512 << 10),
                      ("layout_columns", 2 << 20), ("layout_to_columns", 2 << 20))),
)


# No peer runs so many ranks on two cores: what to reach in microseconds.
MANY_RANKS_ON_TWO_CORES = (
    ("barrier", 150), ("allreduce_8B", 150), ("comm_split_and_free", 1000),
    ("ibarrier_and_wait", 500), ("alltoall_8B", 4000), ("ialltoall_8B_and_wait", 8000),
)


def peer(figures, key):
    """The Figure of the better peer, or None."""
    found = better_peer(figures, key)
    return found[1] if found else None


def of_one(figures, key):
    return figures.get("ours", {}).get((key[0], 1))


def one_rank_per_core():
    """(text, experiment, key, limit) of each."""
    for experiment, limit, keys in ONE_RANK_PER_CORE:
        for name, parameter in keys:
            bound = "at least" if name.startswith(("rate", "threads_rate")) else "at most"
            yield (f"{name}, {parameter_text(name, parameter)}: {bound} {limit} of the better peer",
                   experiment, (name, parameter), limit)


def add_small_calls(add):
    """Goals of one rank per core, of threads, and of very many ranks, by goals()' way to add one."""
    for text, experiment, key, limit in one_rank_per_core():
        add(text, experiment, key, peer, limit)
    for pairs in (2, 4):    # flat, as far as there are cores
        add(f"latency of {pairs} threads on 2 cores: at most {1.2 * pairs:g} times that of one", "threads",
            ("threads_latency", pairs), of_one, 1.2 * pairs)
    for name, limit in MANY_RANKS_ON_TWO_CORES:
        add(f"{name}, 1024 ranks: at most {limit} us", "many", (name, 1024), None, limit, " us")


def goals(data):
    """The Goals whose figures are there."""
    rows = []

    def add(text, experiment, key, against, limit, unit=""):
        figures = data.get(experiment, {})
        ours = figures.get("ours", {}).get(key)
        other = against(figures, key) if against else None
        if not ours or (against and not other):
            return
        value = ours.value / other.value if other else ours.value
        is_met = value >= limit if ours.unit in HIGHER_IS_BETTER else value <= limit
        bound = floor_of(figures, key) if against is not floor_of else None
        goal = limit * other.value if other else limit
        rows.append(Goal(text, f"{number(value)}{unit}", is_met, experiment, key,
                         number(goal / bound.value) if bound else ""))

    eight = ("latency", 8)
    add("8 B one way, 2 cores: at most 0.6 of the better peer", "latency", eight, peer, 0.6)
    add("8 B one way, 2 cores: at most 1.6 of the ping-pong", "latency", eight, floor_of, 1.6)
    add("8 B one way, one core: under 0.15 us", "samecore", ("latency_same_core", 8), None,
        0.15, " us")
    for size, label in ((1 << 20, "1 MiB"), (4 << 20, "4 MiB")):
        for name, buffers in (("latency", "separate"), ("latency_bounce", "bounced")):
            add(f"{label} one way, {buffers} buffers: at most 1.1 of one memcpy", "latency",
                (name, size), floor_of, 1.1)
            add(f"{label} one way, {buffers} buffers: never behind a peer", "latency",
                (name, size), peer, 1.0)
    add("launch of 64 ranks: at most 0.2 of the better peer", "launch", ("launch", 64), peer,
        0.2)
    add("launch of 1024 ranks: under 1 s", "launch", ("launch", 1024), None, 1.0, " s")
    add("memory of an idle rank at 1000 ranks: under 200 KiB", "idle", ("idle_memory", 1000),
        None, 200, " KiB")
    add("16 ranks waiting in MPI_Recv: under 2 % of one core", "idle", ("idle_cpu", 16), None,
        2.0, " %")
    for name, what in (("regions_2t", "a parallel region"), ("hydro_2t", "a time step")):
        add(f"{what} of 1 rank with 2 threads: at most 1.05 of the program alone", "teams",
            (name, 1), floor_of, 1.05)
        for ranks in (2, 4, 8):
            add(f"{what} of {ranks} ranks with 2 threads: never behind a peer", "teams",
                (name, ranks), peer, 1.0)
    for ranks in (16, 64):
        for name in ("barrier", "allreduce_8B"):
            add(f"{name} of {ranks} ranks: at most 0.1 of the better peer", "collectives",
                (name, ranks), peer, 0.1)
    for ranks in (2, 4, 8, 16, 32, 64):
        add(f"wavefront of {ranks} ranks: not behind the better peer", "wavefront",
            ("wavefront", ranks), peer, 1.0)
    for name, ranks, text in (("jobs_2_at_once", 1, "two jobs of 1 rank at once"),
                              ("jobs_2_at_once", 2, "two jobs of 2 ranks at once"),
                              ("jobs_4_at_once", 2, "four jobs of 2 ranks at once"),
                              ("jobs_batch_of_40", 1, "40 short jobs of 1 rank, two at a time"),
                              ("jobs_batch_of_40", 4, "40 short jobs of 4 ranks, two at a time")):
        add(f"{text}: not behind the better peer", "jobs", (name, ranks), peer, 1.0)
    for ranks in (2, 16, 64):
        for name in ("ibcast", "ireduce", "iallreduce", "ibarrier"):
            add(f"start of an {name} of 8 B, {ranks} ranks, mean of the ranks: under 1 us",
                "start", (f"start_{name}_8B", ranks), None, 1.0, " us")
    add_small_calls(add)
    return rows


def goals_table(data):
    rows = goals(data)
    lines = ["| goal | measured | met | the goal, of the floor |", "|---|---|---|---|"]
    lines += [f"| {goal.text} | {goal.measured} | {'yes' if goal.is_met else '**no**'} | {goal.of_floor} |"
              for goal in rows]
    return "\n".join(lines) if rows else ""


# ---- files -----------------------------------------------------------------------------

def write_csv(path, samples):
    """One line per figure per sample; `samples` is {(experiment, mpi): [Sample]}."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["experiment", "mpi", "repeat", "name", "parameter", "value", "unit",
                         "foreign_cores", "steal_cores", "quiet", "line_us_before", "line_us_after", "counts"])
        for (experiment, mpi), items in samples.items():
            for repeat, sample in enumerate(items, 1):
                for (name, parameter), (value, unit) in sorted(sample.figures.items()):
                    writer.writerow([experiment, mpi, repeat, name, parameter, value, unit,
                                     f"{sample.foreign:.3f}", f"{sample.steal:.3f}",
                                     int(sample.quiet), *sample.lines_us.get((name, parameter), ("", "")),
                                     int(sample.is_alike((name, parameter)))])


PLOTS = {   # experiment -> [(file, title, x label, y label, {curve: (mpi, figure)})]
    "latency": [("latency", "One-way time, 2 ranks on 2 cores", "message size, bytes", "us", {
        "this project": ("ours", "latency"), "Open MPI": ("openmpi", "latency"),
        "MPICH": ("mpich", "latency"), "one memcpy": ("floor", "copy")})],
    "collectives": [("barrier", "Barrier, all ranks on the machine's cores", "ranks", "us", {
        "this project": ("ours", "barrier"), "Open MPI": ("openmpi", "barrier"),
        "MPICH": ("mpich", "barrier")})],
    "launch": [("launch", "Init + Finalize", "ranks", "s", {
        "this project": ("ours", "launch"), "Open MPI": ("openmpi", "launch"),
        "MPICH": ("mpich", "launch")})],
}


def plot(folder, experiment, figures_by_mpi):
    """Writes SVG files with gnuplot. Returns their names; none when gnuplot is missing."""
    written = []
    for name, title, x_label, y_label, curves in PLOTS.get(experiment, []):
        blocks, parts = [], []
        for label, (mpi, figure) in curves.items():
            points = sorted((key[1], item.value) for key, item in
                            figures_by_mpi.get(mpi, {}).items() if key[0] == figure)
            if points:
                blocks.append(f"$d{len(blocks)} << EOD\n" +
                              "".join(f"{x} {y}\n" for x, y in points) + "EOD\n")
                parts.append(f"$d{len(blocks) - 1} using 1:2 with linespoints lw 2 "
                             f"title '{label}'")
        if not parts:
            continue
        target = folder / f"{name}.svg"
        script = "".join(blocks) + (
            f"set terminal svg size 720,440 font 'sans,13' background 'white'\n"
            f"set output '{target}'\nset title '{title.replace(chr(39), chr(39) * 2)}'\n"
            f"set xlabel '{x_label}'\nset ylabel '{y_label}'\nset key left top\n"
            f"set logscale x 2\nset logscale y 10\nset grid\n{x_ticks(figures_by_mpi, curves)}" +
            "plot " + ", ".join(parts) + "\n")
        try:
            subprocess.run(["gnuplot"], input=script, text=True, check=True,
                           capture_output=True)
            written.append(target.name)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"compare: no plot {target.name}: {getattr(error, 'stderr', error)}")
    return written


def x_ticks(figures_by_mpi, curves):
    """gnuplot's labels for the sizes or rank counts that were measured."""
    values = sorted({key[1] for mpi, figure in curves.values()
                     for key in figures_by_mpi.get(mpi, {}) if key[0] == figure})
    named = [f"'{short(value)}' {value}" for value in values]
    return "set xtics (" + ", ".join(named) + ")\n"


def short(value):
    if value >= 1 << 20 and value % (1 << 20) == 0:
        return f"{value >> 20}Mi"
    return f"{value >> 10}Ki" if value >= 1024 and value % 1024 == 0 else str(value)


def write_markdown(path, header, sections):
    text = "\n\n".join(part for part in [*header, *sections] if part)
    Path(path).write_text(text + "\n")
