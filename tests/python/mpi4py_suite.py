#!/usr/bin/env python3
"""Builds mpi4py from Debian's source package and runs its own test suite: `./run mpi4py`.

    mpi4py_suite.py --prefix PREFIX [--source FOLDER] [--ranks 1,2,3,5,8] [--mpi NAME] [--include WORD]...
                    [--time-limit S] [--start N]

Foreign sources stay below --work. mpi4py-left-out.txt says which chapters are not run, and which tests fail,
each with its reason. Exit status: 0 all others passed, 1 some failed, 2 there is no suite.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import suite  # noqa: E402

PYTHON = "/usr/bin/python3"
# Prints what all processes of the job have, in KiB, each page counted once.
MEMORY = """
import os
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
words = [line.split() for line in open("/proc/self/smaps_rollup")]
mine = next(int(line[1]) for line in words if line[0] == "Pss:")
everyone = comm.gather((MPI.Get_processor_name(), os.getpid(), mine))
comm.Barrier()
if comm.rank == 0:
    print(sum({(host, pid): size for host, pid, size in everyone}.values()))
"""
FAILED = re.compile(r"^(?:FAIL|ERROR): \S+ \((\S+?)\)", re.M)


def left_out():
    """(chapters, tests) of mpi4py-left-out.txt."""
    chapters, tests = [], []
    for line in (HERE / "mpi4py-left-out.txt").read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            {"chapter": chapters, "test": tests}[words[0]].append(words[1])
    return chapters, tests


def unpacked(work):
    """The source, below work/src. Errors: suite.SuiteError."""
    tarball = suite.download("mpi4py", work)
    subprocess.run(["tar", "xf", tarball.name], cwd=tarball.parent, check=True)
    return max(path for path in tarball.parent.glob("mpi4py-*") if path.is_dir())


class Mpi:
    """How programs of one MPI are built and started."""

    def __init__(self, name, prefix):
        tools = {"ours": [f"{prefix}/bin/mpcc", f"{prefix}/bin/mpcrun", "-n"],
                 "openmpi": ["mpicc.openmpi", "mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n"],
                 "mpich": ["mpicc.mpich", "mpiexec.mpich", "-n"]}[name]
        self.name, self.compiler, self.launcher = name, tools[0], tools[1:]

    def build(self, source, work):
        """A copy of the source with mpi4py in its build folder."""
        copy = work / f"mpi4py-{self.name}"
        if not (copy / "built").exists():
            print(f"mpi4py: building it for {self.name} ...", flush=True)
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy)
            with open(copy / "build.log", "w", encoding="utf-8") as log:
                subprocess.run([PYTHON, "setup.py", "build", f"--mpicc={shutil.which(self.compiler)}"],
                               cwd=copy, check=True, stdout=log, stderr=log,
                               env=dict(os.environ, CFLAGS="-O1 -g0"))
            (copy / "built").touch()
        return copy

    def run(self, copy, ranks, words, limit_s):
        """(seconds, status, output) of the suite; status 124: it was ended when its time was over."""
        # Its runtests.py looks for folders as older setuptools named them.
        environment = dict(os.environ, PYTHONPATH=str(max(copy.glob("build/lib*"))))
        output = copy / f"{ranks}.log"
        start = time.monotonic()
        with open(output, "wb") as log, subprocess.Popen(
                [*self.launcher, str(ranks), PYTHON, "test/runtests.py", "-v", *words], cwd=copy,
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment) as job:
            try:
                status = job.wait(limit_s)
            except subprocess.TimeoutExpired:
                job.terminate()  # launchers end their processes
                status = 124
        return time.monotonic() - start, status, output.read_text(encoding="utf-8", errors="replace")


    def start(self, copy, ranks, text="from mpi4py import MPI"):
        """(seconds, seconds of processor time, output) of interpreters that begin, import MPI and end."""
        environment = dict(os.environ, PYTHONPATH=str(max(copy.glob("build/lib*"))))
        before, start = os.times(), time.monotonic()
        done = subprocess.run([*self.launcher, str(ranks), PYTHON, "-c", text], cwd=copy, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120)
        seconds, after = time.monotonic() - start, os.times()
        busy = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, busy, done.stdout


def measure_start(mpi, copy, ranks):
    """Prints how long interpreters take to start, and their memory. Launchers' own memory does not count."""
    runs = [mpi.start(copy, ranks)[:2] for _ in range(3)]
    one, all_ranks = (int(mpi.start(copy, count, MEMORY)[2].split()[-1]) / 1024 for count in (1, ranks))
    print(f"mpi4py: {mpi.name}: {ranks} interpreters from start to end in "
          + ", ".join(f"{seconds:.2f}" for seconds, _ in runs) + " s, processor time "
          + ", ".join(f"{busy:.2f}" for _, busy in runs) + f" s; memory of one {one:.1f} MiB, of each further one "
          f"{(all_ranks - one) / max(1, ranks - 1):.1f} MiB", flush=True)


def report(ranks, seconds, status, text, known):
    """Prints one line, and the tests that should not have failed; True: there are none."""
    failed = set(FAILED.findall(text))
    wrong = sorted(name for name in failed if not any(name.endswith(test) for test in known))
    ran = re.findall(r"^Ran (\d+) tests", text, re.M)
    if status == 124:
        ended = len(re.findall(r"\.\.\. .*(?:ok|FAIL|ERROR|skipped .*)$", text, re.M))
        print(f"mpi4py: {ranks} ranks: ended after {seconds:.0f} s, when a rank had run {ended // ranks} tests "
              "(mean of the ranks)", flush=True)
        return False
    skipped = re.findall(r"skipped=(\d+)", text)
    is_right = not wrong and len(ran) == ranks and (status == 0 or bool(failed))
    print(f"mpi4py: {ranks} ranks: {ran[0] if ran else 'no'} tests in {seconds:.0f} s, {skipped[0] if skipped else 0} "
          f"skipped, {len(failed)} failed, {len(failed) - len(wrong)} of them known", flush=True)
    if not is_right:
        print("\n".join(wrong) or text[-2000:], flush=True)
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True, type=Path)
    parser.add_argument("--source", type=Path, help="mpi4py's unpacked source, instead of Debian's")
    parser.add_argument("--work", type=Path, default=HERE.parent.parent / "build/mpi4py")
    parser.add_argument("--ranks", default="1,2,3,5,8")
    parser.add_argument("--time-limit", type=float, default=1800, metavar="S", help="of a run; default: 1800")
    parser.add_argument("--start", type=int, metavar="N", help="not the suite: time and memory of N interpreters")
    parser.add_argument("--mpi", default="ours", choices=["ours", "openmpi", "mpich"])
    parser.add_argument("--include", action="append", default=[], help="chapters, as 'p2p_buf'; default: all")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    chapters, known = left_out()
    words = [word for name in chapters for word in ("-e", name)]
    words += [word for name in options.include for word in ("-i", name)]
    try:
        source = options.source or unpacked(options.work)
    except suite.SuiteError as error:
        text = str(error).replace("--suite DIR", "--source FOLDER")
        print(f"mpi4py: {text}")
        return 2
    mpi = Mpi(options.mpi, options.prefix.resolve())
    copy = mpi.build(source, options.work)
    if options.start:
        measure_start(mpi, copy, options.start)
        return 0
    good = [report(ranks, *mpi.run(copy, ranks, words, options.time_limit), known)
            for ranks in map(int, options.ranks.split(","))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
