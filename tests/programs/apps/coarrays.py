"""OpenCoarrays: Fortran's coarrays on MPI's windows; the tests are Fortran, and the compiler calls the library."""
import re

from model import Case, Program, Wrong

# Beyond MPI: images that fail and are survived.
NOT_RUN = re.compile(r"image_fail|sync_ring_abort")
# With more images than these names say they have nothing to compare with.
JUST_EIGHT = re.compile(r"issue-488|issue-493")


def build(tree):
    # Which finds MPI by CMake's FindMPI.
    tree.run("cmake", "-S", ".", "-B", "out", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1 -fPIC",
             "-DCMAKE_Fortran_FLAGS=-O1 -fPIC")
    tree.make(cwd="out")


def passed(text, folder):
    if not re.search(r"Test passed(?:\.|$)", text, re.M):  # its ctest wants any character behind it
        raise Wrong("it does not say that the test has passed")
    return {}


def wanted(name, images, ranks):
    """Whether a test that its CMakeLists.txt runs with `images` is run: with as many, and those of 8 with more, too."""
    if NOT_RUN.search(name):
        return False
    return images == ranks or (images == 8 < ranks and not JUST_EIGHT.search(name))


def cases(folder, ranks):
    tests = re.findall(r'^add_test\((\S+) .*?"-np" "(\d+)".*?"([^"]*/out/bin/[^"]+)"((?: "[^"]*")*)\)$',
                       (folder / "out/CTestTestfile.cmake").read_text(), re.M)
    return [Case(name.strip("[]="), program, re.findall(r'"([^"]*)"', arguments), results=passed)
            for name, images, program, arguments in tests if wanted(name, int(images), ranks)]


PROGRAM = Program("coarrays", "open-coarrays", "Fortran's coarrays on windows: its tests with as many images as they want",
                  "Each test says that it passed.", build, cases, commands=("cmake", "gfortran"))
