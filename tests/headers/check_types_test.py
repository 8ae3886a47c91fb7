#!/usr/bin/env python3
"""check_types.py finds types of one name in two files, and no others."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_types  # noqa: E402


def problems(**files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "base").mkdir()
        for name, text in files.items():
            (root / "base" / f"{name}.h").write_text(text)
        return check_types.check(root)


def within(space, text):
    return f"namespace {space} {{\n{text}\n}}  // namespace {space}\n"


class Types(unittest.TestCase):
    def test_types_of_one_name_in_one_namespace(self):
        for one in ("struct Side {\n  int a;\n};", "class [[nodiscard]] Side final : Base {\n};", "struct alignas(64) Side {", "enum Side { kA };"):
            self.assertEqual(problems(a=within("mpc::x", one), b=within("mpc::x", "enum class Side : int { kOut };")),
                             ["mpc::x::Side: is defined in base/a.h and base/b.h"], one)

    def test_what_is_no_second_definition(self):
        first = within("mpc", "struct Side {\n};")
        for other in (within("mpc::y", "struct Side {\n};"), within("mpc", "struct Side;"), within("mpc", "namespace {\nstruct Side {\n};\n}  // namespace"),
                      within("mpc", "struct Room {\n  struct Side {\n  };\n};"), within("mpc", "struct Sides {\n};"), within("mpc", "struct Side::Part : Base {\n};")):
            self.assertEqual(problems(a=first, b=other), [], other)


if __name__ == "__main__":
    unittest.main()
