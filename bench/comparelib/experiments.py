"""The experiments: each is a list of jobs per MPI, and how to read them.

Role:     which programs, sizes and numbers of ranks show what.
Users:    bench/compare.
"""
import subprocess
import time

from comparelib import machine
from comparelib.jobs import CORES, command, measure

IDLE_SECONDS = 3.0
MANY_RANKS = 1024
NO_YIELD_RANKS = 16         # MPICH never yields: beyond, one barrier takes seconds
TEAM_LIMIT_S = 20.0         # Open MPI and MPICH need minutes for some numbers of threads


# ---- the experiments: each returns a Sample for one MPI, or None when it makes no sense ----

def floor(context):
    sizes = "64k,1M" if context.quick else "8k,64k,1M,4M"
    return measure(context, [[str(context.build / "floor"), f"--sizes={sizes}"]])


def ring(context):
    return measure(context, [[str(context.build / "floor"), "--only=ring"]])


def halo(context):
    return measure(context, [[str(context.build / "floor"), "--only=halo"]])


def wave(context):
    return measure(context, [[str(context.build / "floor"), "--only=wave"]])


def latency(context, mpi):
    sizes = ["8,1k,64k,1M"] if context.quick else ["8,64,256", "1k,8k,64k", "1M,4M"]
    big = "64k,1M" if context.quick else "8k,64k,1M,4M"
    return measure(context, [
        *(command(context, mpi, "latency", 2, [f"--sizes={some}"]) for some in sizes),
        command(context, mpi, "latency", 2, [f"--sizes={big}", "--buffers=bounce"]),
        command(context, mpi, "latency", 2, [f"--sizes={big}", "--buffers=used"])])


def samecore(context, mpi):
    yielding = ["--mca", "mpi_yield_when_idle", "1"] if mpi.name == "openmpi" else []
    return measure(context, [command(context, mpi, "latency", 2,
                                     ["--sizes=8,1k", "--name=latency_same_core"],
                                     one_core=True, extra=yielding)])


