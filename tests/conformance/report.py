"""Tables and files that say how a conformance run went.

Role:     classifies results against what works now and the known failures; prints the table
          per folder and the failures; writes JSON.
Users:    conformance.py.
"""
import fnmatch
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

COLUMNS = ("pass", "fail", "crash", "timeout", "not built", "needs", "skipped")
BAD = ("fail", "crash", "timeout", "not built")


@dataclass
class Result:
    name: str
    folder: str
    verdict: str
    detail: str = ""
    seconds: float = 0.0
    status: int = 0
    output: str = ""
    uses: list = field(default_factory=list)
    not_working: list = field(default_factory=list)  # used functions that do not work yet
    known: str = ""         # reason from the known-failure list
    attempts: int = 1

    @property
    def counts_now(self):
        """The test uses only functions that work now, so that it ought to pass."""
        return self.verdict not in ("needs", "skipped") and not self.not_working

    @property
    def surprising(self):
        return self.verdict in BAD and not self.known and not self.not_working


NOT_APPLICABLE = "does not apply: "     # such a reason leaves a test out, so it is not counted
OF_VARIANTS = re.compile(r"\[([\w, ]+)\]\s*")


def read_known(path, variants=()):
    """[(pattern, reason)] of lines `[variants] test name (with * and ?) : reason`; without
    [variants] a line is for all, else for runs with one of them."""
    known, of_these = [], []    # lines of variants come first
    if path and path.exists():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.split("#", 1)[0].strip()
            if not line:
                continue
            of = OF_VARIANTS.match(line)
            if of and not {name.strip() for name in of.group(1).split(",")} & set(variants):
                continue
            name, colon, reason = line[of.end() if of else 0:].partition(" : ")
            if not colon or not reason.strip():
                raise ValueError(f"{path}:{number}: want 'test name : reason'")
            (of_these if of else known).append((name.strip(), reason.strip()))
    return of_these + known


def known_reason(known, name):
    for pattern, reason in known:
        if fnmatch.fnmatchcase(name, pattern) or name.split(" ")[0] == pattern:
            return reason
    return ""


def read_working(folder):
    """Functions that have a body, by the declarative list of the API; None without one."""
    lists = sorted(folder.glob("*.json"))
    working = set()
    for path in lists:
        for function in json.loads(path.read_text()).get("functions", ()):
            if function.get("impl", "body") != "stub":
                working.update((function["name"], function["name"] + "_c"))
    return working if lists else None


def not_working(uses, working):
    """Those of `uses` without a body. Predefined callbacks (MPI_COMM_DUP_FN) always work."""
    if working is None:
        return []
    names = {re.sub(r"^PMPI", "MPI", name) for name in uses}
    return sorted(name for name in names - working if not name.isupper())


# ---- printing --------------------------------------------------------------------------

def print_table(results, folders):
    width = max([len(folder) for folder in folders] + [8])
    print(f"\n{'folder':<{width}} {'tests':>6} " +
          " ".join(f"{column:>9}" for column in COLUMNS))
    rows = [(folder, [r for r in results if top(r.folder) == folder]) for folder in folders]
    for label, rows_results in rows + [("all", results)]:
        counts = [sum(r.verdict == column for r in rows_results) for column in COLUMNS]
        print(f"{label:<{width}} {len(rows_results):>6} " +
              " ".join(f"{count or '-':>9}" for count in counts))


def print_failures(results):
    bad = [r for r in results if r.verdict in BAD or (r.known and r.verdict == "pass")]
    if bad:
        print("\nNot passed:")
    for r in bad:
        if r.verdict == "pass":
            continue
        note = f" [known: {r.known}]" if r.known else ""
        if r.not_working:
            note += f" [uses what does not work yet: {', '.join(r.not_working[:3])}]"
        print(f"  {r.verdict:<9} {r.name}\n            {r.detail}{note}")
    fixed = [r for r in results if r.known and r.verdict == "pass"]
    if fixed:
        print("\nPassed, although on the known-failure list (take them off):")
        for r in fixed:
            print(f"  {r.name}")
    print_needs(results)


def print_needs(results):
    lacking = {}
    for r in results:
        if r.verdict == "needs":
            lacking.setdefault(r.detail, []).append(r.name)
    if lacking:
        print("\nTests that need functions which are not there yet:")
    for detail, names in sorted(lacking.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):>4}  {detail}")


def summary_line(results, working_known):
    """The figure of the project's goal, and whether it is met."""
    counted = [r for r in results if r.counts_now]
    passed = sum(r.verdict == "pass" for r in counted)
    what = "tests that use only functions working now" if working_known else "tests run"
    rate = 100.0 * passed / len(counted) if counted else 0.0
    bad = {kind: sum(r.verdict == kind for r in counted) for kind in ("crash", "timeout")}
    return (f"conformance: {passed} of {len(counted)} {what} pass ({rate:.1f} %), "
            f"{bad['crash']} crash, {bad['timeout']} hang; "
            f"{sum(r.surprising for r in results)} not on the known-failure list")


def write_json(path, results, header):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [dict(asdict(r), output=r.output[-4000:]) for r in results]
    path.write_text(json.dumps(dict(header, results=rows), indent=1) + "\n")


def top(folder):
    return folder.split("/", 1)[0]
