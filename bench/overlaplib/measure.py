"""Jobs of the overlap benchmark, under several MPIs in turn, to Rows.

Role:     knows how each MPI is started so that ranks and communication have their cores.
Users:    bench/overlap.
See also: bench/mpi/overlap.c
"""
import os
import statistics
import subprocess
from dataclasses import dataclass, field

from comparelib import jobs, machine
from overlaplib.rows import Row

OPERATIONS = ("ibcast", "ireduce", "iallreduce", "igather", "iscatter", "ialltoall")
FOREIGN_LIMIT = machine.FOREIGN_LIMIT


@dataclass
class Variant:
    """One way to run the program: an MPI with options."""
    name: str               # "ours", "ours/off", "mpich/async"
    text: str               # for people
    mpi: object             # mpis.Mpi
    options: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)


def variants(found, settings_known):
    """All ways for the MPIs that were found, without those whose settings this build lacks."""
    out = []
    for mpi in found:
        if mpi.name == "ours":
            out.append(Variant("ours", "this project", mpi))
            out.append(Variant("ours/awake", "communication core polls for 10 ms", mpi,
                               ["--set", "progress.spin_us=10000"]))
            if "progress.near_bytes" in settings_known:
                out.append(Variant("ours/handed", "all sizes handed over", mpi,
                                   ["--set", "progress.near_bytes=0"]))
            out.append(Variant("ours/off", "without progress threads", mpi,
                               ["--progress", "off"]))
            if "nbc.style" in settings_known:
                out.append(Variant("ours/rounds", "LibNBC's rounds", mpi,
                                   ["--set", "nbc.style=rounds"]))
        elif mpi.name == "mpich":
            out.append(Variant("mpich", "MPICH", mpi))
            out.append(Variant("mpich/async", "MPICH, a polling thread per rank", mpi,
                               environment={"MPIR_CVAR_ASYNC_PROGRESS": "1"}))
        else:
            out.append(Variant("openmpi", "Open MPI (LibNBC)", mpi))
    return out


def known_settings(prefix):
    """Names of the settings of our MPI."""
    tool = prefix / "bin/mpcinfo" if prefix else None
    if not tool or not tool.exists():
        return set()
    shown = subprocess.run([str(tool), "--settings", "--markdown"], capture_output=True,
                           text=True, check=False).stdout
    return {word.strip("`") for line in shown.splitlines() if line.startswith("| `")
            for word in line.split()[1:2]}


@dataclass
class Layout:
    """How many ranks on how many application and communication cores."""
    ranks: int
    cores: int
    communication: int

    @property
    def application(self):
        return self.cores - self.communication


def command(build, variant, layout, arguments, realtime, split=None):
    mpi, options = variant.mpi, list(variant.options)
    options += jobs.launch_options(mpi, layout.ranks, False)
    if mpi.name == "ours":
        options += ["--cores", str(layout.cores), "--comm-cores", str(layout.communication)]
        if split is not None:
            options += ["--set", f"nbc.split={split}"]
    # Peers have no communication cores: their ranks get all cores, as a user would run them.
    line = [mpi.launcher, *options, "-n", str(layout.ranks),
            str(build / mpi.name / "overlap"), *arguments]
    prefix = ["env", *(f"{key}={value}" for key, value in variant.environment.items())]
    if realtime:
        prefix += ["chrt", "-f", "50"]
    return prefix + line


def parse(output, word):
    """The key=value lines that begin with this word."""
    found = []
    for line in output.splitlines():
        if line.startswith(word + " "):
            found.append(dict(item.split("=", 1) for item in line.split()[1:] if "=" in item))
    return found


FIGURES = ("blocking", "comm", "compute", "sequence", "total", "manual", "start", "overlap",
           "compute_us", "cpu_blocking", "cpu_comm", "cpu_compute", "cpu_sequence",
           "cpu_total", "cpu_manual")


def run(line, limit_s):
    """(output, how busy others kept the machine, error)."""
    watch = machine.Watch()
    output, _, error = machine.run(line, limit_s)
    foreign, steal = watch.done()
    return output, foreign + steal, error


