#!/usr/bin/env python3
"""docs/message-cost.md says how many instructions a message costs: bench/cost counts them again.

    message_cost.py --source FOLDER --build FOLDER

Exit status 77: valgrind is not installed (CTest: skipped).
"""
import argparse
import re
import shutil
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from pathlib import Path

TOLERANCE = 0.05    # compilers differ between minor versions; a step that comes or goes is more


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--build", required=True, type=Path)
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: the instructions of a message are not counted")
        return 77
    page = (options.source / "docs/message-cost.md").read_text(encoding="utf-8")
    said = {name: int(count) for name, count in re.findall(r"^\| `(\w+)` \| \*\*(\d+)\*\* \|", page, re.MULTILINE)}
    sys.dont_write_bytecode = True
    cost = SourceFileLoader("cost", str(options.source / "bench/cost")).load_module()
    if set(said) != set(cost.CASES):
        print(f"the page has totals of {sorted(said)}, bench/cost counts {sorted(cost.CASES)}")
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        program = cost.compile_program(options.build, folder)
        for case, expected in said.items():
            share = cost.of_a_message(options.build, program, case)
            counted = sum(share.values())
            is_right = abs(counted - expected) <= TOLERANCE * expected
            print(f"{case}: the page says {expected}, counted {counted:.0f}{'' if is_right else ': WRONG'}")
            if not is_right:
                print(cost.table(case, share))
            wrong += not is_right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
