"""What the tests of several processes share: those of mpcrun, and a look at what a job leaves behind."""

import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpcrun"))

import support  # noqa: E402
from support import END, INIT, SANITIZED, Case, example, parse_options, run, tool  # noqa: E402,F401

# Ranks wait for a message that never comes; but a timer might send it, so it is no deadlock.
STUCK = (" if (rank == 0) { extern int timer_create(int, struct sigevent *, void **); void *id;"
         " struct sigevent event; memset(&event, 0, sizeof event);"
         " event.sigev_notify = SIGEV_THREAD; event.sigev_notify_function = 0;"
         " timer_create(1, &event, &id); }"
         " MPI_Recv(&size, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE); ")

# Of programs that have ports. Rank 0 alone opens one: the test reads the port from the first line.
PORT = "char port[MPI_MAX_PORT_NAME] = \"\"; MPI_Comm inter = MPI_COMM_NULL; "
RETURN = ("MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);"
          "MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); ")
OPEN = ("if (rank == 0) { MPI_Open_port(MPI_INFO_NULL, port); printf(\"%s\\n\", port);"
        " fflush(stdout); } ")

# Where libraries and launchers of this kind leave files.
PLACES = ("/tmp", "/dev/shm", "/var/tmp")
OURS = ("pmix", "mpc", "ucx", "openpmix", "mpcrun")


def files_left():
    """Files of the libraries that a job of several processes loads."""
    found = set()
    for place in PLACES:
        for name in os.listdir(place):
            if (any(word in name.lower() for word in OURS) and "mpcrun-cases" not in name
                    and "mpc-random" not in name  # of ./run random
                    and name != f"mpc-{os.getuid()}"):  # jobs of the user find each other there
                found.add(os.path.join(place, name))
    return found


def segments_left():
    """System V shared memory that no process has any more: it stays until the machine stops."""
    with open("/proc/sysvipc/shm", encoding="utf-8") as file:
        head, *lines = [line.split() for line in file]
    return {line[head.index("shmid")] for line in lines if line[head.index("nattch")] == "0"}


def read_words(path):
    with open(path, "rb") as file:
        return file.read().replace(b"\0", b" ").decode(errors="replace")


def processes_of(mark, files=("cmdline",)):
    """Processes with this word on their command line, or in another such file: {pid: command line}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            texts = [read_words(f"/proc/{pid}/{name}") for name in files]
            if any(mark in text for text in texts) and int(pid) != os.getpid():
                found[int(pid)] = read_words(f"/proc/{pid}/cmdline")
        except OSError:
            continue
    return found


def source_of(name):
    """The text of a program in this folder, which may be compiled anywhere."""
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    for header in ("../mpi/check.h", "expect.h"):
        text = text.replace(f'"{header}"', f'"{os.path.join(folder, header)}"')
    return text


class Ends:
    """For tests that start processes of their own."""

    def ends(self, process, status, out=None, says=()):
        """Status None: any but 0."""
        got, err = process.communicate(timeout=150)
        if status is None:
            self.assertNotEqual(process.returncode, 0, f"{got}\n{err}")
        else:
            self.assertEqual(process.returncode, status, f"{got}\n{err}")
        if out is not None:
            self.assertEqual(got, out, err)
        for text in says:
            self.assertIn(text, err)
        return got, err


def script_around(folder, program, before=""):
    """A shell script that becomes the program: its ranks cannot be copies."""
    path = os.path.join(folder, "script.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{before}\nexec '{program}' \"$@\"\n")
    os.chmod(path, 0o700)
    return path


class PortCase(Ends, Case):
    """Jobs that find each other in a folder of this test; `started` has those that are to end with it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="mpcrun-cases-")
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.assertEqual(self.processes_left(), {})
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def processes_left(self):
        until = time.monotonic() + 30
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        return left

    def processes(self):
        """Spawned jobs are no children of this process: they are found by the folder of their ports."""
        return processes_of(self.folder.name, ("cmdline", "environ"))


def traffic():
    """The program that sends everything; built once."""
    return Case.shared.compile("traffic.c", source_of("traffic.c"), "-O1")


Case.shared = None


class ClusterCase(Case):
    """Leaves nothing behind."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Case.shared = cls.programs

    def setUp(self):
        self.before = files_left() | segments_left()

    def tearDown(self):
        # Other tests' jobs may run now. What is theirs goes with them; what was left behind stays.
        left = (files_left() | segments_left()) - self.before
        until = time.monotonic() + 30
        while left and time.monotonic() < until:
            time.sleep(0.05)
            left &= files_left() | segments_left()
        self.assertEqual(left, set(), "the job has left this behind")

    def build(self, name, body):
        return self.programs.build(name, body)
