"""What a process may do, a rank may: children, signals, folders, threads, output."""

import asyncio
import faulthandler
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mpi


async def output_of(*words):
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    return (await process.communicate())[0]


def check_children():
    out = subprocess.run(["sh", "-c", "read word; echo $word; exit 3"], input="hello\n", text=True,
                         capture_output=True, check=False)
    assert (out.returncode, out.stdout) == (3, "hello\n"), out
    # sys.executable is a Python, as in a process; it does not become a rank.
    out = subprocess.run([sys.executable, "-c", "import os; print(os.environ['MINE'])"], text=True,
                         capture_output=True, check=True, env=dict(os.environ, MINE=str(mpi.rank)))
    assert out.stdout == f"{mpi.rank}\n", out
    try:
        subprocess.run(["/nosuch/command"], check=True)
    except FileNotFoundError:
        pass
    else:
        sys.exit("a command that does not exist was started")
    assert asyncio.run(output_of("echo", "asked")) == b"asked\n"
    with subprocess.Popen(["sleep", "60"]) as process:
        process.terminate()
    assert process.returncode == -signal.SIGTERM
    if mpi.rank != 0:
        assert subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout == b""
        assert sys.stdin.read() == ""
    child = os.fork()
    if child == 0:
        os._exit(7 if os.getpid() != os.getppid() else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert os.waitstatus_to_exitcode(os.system("exit 5")) == 5
    with os.popen("echo piped") as pipe:
        assert pipe.read() == "piped\n"


def check_environment_and_folder():
    os.environ["MINE"] = str(mpi.rank)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        mpi.barrier()
        assert os.getcwd() == os.path.realpath(folder)
        assert subprocess.check_output("echo $MINE; pwd", shell=True, text=True).split() == [
            str(mpi.rank), os.path.realpath(folder)]
        os.chdir("/")


def check_signals():
    seen = []
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    signal.raise_signal(signal.SIGUSR1)
    assert seen == [signal.SIGUSR1]
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        seen.append("interrupted")
    assert seen[1:] == ["interrupted"]
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN


def check_threads():
    totals = []

    def work(number):
        totals.append(sum(range(number)))
        time.sleep(0.01)

    threads = [threading.Thread(target=work, args=(1000 + i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    mpi.barrier()
    for thread in threads:
        thread.join()
    assert sorted(totals) == [sum(range(1000 + i)) for i in range(4)]
    local = threading.local()
    local.value = mpi.rank
    mpi.barrier()
    assert local.value == mpi.rank


def check_recursion():
    def depth(left):
        return 0 if left == 0 else 1 + depth(left - 1)

    assert depth(900) == 900
    try:
        depth(10**6)
    except RecursionError:
        return
    sys.exit("no end of recursion")


faulthandler.enable()
check_children()
check_environment_and_folder()
check_signals()
check_threads()
check_recursion()
for line in range(20):
    print(f"rank {mpi.rank} line {line}")
