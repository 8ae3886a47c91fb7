#!/usr/bin/env python3
"""Scripts of the distribution's Python as ranks: an interpreter for each, started as python3 starts.

    cases.py --build FOLDER
"""
import argparse
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
options = argparse.Namespace()


def version():
    return subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          capture_output=True, text=True, check=True).stdout.strip()


def missing():
    """Why none of this can be tried here; "": it can."""
    if not os.path.exists(PYTHON):
        return f"there is no {PYTHON}"
    name = f"libpython{version()}.so.1.0"
    if not any(Path("/usr/lib").glob(name)) and not any(Path("/usr/lib").glob("*/" + name)):
        return f"{name} is not installed (libpython3-dev brings it)"
    return ""


def can_have_processes():
    """Before the options are read: for decorators."""
    words = sys.argv
    lib = Path(words[words.index("--build") + 1], "lib") if "--build" in words else Path("/")
    return (lib / "mpc/mpclaunch").exists() and any(lib.rglob("libmpc-net-ucx.so"))


def run(*words, ranks=3, **others):
    done = subprocess.run([os.path.join(options.build, "bin", "mpcrun"), "-n", str(ranks), *map(str, words)],
                          capture_output=True, text=True, timeout=100, check=False, **others)
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mpc-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def passes(self, *words, ranks=3, **others):
        status, out, err = run(*words, ranks=ranks, **others)
        self.assertEqual((status, err), (0, ""), out)
        return out

    def file(self, name, text, mode=0o755):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path


class Start(Case):
    REPORT = ("import sys, os; print(sys.executable, sys.prefix, sys.base_prefix, sys.argv, sys.flags,"
              " sys.orig_argv, __name__, os.readlink('/proc/self/exe'))")

    def same_as_a_process(self, *words):
        alone = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.passes(*words), 3 * alone)

    def test_a_rank_sees_what_a_process_sees(self):
        self.same_as_a_process(PYTHON, "-B", "-W", "error", "-c", self.REPORT, "a b", "c")

    def test_modules_and_scripts_are_started(self):
        script = self.file("script.py", self.REPORT, 0o644)
        self.same_as_a_process(PYTHON, script, "a")
        self.same_as_a_process(PYTHON, "-m", "calendar", "2000", "1")

    def test_along_path(self):
        environment = dict(os.environ, PATH="/usr/bin:/bin")
        self.assertEqual(self.passes("python3", "-c", "import sys; print(sys.executable)",
                                     env=environment), 3 * f"{PYTHON}\n")

    def test_scripts_name_their_interpreter(self):
        environment = dict(os.environ, PATH="/usr/bin:/bin")
        for line in ("#!/usr/bin/env python3", f"#!{PYTHON} -B", "#!/usr/bin/env -S python3 -B"):
            script = self.file("script", line + "\nimport sys; print(sys.argv, sys.executable)\n")
            alone = subprocess.run([script, "x"], capture_output=True, text=True, check=True,
                                   env=environment).stdout
            self.assertEqual(self.passes(script, "x", env=environment), 3 * alone)

    def test_a_virtual_environment_is_honoured(self):
        folder = os.path.join(self.folder, "venv")
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
        self.same_as_a_process(folder + "/bin/python", "-c", self.REPORT)
        self.same_as_a_process(folder + "/bin/python3", "-c", self.REPORT)

    def test_a_version_managers_script_is_asked(self):
        shim = self.file("python3", f"#!/bin/sh\nexec {PYTHON} \"$@\"\n")
        self.assertEqual(self.passes(shim, "-c", "import sys; print(sys.executable)"),
                         3 * f"{PYTHON}\n")

    def test_show_names_the_library(self):
        out = self.passes("--show", PYTHON, "x.py")
        self.assertRegex(out, rf"each rank runs a copy of /.*libpython{version()}.so")

    def without_library(self):
        """The distribution's interpreter, in a place where no libpython is."""
        os.mkdir(os.path.join(self.folder, "bin"))
        real = os.path.realpath(PYTHON)
        copy = os.path.join(self.folder, "bin", os.path.basename(real))
        with open(real, "rb") as file, open(copy, "wb") as out:
            out.write(file.read())
        os.chmod(copy, stat.S_IRWXU)
        return copy

    def test_an_interpreter_without_a_library_is_refused(self):
        status, out, err = run(self.without_library(), "-c", "pass")
        self.assertEqual((status, out), (126, ""), err)
        self.assertIn(f"has none (libpython{version()}.so.1.0)", err)
        self.assertIn("--enable-shared", err)
        self.assertIn("--ranks-per-process 1", err)

    @unittest.skipUnless(can_have_processes(), "no job of several processes without PMIx")
    def test_an_interpreter_without_a_library_gets_a_process_for_each_rank(self):
        copy = self.without_library()
        script = self.file("ids.py", f"import os, sys; sys.path.insert(0, '{HERE}'); import mpi\n"
                                     "assert mpi.sum_of(mpi.rank) == 3; print(os.getpid())\n")
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(options.build, "lib"), PYTHONHOME="/usr")
        for word in ("1", "auto"):
            out = self.passes("--ranks-per-process", word, copy, script, env=environment)
            self.assertEqual(len(set(out.split())), 3, word)
        # One that has a library needs none.
        out = self.passes("--ranks-per-process", "auto", PYTHON, script)
        self.assertEqual((len(out.split()), len(set(out.split()))), (3, 1))


