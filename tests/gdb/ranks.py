#!/usr/bin/env python3
"""The commands of tools/gdb: what they say about each rank, in a process and on a core file.

usage: ranks.py BUILD live|breakpoint|core_file|mistakes

Exit status 77: gdb, or something that the case needs from the system, is not there.
"""

import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
MPCRUN = os.path.join(BUILD, "bin", "mpcrun")
SCRIPT = os.path.join(BUILD, "share", "mpc", "mpc-gdb.py")
JOB = [MPCRUN, "-n", "4", "--cores", "1", "./prog"]

# Its body is in line, so gdb shows it without an address, as the caller of that.
FRAME_OF_RECV = r"^#\d+ +(0x[0-9a-f]+ in )?P?MPI_Recv \(buf="

# All on one core. Rank 0 waits for what rank 3 never sends while it computes; rank 1 has been
# woken; rank 2 waits in a collective.
PROGRAM = """#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static int counter;
int shown; static volatile int go;
__attribute__((noinline)) void computes(void) { while (!go) {} }
__attribute__((noinline)) void crashes(void) { *(volatile int *)8 = 1; }
__attribute__((noinline)) void receives(int from, int tag) {
  int token = 0;
  MPI_Recv(&token, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // line 10
  counter += token;
}
__attribute__((noinline)) void sends(int to, int tag) {
  int token = 100;
  MPI_Send(&token, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}
__attribute__((noinline)) void begins(void) { __asm__ volatile(""); }
int main(int argc, char **argv) {
  int rank, size;
  begins();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counter = 40 + rank; shown = 70 + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) {
    usleep(300000);  // the others come to where they wait
    puts("begun");
    fflush(stdout);
  }
  if (rank == 0 && size > 1) receives(3, 5);
  if (rank == 1) receives(3, 6);
  if (rank == 3) {
    sends(1, 6);
    if (argc > 1) crashes();
    computes();
    sends(0, 5);
  }
  if (size == 1) computes();
  MPI_Barrier(MPI_COMM_WORLD);  // line 40
  MPI_Finalize();
  return 0;
}
"""


def leave_out(why, is_tool=False):
    """MPC_TEST_STRICT asks for all tools, not for what a kernel or a container forbids."""
    print(why)
    sys.exit(1 if is_tool and os.environ.get("MPC_TEST_STRICT") else 77)


class Said:
    """What gdb has printed, command by command."""

    def __init__(self, commands, text):
        self.text = text
        pieces = re.split(r"^=== (\d+)\n", text, flags=re.M)
        self.begin = pieces[0]
        self.pieces = dict(zip(map(int, pieces[1::2]), pieces[2::2]))
        self.commands = commands

    def of(self, command, which=0):
        at = [i for i, c in enumerate(self.commands) if c == command][which]
        if at not in self.pieces:
            self.fail(f"gdb has not come to '{command}'")
        return self.pieces[at]

    def fail(self, why):
        sys.exit(f"FAILED: {why}\ngdb has printed:\n{self.text}")

    def has(self, command, *patterns, which=0):
        for pattern in patterns:
            if not re.search(pattern, self.of(command, which), re.M):
                self.fail(f"'{pattern}' is not in the answer to '{command}'")

    def has_not(self, command, *patterns, which=0):
        for pattern in patterns:
            if re.search(pattern, self.of(command, which), re.M):
                self.fail(f"'{pattern}' is in the answer to '{command}'")


