"""./run random: the programs of tests/random with new seeds, for as long as one likes.

Each run has a seed, a number of ranks and options of its own, which are printed when it fails. The programs are
plain MPI, but other MPIs (Open MPI 4.1, MPICH 4.0) fail those with datatypes within a few rounds: resized types
in arrays and structs, MPI_Get_elements of partial data.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = ("messages", "collectives", "windows", "files", "progress")
# What each run draws one of; {seed} is its seed.
OPTIONS = (
    "",
    "",
    "--cores 1",
    "--set mpi.check=full",
    "--set job.virtual_processes=2 --set net.loopback_seed={seed}",
    "--set job.virtual_processes=64 --set net.loopback_seed={seed} --set net.unexpected_bytes=0",
    "--set job.virtual_processes=3 --set mpi.check=full",
    "--set nbc.direct=0 --set message.eager_limit=0",
    "--set message.eager_limit=100 --set nbc.segment_bytes=100 --set sched.spin_us=0",
    "--set sched.steal=1 --set sched.preempt_ms=1 --set progress.tick=1",
    "-p 2",
)
# Of progress: one of each line.
PROGRESS_OPTIONS = (
    ("-p 2", "-p 2", "-p 4", "--ranks-per-process 1", "--set job.virtual_processes=2", "--cores 1 -p 3", "--cores 1"),
    ("", "", "", "--set net.grace_us=0", "--set net.grace_us=10000", "--set net.grace_us=1"),
    ("", "", "", "--set net.interrupts=always", "--set net.interrupts=never"),
    ("", "", "", "--set net.host_segment=0", "--set net.host_copies=0", "--set nbc.direct=0"),
    ("", "", "--set sched.spin_us=0", "--set net.spin_us=0", "--set sched.spin_us=0 --set net.spin_us=0"),
)


def options_of(program, ranks, seed, draws):
    """What of mpcrun's options a run has."""
    if program != "progress":
        return draws.choice(OPTIONS).format(seed=seed).split()
    chosen = " ".join(draws.choice(line) for line in PROGRESS_OPTIONS).split()
    if "-p" in chosen and ranks < int(chosen[chosen.index("-p") + 1]):
        chosen[chosen.index("-p") + 1] = str(ranks)
    return chosen


def command_of(args, draws, folder, scratch):
    """One run: its command, drawn at random."""
    program = draws.choice(args.programs)
    seed = draws.randrange(1 << 30)
    ranks = draws.choice([2, 3, 4, 5, 7, 8, 12, 17])
    options = options_of(program, ranks, seed, draws)
    if args.options is not None:
        options = args.options.split()
    start = [str(ROOT / "build" / args.preset / "bin" / "mpcrun"), "--timeout", str(args.limit)]
    start += ["-n", str(ranks), *options]
    file = [str(scratch / "data")] if program == "files" else []
    return [*start, str(folder / program), *file, str(seed), str(args.rounds)]


def run_one(command, limit):
    """Empty, or what went wrong."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=limit + 30
        )
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode == 0 and done.stdout == "No Errors\n" and not done.stderr:
        return ""
    return f"status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def main():
    parser = argparse.ArgumentParser(prog="./run random", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (60)")
    parser.add_argument("--seed", type=int, help="of the choice of runs; printed")
    parser.add_argument("--rounds", type=int, default=20, help="of each run (20)")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a run (60)")
    parser.add_argument("--options", help="of mpcrun, for all runs")
    parser.add_argument("--preset", default="release", help="which build, made before (release)")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    args = parser.parse_args()
    args.programs = args.programs or list(PROGRAMS)
    seed = args.seed if args.seed is not None else int(time.time())
    print(f"seed {seed}")
    draws = random.Random(seed)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="mpc-random-"))
    folder = ROOT / "build" / args.preset / "tests" / "random"
    end = time.monotonic() + args.seconds
    runs = failed = 0
    while time.monotonic() < end:
        command = command_of(args, draws, folder, scratch)
        trouble = run_one(command, args.limit)
        runs += 1
        if trouble:
            failed += 1
            print(" ".join(command), trouble, sep="\n", flush=True)
    shutil.rmtree(scratch)
    print(f"{runs} runs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
