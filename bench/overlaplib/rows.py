"""Rows: every number of the experiment, with the configuration to which it belongs.

Role:     the one form of data between measuring, modelling, tables and plots; a CSV file.
Users:    bench/overlap and the rest of overlaplib.
"""
import csv
import statistics
from dataclasses import astuple, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Row:
    kind: str       # real, emulated, simulated, model (calibrated), paper, possible
    machine: str    # "2 cores", knl64 ...
    mpi: str        # ours, openmpi ... with a variant: "ours/off"; "" for models
    op: str         # ibcast ...
    bytes: int
    cores: int      # of the machine
    ranks: int      # N
    split: str      # S: "0", "1" ..., "auto", "" where it has no meaning
    round: int      # repeats of whole jobs
    name: str       # total, comm, overlap ...
    value: float    # us unless the name says otherwise


def write_csv(path, rows, machine_line):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        file.write(f"# machine: {machine_line}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows(astuple(row) for row in rows)


def read_csv(path):
    """(rows, machine line). Errors: ValueError."""
    types = [field.type for field in fields(Row)]
    line, rows = "", []
    with Path(path).open(newline="") as file:
        first = file.readline()
        if not first.startswith("# machine: "):
            raise ValueError(f"{path}: no CSV of bench/overlap (its first line names a machine)")
        line = first[len("# machine: "):].strip()
        reader = csv.reader(file)
        if next(reader, None) != [field.name for field in fields(Row)]:
            raise ValueError(f"{path}: other columns than those of this version")
        for words in reader:
            rows.append(Row(*(kind(word) for kind, word in zip(types, words))))
    return rows, line


def select(rows, **wanted):
    """Rows whose fields have these values (a value, or a set of them)."""
    def fits(row):
        return all(getattr(row, key) in value if isinstance(value, (set, tuple, list))
                   else getattr(row, key) == value for key, value in wanted.items())
    return [row for row in rows if fits(row)]


def middle(rows):
    """(median, lowest, highest) over rounds, or None."""
    values = sorted(row.value for row in rows)
    if not values:
        return None
    return statistics.median(values), values[0], values[-1]


def distinct(rows, field):
    """The values of a field, in order of appearance."""
    return list(dict.fromkeys(getattr(row, field) for row in rows))
