#!/usr/bin/env python3
"""The design records: each has a date and a status and stands in the index.

    design.py SOURCE
"""
import re
import sys
import unittest
from pathlib import Path

FOLDER = Path(sys.argv.pop(1)) / "docs/design"
RECORDS = sorted(FOLDER.glob("[0-9][0-9][0-9][0-9]-*.md"))


class Design(unittest.TestCase):
    def test_there_are_records(self):
        self.assertGreater(len(RECORDS), 16)

    def test_each_says_when_it_was_made_and_whether_it_holds(self):
        for path in RECORDS:
            lines = path.read_text(encoding="utf-8").splitlines()
            self.assertRegex(lines[0], rf"^# {path.name[:4]}: ", path.name)
            self.assertRegex(lines[2], r"^Date: \d{4}-\d\d-\d\d[^.]*\. Status: "
                                       r"(accepted|rejected|replaced).*\.$", path.name)

    def test_each_stands_in_the_index(self):
        index = (FOLDER / "README.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^\| \[\d{4}\]\((\d{4}-[^)]*)\)", index, re.M),
                         [path.name for path in RECORDS])

    def test_a_number_that_is_missing_is_explained(self):
        index = (FOLDER / "README.md").read_text(encoding="utf-8")
        numbers = {int(path.name[:4]) for path in RECORDS}
        for number in range(1, max(numbers)):
            if number not in numbers:
                self.assertIn(f"There is no record {number:04}", index)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
