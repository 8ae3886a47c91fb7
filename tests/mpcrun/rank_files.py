"""Files for what each rank prints, and what stands before its lines (mpcrun.output runs it)."""

import os
import re
import tempfile
import unittest

from support import END, INIT, has_processes, run
from written import Written

PRINTS = ('printf("out %d\\n", rank); fflush(stdout); fprintf(stderr, "err %d\\n", rank);'
          'if (argc > 1) { fflush(stdout); if (system("echo child") != 0) return 9; }'
          'printf("no newline"); ')


def ways():
    out = [["-n", 3]]
    if has_processes():
        out += [["-n", 3, "-p", 2], ["-n", 3, "--ranks-per-process", 1]]
    return out


def text(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


class RankFiles(Written):
    def setUp(self):
        self.program = self.programs.build("rank_files", INIT + PRINTS + END)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def name(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def test_each_rank_has_its_files(self):
        for words in ways():
            status, out, err = run(*words, "--output-file", self.name("a/out.%r"), "--error-file",
                                   self.name("a/err.%r"), self.program, "child")
            self.assertEqual((status, out, err), (0, "", ""), words)
            for rank in range(3):
                self.assertEqual(text(self.name(f"a/out.{rank}")), f"out {rank}\nchild\nno newline", words)
                self.assertEqual(text(self.name(f"a/err.{rank}")), f"err {rank}\n", words)

    def test_what_is_in_files_may_be_printed_too(self):
        for words in ways():
            status, out, err = run(*words, "--label", "--copy-output", "--output-file", self.name("%r.%o"),
                                   self.program)
            self.assertEqual(status, 0, err)
            self.assertEqual(sorted(re.findall(r"\[\d\] out \d", out)), [f"[{r}] out {r}" for r in range(3)])
            self.assertEqual(sorted(err.splitlines()), [f"[{r}] err {r}" for r in range(3)])
            for rank in range(3):
                self.assertEqual(text(self.name(f"{rank}.stdout")), f"[{rank}] out {rank}\n[{rank}] no newline")

    def test_one_file_for_all(self):
        path = self.name("all")
        for words in ways():
            with open(path, "w", encoding="utf-8") as file:
                file.write("of the job before\n")
            status, out, err = run(*words, "--output-file", path, "--error-file", path, self.program)
            self.assertEqual((status, out, err), (0, "", ""), words)
            found = text(path)
            self.assertNotIn("before", found)
            for rank in range(3):
                self.assertIn(f"out {rank}\n", found)
                self.assertIn(f"err {rank}\n", found)

    def test_labels_of_other_kinds(self):
        for words in ways():
            status, out, _ = run(*words, "--label-pattern", "%h|%R|%o|%%> ", self.program)
            self.assertEqual(status, 0)
            self.assertRegex(out, rf"(?m)^{re.escape(os.uname().nodename)}\|1\|stdout\|%> out 1$", words)
            status, out, _ = run(*words, "--timestamp-output", self.program)
            self.assertEqual(status, 0)
            self.assertRegex(out, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[2\] out 2$", words)

    def test_by_the_options_of_others(self):
        status, out, _ = run("-n", 3, "--output-filename", self.name("ompi"), self.program)
        self.assertEqual(status, 0)
        self.assertIn("out 2\n", out)
        self.assertEqual(text(self.name("ompi/1/rank.2/stdout")), "out 2\nno newline")
        self.assertEqual(text(self.name("ompi/1/rank.2/stderr")), "err 2\n")
        status, out, err = run("-n", 3, "--output-filename", self.name("alone:nocopy"), self.program)
        self.assertEqual((status, out, err), (0, "", ""))
        self.assertEqual(text(self.name("alone/1/rank.0/stdout")), "out 0\nno newline")
        status, out, _ = run("-n", 3, "-outfile-pattern", self.name("mpich.%r"), "-errfile-pattern",
                             self.name("mpich.e%r"), "-prepend-pattern", "not in files", self.program)
        self.assertEqual((status, out), (0, ""))
        self.assertEqual(text(self.name("mpich.1")), "out 1\nno newline")
        self.assertEqual(text(self.name("mpich.e1")), "err 1\n")

    def test_a_file_that_cannot_be_written(self):
        with open(self.name("file"), "w", encoding="utf-8"):
            pass
        for words in ways():
            status, _, err = run(*words, "--output-file", self.name("file/%r"), self.program)
            self.assertEqual(status, 3, err)
            self.assertRegex(err, r"(?m)^mpcrun: .*file/\d: Not a directory", words)
        status, _, err = run("-n", 2, "--output-file", self.name("%x"), self.program)
        self.assertEqual(status, 2)
        self.assertIn("--output-file has '%x', which stands for nothing", err)


if __name__ == "__main__":
    unittest.main()
