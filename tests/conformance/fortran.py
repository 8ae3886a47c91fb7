"""The Fortran folders of the suite: f77, f90, f08.

Role:     what differs from C: the configure options, the compiler, the sources' endings, the
          names of MPI functions in object files.
Users:    suite.py, builder.py.
See also: Makefile_f77.mtest, Makefile_f90.mtest, Makefile_f08.mtest of the suite.
"""
import re

FOLDERS = ("f77", "f90", "f08")
ENDINGS = (".f", ".f90")
FLAGS = ["-O1", "-g1", "-w", "-fcray-pointer"]  # allocmem: if the compiler knows them
# mpi_send_, mpi_send__, mpi_send_f08ts_, pmpi_send_c_f08_: all of them are MPI_Send.
SYMBOL = re.compile(r"^p?mpi_([a-z0-9_]+?)(?:_c)?(?:_f08ts|_f08|_fts|_cptr)?_{1,2}$")


def language(folder):
    """'f08' for f08/pt2pt and errors/f08/io; '' for folders in C."""
    return next((part for part in folder.split("/")[:2] if part in FOLDERS), "")


def siblings(folder):
    """The same folder of all three: f77/io, f90/io, f08/io for f90/io."""
    kind = language(folder)
    parts = folder.split("/")
    return ["/".join(other if part == kind else part for part in parts) for other in FOLDERS]


def has_written_sources(folder):
    """The suite's Makefiles write sources there first, by its own script testmerge."""
    return language(folder) and folder.endswith("/io") and not folder.startswith("errors/")


def configure_options(mpi):
    """For the suite's configure; the headers that it generates are wanted, no Makefile."""
    names = ("F77", "FC", "MPIF77", "MPIFC")
    return ["--enable-fortran=all", *(f"{name}={mpi.fortran}" for name in names),
            "FFLAGS=-O1 -w", "FCFLAGS=-O1 -w"]


def default_source(folder, program):
    kind = language(folder)
    return program + {"": ".c", "f77": ".f"}.get(kind, ".f90")


def is_fortran(name):
    return str(name).endswith(ENDINGS)


def support_source(kind):
    """MTest_Init and MTest_Finalize of a folder."""
    return "mtest_f77.f" if kind == "f77" else f"mtest_{kind}.f90"


def c_name(symbol):
    """'MPI_Comm_rank' for mpi_comm_rank_f08_; the symbol itself if it is not Fortran's."""
    match = SYMBOL.match(symbol)
    if not match:
        return symbol
    name = match.group(1)
    if name.endswith("_fn"):  # predefined callbacks
        return "MPI_" + name.upper()
    return f"MPI_{name[0].upper()}{name[1:]}"


# Of Fortran alone, or of no chapter: always there.
WITHOUT_C_NAME = {"MPI_Sizeof", "MPI_F_sync_reg"}
