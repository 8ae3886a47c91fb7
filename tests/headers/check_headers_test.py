#!/usr/bin/env python3
"""check_headers.py accepts a complete header and finds an incomplete and an unguarded one."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_headers  # noqa: E402

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "c++"


class Headers(unittest.TestCase):
    def test_finds_exactly_the_bad_headers(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {
                "cmake/layers.txt": "base base :\n",
                "base/good.h": "#pragma once\n#include <string>\nstd::string f();\n",
                "base/incomplete.h": "#pragma once\nstd::string g();\n",
                "base/unguarded.h": "struct Twice {};\n",
            }
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            bad, keys = check_headers.check(COMPILER, root, None, 2, set())
            self.assertEqual(sorted(bad), ["base/incomplete.h", "base/unguarded.h"])
            self.assertEqual(len(keys), 1)
            again, _ = check_headers.check(COMPILER, root, None, 2, keys)
            self.assertEqual(sorted(again), sorted(bad))


if __name__ == "__main__":
    unittest.main()
