"""netCDF-4 over parallel HDF5: files of arrays, written and read by all ranks; its parallel tests."""
import re

from model import Case, Program, Wrong

# With which numbers of ranks its scripts run them (run_par_test.sh, run_par_tests.sh); None: any.
TESTS = {
    "h5_test/tst_h_par": None, "h5_test/tst_h_par_compress": (1, 2, 4), "nc_test4/tst_mode": (1,),
    "nc_test4/tst_mpi_parallel": None, "nc_test4/tst_parallel": (4,), "nc_test4/tst_parallel3": None,
    "nc_test4/tst_parallel4": None, "nc_test4/tst_parallel5": (4,), "nc_test4/tst_nc4perf": (4,),
    "nc_test4/tst_simplerw_coll_r": (1, 2, 4), "nc_test4/tst_parallel_zlib": (4,), "nc_test4/tst_parallel_compress": (1, 4),
    "nc_test4/tst_quantize_par": (4,), "nc_test4/tst_parallel6": (4,),
}
OFF = ("shared", "dap", "byterange", "nczarr", "utilities", "filter-testing", "examples", "libxml2", "plugins")


def build(tree):
    hdf5 = tree.others["hdf5"]
    tree.configure("--enable-parallel-tests", *(f"--disable-{name}" for name in OFF), "CC=mpicc", "CFLAGS=-O1 -w",
                   f"CPPFLAGS=-I{hdf5}/src -I{hdf5}/hl/src", f"LDFLAGS=-L{hdf5}/src/.libs -L{hdf5}/hl/src/.libs", "LIBS=-lz -ldl -lm")
    for folder in ("include", "libdispatch", "libsrc", "libsrc4", "libhdf5", "liblib"):
        tree.make(cwd=folder)
    for folder in ("h5_test", "nc_test4"):
        tree.make(*(name.partition("/")[2] for name in TESTS if name.startswith(folder)), cwd=folder)


def without_errors(text, folder):
    wrong = re.search(r"^.*(?:Sorry!|FAILED|\*\*\* FAILURE|[Uu]nexpected|HDF5-DIAG).*$", text, re.M)
    if wrong:
        raise Wrong(wrong.group(0).strip())
    return {"tests that are ok": str(len(re.findall(r"\bok\.", text)))}


def cases(folder, ranks):
    return [Case(name.partition("/")[2], folder / name, results=without_errors)
            for name, counts in TESTS.items() if counts is None or ranks in counts]


PROGRAM = Program("netcdf", "netcdf", "netCDF-4 over parallel HDF5: files of arrays, written and read by all ranks",
                  "Each parallel test ends with 0, names no error, and says as often that all is ok.", build, cases,
                  commands=("autoreconf", "libtoolize", "m4"), needs=("hdf5",))
