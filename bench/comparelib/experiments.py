"""What is measured: each experiment is a list of jobs per MPI, and how to read them.

Role:     knows the options that show each MPI at its best (see `launch_options`).
Users:    bench/compare.
"""
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from comparelib import machine

SOURCES = Path(__file__).resolve().parents[1] / "mpi"
BIND_RANKS = 2              # with more ranks than cores, binding only hurts
IDLE_SECONDS = 3.0
NO_YIELD_RANKS = 16         # MPICH never yields: beyond, one barrier takes seconds
STREAM_BYTES = 1 << 20      # Open MPI streams faster without CMA from here on


@dataclass
class Context:
    mpis: list          # mpis.Mpi objects, ours first
    build: Path
    quick: bool
    large: bool
    job_limit_s: float = 120.0


def launch_options(mpi, ranks, one_core):
    """The options with which this MPI is fastest for `ranks` ranks on two cores."""
    bind = ranks <= BIND_RANKS and not one_core
    if mpi.name == "openmpi":
        return ["--oversubscribe", "--allow-run-as-root", "--bind-to",
                "core" if bind else "none"]
    if mpi.name == "mpich":
        return ["-bind-to", "core"] if bind else []
    return []


def command(context, mpi, program, ranks, arguments=(), one_core=False, extra=()):
    options = launch_options(mpi, ranks, one_core) + list(extra)
    prefix = []
    if one_core and mpi.cores_option:
        options += [mpi.cores_option, "1"]
    elif one_core:
        prefix = ["taskset", "-c", "0"]
    return [*prefix, mpi.launcher, *options, "-n", str(ranks),
            str(context.build / mpi.name / program), *arguments]


def compile_all(context, only=None):
    """Builds every program (or those named) for every MPI, and the floor; only what is out of
    date."""
    for mpi in context.mpis:
        folder = context.build / mpi.name
        folder.mkdir(parents=True, exist_ok=True)
        stamp = folder / "wrapper.txt"
        if not stamp.exists() or stamp.read_text() != mpi.version():
            for program in folder.iterdir():
                program.unlink()
            stamp.write_text(mpi.version())
        for source in sorted(SOURCES.glob("*.c")):
            if source.stem != "floor" and (only is None or source.stem in only):
                compile_one([mpi.compiler, "-O2"], source, folder / source.stem)
    if only is not None:
        return
    compile_one(["gcc", "-O2", "-pthread"], SOURCES / "floor.c", context.build / "floor")


def compile_one(compiler, source, target):
    newest = max(source.stat().st_mtime, (SOURCES / "bench.h").stat().st_mtime)
    if target.exists() and target.stat().st_mtime > newest:
        return
    done = subprocess.run([*compiler, str(source), "-o", str(target)], text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(compiler)} {source}:\n{done.stderr}")


def measure(context, commands):
    """One Sample out of one or several jobs."""
    watch, sample = machine.Watch(), machine.Sample()
    for line in commands:
        output, _, error = machine.run(line, context.job_limit_s)
        sample.figures.update(machine.figures(output))
        sample.error = sample.error or error
    sample.foreign, sample.steal = watch.done()
    return sample


# ---- the experiments: each returns a Sample for one MPI, or None when it makes no sense ----

def floor(context):
    sizes = "64k,1M" if context.quick else "8k,64k,1M,4M"
    return measure(context, [[str(context.build / "floor"), f"--sizes={sizes}"]])


def latency(context, mpi):
    sizes = "8,1k,64k,1M" if context.quick else "8,64,1k,8k,64k,1M,4M"
    big = "64k,1M" if context.quick else "8k,64k,1M,4M"
    return measure(context, [
        command(context, mpi, "latency", 2, [f"--sizes={sizes}"]),
        command(context, mpi, "latency", 2, [f"--sizes={big}", "--buffers=bounce"]),
        command(context, mpi, "latency", 2, [f"--sizes={big}", "--buffers=used"])])


def samecore(context, mpi):
    yielding = ["--mca", "mpi_yield_when_idle", "1"] if mpi.name == "openmpi" else []
    return measure(context, [command(context, mpi, "latency", 2,
                                     ["--sizes=8,1k", "--name=latency_same_core"],
                                     one_core=True, extra=yielding)])


