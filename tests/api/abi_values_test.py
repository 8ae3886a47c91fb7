#!/usr/bin/env python3
"""Holds the constants of the build against those of the standard, abi_values.tsv.

    abi_values_test.py BUILD CC CXX [GFORTRAN]

Checked are mpi.h, the header of the layers below it, mpif.h, the modules mpi and mpi_f08, and the
names of handles: whatever says what a constant of MPI is.
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, CC, CXX, *GFORTRAN = sys.argv[1:]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "mpi/api"))
sys.dont_write_bytecode = True

from generator.constants import cpp_name  # noqa: E402

# Ours alone: MPI-3.0 removed them, old programs use them, the ABI leaves their codes free.
BEYOND_THE_ABI = {"MPI_LB": 0x23e, "MPI_UB": 0x23f}
# What no list of constants holds: the version of the standard that the library follows.
OF_THE_LIBRARY = {"MPI_VERSION", "MPI_SUBVERSION"}


def official():
    """name -> (value, type)"""
    values = {}
    for line in (HERE / "abi_values.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, value, kind = line.split("\t")
            values[name] = int(value, 0), kind
    return values


OFFICIAL = official()


def values_of(suffix, text, *command):
    """What a program prints, a line with a name and a number each."""
    with tempfile.TemporaryDirectory(prefix="abi-values-") as folder:
        source = Path(folder) / ("values" + suffix)
        source.write_text(text, encoding="utf-8")
        program = str(Path(folder) / "values")
        subprocess.run([*command, str(source), "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in map(str.split, lines.splitlines())}


class Constants(unittest.TestCase):
    maxDiff = None

    def wanted(self, *kinds):
        return {name: value for name, (value, kind) in OFFICIAL.items()
                if kind in kinds or ("handle" in kinds and kind.startswith("MPI_")
                                     and kind != "MPI_Offset")}

    def test_the_list_is_whole(self):
        self.assertEqual(len(OFFICIAL), 362)

    def test_of_the_header(self):
        prints = "".join(f'  printf("{name} %lld\\n", (long long)(intptr_t)({name}));\n'
                         for name in OFFICIAL)
        got = values_of(".c", '#include <stdio.h>\n#include "mpi.h"\n'
                        f"int main(void) {{\n{prints}  return 0;\n}}\n",
                        CC, "-w", f"-I{BUILD}/include")
        self.assertEqual(got, {name: value for name, (value, _) in OFFICIAL.items()})

    def test_the_header_has_the_types_of_the_handles(self):
        lines = "".join(f"  {{ {kind} handle = {name}; (void)handle; }}\n"
                        for name, (_, kind) in OFFICIAL.items() if kind.startswith("MPI_"))
        # As C++: no handle converts to that of another kind.
        values_of(".cpp", f'#include "mpi.h"\nint main() {{\n{lines}}}\n', CXX,
                  f"-I{BUILD}/include")

    def test_the_header_has_no_others(self):
        macros = subprocess.run([CC, "-E", "-dM", "-x", "c", f"{BUILD}/include/mpi.h"],
                                check=True, capture_output=True, text=True).stdout
        names = set(re.findall(r"^#define (MPI_[A-Z0-9_]+) .*\d", macros, re.M))
        self.assertEqual(names - set(OFFICIAL) - OF_THE_LIBRARY - {"MPI_H_INCLUDED"},
                         set(BEYOND_THE_ABI))

    def test_below_the_header(self):
        wanted = {name: value for name, value in self.wanted("handle", "int").items()
                  if not name.startswith(("MPI_T_", "MPI_ABI_"))}
        wanted.update(BEYOND_THE_ABI)
        prints = "".join(
            f'  std::printf("{name} %lld\\n", (long long)mpc::abi::{cpp_name(name)});\n'
            for name in wanted)
        got = values_of(".cpp", '#include <cstdio>\n#include "base/mpi_constants.h"\n'
                        f"int main() {{\n{prints}}}\n", CXX, "-std=c++20",
                        f"-I{BUILD}/generated")
        self.assertEqual(got, wanted)

    def test_names_of_handles(self):
        got = values_of(".cpp", '#include <cstdio>\n#include "base/mpi_handle_names.h"\n'
                        "int main() {\n  for (auto& handle : mpc::abi::kHandleNames)\n"
                        '    std::printf("%s %u\\n", handle.name, handle.code);\n}\n', CXX,
                        "-std=c++20", f"-I{BUILD}/generated")
        wanted = {value for name, value in self.wanted("handle").items()
                  if not name.startswith("MPI_T_")}
        self.assertEqual(set(got.values()), wanted | set(BEYOND_THE_ABI.values()))
        for name, value in got.items():
            self.assertEqual(value, BEYOND_THE_ABI.get(name, OFFICIAL.get(name, (None,))[0]), name)

    def wanted_of_fortran(self):
        wanted = self.wanted("handle", "int", "MPI_Offset")
        wanted = {name: value for name, value in wanted.items()
                  if not name.startswith(("MPI_T_", "MPI_F_"))}
        for name in wanted:
            if name.startswith("MPI_MAX_"):  # Fortran's strings end with no zero
                wanted[name] -= 1
        return wanted

    @unittest.skipUnless(GFORTRAN, "no gfortran here")
    def test_of_fortran(self):
        wanted = self.wanted_of_fortran()
        prints = "".join(f"      print '(A,1X,I0)', '{name}', {name}\n" for name in wanted)
        for use in ("      include 'mpif.h'", "      use mpi\n      implicit none"):
            got = values_of(".f90", f"program values\n{use}\n{prints}end program\n",
                            *GFORTRAN, f"-I{BUILD}/include", "-w")
            self.assertEqual(got, wanted, use)

    @unittest.skipUnless(GFORTRAN, "no gfortran here")
    def test_of_mpi_f08(self):
        wanted = self.wanted_of_fortran()
        handles = self.wanted("handle")
        prints = "".join(f"  print '(A,1X,I0)', '{name}', {name}"
                         f"{'%MPI_VAL' if name in handles else ''}\n" for name in wanted)
        got = values_of(".f90", f"program values\n  use mpi_f08\n{prints}end program\n",
                        *GFORTRAN, f"-I{BUILD}/include", "-w")
        self.assertEqual(got, wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
