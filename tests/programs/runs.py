"""Runs the cases of a program with each MPI, in turn, and tells which results agree.

Role:     a row for each case and number of ranks: seconds and verdict of each MPI, and ours beside the reference.
Users:    programs.py.
"""
import os
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import executor  # noqa: E402

import compare  # noqa: E402
from model import Wrong  # noqa: E402

OURS = "ours"
OUTPUT_LIMIT_BYTES = 1 << 26
TAIL_LINES = 6


@dataclass
class Seen:
    """The runs of a case with one MPI."""
    verdict: str = "pass"       # pass | fail | timeout
    detail: str = ""
    seconds: list = field(default_factory=list)
    results: dict = field(default_factory=dict)

    @property
    def median_s(self):
        return statistics.median(self.seconds) if self.seconds else None


@dataclass
class Row:
    case: str
    ranks: int
    seen: dict                  # MPI's name -> Seen
    compared_with: str = ""     # "openmpi", "1 ranks", or ""
    complaint: str = ""         # why ours is not right; "" where it is

    def as_json(self):
        return {"case": self.case, "ranks": self.ranks, "compared_with": self.compared_with,
                "complaint": self.complaint,
                "seen": {name: {"verdict": one.verdict, "detail": one.detail, "seconds": one.seconds}
                         for name, one in self.seen.items()}}


def run_program(program, trees, options, work):
    """The rows of a program. `trees`: {MPI's name: its Tree}, of the builds that succeeded."""
    rows, first = [], {}
    for ranks in options.ranks:
        by_mpi = {name: program.cases(tree.folder, ranks) for name, tree in trees.items()}
        for number, case in enumerate(next(iter(by_mpi.values()))):
            cases = {name: of_mpi[number] for name, of_mpi in by_mpi.items()}
            row = Row(case.name, ranks, run_in_turn(cases, trees, ranks, options, work / "runs" / program.name))
            judge(row, case, first)
            rows.append(row)
            print(line(row), flush=True)
    return rows


def run_in_turn(cases, trees, ranks, options, place):
    """{MPI's name: Seen}: runs each MPI once, then each once more, as often as the options say."""
    seen = {name: Seen() for name in cases}
    for _ in range(options.repeat):
        for name, case in cases.items():
            if seen[name].verdict == "pass":
                folder = place / f"{case.name.replace(' ', '-')}-{ranks}-{name}"
                run_once(seen[name], case, trees[name].mpi, ranks, options, folder)
    return seen


def run_once(seen, case, mpi, ranks, options, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in case.files.items():
        (folder / name).write_text(text)
    for name, target in case.links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    command = mpi.command(ranks, case.program, case.arguments, extra=case.launch.get(mpi.name, ()))
    limit = options.timeout or case.limit_s
    environment = dict(os.environ, OMP_NUM_THREADS="1") | case.environment
    ended = executor.run_job(command, folder, environment, limit, OUTPUT_LIMIT_BYTES, case.standard_input)
    (folder / "output.txt").write_text(ended.text)
    seen.seconds.append(round(ended.seconds, 3))
    last = " / ".join(word.strip() for word in ended.text.splitlines()[-TAIL_LINES:] if word.strip())
    if ended.timed_out:
        seen.verdict, seen.detail = "timeout", f"no end within {limit} s"
    elif case.statuses and ended.status not in case.statuses:
        seen.verdict, seen.detail = "fail", f"status {ended.status}: {last}"
    else:
        try:
            seen.results = case.results(ended.text, folder)
        except (Wrong, OSError, ValueError) as error:
            seen.verdict, seen.detail = "fail", f"{error}; it ended with: {last}"
    if seen.verdict == "pass" and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)


def judge(row, case, first):
    """Sets the row's complaint. `first`: results of the case with the fewest ranks, passed from row to row."""
    mine = row.seen[OURS]
    peers = {name: one for name, one in row.seen.items() if name != OURS and one.verdict == "pass"}
    if mine.verdict != "pass":
        row.complaint = mine.detail
        return
    notes = []
    for name, one in peers.items():
        wrong = compare.complaint(mine.results, one.results)
        notes.append(f"beside {name}: {wrong}" if wrong else "")
    is_first = case.same_for_all_ranks and case.name not in first
    if case.same_for_all_ranks:
        name, results = first.setdefault(case.name, (f"{row.ranks} ranks", mine.results))
        wrong = compare.complaint(mine.results, results)
        notes.append(f"beside {name}: {wrong}" if wrong else "")
    row.complaint = "; ".join(filter(None, notes))
    other_ranks = "other numbers of ranks" if case.same_for_all_ranks and not is_first else ""
    row.compared_with = ", ".join(peers) or other_ranks


def line(row):
    """The line that the command prints for a row."""
    parts = [f"{name} {shown(one)}" for name, one in row.seen.items()]
    verdict = f"WRONG: {row.complaint}" if row.complaint else \
        f"agrees with {row.compared_with}" if row.compared_with else "right by its own check"
    return f"  {row.case:<22} {row.ranks:>3} ranks: {', '.join(parts)}; {verdict}"


def shown(one):
    if one.verdict == "pass":
        return f"{one.median_s:.2f} s"
    return f"> {one.seconds[-1]:.0f} s" if one.verdict == "timeout" else one.verdict
