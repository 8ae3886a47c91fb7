"""PETSc: solvers of equations on spread vectors and matrices, in C; tutorials and tests of its own, as its harness runs them."""
import itertools
import json
import re
import shlex
import subprocess
import sys

from model import Case, Number, Program, Wrong

ARCH = "out"
LIST = "mpi-tests.json"
# Programs, by folder of src/: their tests come from their own texts, with as many ranks as those say.
SOURCES = ("sys/tests/ex63", "vec/is/sf/tutorials/ex1", "vec/is/sf/tests/ex8", "vec/vec/tests/ex37", "vec/vec/tutorials/ex9",
           "vec/vec/tutorials/ex10", "mat/tests/ex33", "mat/tests/ex37", "mat/tests/ex93", "mat/tests/ex172", "mat/tests/ex50",
           "dm/tests/ex24", "dm/tests/ex25", "ksp/ksp/tutorials/ex2", "ksp/ksp/tutorials/ex5", "ksp/ksp/tutorials/ex42",
           "ksp/ksp/tutorials/ex45", "ksp/ksp/tutorials/ex59", "snes/tutorials/ex5", "snes/tutorials/ex14", "snes/tutorials/ex15",
           "snes/tutorials/ex19", "ts/tutorials/ex2", "ts/tutorials/ex22", "ts/tutorials/ex26")
# Of which the ones that need one rank only say little about MPI.
ALONE = ("ksp/ksp/tutorials/ex2", "ksp/ksp/tutorials/ex5", "snes/tutorials/ex14", "ts/tutorials/ex2")
# With any number of ranks.
ANY = (("ksp/ksp/tutorials/ex2", "-m 96 -n 96 -ksp_type cg -ksp_monitor_short -pc_type jacobi -ksp_rtol 1e-6"),
       ("ksp/ksp/tutorials/ex45", "-da_grid_x 17 -da_grid_y 17 -da_grid_z 17 -ksp_monitor_short -pc_type jacobi"),
       ("snes/tutorials/ex19", "-da_refine 3 -snes_monitor_short -pc_type mg -ksp_type fgmres -mg_levels_pc_type jacobi"),
       ("snes/tutorials/ex5", "-da_grid_x 65 -da_grid_y 65 -snes_monitor_short -pc_type jacobi -ksp_monitor_short"))
LOOP = r"-(\w+) +\{\{([^{}]*)\}[^{}]*\}"     # {{A B}}, {{A B}shared output}
FIGURE = r"(?<!\w)[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?!\w)"
DIGITS = 1e-3       # of what it prints with "short" in its options' names
# Of a program's tests with as many ranks; more where each is about another kind of window.
MOST_TESTS, MOST_OF = 3, {"vec/is/sf/tutorials/ex1": 16, "ksp/ksp/tutorials/ex42": 2}
LIST_TESTS = """
import json, sys
sys.path.insert(0, "config")
import testparse
out = {}
for name in sys.argv[2:]:
    (tests,) = testparse.parseTestFile(f"src/{name}.c", 0).values()
    out[name] = {key: value for key, value in tests.items() if key.startswith("run")} if not tests.get("requires") else {}
json.dump(out, open(sys.argv[1], "w"))
"""


def build(tree):
    tree.run("python3", "configure", f"PETSC_ARCH={ARCH}", "--with-cc=mpicc", "--with-cxx=0", "--with-fc=0", "--with-debugging=0",
             "--with-x=0", "--COPTFLAGS=-O1 -w", "--with-blaslapack-lib=-llapack -lblas", "--with-mpiexec=mpirun")
    tree.make(f"PETSC_DIR={tree.folder}", f"PETSC_ARCH={ARCH}", "-f", "gmakefile", "libs")
    tree.make(f"PETSC_DIR={tree.folder}", f"PETSC_ARCH={ARCH}", "-f", "gmakefile.test", "V=1",
              *(f"{ARCH}/tests/{name}" for name in SOURCES))
    tree.run(sys.executable, "-c", LIST_TESTS, LIST, *SOURCES)


