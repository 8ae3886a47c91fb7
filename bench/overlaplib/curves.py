"""Curves of the models and the simulator, from mpcinfo, to Rows.

Role:     runs `mpcinfo model` and `simulate`, and converts their CSV to the form of measured data.
Users:    bench/overlap.
See also: docs/overlap-model.md
"""
import csv
import io
import re
import subprocess

from overlaplib.rows import Row

KINDS = {   # kind of row -> arguments of mpcinfo
    "paper": ["model", "--kind", "PAPER"],
    "model": ["model", "--kind", "calibrated"],
    "simulated": ["simulate"],
}
DOUBLING = ("igather", "iscatter")


def curve(mpcinfo, kind, machine, op, size, waits_help=False):
    """Rows of one machine and operation; [] and a reason where mpcinfo cannot do it."""
    weight = "doubling" if op in DOUBLING else "constant"
    arguments = [weight if word == "PAPER" else word for word in KINDS[kind]]
    if waits_help and kind == "simulated":
        arguments.append("--waits-help")
    done = subprocess.run([str(mpcinfo), *arguments, "--machine", machine, "--op", op, "--csv"],
                          capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[:1]
        return [], f"mpcinfo {' '.join(arguments)} --machine {machine} --op {op}: " + \
            (last[0] if last else f"status {done.returncode}")
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
    rows = []
    for entry in csv.DictReader(io.StringIO("\n".join(lines))):
        rows += list(entry_rows(entry, kind, machine, op, size))
    return rows, ""


def entry_rows(entry, kind, machine, op, size):
    cores, ranks = int(entry["nproc"]), int(entry["N"])

    def row(split, name, value):
        return Row(kind, machine, "", op, size, cores, ranks, split, 1, name, float(value))
    compute = float(entry["C"])
    yield row("", "compute", compute)
    yield row("", "blocking", float(entry["blocking_plus_C"]) - compute)
    yield row("", "sequence", entry["blocking_plus_C"])
    for key, value in entry.items():
        found = re.fullmatch(r"T_(nonblocking|overlapped)_S(\d+)", key or "")
        if found and value not in ("", "inf"):
            yield row(found[2], "comm" if found[1] == "nonblocking" else "total", value)
    chosen = entry.get("chosen_S") or ""
    if chosen not in ("", "-1"):
        yield row("auto", "total", entry[f"T_overlapped_S{chosen}"])
        yield row("auto", "chosen_S", chosen)
    yield row("", "best_S", entry["best_S"])
