#!/usr/bin/env python3
"""check_lengths.py finds long files and functions, takes their reasons, and counts functions as a reader does."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_lengths  # noqa: E402

LONG_FILE = "int a;\n" * 401


def violations(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check_lengths.check(root)


def function(lines, head="int f(int x) {", end="}"):
    """A function of so many lines."""
    return "\n".join([head, *["  x;"] * (lines - 2), end, ""])


def names(text, language="c"):
    """[(name, lines)] of the functions of a text."""
    return [(name, last - first + 1)
            for name, first, last in check_lengths.FUNCTIONS[language](text)]


class Files(unittest.TestCase):
    def expect(self, word, files):
        found = violations(files)
        self.assertEqual([line.split(":")[0] for line in found], [word], found)

    def test_a_file_at_the_limit_is_none(self):
        self.assertEqual(violations({"base/a.cpp": "int a;\n" * 400}), [])

    def test_a_long_file_of_each_language(self):
        for name in ("base/a.h", "base/a.cpp", "tests/a.c", "base/a.S", "tests/a.f90", "tests/a.py",
                     "tests/a.sh", "tools/a.py.in"):
            self.expect("file", {name: "\n" * 401})
        self.expect("file", {"run": "#!/bin/sh\n" + "\n" * 400})
        self.expect("file", {"bench/compare": "#!/usr/bin/env python3\n" + "\n" * 400})

    def test_data_and_pages_are_no_source(self):
        self.assertEqual(violations({"a.json": LONG_FILE, "a.md": LONG_FILE, "docs/a.c": LONG_FILE,
                                     "build/a.cpp": LONG_FILE, "list": LONG_FILE}), [])

    def test_a_long_file_says_why_at_its_head(self):
        self.assertEqual(violations({"a.cpp": "// Long: one table.\n" + LONG_FILE}), [])
        self.assertEqual(violations({"a.py": '"""About."""\n# Long: one table.\n' + "\n" * 400}), [])
        self.assertEqual(violations({"a.c": "/* Long: one table. */\n" + LONG_FILE}), [])
        self.expect("file", {"a.cpp": "// Long:\n" + LONG_FILE})
        self.expect("file", {"a.cpp": LONG_FILE + "// Long: one table.\n"})

    def test_a_reason_without_need(self):
        self.expect("reason", {"a.cpp": "// Long: one table.\nint a;\n"})
        self.expect("reason", {"a.cpp": "// Long: one picture.\n" + function(60)})


class Functions(unittest.TestCase):
    def test_a_function_at_the_limit_is_none(self):
        self.assertEqual(violations({"a.cpp": function(60)}), [])

    def test_a_long_function_of_each_language(self):
        for files in ({"a.cpp": function(61)}, {"run": "#!/bin/sh\n" + function(61, "f() {")},
                      {"a.py": "def f():\n" + "  pass\n" * 60}):
            self.assertRegex(" ".join(violations(files)), r"^function: \w+(\.\w+)?:[12]: f has 61 lines")

    def test_a_long_function_says_why_above_or_inside(self):
        for text in ("// Does it.\n// Long: one picture.\n" + function(61),
                     function(62).replace("  x;", "  // Long: one picture.", 1)):
            self.assertEqual(violations({"a.cpp": text}), [])
        self.assertEqual(len(violations({"a.cpp": "// Long: one picture.\nint a;\n" + function(61)})), 2)

    def test_the_head_counts(self):
        self.assertEqual(names("template <class T = int>\nint f(T x,\n      int y) noexcept {\n  x;\n}\n"),
                         [("f", 5)])

    def test_functions_in_namespaces_classes_and_c(self):
        text = ('extern "C" {\nint a(void) {\n}\n}\nnamespace b {\nclass MPC_LOCK("x") C : public D<int> {\n'
                " public:\n  void c() const {\n  }\n  ~C() { d(); }\n};\n}\nstruct e *f(int x) {\n}\n"
                "TEST(Some, Promise) {\n}\nX &X::operator=(const X &) {\n}\n")
        self.assertEqual(names(text), [("a", 2), ("c", 2), ("~C", 1), ("f", 2), ("TEST(Some, Promise)", 2),
                                       ("X::operator=", 2)])

    def test_what_only_looks_like_a_function(self):
        text = ('// int f() {\n/* } */ const char *a = "{", b = \'{\', *c = R"(}{)";\nint n = 1\'000\'000;\n'
                "#define F(x) \\\n  void x() {\nenum E { kA };\nint t[] = {f(1), g(2)};\nstruct S { int x{1}; };\n")
        self.assertEqual(names(text), [])

    def test_a_constructor_with_braces_in_its_list_is_one_function(self):
        self.assertEqual(names("struct S {\n  S(int x)\n      : a_{x},\n        b_(x) {\n    f();\n  }\n};\n"),
                         [("S", 5)])

    def test_arguments_with_brackets_and_default_values(self):
        self.assertEqual(names("void f(const std::function<void(int)> &g, T t = {}, U u = U{1}) {\n}\n"
                               "struct S {\n  explicit S(T t = {}, int i = 2) noexcept : a_(t), b_(i) {\n  }\n};\n"),
                         [("f", 2), ("S", 2)])
        self.assertEqual(names("std::atomic<void *(*)()> g{f()};\nint n = (int{1} + 2);\n"), [])

    def test_alternatives_of_one_head(self):
        text = "#ifdef A\nint f() {\n#else\nint f(int x) {\n#endif\n  return 1;\n}\nint g() {\n}\n"
        self.assertEqual(names(text), [("f", 6), ("g", 2)])

    def test_what_cannot_be_read_is_said(self):
        self.assertRegex(" ".join(violations({"a.c": "int f() {\n"})), "^braces: a.c")


if __name__ == "__main__":
    unittest.main()