def gdb(*commands, before=(), words=(), folder="."):
    line = ["gdb", "-nx", "-q", "-batch"]
    for command in before:
        line += ["-iex", command]
    for number, command in enumerate(commands):
        line += ["-ex", f"echo === {number}\\n", "-ex", command]
    done = subprocess.run([*line, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=200,
                          cwd=folder, check=False)
    return Said(commands, done.stdout)


def need_gdb():
    if shutil.which("gdb") is None:
        leave_out("gdb is not installed", is_tool=True)
    if "here" not in gdb("python print('he' + 're')").text:
        leave_out("this gdb has no Python", is_tool=True)


def need_ptrace(said):
    for text in ("Operation not permitted", "Could not attach", "ptrace: "):
        if text in said.text:
            leave_out(f"gdb may not control processes here: {text}")


def build(folder):
    with open(os.path.join(folder, "prog.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([os.path.join(BUILD, "bin", "mpcc"), "-g", "-O0", "prog.c", "-o", "prog"],
                   check=True, cwd=folder)


def make_core(folder):
    """A core file of a job whose rank 3 has crashed."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    if "/" in pattern or "|" in pattern:
        leave_out(f"core files go elsewhere: core_pattern is {pattern}")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        leave_out("the hard limit forbids core files")
    both = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    done = subprocess.run([*JOB, "crash"], cwd=folder, capture_output=True, text=True, timeout=100,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, both),
                          check=False)
    if done.returncode != -signal.SIGSEGV:
        sys.exit(f"FAILED: the job ended with {done.returncode}: {done.stderr}")
    return glob.glob(os.path.join(folder, "*core*"))[0]


def live(folder):
    """Attached to a job that runs, and that goes on afterwards as if nothing had been."""
    job = subprocess.Popen(JOB, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        job.stdout.readline()
        said = gdb(f"source {SCRIPT}", "mpc ranks", "mpc bt 0", "mpc bt 0 2", "mpc bt 2", "mpc bt 3",
                   "set language fortran", "mpc ranks 0,2-3", "set language auto",
                   "mpc rank 0", "info locals", "print counter", "mpc bt 3 1",
                   "frame", "print getpid()", "mpc rank", "mpc apply all print counter",
                   "mpc print shown", "mpc apply all print/d shown + counter",
                   "mpc rank 3", "print counter", "set var go = 1", "show may-call-functions",
                   words=("-p", str(job.pid)), folder=folder)
        need_ptrace(said)
        check_live(said)
        if job.wait(timeout=60) != 0:
            said.fail("the job has not ended well")
    finally:
        job.kill()
        job.wait()


def check_live(said):
    said.has("mpc ranks", r"^0 +waiting \d+\.\d s: receive from rank 3, tag 5 +MPI_Recv +- +"
             r"receives at prog.c:10$", r"^1 +(ready on core|running|waiting)",
             r"^2 +waiting .* s +MPI_Barrier +- +main at prog.c:40$",
             r"^3 +running.*\d+ \(LWP \d+\) +computes at prog.c:6$")
    said.has("mpc bt 0", r"^Rank 0: waiting", r"^#1 .*switch_to|jump",
             FRAME_OF_RECV, r"^#\d+ .* in receives \(from=3, tag=5\) at prog.c:10",
             r"^#\d+ .* in main")
    said.has_not("mpc bt 0", r"^#0", r"\?\?", r"publish_and_sleep", r"make_fcontext")
    said.has("mpc bt 0 2", r"^#2 ")
    said.has_not("mpc bt 0 2", r"^#3 ")
    said.has("mpc bt 2", r"in P?MPI_Barrier", r"main .*at prog.c:40")
    said.has("mpc bt 3", r"^#0 .*computes \(\) at prog.c:6", r"^#1 .* in main")
    said.has("mpc ranks 0,2-3", r"^0 +waiting", r"^3 +running")
    said.has_not("mpc ranks 0,2-3", r"^1 ")
    said.has("mpc rank 0", r"^#\d+ .*receives \(from=3, tag=5\)")
    said.has("info locals", r"^token = 0")
    said.has("print counter", r"= 40$")
    said.has("frame", r"^#\d+ .*receives \(from=3, tag=5\)")  # mpc bt 3 has changed nothing
    said.has("print getpid()", r"Cannot call functions|may-call-functions is off")
    said.has("mpc rank", r"^rank 0 is selected")
    said.has("mpc apply all print counter", r"^Rank 0: .*\n.* = 40$", r"^Rank 2: .*\n.* = 42$",
             r"^Rank 3: .*\n.* = 43$")
    # One that is not static, whose address gdb takes from the first copy.
    said.has("mpc print shown", r"= 70$")
    said.has("mpc apply all print/d shown + counter", r"^Rank 0: .*\n.* = 110$", r"^Rank 2: .*\n.* = 114$",
             r"^Rank 3: .*\n.* = 116$")
    said.has("print counter", r"= 43$", which=1)
    said.has("show may-call-functions", r" on\.$")


def started_by_gdb(folder, patterns, *commands):
    """gdb starts the job; again if `mpc ranks` does not say that: on a busy machine the runtime may
    see that a rank is stopped before gdb stops the runtime, and lends its core to the next one."""
    for _ in range(6):
        said = gdb(*commands, words=("--args", *JOB), folder=folder)
        need_ptrace(said)
        if all(re.search(pattern, said.of("mpc ranks"), re.M) for pattern in patterns):
            break
    said.has("mpc ranks", *patterns)
    return said


def breakpoint_case(folder):
    """Started by gdb; a rank that is ready; the end of a selection; a program that runs alone."""
    begin = (f"source {SCRIPT}", "set breakpoint pending on", "break computes", "run")
    patterns = (r"^0 +waiting", r"^1 +ready on core \d+ +MPI_Recv +- +receives at prog.c:10",
                r"^3 +running on core \d+ +- .*computes at")
    said = started_by_gdb(folder, patterns, *begin, "mpc ranks", "mpc bt 1", "mpc rank 3",
                          "set var go = 1", "mpc rank 0", "continue", "mpc rank", "mpc ranks",
                          "show may-call-functions")
    said.has("mpc bt 1", FRAME_OF_RECV, r"in receives \(from=3, tag=6\)")
    said.has("mpc rank 0", r"^Rank 0: waiting")
    said.has("continue", r"exited normally")
    said.has("mpc rank", r"no rank is selected")
    said.has("mpc ranks", r"there is no process", which=1)
    said.has("show may-call-functions", r" on\.$")

    patterns = (r"^0 +running on core \d+, before MPI_Init +- .* begins at prog.c",
                r"^3 +(not started|ready on core \d+, not begun)")
    said = started_by_gdb(folder, patterns, *begin[:2], "tbreak begins", "run", "mpc ranks", "mpc bt 0",
                          "mpc bt 3", "mpc apply 3 bt", "mpc rank 3")
    said.has("mpc bt 0", r"^#0 +begins", r"in main")
    for command in ("mpc bt 3", "mpc apply 3 bt", "mpc rank 3"):
        said.has(command, r"^mpc: rank 3 has not begun to run$")

    said = gdb(*begin, "mpc ranks", "mpc bt 0", "mpc bt 1", words=("--args", "./prog"), folder=folder)
    said.has("mpc ranks", r"^0 +running +- +1 \(LWP \d+\) +computes at prog.c:6")
    said.has("mpc bt 0", r"^#0 +computes", r"in main")
    said.has("mpc bt 1", r"there is no rank 1: the job has rank 0 only")


def core_file(folder):
    """Loaded by gdb itself from beside the library."""
    said = gdb("bt 1", "mpc ranks", "mpc bt 0", "mpc bt 0 -1", "mpc bt 3", "thread", "mpc apply 0,2 bt 2",
               "mpc rank 0", "print counter", "thread 1", "mpc rank", "bt -1",
               before=(f"add-auto-load-safe-path {BUILD}",),
               words=(MPCRUN, make_core(folder)), folder=folder)
    said.has("bt 1", r"^#0 .*crashes")
    said.has("mpc ranks", r"^0 +waiting \d+\.\d s: receive from rank 3, tag 5 +MPI_Recv +- +receives at prog.c:10",
             r"^1 +(waiting|ready|running)", r"^2 +waiting .*MPI_Barrier +- +main at prog.c:40",
             r"^3 +crashed +- +\d+ \(LWP \d+\) +crashes at prog.c:7")
    said.has("mpc bt 0", FRAME_OF_RECV, r"in receives \(from=3, tag=5\) at prog.c:10", r"in main")
    said.has_not("mpc bt 0", r"^#0", r"\?\?", r"publish_and_sleep", r"make_fcontext")
    said.has("mpc bt 0 -1", r"trampoline")
    said.has("mpc bt 3", r"^#0 .*crashes \(\) at prog.c:7", r"in main")
    said.has("mpc apply 0,2 bt 2", r"^Rank 0", r"^Rank 2", r"^#2 ")
    said.has_not("mpc apply 0,2 bt 2", r"^#3 ", r"^Rank 3")
    said.has("mpc rank 0", r"^#\d+ .*receives \(from=3, tag=5\)")
    said.has("print counter", r"= 40$")
    said.has("mpc rank", r"^no rank is selected")


def mistakes(folder):
    core = make_core(folder)
    wrong = ("mpc bt 4", "mpc bt -1", "mpc bt x", "mpc bt", "mpc ranks 2-9", "mpc ranks 1-", "mpc rank 4",
             "mpc apply all", "mpc apply 7 bt", "mpc bt 99999999999999999999")
    said = gdb(f"source {SCRIPT}", *wrong, "thread", words=(MPCRUN, core), folder=folder)
    for command in wrong:
        said.has(command, r"^mpc: .*(rank|usage)")
        said.has_not(command, r"Python|Traceback|does not fit")
    said.has("mpc bt 4", r"^mpc: there is no rank 4: the job has ranks 0 to 3$")
    said = gdb(f"source {SCRIPT}", "mpc ranks", "mpc", "help mpc bt")
    said.has("mpc ranks", r"^mpc: there is no process and no core file$")
    said.has("help mpc bt", r"usage: mpc bt RANK")

    with open(SCRIPT, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(folder, "other.py"), "w", encoding="utf-8") as file:
        file.write(re.sub(r'^VERSION = ".*"', 'VERSION = "0.0.7"', text, flags=re.M))
    said = gdb("source other.py", "mpc ranks", words=(MPCRUN, core), folder=folder)
    said.has("mpc ranks", r"^mpc: this file is for version 0\.0\.7, libmpi_abi\.so is of version \d")

    root = os.path.join(folder, "root")
    os.makedirs(root + BUILD + "/lib")
    set_root = (f"set sysroot {root}",)
    said = gdb(f"source {SCRIPT}", "mpc ranks", before=set_root, words=(MPCRUN, core), folder=folder)
    said.has("mpc ranks", r"^mpc: gdb knows no libmpi_abi\.so in this process")
    library = os.path.join(BUILD, "lib", "libmpi_abi.so.1")
    subprocess.run(["strip", "--strip-debug", "-o", root + library, library], check=True)
    said = gdb(f"source {SCRIPT}", "mpc ranks", before=set_root, words=(MPCRUN, core), folder=folder)
    said.has("mpc ranks", r"^mpc: libmpi_abi\.so was built without debug information")


def main():
    need_gdb()
    with tempfile.TemporaryDirectory(prefix="gdb-ranks-") as folder:
        build(folder)
        {"live": live, "breakpoint": breakpoint_case, "core_file": core_file,
         "mistakes": mistakes}[sys.argv[2]](folder)


if __name__ == "__main__":
    main()
