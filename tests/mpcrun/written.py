"""What ranks write: programs in C++ and Fortran, and mpcrun with its output in a file."""

import shutil
import subprocess
import tempfile
import unittest

from support import END, INIT, Programs, WORDS, tool

FORTRAN = ("program main\n implicit none\n include 'mpif.h'\n integer :: error, rank, i\n"
           " call mpi_init(error)\n call mpi_comm_rank(MPI_COMM_WORLD, rank, error)\n")
FORTRAN_END = " call mpi_finalize(error)\nend program\n"
CXX = ("#include <mpi.h>\n#include <fstream>\n#include <iostream>\n#include <cstdlib>\n"
       "#include <unistd.h>\n"
       "int main(int argc, char **argv) { int rank, size; (void)size;" + INIT)
OUTPUT_LOST = 122

no_gfortran = unittest.skipIf(shutil.which("gfortran") is None, "no gfortran")
own_signals = unittest.skipIf({"address", "thread"} & WORDS,
                              "the sanitizer has its own report of signals")


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = Programs()

    def fortran(self, name, body, declarations=""):
        text = FORTRAN.replace(" call mpi_init", declarations + " call mpi_init")
        return self.programs.compile(name + ".f90", text + body + FORTRAN_END)

    def cxx(self, name, body):
        return self.programs.compile(name + ".cpp", CXX + body + END + "}\n")

    def run_into_file(self, *args, timeout=60, stderr=subprocess.PIPE):
        """Runs mpcrun with a file as standard output; returns (status, text of the file, stderr)."""
        with tempfile.TemporaryFile("w+") as file:
            done = subprocess.run([tool("mpcrun"), *map(str, args)], stdout=file, stderr=stderr,
                                  text=True, timeout=timeout)
            file.seek(0)
            return done.returncode, file.read(), done.stderr

    def run_into_full_device(self, *args):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([tool("mpcrun"), *map(str, args)], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode, done.stderr