def bandwidth(context, mpi):
    small = "8,1k" if context.quick else "8,64,1k,8k,64k"
    large = "1M" if context.quick else "1M,4M"
    streaming = ["--mca", "btl_vader_single_copy_mechanism", "none"] \
        if mpi.name == "openmpi" else []
    return measure(context, [
        command(context, mpi, "bandwidth", 2, [f"--sizes={small}"]),
        command(context, mpi, "bandwidth", 2, [f"--sizes={large}"], extra=streaming)])


def collectives(context, mpi):
    ranks = [2, 16] if context.quick else [2, 4, 8, 16, 32, 64]
    if mpi.name == "mpich":
        ranks = [n for n in ranks if n <= NO_YIELD_RANKS]
    commands = []
    for n in ranks:
        which = "barrier,allreduce,alltoall"
        if context.quick or (mpi.name == "mpich" and n > 4):
            which = "barrier,allreduce_8B"
        commands.append(command(context, mpi, "collectives", n, [f"--which={which}"]))
    return measure(context, commands)


def start(context, mpi):
    ranks = [2, 16] if context.quick else [2, 16, 64]
    calls = 300 if mpi.name == "ours" else 30   # a barrier comes before each
    if mpi.name == "mpich":
        ranks = [2]     # 16 take a minute
    return measure(context, [command(context, mpi, "start", n, [f"--calls={calls}"])
                             for n in ranks])


def launch(context, mpi):
    ranks = [2, 16] if context.quick else [2, 16, 64]
    if mpi.name == "ours":
        ranks += [64, 1024] if context.quick else [1024]
        ranks += [10000] if context.large else []
    watch, sample = machine.Watch(), machine.Sample()
    for n in dict.fromkeys(ranks):
        _, seconds, error = machine.run(command(context, mpi, "empty", n),
                                        context.job_limit_s)
        if not error:
            sample.figures[("launch", n)] = (seconds, "s")
        sample.error = sample.error or (error and f"{n} ranks: {error}")
    sample.foreign, sample.steal = watch.done()
    return sample


def idle(context, mpi):
    ranks = [16] if context.quick else [16, 64]
    if mpi.name == "ours":
        ranks += [1000]
    watch, sample = machine.Watch(), machine.Sample()
    for n in ranks:
        sample.error = sample.error or idle_job(context, mpi, n, sample)
    sample.foreign, sample.steal = watch.done()
    return sample


def idle_job(context, mpi, ranks, sample):
    """CPU use and memory of one waiting job, from outside. Returns "" or an error."""
    process = machine.start(command(context, mpi, "idle", ranks,
                                    [f"--seconds={IDLE_SECONDS}"]))
    line = process.stdout.readline()    # ends with the job, or by the kill below
    if line.strip() != "IDLE":
        machine.end_session(process)
        return f"idle with {ranks} ranks: {line.strip() or 'no output'}"
    time.sleep(0.2)
    pids = machine.job_processes(process.pid)
    begin, used = time.monotonic(), machine.cpu_seconds(pids)
    time.sleep(IDLE_SECONDS - 0.8)
    used = machine.cpu_seconds(pids) - used
    share = used / (time.monotonic() - begin)
    sample.figures[("idle_cpu", ranks)] = (100 * share, "% of a core, whole job")
    sample.figures[("idle_memory", ranks)] = (machine.pss_kib(pids) / ranks, "KiB per rank")
    try:
        _, error = process.communicate(timeout=context.job_limit_s)
        return "" if process.returncode == 0 else f"idle: status {process.returncode}"
    except subprocess.TimeoutExpired:
        machine.end_session(process)
        return "idle: no end"


EXPERIMENTS = {     # name -> (what it shows, function, whether the floor belongs to it)
    "latency": ("one-way time, 2 ranks on 2 cores", latency, True),
    "samecore": ("one-way time, 2 ranks on one core", samecore, False),
    "bandwidth": ("streaming, 2 ranks on 2 cores", bandwidth, False),
    "collectives": ("collectives, all ranks on the machine's cores", collectives, False),
    "start": ("non-blocking start: from the call of MPI_I... to its return", start, False),
    "launch": ("Init + Finalize, wall time of the launcher", launch, False),
    "idle": ("a job whose ranks wait in MPI_Recv", idle, False),
}

