"""Tachyon: a parallel ray tracer; its pictures are the same for any number of ranks."""
import hashlib

from model import Case, Program

SCENES = ("2balls", "balls", "dna", "820spheres", "lattice")
SIZE = 256      # pixels each way
PICTURE = "picture.tga"


def build(tree):
    tree.edit("unix/Make-arch", (r'(^linux-mpi:\n(?:\t.*\n)*?\t"CC = )[^"]*', rf"\g<1>{tree.mpi.compiler}"))
    tree.make("linux-mpi", "MPIFLAGS=-DMPI", cwd="unix")


def picture(text, folder):
    return {"the picture": hashlib.sha256((folder / PICTURE).read_bytes()).hexdigest()[:16]}


def cases(folder, ranks):
    # It gives MPI_Allgather one buffer to send from and to receive in, which MPI forbids.
    launch = {"ours": ["--set", "mpi.aliased_buffers=1"]}
    return [Case(scene, folder / "compile/linux-mpi/tachyon",
                 [str(folder / f"scenes/{scene}.dat"), "-res", str(SIZE), str(SIZE), "-o", PICTURE],
                 results=picture, same_for_all_ranks=True, launch=launch) for scene in SCENES]


PROGRAM = Program("tachyon", "tachyon", "A ray tracer in C; each rank has some lines of the picture",
                  f"Pictures of {SIZE} x {SIZE} pixels are equal, bit by bit, for all numbers of ranks.",
                  build, cases, is_quick=True)
