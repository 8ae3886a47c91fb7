#!/usr/bin/env python3
"""check_layers.py finds each kind of violation in a small tree, and nothing in a clean one."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_layers  # noqa: E402

TABLE = "base base :\nmachine machine : base\nmpi mpi : base machine\n"
CLEAN = {
    "cmake/layers.txt": TABLE,
    "base/log.h": "#pragma once\n#include <string>\n",
    "machine/machine.h": '#pragma once\n#include "base/log.h"\n',
    "machine/hwloc.cpp": '#include "machine/machine.h"\n#include <hwloc.h>\n',
    "mpi/api.cpp": '#include "machine/machine.h"\n#include "mpi.h"\n',
    "tests/unit/machine/machine_test.cpp": '#include "machine/machine.h"\n',
    "tests/support/help.h": "#pragma once\n",
    "examples/ring.c": "#include <mpi.h>\n",
}


def violations(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**CLEAN, **changes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_layers.check(root)


class Layers(unittest.TestCase):
    def expect(self, word, changes):
        found = violations(changes)
        self.assertEqual([line.split(":")[0] for line in found], [word], found)

    def test_clean_tree_has_no_violation(self):
        self.assertEqual(violations({}), [])

    def test_include_of_a_higher_layer(self):
        self.expect("upward", {"base/log.cpp": '#include "machine/machine.h"\n'})

    def test_table_that_is_not_sorted_downwards(self):
        self.expect("table", {"cmake/layers.txt":
                              "base base : machine\nmachine machine : base\n"
                              "mpi mpi : base machine\n"})

    def test_unit_test_that_reaches_above_its_layer(self):
        self.expect("unit", {"tests/unit/base/log_test.cpp":
                             '#include "machine/machine.h"\n'})

    def test_header_named_without_its_folder(self):
        self.expect("path", {"machine/list.cpp": '#include "machine.h"\n'})

    def test_layer_that_includes_a_test_header(self):
        self.expect("top", {"base/log.cpp": '#include "tests/support/help.h"\n'})

    LOOP = {"base/a.h": '#include "base/b.h"\n', "base/b.h": "#pragma once\n",
            "base/b.cpp": '#include "base/b.h"\n#include "base/c.h"\n',
            "base/c.h": "#pragma once\n", "base/c.cpp": '#include "base/a.h"\n'}

    def test_units_that_include_each_other_in_a_circle(self):
        self.expect("loop", self.LOOP)
        self.assertIn("base/a base/b base/c", violations(self.LOOP)[0])
        self.assertEqual(violations({**self.LOOP, "base/c.cpp": '#include "base/c.h"\n'}), [])

    def test_a_known_circle_is_none_and_one_that_was_cut_is(self):
        known = {"cmake/known-loops.txt": "# to be cut\nbase/b base/a base/c\n"}
        self.assertEqual(violations({**self.LOOP, **known}), [])
        self.expect("loop", known)
        self.assertEqual(len(violations({**self.LOOP, "cmake/known-loops.txt": "base/a base/b\n"})), 2)

    def test_second_file_that_includes_a_library(self):
        self.expect("library", {"mpi/numa.cpp": "#include <hwloc.h>\n"})

    def test_each_tool_wraps_a_library_once(self):
        self.assertEqual(violations({"tools/one/main.cpp": "#include <CLI/CLI.hpp>\n",
                                     "tools/two/main.cpp": "#include <CLI/CLI.hpp>\n"}), [])
        self.expect("library", {"tools/one/main.cpp": "#include <CLI/CLI.hpp>\n",
                                "tools/one/options.cpp": "#include <CLI/CLI.hpp>\n"})

    def test_c_interface_below_mpi(self):
        self.expect("mpi.h", {"machine/list.cpp": "#include <mpi.h>\n"})

    def test_include_inside_a_comment_is_none(self):
        self.assertEqual(violations(
            {"base/log.cpp": '/*\n#include "machine/machine.h"\n*/\n'}), [])


if __name__ == "__main__":
    unittest.main()
