#!/usr/bin/env python3
"""Builds mpi4py from Debian's source package and runs its own test suite: `./run mpi4py`.

    mpi4py_suite.py --prefix PREFIX [--source FOLDER] [--ranks 1,2,3,5,8] [--mpi NAME] [--include WORD]...

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
FAILED = re.compile(r"^(?:FAIL|ERROR): \S+ \((\S+?)\)", re.M)
TIME_LIMIT_S = 1800


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

    def run(self, copy, ranks, words):
        """(seconds, status, output) of the suite."""
        # Its runtests.py looks for folders as older setuptools named them.
        environment = dict(os.environ, PYTHONPATH=str(max(copy.glob("build/lib*"))))
        start = time.monotonic()
        try:
            done = subprocess.run([*self.launcher, str(ranks), PYTHON, "test/runtests.py", "-q", *words],
                                  cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", check=False, timeout=TIME_LIMIT_S,
                                  stdin=subprocess.DEVNULL, env=environment)
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired as expired:
            status, text = 124, (expired.stdout or b"").decode(errors="replace")
        return time.monotonic() - start, status, text


def report(ranks, seconds, status, text, known):
    """Prints one line, and the tests that should not have failed; True: there are none."""
    failed = set(FAILED.findall(text))
    wrong = sorted(name for name in failed if not any(name.endswith(test) for test in known))
    ran = re.findall(r"^Ran (\d+) tests", text, re.M)
    is_right = not wrong and len(ran) == ranks and (status == 0 or bool(failed))
    print(f"mpi4py: {ranks} ranks: {ran[0] if ran else 'no'} tests in {seconds:.0f} s, "
          f"{len(failed)} failed, {len(failed) - len(wrong)} of them known", flush=True)
    if not is_right:
        print("\n".join(wrong) or text[-2000:], flush=True)
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prefix", required=True, type=Path)
    parser.add_argument("--source", type=Path, help="mpi4py's unpacked source, instead of Debian's")
    parser.add_argument("--work", type=Path, default=HERE.parent.parent / "build/mpi4py")
    parser.add_argument("--ranks", default="1,2,3,5,8")
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
        print(f"mpi4py: {error}")
        return 2
    mpi = Mpi(options.mpi, options.prefix.resolve())
    copy = mpi.build(source, options.work)
    good = [report(ranks, *mpi.run(copy, ranks, words), known)
            for ranks in map(int, options.ranks.split(","))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
