"""The jobs that experiments are made of: how programs are compiled and started, and what is noted of a job.

Role:     knows the options that show each MPI at its best (see `launch_options`), and the distance of the cores.
Users:    comparelib/experiments.py; bench/compare, against, carry, hosts, interrupts, overlap and progress-cost.
"""
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from comparelib import machine

SOURCES = Path(__file__).resolve().parents[1] / "mpi"
CORES = len(os.sched_getaffinity(0))
STANDALONE = ("floor", "meeting", "processes", "switches")   # without MPI
BRIEF_S = 0.1       # for a figure of two ranks: few jobs then see the cores moved, see machine.tell_apart()
FLAGS = {"hybrid": ["-fopenmp"], "threads": ["-pthread"]}
LIBRARIES = {"hybrid": ["-lm"]}


@dataclass
class Context:
    mpis: list          # mpis.Mpi objects, ours first
    build: Path
    quick: bool
    large: bool
    job_limit_s: float = 120.0
    built: bool = False     # the programs are there, a compiler need not be


def launch_options(mpi, ranks, one_core, free=False):
    """The options with which this MPI is fastest for `ranks` ranks on this machine's cores: with more
    ranks than cores binding only hurts. free: other jobs run, too, so that it hurts as well."""
    bind = ranks <= CORES and not one_core and not free
    unit = "hwthread" if has_hardware_threads() else "core"
    if mpi.name == "openmpi":
        options = ["--oversubscribe", "--allow-run-as-root", "--bind-to", unit if bind else "none"]
        return options + (["--use-hwthread-cpus", "--map-by", "hwthread"] if bind and unit != "core" else [])
    if mpi.name == "mpich":
        return ["-bind-to", unit] if bind else []
    return []


def has_hardware_threads():
    """Whether the system's "cores" are hardware threads of fewer cores."""
    siblings = Path("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    return siblings.exists() and siblings.read_text().strip() != "0"


def command(context, mpi, program, ranks, arguments=(), one_core=False, extra=(), free=False):
    options = launch_options(mpi, ranks, one_core, free) + list(extra)
    prefix = ["env", f"BENCH_BUDGET_S={BRIEF_S}"] if ranks <= 2 else []
    if one_core and mpi.cores_option:
        options += [mpi.cores_option, "1"]
    elif one_core:
        prefix += ["taskset", "-c", "0"]
    return [*prefix, mpi.launcher, *options, "-n", str(ranks),
            str(context.build / mpi.name / program), *arguments]


def compile_all(context, only=None):
    """Builds every program (or those named) for every MPI, and the floor, as far as they are out of
    date."""
    if context.built:
        return
    for mpi in context.mpis:
        folder = context.build / mpi.name
        folder.mkdir(parents=True, exist_ok=True)
        stamp = folder / "wrapper.txt"
        if not stamp.exists() or stamp.read_text() != mpi.version():
            for program in folder.iterdir():
                program.unlink()
            stamp.write_text(mpi.version())
        for source in sorted(SOURCES.glob("*.c")):
            if source.stem not in STANDALONE and (only is None or source.stem in only):
                compile_one([mpi.compiler, "-O2", *FLAGS.get(source.stem, [])], source,
                            folder / source.stem, LIBRARIES.get(source.stem, []))
    for name in STANDALONE:
        if only is not None and name not in only:
            continue
        compile_one(["gcc", "-O2", "-mprfchw", "-pthread"], SOURCES / f"{name}.c", context.build / name)


def compile_one(compiler, source, target, libraries=()):
    newest = max(file.stat().st_mtime for file in (source, *SOURCES.glob("*.h")))
    if target.exists() and target.stat().st_mtime > newest:
        return
    done = subprocess.run([*compiler, str(source), "-o", str(target), *libraries], text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(compiler)} {source}:\n{done.stderr}")


def measure(context, commands):
    """One Sample out of one or several jobs."""
    watch, sample = machine.Watch(), machine.Sample()
    before = line_us(context)
    for line in commands:
        output, _, error = machine.run(line, context.job_limit_s)
        found = machine.figures(output)
        sample.figures.update(found)
        sample.error = sample.error or error
        after = line_us(context)
        if before and after:
            sample.lines_us.update({key: [before, after] for key in found})
        before = after
    sample.foreign, sample.steal = watch.done()
    return sample


def line_us(context):
    """How long does a line take between the two cores just now? None: not known."""
    program = context.build / "floor"
    if CORES != 2 or not program.exists():
        return None     # of more cores, those of the ranks are not known
    output, _, _ = machine.run([str(program), "--sizes="], context.job_limit_s)
    figure = machine.figures(output).get(("pingpong", 8))
    return figure and figure[0]