class Ranks(Case):
    def script(self, name, ranks, **others):
        return self.passes(PYTHON, HERE / name, ranks=ranks, **others)

    def test_extension_modules(self):
        self.assertEqual(self.script("modules.py", 4), 4 * "fine\n")

    def test_what_a_process_may_do(self):
        lines = self.script("like_a_process.py", 4).splitlines()
        self.assertEqual(sorted(lines), sorted(f"rank {r} line {i}" for r in range(4) for i in range(20)))

    @unittest.skipUnless(os.path.exists("/usr/lib/python3/dist-packages/numpy"),
                         "python3-numpy is not installed")
    def test_numpy(self):
        self.assertEqual(self.script("arrays.py", 3), 3 * "fine\n")

    def test_standard_input_is_that_of_rank_0(self):
        out = self.passes(PYTHON, "-c", "import sys; print(repr(sys.stdin.read()))", input="words\n")
        self.assertEqual(sorted(out.splitlines()), ["''", "''", "'words\\n'"])

    def test_a_script_from_standard_input(self):
        self.assertEqual(self.passes(PYTHON, "-", "x", ranks=1, input="import sys\nprint(sys.argv)\n"),
                         "['-', 'x']\n")


class Others(Case):
    @unittest.skipIf(not os.path.exists("/usr/bin/tclsh"), "tcl is not installed")
    def test_tcl(self):
        script = self.file("script.tcl", "#!/usr/bin/env tclsh\nputs [list [info nameofexecutable] $argv0 $argv "
                                         "[exec echo child]]\n")
        environment = dict(os.environ, PATH="/usr/bin:/bin")
        for words in (["tclsh", script, "a b"], [script, "c"]):
            alone = subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
            self.assertEqual(self.passes(*words, env=environment), 3 * alone)

    def test_an_interpreter_without_a_library_of_its_own_is_refused(self):
        status, _, err = run("/usr/bin/perl", "-e", "1")
        self.assertEqual(status, 126)
        self.assertIn("put the script around mpcrun", err)
        self.assertIn("--ranks-per-process 1", err)


class Ends(Case):
    FIRST = f"import sys; sys.path.insert(0, '{HERE}'); import mpi\n"

    def ends(self, text, status, ranks=3):
        got, out, err = run(PYTHON, "-c", self.FIRST + text, ranks=ranks)
        self.assertEqual(got, status, err)
        return out, err

    def test_exit_statuses(self):
        self.ends("sys.exit(0)", 0)
        self.ends("sys.exit(3)", 3)
        _, err = self.ends("sys.exit('last words' if mpi.rank == 1 else 0)", 1)
        self.assertIn("last words", err)
        self.ends("import os; os._exit(5)", 5)

    def test_an_exception_ends_the_job(self):
        raises = "if mpi.rank == 2: raise ValueError('wrong')\nmpi.barrier()"
        _, err = self.ends("import atexit; atexit.unregister(mpi.abi.MPI_Finalize)\n" + raises, 1)
        self.assertIn("ValueError: wrong", err)
        self.assertIn("rank 2 of 3", err)
        # Who calls MPI_Finalize at exit, as mpi4py does, waits there for the others, and they for it.
        _, err = self.ends(raises, 125)
        self.assertRegex(err, "ValueError: wrong[^$]*rank 2: waits in MPI_Finalize")

    def test_exit_handlers_run_on_each_rank(self):
        out, _ = self.ends("import atexit; atexit.register(lambda: print('bye', mpi.rank))", 0)
        self.assertEqual(sorted(out.splitlines()), [f"bye {r}" for r in range(3)])

    def test_a_crash_names_the_rank(self):
        _, err = self.ends("import ctypes\nif mpi.rank == 1: ctypes.string_at(8)\nmpi.barrier()",
                           128 + signal.SIGSEGV)
        self.assertIn("rank 1", err)

    def test_ctrl_c_ends_the_job(self):
        words = [os.path.join(options.build, "bin", "mpcrun"), "-n", "3", PYTHON, "-c",
                 "import sys, time; print('ready'); sys.stdout.flush(); time.sleep(60)"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            for _ in range(3):
                self.assertEqual(job.stdout.readline(), "ready\n")
            job.send_signal(signal.SIGINT)
            _, err = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 128 + signal.SIGINT, err)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    rest = parser.parse_known_args(namespace=options)[1]
    if missing():
        print(missing())
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v", *rest])