class Measurement:
    """Collects rows over rounds, and says what went wrong."""

    def __init__(self, options, build, chosen, progress=print):
        self.options, self.build, self.variants = options, build, chosen
        self.rows, self.errors, self.foreign = [], [], []
        self.say = progress

    def job(self, variant, layout, arguments, split=None, limit_s=None):
        line = command(self.build, variant, layout, arguments, self.options.realtime, split)
        output, foreign, error = run(line, limit_s or self.options.limit)
        self.foreign.append(foreign)
        if error:
            self.errors.append(f"{variant.name}, {layout.ranks} ranks: {error}")
            self.say(f"   {self.errors[-1]}")
        return output

    def add(self, variant, layout, figures, round_number, split="", kind="real", name=None):
        for key in FIGURES if name is None else name:
            if key in figures:
                self.rows.append(Row(kind, f"{layout.cores} cores", variant.name,
                                     figures["op"], int(figures["bytes"]), layout.cores,
                                     layout.ranks, split, round_number, key,
                                     float(figures[key])))

    def ratio(self, ranks_list):
        """How much of the communication is hidden, each operation, size and MPI."""
        o = self.options
        for number in range(1, o.rounds + 1):
            for variant in rotated(self.variants, number):
                for ranks in ranks_list:
                    layout = Layout(ranks, o.cores, o.comm_cores)
                    for size in o.sizes.split(","):
                        output = self.job(variant, layout, [
                            f"--ops={o.ops}", f"--sizes={size}", f"--seconds={o.seconds}",
                            f"--cpu-seconds={o.seconds / 5}"])
                        for figures in parse(output, "OVERLAP"):
                            self.add(variant, layout, figures, number)

    def blocking_on_all(self, variant, op, size, cores):
        """us of the blocking collective with a rank on every core: C(Nproc)."""
        layout = Layout(cores, cores, 0)
        output = self.job(variant, layout, [f"--ops={op}", f"--sizes={size}",
                                            "--compute-us=0", "--kinds=blocking",
                                            "--cpu-seconds=0", "--seconds=0.1"])
        found = parse(output, "OVERLAP")
        return float(found[0]["blocking"]) if found else None

    def fixed_problem(self, ranks_list, splits):
        """The paper's experiment: N ranks share what Nproc ranks would compute."""
        o = self.options
        ours = [v for v in self.variants if v.name in ("ours", "openmpi", "mpich")]
        for op in o.ops.split(","):
            for size in o.sizes.split(","):
                times = {v.name: self.blocking_on_all(v, op, size, o.cores) for v in ours}
                # One problem for all MPIs, sized by our own collective, as the paper's was by MPC's.
                base = times.get("ours") or next((t for t in times.values() if t), None)
                if base is None:
                    continue
                for number in range(1, o.rounds + 1):
                    self.fixed_round(ours, op, size, base, ranks_list, splits, number)

    def fixed_round(self, chosen, op, size, base, ranks_list, splits, number):
        o = self.options
        for ranks in ranks_list:
            for variant in rotated(chosen, number):
                communication = o.cores - min(ranks, o.cores - 1)
                layout = Layout(ranks, o.cores, communication)
                each = base * o.cores / ranks
                for split in splits if variant.name == "ours" else [""]:
                    output = self.job(variant, layout, [
                        f"--ops={op}", f"--sizes={size}", f"--compute-us={each}",
                        "--kinds=blocking,comm,compute,sequence,total", "--cpu-seconds=0",
                        f"--seconds={o.seconds}"], split=split or None)
                    for figures in parse(output, "OVERLAP"):
                        self.add(variant, layout, figures, number, split or "",
                                 name=None)

    def loop(self):
        """Nomura et al.: pieces of computation until the broadcast of 1.25 MB is complete."""
        o = self.options
        for number in range(1, o.rounds + 1):
            for variant in rotated(self.variants, number):
                for ranks in (2, 4) if o.cores > 2 or variant.mpi.name == "ours" else (2,):
                    layout = Layout(ranks, o.cores, o.comm_cores)
                    output = self.job(variant, layout, [
                        "--ops=ibcast", "--sizes=1250k", f"--loop-us={o.piece_us}",
                        f"--most={5 if o.quick else 31}"])
                    for figures in parse(output, "LOOP"):
                        figures["loop_time"] = figures["time"]
                        figures["loop_share"] = figures["share"]
                        self.add(variant, layout, figures, number,
                                 name=("loop_time", "loop_share"))

    def disturbance(self):
        return statistics.median(self.foreign) if self.foreign else 0.0


def rotated(items, number):
    turn = number % len(items) if items else 0
    return items[turn:] + items[:turn]


def compile_program(found, out, quick):
    """Compiles the program for each MPI, with that MPI's own mpicc."""
    context = jobs.Context(found, out, quick, False)
    context.build.mkdir(parents=True, exist_ok=True)
    jobs.compile_all(context, only=("overlap",))
    return context.build


def realtime_works():
    done = subprocess.run(["chrt", "-f", "50", "true"], capture_output=True, check=False) \
        if os.path.exists("/usr/bin/chrt") else None
    return done is not None and done.returncode == 0
