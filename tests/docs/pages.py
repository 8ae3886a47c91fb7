#!/usr/bin/env python3
"""The pages that lead through the code: every file, and every function in a file, that they name exists.

    pages.py SOURCE
"""
import re
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1))
# Page -> how many pairs of names and files it has at least, so that no change of its form empties the test.
PAGES = {"docs/ibcast-to-memcpy.md": 10, "docs/send-to-memcpy.md": 20, "docs/how-to-add.md": 6,
         "docs/architecture.md": 8, "README.md": 0, "CONTRIBUTING.md": 0}
MOST_FILES = 4      # that one kind of addition may touch


def is_generated(name):
    """Into the build folder, which this test does not know."""
    return name.startswith(("mpi/impl/", "generated/"))


def missing(source, text):
    """What a page names and is not there."""
    out = []
    for name in re.findall(r"`((?:\w+/)+(?:[\w-]+(?:\.\w+)?)?)`", text):
        # .../NAME: one of several.
        is_general = is_generated(name) or name.rpartition("/")[2].isupper()
        if not (source / name).exists() and not is_general:
            out.append(name)
    for functions, name in pairs(text):
        if is_generated(name):
            continue
        path = source / name
        code = path.read_text(encoding="utf-8") if path.exists() else ""
        out += [f"{word} in {name}" for word in re.findall(r"\w+", functions)
                if not re.search(rf"\b{word}\b", code)]
    return out


def pairs(text):
    """[("`f`, `g`", "file")] of "`f`, `g` in `file`", also across the end of a line."""
    return re.findall(r"((?:`[\w:]+`(?:,\s)?)+)\sin\s`((?:\w+/)+\w+\.\w+)`", text)


def links(text):
    return [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in link]


class Pages(unittest.TestCase):
    def test_what_guides_name_exists(self):
        for page, least in PAGES.items():
            text = (SOURCE / page).read_text(encoding="utf-8")
            self.assertEqual(missing(SOURCE, text), [], page)
            self.assertGreaterEqual(len(pairs(text)), least, page)

    def test_what_is_missing_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a").mkdir()
            Path(folder, "a/b.cpp").write_text("int f(int x);", encoding="utf-8")
            text = "`f` in `a/b.cpp`; `g`, `C::f` in\n`a/b.cpp`; `a/c.cpp`, `d/e/`; `f` in `a/x.h`"
            self.assertEqual(missing(Path(folder), text),
                             ["a/c.cpp", "d/e/", "a/x.h", "g in a/b.cpp", "C in a/b.cpp", "f in a/x.h"])

    def test_links_between_pages_lead_somewhere(self):
        for path in [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md"), *SOURCE.glob("docs/design/*.md"),
                     *SOURCE.glob("bench/*.md")]:
            for link in links(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)):
                self.assertTrue((path.parent / link).exists(), f"{path}: {link}")

    def test_nothing_that_is_added_often_touches_many_files(self):
        text = (SOURCE / "docs/how-to-add.md").read_text(encoding="utf-8")
        sections = re.split(r"^## ", text, flags=re.M)[1:]
        self.assertEqual([section.splitlines()[0] for section in sections],
                         ["... an MPI function", "... a setting", "... a collective algorithm",
                          "... a machine description", "... a transport"])
        for section in sections:
            files = re.findall(r"^\| (?!File|---)", section, re.M)
            self.assertTrue(0 < len(files) <= MOST_FILES, section.splitlines()[0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
