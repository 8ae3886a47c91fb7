"""The experiment in the real runtime on emulated cores (mpcrun --emulate), to Rows.

Role:     chooses scale and stretch so that 64 cores fit on two, and reads the times back.
Users:    bench/overlap.
See also: docs/design/0012-emulation.md
"""
import time

from comparelib import machine
from overlaplib import measure
from overlaplib.rows import Row, middle, select

BYTES = 2 << 20     # of the emulated machine, the paper's buffer
SCALE = 32          # one real byte stands for so many
SPLITS = ("0", "1", "2", "3")
# Where S switches, and enough points to see the curves: parts of the machine's cores.
RANKS = {64: (16, 32, 40, 46, 51, 54, 57, 58, 60, 62, 63),
         48: (12, 24, 32, 38, 41, 44, 46, 47)}
# Trees of the form that the paper models.
ALGORITHMS = "bcast:binomial,reduce:binomial,allreduce:binomial,gather:binomial," \
             "scatter:binomial"
DOUBLING = ("igather", "iscatter")  # long: their upper levels carry many blocks


def take(options, name, cores, op, model_rows, say):
    """Rows of one machine and operation. C(N) is that of the calibrated model, so that curves can
    be compared; without it, the measured blocking call on all cores sizes it."""
    program = options.out.resolve().parent / "ours" / "overlap"
    rows, begin = [], time.monotonic()
    wanted = [int(n) for n in options.ranks.split(",") if n] or \
        list(RANKS.get(cores, range(max(2, cores // 8), cores, max(1, cores // 12))))
    full = blocking_on_all(options, program, name, cores, op, say)
    if full is None:
        return rows
    rows.append(Row("emulated", name, "ours", op, BYTES, cores, cores, "", 1, "full_blocking",
                    full))
    for ranks in wanted:
        compute = middle(select(model_rows, kind="model", ranks=ranks, name="compute"))
        each = compute[0] if compute else full * cores / ranks
        rows += one_count(options, program, name, cores, op, ranks, each, say)
    say(f"   {name} {op}: {len(wanted)} numbers of ranks, {time.monotonic() - begin:.0f} s")
    return rows


def command(options, program, name, op, ranks, arguments, stretch=None):
    stretch = stretch or (options.stretch if op not in DOUBLING else max(4, options.stretch // 4))
    line = [str(options.prefix / "bin/mpcrun"), "-n", str(ranks), "--emulate", name,
            "--set", f"emulate.scale={SCALE}", "--set", f"emulate.stretch={stretch}",
            "--set", f"nbc.algorithm={ALGORITHMS}",
            *([] if options.waits_help else ["--set", "progress.help=0", "--set",
                                             f"progress.wake_bytes={1 << 40}"]),
            str(program), f"--ops={op}",
            f"--sizes={BYTES // SCALE}", "--cpu-seconds=0", "--seconds=0", *arguments]
    return (["chrt", "-f", "50"] if options.realtime else []) + line


def run(options, line, say, ranks):
    output, _, error = machine.run(line, options.limit)
    if error:
        say(f"   emulated, {ranks} ranks: {error}")
    return measure.parse(output, "OVERLAP")


def blocking_on_all(options, program, name, cores, op, say):
    found = run(options, command(options, program, name, op, cores, [
        "--compute-us=0", "--kinds=blocking", "--least=3", "--most=3"]), say, cores)
    return float(found[0]["blocking"]) if found else None


def one_count(options, program, name, cores, op, ranks, compute, say):
    repeats = 1 if options.quick else 3   # one disturbed one does not move the median
    plain = [f"--compute-us={compute}", f"--least={repeats}", f"--most={repeats}"]
    jobs = [
        (plain + ["--kinds=blocking,compute,sequence"], ""),
        (plain + ["--kinds=comm,total", "--splits=" + ",".join(SPLITS)], None),
        # The S of `auto` comes from the times of earlier calls: nothing but these.
        (plain + ["--kinds=total", "--splits=auto", "--warm=6"], None)]
    rows = []
    for arguments, split in jobs:
        for found in run(options, command(options, program, name, op, ranks, arguments), say,
                         ranks):
            for key in ("blocking", "comm", "compute", "sequence", "total", "start"):
                if key in found:
                    rows.append(Row("emulated", name, "ours", op, BYTES, cores, ranks,
                                    found.get("split", "") if split is None else split, 1, key,
                                    float(found[key])))
    return rows
