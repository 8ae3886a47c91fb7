#!/usr/bin/env python3
"""docs/how-to-add.md, done: a function and a setting are added to a scratch copy as the page says.

    howto.py --source SOURCE --build BUILD --compiler CXX
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RECORD = """,
    {
      "name": "MPI_Scratch_size", "since": "5.0", "impl": "stub",
      "params": [
        ["comm", "comm"],
        ["size", "int_out"]
      ]
    }
  ]
}
"""
BODY = """#include "mpi/impl/group_comm.h"
#include "mpi/objects/comm.h"
namespace mpc::mpi::impl {
Err scratch_size(Comm& comm, int* size) {
  *size = comm.size();
  return kSuccess;
}
}  // namespace mpc::mpi::impl
"""
SETTING = """#include <cstdio>
#include "base/settings.h"
%s
int main() {
  const auto loaded = mpc::Settings::load_environment();
  if (!loaded) return std::puts(loaded.error().message.c_str()), 1;
  std::printf("%%lld\\n", static_cast<long long>(wait_setting.get()));
  const auto refused = mpc::Settings::assign("layer.wait_us=1001");
  return refused.ok() ? 1 : std::puts(refused.error().message.c_str()), 0;
}
"""


class HowTo(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="how-to-add-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.page = (OPTIONS.source / "docs/how-to-add.md").read_text(encoding="utf-8")

    def run_it(self, *words, **more):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              check=False, timeout=120, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def compile(self, path, *words):
        return self.run_it(OPTIONS.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror",
                           "-DFMT_HEADER_ONLY", f"-I{OPTIONS.source}", path, *words)

    def test_an_mpi_function(self):
        shutil.copytree(OPTIONS.source / "mpi/api", self.folder / "mpi/api",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "docs").mkdir()
        chapter = self.folder / "mpi/api/functions/group-comm.json"
        text = chapter.read_text(encoding="utf-8").rstrip()
        self.assertTrue(text.endswith("\n  ]\n}"))
        chapter.write_text(text[:-len("\n  ]\n}")] + RECORD, encoding="utf-8")
        command = re.search(r"`python3 (mpi/api/generate.py) (--implemented) MPI_X`", self.page)
        generate = [sys.executable, "-B", self.folder / command[1]]
        out = self.folder / "out"
        self.run_it(*generate, out)
        entry = out / "generated/mpi/api/entry_group_comm.cpp"
        self.assertNotIn("impl::scratch_size", entry.read_text())
        self.assertIn("// no body yet", (out / "generated/mpi/impl/group_comm.h").read_text())
        self.run_it(*generate, command[2], "MPI_Scratch_size")
        self.assertNotIn("stub", chapter.read_text().split("MPI_Scratch_size")[1])
        self.assertTrue((self.folder / "docs/mpi-coverage.md").exists())
        self.run_it(*generate, out)
        self.assertIn("impl::scratch_size(*comm_, size)", entry.read_text())
        self.assertIn("int MPI_Scratch_size(MPI_Comm comm, int* size);",
                      (out / "include/mpi.h").read_text())
        body = self.folder / "scratch.cpp"
        body.write_text(BODY, encoding="utf-8")
        self.compile(body, "-fsyntax-only", f"-I{out / 'generated'}", f"-I{out / 'include'}")

    def test_a_setting(self):
        line = re.search(r"`(IntSetting wait_setting\{.*?\};)`", self.page)[1]
        source = self.folder / "setting.cpp"
        source.write_text(SETTING % f"mpc::{line}", encoding="utf-8")
        program = self.folder / "setting"
        self.compile(source, "-o", program, OPTIONS.build / "base/libmpc_base.a", "-pthread")
        name = re.search(r"`(MPC_LAYER_WAIT_US)`", self.page)[1]
        self.assertEqual(self.run_it(program, env={}).splitlines()[0], "20")
        out = self.run_it(program, env={name: "0x28"}).splitlines()
        self.assertEqual(out[0], "40")
        self.assertIn("setting layer.wait_us: value '1001' is not accepted", out[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], "-v"])
