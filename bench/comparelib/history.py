"""The history of all runs: one line per measured value and run.

Role:     appends what a run has measured to bench/history.csv, beside the tables of RESULTS.md.
Users:    bench/compare, bench/overlap, bench/progress-cost.
"""
import csv
import statistics
import time

from comparelib import report

COLUMNS = ("date", "revision", "machine", "benchmark", "case", "implementation", "value", "unit",
           "steady", "ratio", "goal")
NAME = "history.csv"    # beside the tables


def line(run, benchmark, case, implementation, value, unit, steady=True, ratio="", goal=""):
    """One line. run: (date, revision, machine); "" as date: today."""
    date, revision, machine = run
    return (date or time.strftime("%Y-%m-%d"), revision, machine, benchmark, case, implementation,
            f"{value:.6g}", unit, int(steady), ratio, goal)


def rows(data, run):
    """The lines of a comparison. data: {experiment: {implementation: {(name, parameter): Figure}}}.

    ratio: our value by that of the better peer. goal: whether all goals of this value are met."""
    reached = {}
    for goal in report.goals(data):
        place = goal.experiment, goal.key
        reached[place] = reached.get(place, True) and goal.is_met
    out = []
    for experiment, by_mpi in data.items():
        def add(mpi, key, figure, ratio="", goal=""):
            out.append(line(run, experiment, f"{key[0]} {report.parameter_text(*key)}", mpi,
                            figure.value, figure.unit, figure.steady, ratio, goal))
        keys = {key for mpi in report.SERIES for key in by_mpi.get(mpi, {})}
        for key in sorted(keys, key=lambda key: (report.order_of(key[0]), key)):
            for mpi in report.SERIES:
                figure = by_mpi.get(mpi, {}).get(key)
                if not figure:
                    continue
                if mpi != "ours":
                    add(mpi, key, figure)
                    continue
                peer = report.better_peer(by_mpi, key)
                add(mpi, key, figure, report.ratio(figure, peer[1]) if peer else "",
                    {True: "met", False: "missed"}.get(reached.get((experiment, key)), ""))
            bound = report.floor_of(by_mpi, key)
            if bound:
                add("floor", key, bound)
    return out


def overlap_rows(measured, run):
    """The lines of bench/overlap: medians over the rounds of what was measured. `measured`: Rows of
    overlaplib.rows of kind "real"."""
    groups = {}
    for row in measured:
        split = f", S={row.split}" if row.split else ""
        case = f"{row.op} {row.bytes} B, {row.ranks} ranks{split}: {row.name}"
        groups.setdefault((case, row.mpi), []).append(row)
    out = []
    for (case, mpi), items in groups.items():
        values = sorted(row.value for row in items)
        middle = statistics.median(values)
        is_share = items[0].name in ("overlap", "loop_share")
        out.append(line(run, "overlap", case, mpi, middle, "of 1" if is_share else "us",
                        values[-1] - values[0] <= 0.2 * abs(middle)))
    return out


def append_beside(results, lines):
    """Adds lines to the history beside a page of results. Returns: its path."""
    path = results.resolve().parent / NAME
    append(path, lines)
    return path


def append(path, lines):
    """Adds lines to the file; creates it, with the names of its columns, if it does not exist."""
    is_new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerows(lines)
