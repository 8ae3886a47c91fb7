"""Runs one test program and judges it by the suite's own rule.

Role:     starts a job in a session of its own, ends all of it at the time limit, decides
          between pass, fail, crash and timeout.
Users:    conformance.py; tests/programs/runs.py (run_job).
See also: RunMPIProgram, TestStatus, TestErrFatal in the suite's runtests.in.
"""
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

OUTPUT_LIMIT_BYTES = 1 << 20
REPORT_WAIT_S = 1.0     # for what a hung job says of itself before it is killed
DEADLOCK_STATUS = 125   # of our mpcrun, docs/mpcrun.md
DRAIN_WAIT_S = 2.0      # for ranks that outlive their launcher a little

EXITED_TEXT = re.compile(r"^mpcrun: rank \d+ of \d+ .* exited with status \d+", re.M)
CRASH_TEXT = re.compile(
    r"[Ss]egmentation fault|SIGSEGV|SIGBUS|SIGABRT|SIGILL|SIGFPE|exited on signal|"
    r"EXIT STRING: (Seg|Abort|Bus|Illegal|Floating)|stack smashing|"
    r"free\(\): invalid|double free|malloc\(\): |corrupted size|"
    r"overflowed its stack|CHECK failed|"
    r"(AddressSanitizer|ThreadSanitizer|LeakSanitizer)|runtime error:")
CRASH_SIGNALS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL,
                 signal.SIGFPE, signal.SIGTRAP}
# What TestAllowWarnings lets pass: warnings of MPICH and ours.
WARNING_TEXT = re.compile(r"MPICH: |WARNING: |(Abort.*)?application called MPI_Abort|"
                          r"mpc(run)?(\[rank \d+\])?: warning: ")
UNSUPPORTED = re.compile(r"MPI_ERR_UNSUPPORTED_OPERATION")
MPI_NAME = re.compile(r"\bP?MPI_[A-Z][a-z]\w*\b|\bMPI_T_\w+\b")


@dataclass
class Outcome:
    verdict: str                # pass | fail | crash | timeout | needs | skipped
    detail: str = ""            # one line that says why
    output: str = ""
    seconds: float = 0.0
    status: int = 0
    needs: list = field(default_factory=list)   # functions that said "unsupported"


@dataclass
class Ended:
    """How a job ended, whatever it was."""
    status: int
    text: str
    timed_out: bool
    seconds: float


def run(command, test, folder, limit_s):
    """Runs `command` for at most `limit_s` seconds in `folder` and judges it."""
    environment = dict(os.environ, MPIEXEC_TIMEOUT=str(test.time_limit_s or limit_s))
    environment.update(entry.split("=", 1) for entry in test.environment if "=" in entry)
    ended = run_job(command, folder, environment, limit_s)
    outcome = judge(test, ended.status, ended.text, ended.timed_out)
    outcome.seconds = round(ended.seconds, 3)
    outcome.status = ended.status
    outcome.output = ended.text
    return outcome


