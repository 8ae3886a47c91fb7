"""MUMPS: a direct solver of sparse equations over ScaLAPACK; its example programs, and equations that are not as small."""
import re

from model import Case, Number, Program, Wrong

SIDE = 30               # of a square grid of unknowns
TOLERANCE = 1e-9        # of a solution that is known; the equations are well conditioned


def build(tree):
    scalapack = tree.others["scalapack"]
    (tree.folder / "Makefile.inc").write_text(f"""LPORDDIR = $(topdir)/PORD/lib/
LPORD = -L$(LPORDDIR) -lpord
ORDERINGSF = -Dpord
ORDERINGSC = $(ORDERINGSF)
LORDERINGS = $(LPORD)
IORDERINGSC = -I$(topdir)/PORD/include/
PLAT =
LIBEXT = .a
OUTC = -o # a space follows
OUTF = -o # a space follows
RM = rm -f
CC = mpicc
FC = mpif90
FL = mpif90
AR = ar vr # a space follows
RANLIB = ranlib
LIBPAR = {scalapack}/libscalapack.a -llapack
LIBBLAS = -lblas
CDEFS = -DAdd_
OPTF = -O1 -w -fallow-argument-mismatch
OPTC = -O1 -w
OPTL = -O1
LIBS = $(LIBPAR)
LIBSEQNEEDED =
""")
    tree.make("d")


def equations():
    """The input of dsimpletest: a Laplacian on a grid, not symmetric, and what multiplies its solution."""
    def number(row, column):
        return row * SIDE + column + 1
    entries, right = [], []
    for row in range(SIDE):
        for column in range(SIDE):
            around = [(row, column, 4.5), (row - 1, column, -1.0), (row + 1, column, -1.0), (row, column - 1, -1.2), (row, column + 1, -0.8)]
            inside = [one for one in around if 0 <= one[0] < SIDE and 0 <= one[1] < SIDE]
            entries += [f"{number(row, column)} {number(one[0], one[1])} {one[2]}" for one in inside]
            right.append(f"{sum(one[2] * solution(number(one[0], one[1])) for one in inside):.17g}")
    return "\n".join([str(SIDE * SIDE), str(len(entries)), *entries, *right]) + "\n"


def solution(number):
    return 1.0 + number % 7


def solved(wanted):
    """Results of a solver that prints its solution, which is known."""
    def results(text, folder):
        if re.search(r"ERROR RETURN|error code", text):
            raise Wrong("it says that it failed")
        said = re.search(r"Solution is[\s:]*([-+\d.eE\s,()]+)", text)
        values = [float(word) for word in re.findall(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?", said.group(1))] if said else []
        if len(values) != len(wanted):
            raise Wrong(f"it prints {len(values)} numbers of the solution, not {len(wanted)}")
        for value, right in zip(values, wanted):
            if not abs(value - right) <= TOLERANCE:
                raise Wrong(f"{value} is in the solution instead of {right}")
        return {"sum": Number(sum(values), TOLERANCE * len(values))}
    return results


def cases(folder, ranks):
    examples = folder / "examples"
    small = (examples / "input_simpletest_real").read_text()
    unknowns = range(1, SIDE * SIDE + 1)
    return [Case("dsimpletest", examples / "dsimpletest", standard_input=small, results=solved([1.0, 2.0, 3.0, 4.0, 5.0])),
            Case(f"dsimpletest, {SIDE * SIDE} unknowns", examples / "dsimpletest", standard_input=equations(),
                 results=solved([solution(number) for number in unknowns])),
            Case("c_example", examples / "c_example", results=solved([1.0, 2.0]))]


PROGRAM = Program("mumps", "mumps", "A direct solver of sparse equations, over ScaLAPACK and BLACS; input comes through the launcher",
                  "It finds the known solution, within 1e-9.", build, cases, commands=("gfortran",), needs=("scalapack",))
