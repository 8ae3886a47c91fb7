"""The times that the calibrated model calls possible, beside the measured ones.

Role:     asks `mpcinfo possible` with this machine's calibration and the computation that was
          measured, never with a measured collective; Rows of kind "model".
Users:    bench/overlap.
See also: nbc/model/possible.h, docs/overlap-model.md
"""
import csv
import io
import subprocess

from overlaplib.rows import Row, distinct, middle, select

OURS = ("ours", "ours/awake", "ours/handed")    # those with a communication core
FIGURES = ("blocking_us", "kept_us", "handed_us", "possible_us", "hidden_percent")


def calibrate(mpcinfo, path, prefix=()):
    """Calibrates the machine, with the result in this file. Returns "" or what went wrong."""
    done = subprocess.run([*prefix, str(mpcinfo), "calibrate", "--output", str(path)],
                          capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or "mpcinfo calibrate failed"


def ask(mpcinfo, parameters, op, size, ranks, cores, communication, window_us):
    """{column: number} of one row, or None."""
    block = size // ranks if op == "ialltoall" else size    # the benchmark's buffer is of all
    done = subprocess.run(
        [str(mpcinfo), "possible", "--csv", "--parameters", str(parameters), "--op", op,
         "--bytes", str(block), "--ranks", str(ranks), "--cores", str(cores),
         "--comm-cores", str(communication), "--window", f"{window_us:.6f}us"],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    return {name: float(lines[0][name]) for name in FIGURES}


def take(mpcinfo, parameters, rows, communication):
    """Rows for everything that was measured; the window is the median over the rounds."""
    out = []
    measured = select(rows, kind="real", split="", name="overlap")
    for mpi in [name for name in distinct(measured, "mpi") if name in OURS]:
        for op in distinct(measured, "op"):
            for size in sorted(set(distinct(measured, "bytes"))):
                for ranks in sorted(set(distinct(measured, "ranks"))):
                    part = select(rows, kind="real", split="", mpi=mpi, op=op, bytes=size,
                                  ranks=ranks)
                    window = middle(select(part, name="compute_us"))
                    if not window:
                        continue
                    one = part[0]
                    found = ask(mpcinfo, parameters, op, size, ranks, one.cores, communication,
                                window[0])
                    out += [Row("possible", one.machine, mpi, op, size, one.cores, ranks, "", 0,
                                name, value) for name, value in (found or {}).items()]
    return out