def run_job(command, folder, environment, limit_s, output_limit_bytes=OUTPUT_LIMIT_BYTES, standard_input=""):
    """Runs `command` in a session of its own and leaves nothing of it behind: an Ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as given:
        given.write(standard_input.encode())
        given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=given if standard_input else subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_limits)
        timed_out = not _wait(process, limit_s)
        seconds = time.monotonic() - start
        members = _job_processes(process.pid) if timed_out else set()
        if timed_out:
            _report_and_kill(process)
        _end_job(process.pid, members)
        process.wait()
        out.seek(0)
        text = out.read(output_limit_bytes).decode(errors="replace")
    return Ended(process.returncode, text, timed_out, seconds)


def _limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(process, limit_s):
    try:
        process.wait(limit_s)
        return True
    except subprocess.TimeoutExpired:
        return False


def _report_and_kill(process):
    """Ctrl-\\ prints what each rank waits for (ours, ignored or fatal elsewhere)."""
    try:
        process.send_signal(signal.SIGQUIT)
        _wait(process, REPORT_WAIT_S)
        process.send_signal(signal.SIGTERM)
        _wait(process, REPORT_WAIT_S)
    except ProcessLookupError:
        pass


def _job_processes(launcher, known=()):
    """The launcher's session, and descendants that left it (MPICH's proxies do)."""
    parents, found = {}, set()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z":
            continue
        pid = int(entry)
        parents[pid] = int(fields[1])
        if int(fields[3]) == launcher or pid in known:
            found.add(pid)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


def _end_job(launcher, known):
    """Waits shortly for stragglers, then kills what is left of the job."""
    deadline = time.monotonic() + DRAIN_WAIT_S
    pause = 0.001
    while left := _job_processes(launcher, known):
        if time.monotonic() > deadline:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            deadline = time.monotonic() + DRAIN_WAIT_S
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


# ---- judging ---------------------------------------------------------------------------

def judge(test, status, text, timed_out):
    """The suite's rule, see the module's head."""
    if timed_out:
        return Outcome("timeout", "no end within the time limit", needs=_needs(text))
    if test.result_test in STATUS_TESTS:
        return _judge_status_test(test, status, text)
    if test.result_test not in OUTPUT_TESTS:
        return Outcome("fail", f"unknown resultTest {test.result_test}")
    complaint, skips = OUTPUT_TESTS[test.result_test](text)
    if not complaint and status == 0:
        return Outcome("skipped", "the test says so itself") if skips else Outcome("pass")
    needs = _needs(text)
    if status == DEADLOCK_STATUS and "deadlock" in text.lower():
        return Outcome("timeout", "deadlock, says the launcher", needs=needs)
    if needs:
        return Outcome("needs", "uses " + ", ".join(needs), needs=needs)
    if _crashed(status, text):
        return Outcome("crash", _crash_line(status, text))
    if complaint:
        return Outcome("fail", complaint)
    return Outcome("fail", f"exit status {status} after 'No Errors'")


def _judge_status_test(test, status, text):
    """Tests that want a non-zero exit status."""
    if status == 0:
        return Outcome("fail", "exit status 0, the test wants a non-zero status")
    if test.result_test == "TestStatusNoErrors":
        complaint, _ = _complain(text)
        return Outcome("fail", complaint) if complaint else Outcome("pass")
    # TestErrFatal allows any output. So does TestStatus in effect: the suite's harness stops
    # reading at the first line (its pattern /=*/ matches every line).
    if test.result_test == "TestErrFatal" and _died_of_signal(status, text):
        return Outcome("crash", _crash_line(status, text))
    return Outcome("pass")


def _complain(text, allow=None):
    """("", skips) when the output is "No Errors" once or "Test Skipped", and nothing else."""
    good, skips, strange = 0, False, ""
    for line in text.splitlines():
        if re.fullmatch(r"\s*No [Ee]rrors\s*", line):
            good += 1
        elif re.fullmatch(r"\s*Test Skipped\s*", line):
            skips = True
        elif re.fullmatch(r"\s*Test Passed\s*", line) or "FORTRAN STOP" in line:
            pass
        elif not (allow and allow.match(line)):
            strange = strange or line.strip() or "an empty line"
    if strange:
        return f"unexpected output: {strange[:160]}", False
    if good == 0 and skips:
        return "", True
    if good != 1:
        return (f"'No Errors' {good} times" if good else "ended without 'No Errors'"), False
    return "", False


STATUS_TESTS = ("TestStatus", "TestErrFatal", "TestStatusNoErrors")
OUTPUT_TESTS = {
    "": _complain,
    "TestAllowWarnings": lambda text: _complain(text, WARNING_TEXT),
    "TestBench": lambda text: ("", False),      # any output: it prints figures
}


def _needs(text):
    """Functions named on lines that say MPI_ERR_UNSUPPORTED_OPERATION."""
    names = set()
    for line in text.splitlines():
        if UNSUPPORTED.search(line):
            names.update(MPI_NAME.findall(line))
    return sorted(names) or (["?"] if UNSUPPORTED.search(text) else [])


def _died_of_signal(status, text):
    number = -status if status < 0 else status - 128
    return number in set(CRASH_SIGNALS) - {signal.SIGABRT} or \
        bool(re.search(r"[Ss]egmentation fault|SIGSEGV|SIGBUS", text))


def _crashed(status, text):
    # A test's count of errors may be 139, too: our mpcrun says what ended a rank.
    if EXITED_TEXT.search(text) and not CRASH_TEXT.search(text):
        return False
    number = -status if status < 0 else status - 128
    return number in set(CRASH_SIGNALS) or bool(CRASH_TEXT.search(text))


def _crash_line(status, text):
    for line in text.splitlines():
        if CRASH_TEXT.search(line):
            return line.strip()[:160]
    return f"ended with status {status}"
