#!/usr/bin/env python3
"""check_users.py finds a user that is none, and knows who includes a header through others."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_users  # noqa: E402

HEADER = "#pragma once\n// Users:     {}\n// Threads:   any.\n"


def problems(users, files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {"base/a.h": HEADER.format(users), "upper/part/x.cpp": "", **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_users.check(root)


class Users(unittest.TestCase):
    def test_a_folder_that_does_not_include_the_header(self):
        self.assertEqual(problems("base, upper/part (for x).", {"base/b.cpp": '#include "base/a.h"\n'}),
                         ["base/a.h: Users: names upper/part, which does not include it"])

    def test_a_folder_that_includes_it_through_another_header(self):
        self.assertEqual(problems("upper/part.", {"upper/b.h": '#include "base/a.h"\n',
                                                  "upper/part/x.cpp": '#include "upper/b.h"\n'}), [])

    def test_a_file_and_the_line_that_goes_on(self):
        files = {"upper/part/y.cpp": '#include "base/a.h"\n'}
        self.assertEqual(problems("upper/part/y.cpp,\n//            everybody else.", files), [])
        self.assertEqual(len(problems("everybody,\n//            upper/part/x.cpp.", files)), 1)

    def test_words_that_are_no_folders(self):
        self.assertEqual(problems("whoever calls it; upper layers.", {"upper/c.cpp": '#include "base/a.h"\n'}), [])


if __name__ == "__main__":
    unittest.main()