def has(word, configuration):
    """Whether a build is as a word of a test's `requires` wants it. `configuration`: its petscconf.h."""
    if macro := re.fullmatch(r"(!?)defined?\((\w+)\)", word):
        return (macro[1] == "!") != bool(re.search(rf"^#define {macro[2]}\b", configuration, re.M))
    return word in ("double", "!single", "!complex", "!__float128", "!__fp16")


def suits(test, configuration):
    """Whether a test needs nothing that this build has not, and no file."""
    words = test.get("requires") or ""
    words = (words if isinstance(words, str) else " ".join(words)).split()
    others = ("localrunfiles", "command", "TODO", "SKIP", "subtests", "env", "temporaries")
    return all(has(word, configuration) for word in words) and \
        not re.search(r"\$\{|\bdraw\b", str(test.get("args", ""))) and \
        str(test.get("nsize", "1")).isdigit() and not any(test.get(name) for name in others)


def choices(arguments):
    """[(in words, arguments)]: PETSc's harness repeats a test with each of the words between braces."""
    loops = re.findall(LOOP, arguments)
    plain = re.sub(LOOP, "", arguments)
    return [(" ".join(["", *values]), " ".join([plain, *(f"-{name} {value}" for (name, _), value in zip(loops, values))]))
            for values in itertools.product(*(words.split() for _, words in loops))]


def as_expected(folder, name, test, key):
    """Results of a test whose output its own petscdiff compares with the output that PETSc expects."""
    root = key.removeprefix("run")
    path = (folder / "src" / name).parent / test.get("output_file", f"output/{root if '_' in root else root + '_1'}.out")
    filters = [word for option, what in (("-F", "filter"), ("-f", "filter_output")) if test.get(what)
               for word in (option, test[what].strip())]

    def results(text, place):
        (place / "said").write_text(text)
        options = filters + str(test.get("diff_args") or "").split()
        done = subprocess.run([folder / "lib/petsc/bin/petscdiff", *options, path, place / "said"], capture_output=True, text=True,
                              check=False, timeout=60)
        if done.returncode:
            raise Wrong(f"its output is not what PETSc expects: {' / '.join(done.stdout.splitlines()[:4])}")
        return {}
    return results


def figures(text, folder):
    """What its monitors print: names and counts exactly, figures with as many digits as these have."""
    if "ERROR" in text or not re.search(r"\d", text):
        raise Wrong("it prints an error, or nothing")
    out = {"words": " ".join(re.sub(FIGURE, "#", text).split())}
    for place, word in enumerate(re.findall(FIGURE, text)):
        out[f"figure {place}"] = Number(float(word), abs(float(word)) * DIGITS)
    return out


def of_program(folder, name, tests, ranks):
    """Cases of the tests that want as many ranks; of the choices that a test has, each takes the next."""
    configuration = (folder / ARCH / "include/petscconf.h").read_text()
    out = []
    for key, test in tests.items():
        count = int(test.get("nsize", 1)) if suits(test, configuration) else 0
        if count != ranks or len(out) == MOST_OF.get(name, MOST_TESTS):
            continue
        arguments = test.get("args") or ""
        variants = choices(arguments if isinstance(arguments, str) else " ".join(arguments))
        words, line = variants[len(out) % len(variants)]
        out.append(Case(f"{name.partition('/')[0]} {key.removeprefix('run')}{words}", folder / ARCH / "tests" / name, shlex.split(line),
                        results=as_expected(folder, name, test, key)))
    return out


def cases(folder, ranks):
    tests = json.loads((folder / LIST).read_text())
    out = [case for name, own in tests.items() if ranks > 1 or name in ALONE for case in of_program(folder, name, own, ranks)]
    return out + [Case(f"{name}, larger", folder / ARCH / "tests" / name, shlex.split(line), results=figures) for name, line in ANY]


PROGRAM = Program("petsc", "petsc", "Solvers of equations on spread vectors and matrices: tutorials and tests, at the numbers of ranks that they want",
                  "Outputs are what PETSc expects, by its own petscdiff; those of larger problems are equal in three digits.",
                  build, cases, commands=("python3",))
