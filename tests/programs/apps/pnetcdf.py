"""PnetCDF: parallel files of the netCDF classic format over MPI-IO; its test programs, and the files that they write."""
import hashlib

from model import Case, Program, Wrong

OUTPUT = "out.nc"
# Test programs of test/testcases that any number of ranks may run, and whether their file depends on the number.
TESTS = ("file_create_open", "ncmpi_vars_null_stride", "test_varm", "alignment_test", "flexible", "flexible2",
         "flexible_varm", "nonblocking", "record", "inq_num_vars", "varn_int", "one_record", "inq_recsize", "varn_contig",
         "ivarn", "add_var", "buftype_free", "scalar", "mix_collectives", "tst_def_var_fill", "tst_free_comm")


def build(tree):
    if not (tree.folder / "configure").exists():
        tree.run("autoreconf", "-i")
    tree.run("./configure", "--disable-cxx", "--disable-fortran", "--disable-shared", "--enable-static",
             f"MPICC={tree.mpi.compiler}", "CFLAGS=-O1 -w")
    tree.make(cwd="src")
    tree.make("tests", cwd="test/common")
    tree.make(*TESTS, cwd="test/testcases")


def passed(text, folder):
    if "pass" not in text or "fail" in text.replace("MPI_ERR", ""):
        raise Wrong("the test does not say that it passed")
    path = folder / OUTPUT
    return {"the file": hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else "none"}


def cases(folder, ranks):
    return [Case(name, folder / "test/testcases" / name, [OUTPUT], results=passed) for name in TESTS]


PROGRAM = Program("pnetcdf", "pnetcdf", f"Parallel netCDF files over MPI-IO: {len(TESTS)} of its test programs",
                  "Each says that it passed, and the files that they leave are equal, byte by byte.", build, cases)
