#!/usr/bin/env python3
"""A table of several runs: folders against variants, for docs/conformance.md.

    tests/conformance/table.py build/conformance/results-*.json

Role:     puts result files of conformance.py together; of a test that was run twice in the same
          variant the later file counts.
Users:    people.
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import report  # noqa: E402

KNOWN = Path(__file__).resolve().parent / "known-failures.txt"
DEFAULT = "as the lists say"


def read(paths):
    """variant -> test name -> Result."""
    runs = {}
    for path in paths:
        run = json.loads(Path(path).read_text())
        variants = run.get("variants", [])
        tests = runs.setdefault("+".join(variants) or DEFAULT, {})
        known = report.read_known(KNOWN, variants)
        for row in run["results"]:
            result = report.Result(**row)
            if report.known_reason(known, result.name).startswith(report.NOT_APPLICABLE):
                result.verdict = "skipped"      # also if it was run before the list said so
            tests[result.name] = result
    return runs


def cell(results):
    """'passed / counted' of the tests that apply."""
    counted = [result for result in results if result.counts_now]
    passed = sum(result.verdict == "pass" for result in counted)
    return f"{passed} / {len(counted)}" if counted else ""


def rate(results):
    counted = [result for result in results if result.counts_now]
    passed = sum(result.verdict == "pass" for result in counted)
    return f"{100 * passed / len(counted):.1f} %" if counted else ""


def markdown(runs):
    folders = sorted({report.top(result.folder) for tests in runs.values()
                      for result in tests.values()})
    lines = ["| Folder | " + " | ".join(runs) + " |", "|---|" + "---:|" * len(runs)]
    for folder in folders:
        cells = [cell([result for result in tests.values()
                       if report.top(result.folder) == folder]) for tests in runs.values()]
        lines.append(f"| {folder} | " + " | ".join(cells) + " |")
    for name, of in (("all", cell), ("rate", rate)):
        lines.append(f"| **{name}** | " +
                     " | ".join(of(tests.values()) for tests in runs.values()) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(read(sys.argv[1:])))
