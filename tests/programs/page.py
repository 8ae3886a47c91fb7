"""The block of a program in docs/real-programs.md: the command writes it, into a section with prose around it.

Role:     makes Markdown of a program's rows; puts blocks into the page, each in place of the previous one.
Users:    programs.py --write.
"""
import collections
import fcntl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from runs import OURS, shown

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from comparelib import machine  # noqa: E402

PAGE = ROOT / "docs/real-programs.md"
END = "<!-- end of programs -->\n"
TITLES = {OURS: "ours", "openmpi": "Open MPI", "mpich": "MPICH"}


class PageError(Exception):
    """The page has no place for a block that the command writes."""


@dataclass
class Circumstances:
    """The circumstances in which a program was run."""
    date: str
    revision: str
    cores: int
    others: float       # cores that other programs used while it ran
    command: str

    @property
    def is_busy(self):
        return self.others > machine.FOREIGN_LIMIT

    def text(self):
        busy = "; **other work ran beside it**, so times are good only for what is far apart" \
            if self.is_busy else ""
        return f"`{self.command}`, {self.date}, revision {self.revision}, {self.cores} cores, " \
               f"{self.others:.2f} cores used by other programs meanwhile{busy}."


def revision(root):
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def begin(name):
    return f"<!-- {name}: written by ./run programs {name} --write -->\n"


def block(program, version, rows, notes, circumstances):
    """The Markdown of one program, including its markers. `notes`: what could not be built, and why."""
    ranks = sorted({row.ranks for row in rows})
    lines = [f"### {program.name} {version}", "", f"{program.what}. {program.compared}", ""]
    if rows:
        lines += ["| Case | MPI | " + " | ".join(f"{count} rank{'s' if count > 1 else ''}" for count in ranks) + " |",
                  "|---|---|" + "---:|" * len(ranks)]
    for case in dict.fromkeys(row.case for row in rows):
        of_case = {row.ranks: row for row in rows if row.case == case}
        names = list(dict.fromkeys(name for row in of_case.values() for name in row.seen))
        for name in names:
            cells = [cell(of_case.get(count), name) for count in ranks]
            lines.append(f"| {case if name == names[0] else ''} | {TITLES[name]} | " + " | ".join(cells) + " |")
    lines += ["", summary(rows), *wrong_lines(rows), *(f"- {note}" for note in notes), "", circumstances.text()]
    return begin(program.name) + "\n".join(lines) + "\n" + f"<!-- end of {program.name} -->\n"


def cell(row, name):
    if row is None or name not in row.seen:
        return ""
    text = shown(row.seen[name])
    return f"**wrong** ({text})" if name == OURS and row.complaint and row.seen[name].verdict == "pass" else text


def summary(rows):
    """How many rows are right, by comparison with which MPIs, or only by the program's own check."""
    good = [row for row in rows if not row.complaint]
    beside = collections.Counter(row.compared_with for row in good)
    parts = [f"{times} as with {titled(names)}" if names else f"{times} by their own check only"
             for names, times in beside.items()]
    return f"{len(good)} of {len(rows)} runs right: {', '.join(parts)}." if good else f"0 of {len(rows)} runs right."


def titled(names):
    for name, title in TITLES.items():
        names = names.replace(name, title) if name != OURS else names
    return names


def wrong_lines(rows):
    """What was wrong, with our MPI and with the peers."""
    lines = []
    for row in rows:
        where = f"`{row.case}`, {row.ranks} rank{'s' if row.ranks > 1 else ''}"
        if row.complaint:
            lines.append(f"- **ours**, {where}: {one_line(row.complaint)}")
        lines += [f"- {TITLES[name]}, {where}: {one_line(one.detail)}" for name, one in row.seen.items()
                  if name != OURS and one.verdict == "fail"]
    return lines


def one_line(text, most=240):
    """The text in a form for a list: no line ends, no folders of this machine, not too long."""
    words = " ".join(text.replace(str(Path.cwd()), ".").split()).replace("|", "/")
    return words if len(words) <= most else words[:most] + " ..."


def write(name, new, names):
    """Puts a program's block into the page; other commands may do so at the same time. Errors: PageError."""
    with PAGE.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        text = put(file.read(), name, new, names)
        file.seek(0)
        file.truncate()
        file.write(text)


def put(text, name, new, names):
    """The page with a program's block in it. A new block is put behind those that come before it in `names`.
    Errors: PageError."""
    end = f"<!-- end of {name} -->\n"
    if begin(name) in text:
        head, _, rest = text.partition(begin(name))
        _, closed, tail = rest.partition(end)
        if not closed:
            raise PageError(f"{PAGE.name}: '{end.strip()}' is missing")
        return head + new + tail
    for before in reversed(names[:names.index(name)]):
        mark = f"<!-- end of {before} -->\n"
        if mark in text:
            return text.replace(mark, mark + "\n" + new, 1)
    for after in names[names.index(name) + 1:]:
        if begin(after) in text:
            return text.replace(begin(after), new + "\n" + begin(after), 1)
    if END not in text:
        raise PageError(f"{PAGE.name}: '{END.strip()}', before which the tables go, is missing")
    return text.replace(END, new + "\n" + END, 1)
