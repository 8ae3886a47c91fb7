#!/usr/bin/env python3
"""mpcrun as a user meets it: one module for each theme, run by unittest.

usage: cases.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]
"""

import sys
import unittest

from command_line import CommandLine  # noqa: F401
from descriptors import Descriptors  # noqa: F401
from ends import Ends  # noqa: F401
from habits import Habits, ProgramFile  # noqa: F401
from heaps import Heaps  # noqa: F401
from processes import Processes  # noqa: F401
from programs import Programs  # noqa: F401
from running import Running  # noqa: F401
from support import parse_options


def main():
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
