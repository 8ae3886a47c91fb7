"""The history of all runs: one line per measured value and run.

Role:     appends what a run has measured to bench/history.csv, beside the tables of RESULTS.md.
Users:    bench/compare.
"""
import csv
import time

from comparelib import report

COLUMNS = ("date", "revision", "machine", "benchmark", "case", "implementation", "value", "unit",
           "steady", "ratio", "goal")
NAME = "history.csv"    # beside the tables


def rows(data, revision, machine, date=None):
    """The lines of one run. data: {experiment: {implementation: {(name, parameter): Figure}}}.

    ratio: our value by that of the better peer. goal: whether all goals of this value are met."""
    date = date or time.strftime("%Y-%m-%d")
    reached = {}
    for goal in report.goals(data):
        place = goal.experiment, goal.key
        reached[place] = reached.get(place, True) and goal.is_met
    out = []
    for experiment, by_mpi in data.items():
        def add(mpi, key, figure, ratio="", goal=""):
            out.append((date, revision, machine, experiment,
                        f"{key[0]} {report.parameter_text(*key)}", mpi, f"{figure.value:.6g}",
                        figure.unit, int(figure.steady), ratio, goal))
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


def append(path, lines):
    """Adds lines to the file; makes it, with the names of its columns, if there is none."""
    is_new = not path.exists() or path.stat().st_size == 0
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerows(lines)
