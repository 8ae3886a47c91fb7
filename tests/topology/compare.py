#!/usr/bin/env python3
"""Compares what show_machine prints with the text beside the machine's description.

    compare.py SHOW_MACHINE DESCRIPTION

With MPC_RENEW=1 in the environment the expected text is written instead. Look at the difference
(git diff) before it is committed: these texts are what users see and where ranks run.
"""
import difflib
import os
import subprocess
import sys
from pathlib import Path


def main():
    show, machine = sys.argv[1], Path(sys.argv[2])
    expected = machine.with_suffix(".expected")
    ran = subprocess.run([show, str(machine)], capture_output=True, text=True, check=False)
    found = ran.stdout
    if ran.returncode != 0 or ran.stderr:
        print(f"{show} {machine}: exit status {ran.returncode}\n{found}{ran.stderr}")
        return 1
    if os.environ.get("MPC_RENEW") == "1":
        expected.write_text(found)
        return 0
    wanted = expected.read_text() if expected.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True),
                                               expected.name, "found"))
    return 0 if found == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
