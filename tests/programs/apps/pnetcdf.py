"""PnetCDF: files of arrays, written and read by all ranks through MPI-IO; its tests in C and Fortran."""
import hashlib
import re
import subprocess

from model import Case, Program, Wrong, found

FILE = "out.nc"
# By folder of test/: each program writes a file, reads it again and says pass or fail.
TESTS = {
    "testcases": ("collective_error", "alignment_test", "flexible", "flexible2", "flexible_varm", "nonblocking", "record",
                  "varn_int", "test_vard", "test_vard_multiple", "ivarn", "mix_collectives", "tst_info", "tst_vars_fill",
                  "null_args", "error_precedence", "varn_intf", "test_vardf90"),
    "nonblocking": ("interleaved", "i_varn_int64", "bput_varn", "column_wise", "req_all", "wait_after_indep", "mcoll_testf77"),
    "F90": ("f90tst_parallel", "f90tst_parallel4"),
    "header": ("header_consistency",),
}
NOT_ALONE = ("header_consistency",)


def build(tree):
    # -O0: its module for Fortran 90 is large.
    tree.configure("--disable-cxx", "--disable-shared", "CFLAGS=-O1 -w", "FFLAGS=-O1 -w", "FCFLAGS=-O0 -w")
    tree.make()
    tree.make("tests", cwd="test/common")
    for name, programs in TESTS.items():
        tree.make(*programs, cwd=f"test/{name}")


def file_of(folder):
    """Results that look at the file, too: PnetCDF's own validator has to take it."""
    validator = folder / "src/utils/ncvalidator/ncvalidator"

    def results(text, place):
        if re.search(r"\bfail\b|Error|FAIL", text):
            raise Wrong("it says that it failed")
        found(r"------ .*\b(pass|skip)\b", text, "line that says pass")
        path = place / FILE
        if not path.exists():
            return {}
        done = subprocess.run([validator, "-q", path], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise Wrong(f"ncvalidator does not take its file: {(done.stdout + done.stderr).strip()[-200:]}")
        return {"the file": hashlib.sha256(path.read_bytes()).hexdigest()[:16]}
    return results


def cases(folder, ranks):
    return [Case(name, folder / "test" / where / name, [FILE], results=file_of(folder))
            for where, programs in TESTS.items() for name in programs if ranks > 1 or name not in NOT_ALONE]


PROGRAM = Program("pnetcdf", "pnetcdf", "Files of arrays by MPI-IO, collective or not, blocking or not; C and Fortran",
                  "Each test says pass, its own validator takes the file, and the file is equal byte by byte.",
                  build, cases, commands=("autoreconf", "libtoolize", "m4"))
