"""Time from a failure until all processes of a job have ended, on all hosts.

Role:     one experiment of bench/hosts.
Users:    hostslib/experiments.py.
"""
import os
import re
import select
import signal
import time

from comparelib import machine

RANKS_PER_HOST = 4
PROGRAM = "ends"
WATCHED_S = 30.0        # a job that has not ended by then is given up
KINDS = {"rank": "a rank crashes", "process": "a process with ranks is killed",
         "daemon": "the launcher's daemon is killed", "cable": "the cable is pulled"}


def waits_for(process, word, limit_s):
    """Whether the job prints a line with this word in time. Lines are read as bytes, because
    select() does not see data that Python has buffered."""
    until, text, out = time.monotonic() + limit_s, b"", process.stdout.fileno()
    while (left := until - time.monotonic()) > 0:
        if not select.select([out], [], [], left)[0]:
            break
        piece = os.read(out, 65536)
        if not piece:
            break
        text += piece
        if any(line.strip() == word.encode() for line in text.split(b"\n")):
            return True
    return False


def victims(lines, pattern):
    """The processes of {pid: command line} that match."""
    return [pid for pid, line in lines.items() if re.search(pattern, line)]


def break_it(kind, context, series, mark):
    """Causes the failure. Returns "", or why that was impossible."""
    hosts = context.hosts
    other = hosts.names[-1]
    if kind == "rank":
        mark.touch()
    elif kind == "cable":
        hosts.link(other, "down")
    else:
        pattern = series.daemon if kind == "daemon" else series.process.format(PROGRAM)
        found = victims(hosts.lines(other), pattern)
        if not found:
            return f"no such process among {sorted(hosts.lines(other).values())}"
        os.kill(max(found), signal.SIGKILL)
    return ""


def until_all_ended(hosts):
    """Seconds, or None."""
    begin = time.monotonic()
    while (now := time.monotonic()) - begin < WATCHED_S:
        if not hosts.jobs_pids():
            return now - begin
        time.sleep(0.002)
    return None


def one(kind, context, series, taking):
    hosts, mark = context.hosts, hosts_mark(context)
    command = series.on_hosts(hosts, RANKS_PER_HOST,
                              [context.program(series, PROGRAM), f"--when={mark}"])
    process = machine.start(hosts.on("h1", command))
    try:
        if not waits_for(process, "READY", context.limit_s):
            return taking.blame(kind, "the job does not start")
        time.sleep(0.3)     # all of them wait, and the launchers have nothing to do any more
        problem = break_it(kind, context, series, mark)
        if problem:
            return taking.blame(kind, problem)
        seconds = until_all_ended(hosts)
        if seconds is None:
            return taking.blame(KINDS[kind], f"processes are left after {WATCHED_S:.0f} s")
        taking.add(f"ends_{kind}", RANKS_PER_HOST * len(hosts.names), seconds, "s")
        return None
    finally:
        if kind == "cable":
            hosts.link(hosts.names[-1], "up")
        mark.unlink(missing_ok=True)
        machine.end_session(process)
        process.stdout.close()
        hosts.clean()


def hosts_mark(context):
    """The file that the crashing rank waits for: all hosts see it."""
    return context.hosts.folder / "net/now"


def measure(context, series, taking):
    for kind in KINDS:
        if (series.name, kind) not in context.broken:
            one(kind, context, series, taking)
            if taking.sample.error and (f"ends_{kind}", RANKS_PER_HOST * 2) not in taking.sample.figures:
                context.broken.add((series.name, kind))     # once is enough
    return taking.done()