def bandwidth(context, mpi):
    small = "8,1k" if context.quick else "8,64,1k,8k,64k"
    both = "8" if context.quick else "8,16,64"
    large = "1M" if context.quick else "1M,4M"
    streaming = ["--mca", "btl_vader_single_copy_mechanism", "none"] \
        if mpi.name == "openmpi" else []
    return measure(context, [
        command(context, mpi, "bandwidth", 2, [f"--sizes={small}"]),
        command(context, mpi, "bandwidth", 2, ["--sizes=", f"--both={both}"]),
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


# Short jobs, so that few of them see the cores moved: see machine.tell_apart().
SMALL = ("scan_8B,exscan_8B,allgather_8B,allgatherv_8B", "alltoallv_8B,reduce_scatter_8B,reduce_scatter_block_8B",
         "neighbor_allgather_8B,neighbor_alltoall_8B,bcast_8B_from_0,bcast_8B_root_changes",
         "reduce_8B_root_changes,gather_8B_root_changes,scatter_8B_root_changes",
         "bcast_512B_root_changes,reduce_512B_root_changes,gather_512B_root_changes,scatter_512B_root_changes",
         "iallreduce_8B_and_wait,ibcast_8B_and_wait,ibarrier_and_wait,ialltoall_8B_and_wait",
         "comm_split_and_free,comm_dup_and_free,sendrecv_8B,exchange_8B",
         "pair_isend_8B,pair_persistent_8B,pair_ssend_8B,pair_bsend_8B,pair_probe_8B,pair_any_source_8B")


def small(context, mpi):
    ranks = [2] if context.quick or mpi.name == "mpich" else [2, 4]
    return measure(context, [command(context, mpi, "collectives", 2, ["--which=barrier,allreduce_8B,alltoall_8B"]),
                             *small_commands(context, mpi, ranks)])


def small_commands(context, mpi, ranks):
    return [command(context, mpi, "small", n, [f"--which={which}"]) for n in ranks for which in SMALL]


def one_rank_per_core(context):
    """Rank counts up to all cores."""
    return [n for n in ((4, 16) if context.quick else (4, 8, 16, 32, 64)) if n <= CORES] or [2]


def lines(context, *more):
    """What no barrier and no reduction of 8 bytes can beat: the best way to meet with bare flags."""
    counts = ",".join(map(str, one_rank_per_core(context)))
    sample = measure(context, [[str(context.build / "meeting"), f"--cores={counts}"], *more])
    for way, name in (("meet_", "barrier"), ("sum_", "allreduce_8B")):
        for (form, cores), figure in list(sample.figures.items()):
            if form.startswith(way):
                best = sample.figures.get((name, cores), figure)
                sample.figures[(name, cores)] = min(best, figure)
    return sample


def lines_and_pingpong(context):
    return lines(context, [str(context.build / "floor"), "--only=pingpong"])


def percore(context, mpi):
    """What changes with the number of cores: on two of them `latency`, `collectives` and `small` have it."""
    commands = []
    for n in one_rank_per_core(context):
        commands += [command(context, mpi, "collectives", n, ["--which=barrier,allreduce,alltoall,bcast"]),
                     *small_commands(context, mpi, [n]),
                     command(context, mpi, "bandwidth", n, ["--pairs=8,64,1k"]),
                     command(context, mpi, "wavefront", n, ["--rounds=5"])]
    return measure(context, commands)


def switches(context):
    """What no collective of all these ranks can beat: each has its turn once."""
    ranks = 64 if context.quick else MANY_RANKS
    return measure(context, [[str(context.build / "switches"), f"--ranks={ranks}"]])


def threads(context, mpi):
    counts = [1, *(n for n in (2, 4, 8) if 2 * n <= (CORES if mpi.name == "mpich" else max(CORES, 8)))]
    return measure(context, [command(context, mpi, "threads", 2, [f"--threads={','.join(map(str, counts))}"],
                                     free=True)])


def many(context, mpi):
    """More ranks than a peer can run: the goals are times."""
    if mpi.name != "ours":
        return machine.Sample()
    ranks = 64 if context.quick else MANY_RANKS
    return measure(context, [
        command(context, mpi, "collectives", ranks, ["--which=barrier,allreduce_8B,alltoall_8B"]),
        command(context, mpi, "small", ranks, ["--which=ibarrier_and_wait,ialltoall_8B_and_wait,"
                                               "comm_split_and_free"])])


def wavefront(context, mpi):
    ranks = [2, 8] if context.quick else [2, 4, 8, 16, 32, 64]
    rounds = "7"
    if mpi.name == "mpich":     # waiting ranks never yield: minutes beyond
        ranks, rounds = [n for n in ranks if n <= 4], "3"
    return measure(context, [command(context, mpi, "wavefront", n, [f"--rounds={rounds}"])
                             for n in ranks])


def jobs(context, mpi):
    """Wall time of several jobs: (name, ranks of each, how many, how many at a time, work)."""
    long, short = ["--rounds=200"], ["--rounds=10"]
    plans = [("jobs_alone", 1, 1, 1, long), ("jobs_2_at_once", 1, 2, 2, long),
             ("jobs_2_at_once", 2, 2, 2, long), ("jobs_4_at_once", 2, 4, 4, long),
             ("jobs_batch_of_40", 1, 40, 2, short), ("jobs_batch_of_40", 4, 40, 2, short)]
    if context.quick:
        plans = plans[:2]
    if mpi.name == "mpich":     # waiting ranks never yield
        plans = [plan for plan in plans if plan[1] * plan[3] <= 4]
    watch, sample = machine.Watch(), machine.Sample()
    for name, ranks, count, at_once, work in plans:
        line = command(context, mpi, "rounds", ranks, work, free=True)
        seconds, error = machine.run_batch([line] * count, at_once, context.job_limit_s)
        if error:
            sample.error = sample.error or f"{name}, {ranks} ranks: {error}"
        else:
            sample.figures[(name, ranks)] = (seconds, "s")
    sample.foreign, sample.steal = watch.done()
    return sample


def rma(context, mpi):
    ranks = [2, 16] if context.quick else [2, 16, 64]
    if mpi.name == "mpich":     # waiting ranks never yield
        ranks = ranks[:1] if context.quick else [n for n in ranks if n <= NO_YIELD_RANKS]
    single = "put_8B,get_8B,put_1MiB,get_1MiB,fetch_add,put_flush,acc_8KiB,acc_1MiB,put_1MiB_fence"
    return measure(context, [command(context, mpi, "rma", 2, [f"--which={single}"])] +
                   [command(context, mpi, "rma", n, ["--which=fence,pscw,lock_put"])
                    for n in ranks])


def files(context, mpi):
    ranks = [2, 16] if context.quick else [2, 16, 64]
    if mpi.name == "mpich":     # waiting ranks never yield: 16 take minutes
        ranks = ranks[:1]
    blocking = [command(context, mpi, "io", n, ["--block=256", "--bytes=1M"]) for n in ranks]
    # Those that do not block: 16 MiB a rank in 8 parts; ours also without the kernel's help.
    ways = [("", ())]
    if mpi.name == "ours":
        ways.append(("_threads", ("--set", "io.async=threads")))
    return measure(context, blocking + [
        command(context, mpi, "io", 2, ["--which=iwrite,iread,iread_cold", "--shapes=contiguous", "--bytes=16M",
                                        f"--label={label}"], extra=extra)
        for label, extra in ways])


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


def alone(context):
    """The program of `teams` without a launcher, by our wrapper."""
    return measure(context, [["env", f"OMP_NUM_THREADS={threads}",
                              str(context.build / context.mpis[0].name / "hybrid")]
                             for threads in (1, 2)])


def teams(context, mpi):
    """Ranks with OpenMP threads. Open MPI binds each rank to a core, as we do; one rank may use
    all of them in both."""
    counts = [(1, 2), (2, 2)] if context.quick else \
        [(ranks, threads) for ranks in (1, 2, 4, 8) for threads in (1, 2, 4)]
    watch, sample = machine.Watch(), machine.Sample()
    for ranks, threads in counts:
        if mpi.name == "mpich" and ranks > CORES:
            continue    # its waiting ranks never yield
        options = {"openmpi": ["--oversubscribe", "--allow-run-as-root", "--bind-to",
                               "none" if ranks == 1 else "core:overload-allowed"],
                   "mpich": ["-bind-to", "core"] if ranks > 1 else []}.get(mpi.name, [])
        output, _, error = machine.run(
            ["env", f"OMP_NUM_THREADS={threads}", mpi.launcher, *options, "-n", str(ranks),
             str(context.build / mpi.name / "hybrid")], TEAM_LIMIT_S)
        sample.figures.update(machine.figures(output))
        if mpi.name == "ours":  # others may take minutes, which says enough
            sample.error = sample.error or error
    sample.foreign, sample.steal = watch.done()
    return sample


def heap(context, mpi):
    commands = [command(context, mpi, "latency", 2, ["--sizes=8", "--buffers=malloc"])]
    ranks = [2, 16] + ([1000] if mpi.name == "ours" and not context.quick else [])
    for n in ranks:
        for threads in (1, 4) if n <= NO_YIELD_RANKS else (1,):
            commands.append(command(context, mpi, "heap", n, [f"--threads={threads}"]))
    for size in ("1.5M", "6M"):
        for use in ("one", "again", "zero", "all"):
            commands.append(command(context, mpi, "heap", 8, [f"--arrays={size}", f"--use={use}"]))
    return measure(context, commands)


def arrays(context, mpi):
    sizes = "2M,8M" if context.quick else "2M,8M,32M"
    return measure(context, [command(context, mpi, "arrays", 2, [f"--sizes={sizes}"])])


LAYOUTS = ("face,halo", "random_8B,random_64B", "irregular,regular,half,quarter", "box,columns,to_columns",
           "from_face,to_face")


def layouts(context, mpi):
    parts = ["face,halo,random_64B,columns"] if context.quick else LAYOUTS
    return measure(context, [command(context, mpi, "layouts", 2, [f"--which={which}"]) for which in parts])


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
    if used < 0:    # what a process that has ended had used is missing now
        machine.end_session(process)
        return f"idle with {ranks} ranks: it ended while it was measured"
    share = used / (time.monotonic() - begin)
    sample.figures[("idle_cpu", ranks)] = (100 * share, "% of a core, whole job")
    sample.figures[("idle_memory", ranks)] = (machine.pss_kib(pids) / ranks, "KiB per rank")
    try:
        _, error = process.communicate(timeout=context.job_limit_s)
        return "" if process.returncode == 0 else f"idle: status {process.returncode}"
    except subprocess.TimeoutExpired:
        machine.end_session(process)
        return "idle: no end"


EXPERIMENTS = {     # name -> (what it shows, function, what gives the floor, or None)
    "latency": ("one-way time, 2 ranks on 2 cores", latency, floor),
    "samecore": ("one-way time, 2 ranks on one core", samecore, None),
    "layouts": ("messages whose data have gaps, one-way time, 2 ranks on 2 cores", layouts, halo),
    "bandwidth": ("streaming, 2 ranks on 2 cores", bandwidth, ring),
    "collectives": ("collectives, all ranks on the machine's cores", collectives, lines),
    "small": ("small collectives: prefixes, vectors, neighbours, changing roots, start and wait; calls of pairs",
              small, lines_and_pingpong),
    "percore": ("one rank per core: small collectives, pairs, pipelines", percore, lines),
    "threads": ("threads of a rank with those of another (MPI_THREAD_MULTIPLE), 8 bytes", threads, None),
    "many": ("1,024 ranks on the machine's cores", many, switches),
    "wavefront": ("pipelines of small messages, all ranks on the machine's cores", wavefront, wave),
    "jobs": ("wall time of several jobs at a time", jobs, None),
    "rma": ("one-sided communication: operations in a held lock, 2 ranks; epochs of 8 bytes, all ranks",
            rma, None),
    "files": ("one file in the system's cache: 1 MiB a rank, blocks of 256 bytes, MB/s of all ranks",
              files, None),
    "start": ("non-blocking start: from the call of MPI_I... to its return", start, None),
    "teams": ("ranks with OpenMP threads (the floor: the program without a launcher)", teams, alone),
    "launch": ("Init + Finalize, wall time of the launcher", launch, None),
    "heap": ("malloc and free: ping-pong between small blocks, time of a pair", heap, None),
    "arrays": ("arrays of megabytes, 2 ranks on 2 cores, without messages", arrays, None),
    "idle": ("a job whose ranks wait in MPI_Recv", idle, None),
}

# Of many short jobs, each of which the cores may be moved in: so many times as long as others.
WEIGHTS = {"small": 3, "percore": 3}
LONG_FLOORS = ("many", "teams", "wavefront")     # take seconds: once a round
