"""The first table of docs/real-programs.md: a row for each program, ours beside Open MPI at 2 and at 8 ranks.

Role:     adds up the times of a program's cases, tells whether the goals are met, puts the row into the page.
Users:    programs.py --write.
"""
import fcntl
from dataclasses import dataclass

import page
from runs import OURS

PEER = "openmpi"
# Number of ranks -> the most that ours may take of the peer's time.
GOALS = {2: 1.03, 8: 1.0}
BEGIN = "<!-- summary: written by ./run programs --write -->\n"
END = "<!-- end of summary -->\n"


@dataclass(frozen=True)
class Sum:
    """The cases of a program with a number of ranks which ended regularly with both MPIs."""
    cases: int
    ours_s: float
    peer_s: float
    worst: str          # the case whose time beside the peer's is the longest
    worst_ratio: float

    @property
    def ratio(self):
        return self.ours_s / self.peer_s


def of_rows(rows, ranks):
    """The Sum; None if no case can be compared."""
    both = {row.case: (row.seen[OURS].median_s, row.seen[PEER].median_s) for row in rows
            if row.ranks == ranks and not row.complaint and PEER in row.seen and row.seen[PEER].verdict == "pass"}
    both = {case: times for case, times in both.items() if times[0] and times[1]}
    if not both:
        return None
    worst = max(both, key=lambda case: both[case][0] / both[case][1])
    return Sum(len(both), sum(ours for ours, _ in both.values()), sum(peer for _, peer in both.values()),
               worst, both[worst][0] / both[worst][1])


def heading():
    columns = [f"{ranks} ranks: {what}" for ranks in GOALS for what in ("ours / Open MPI", "goal", "slowest case")]
    return "| Program | " + " | ".join(columns) + " | Wrong | Measured |\n" + "|---" * (len(columns) + 3) + "|\n"


def cells(one, ranks, is_busy):
    if one is None:
        return ["not compared", "", ""]
    verdict = ("met" if one.ratio <= GOALS[ranks] else "**not met**") + (" (busy)" if is_busy else "")
    times = f"{one.ratio:.2f} ({one.ours_s:.1f} / {one.peer_s:.1f} s, {one.cases} case{'s' if one.cases > 1 else ''})"
    return [times, f"<= {GOALS[ranks]:.2f}: {verdict}", f"{one.worst}: {one.worst_ratio:.2f}"]


def row(name, rows, circumstances):
    """The line of a program. None: nothing of it can be compared."""
    sums = {ranks: of_rows(rows, ranks) for ranks in GOALS}
    if not any(sums.values()):
        return None
    wrong = sum(1 for one in rows if one.complaint)
    words = [name, *(cell for ranks, one in sums.items() for cell in cells(one, ranks, circumstances.is_busy)), str(wrong) if wrong else "none",
             f"{circumstances.date}, {circumstances.revision}, {circumstances.others:.2f} cores by others"]
    return "| " + " | ".join(words) + " |\n"


def put(text, name, new, names):
    """The page with a program's line in place of the previous one, in the order of `names`. Errors: PageError."""
    head, begun, rest = text.partition(BEGIN)
    table, closed, tail = rest.partition(END)
    if not begun or not closed:
        raise page.PageError(f"{page.PAGE.name}: '{BEGIN.strip()}' or '{END.strip()}' is missing")
    lines = {line.split("|")[1].strip(): line for line in table.splitlines(True)[2:]}
    lines[name] = new
    ordered = sorted(lines, key=lambda one: names.index(one) if one in names else len(names))
    return head + BEGIN + heading() + "".join(lines[one] for one in ordered) + END + tail


def write(name, new, names):
    """Puts a program's line into the page; other commands may do so at the same time. Errors: PageError."""
    with page.PAGE.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = put(file.read(), name, new, names)
        file.seek(0)
        file.truncate()
        file.write(text)
