"""Compiles the suite's support code once and each test by itself.

Role:     objects and programs of the suite for one MPI; knows which MPI functions a test
          uses, by the symbols of its objects and of the support functions it reaches.
Users:    conformance.py.
Threads:  build_test() may be called from several threads.
"""
import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import fortran
import suite

COMPILE_FLAGS = ["-O1", "-g1", "-w", "-ffunction-sections", "-DHAVE_CONFIG_H"]
COMPILE_LIMIT_S = 120
MPI_SYMBOL = re.compile(r"^P?MPIX?_\w+$")
# Every test starts and ends with these; what they might call for the sake of some other test
# (freeing windows that were never made) says nothing about the test at hand.
COMMON_SUPPORT = {"MTest_Init", "MTest_Init_thread", "MTest_Finalize", "MTestPrintError",
                  "MTestPrintErrorMsg", "MTestPrintfMsg", "MTestReturnValue"}


# Of newer suites: a main() that calls run() of the test. The linker takes it from the archive for
# the tests that have no main() of their own.
MAIN_LIBRARY = "librun_mpitests"
# Without these no test can be linked.
ESSENTIAL_SUPPORT = {"mtest.c", "mtest_common.c", "mtest_single.c", "mtest_thread.c"}


class BuildError(Exception):
    """The support code does not compile with this MPI."""


@dataclass
class Built:
    program: Path = None
    error: str = ""                 # compiler output when there is no program
    missing: list = field(default_factory=list)   # MPI names the library or mpi.h lacks
    uses: list = field(default_factory=list)      # MPI functions


class Builder:
    def __init__(self, source, build, mpi, languages=()):
        self.source, self.build, self.mpi = source, build, mpi
        self.languages = languages      # Fortran folders that will be built
        self.out = build / "bin"
        ccache = shutil.which("ccache")
        self.launcher = [ccache] if ccache and not self._is_script(mpi.compiler) else []
        self.includes = [f"-I{build}/include", f"-I{source}/include",
                         f"-I{source}/dtpools/include", f"-I{build}/dtpools/include"]
        self.makefiles = {}
        self.support_calls = {}     # support function -> symbols it refers to
        self.key = self._key()

    @staticmethod
    def _is_script(compiler):
        """ccache cannot look through a wrapper script; the wrapper may use it inside."""
        path = shutil.which(compiler) or compiler
        with open(path, "rb") as file:
            return file.read(2) == b"#!"

    def _key(self):
        """Changes when programs must be built anew: other mpi.h, wrapper, flags."""
        header = subprocess.run([self.mpi.compiler, "-E", "-P", "-x", "c", "-"],
                                input="#include <mpi.h>\n", capture_output=True, text=True,
                                check=False, timeout=COMPILE_LIMIT_S)
        text = header.stdout + self.mpi.version() + " ".join(COMPILE_FLAGS)
        return hashlib.sha256(text.encode()).hexdigest()

    # ---- support code ----

    def build_support(self):
        """Archives of util/ and dtpools/. Errors: BuildError."""
        stamp = self.out / "support.key"
        fresh = stamp.exists() and stamp.read_text() == self.key
        if not fresh and self.out.exists():
            shutil.rmtree(self.out)
        self.out.mkdir(parents=True, exist_ok=True)
        util = suite.read_makefile(self.source / "util/Makefile.am")
        pools = suite.read_makefile(self.source / "dtpools/src/Makefile.am")
        groups = {
            "common": [("util", name) for library in ("libmtest", "libdtypes", MAIN_LIBRARY)
                       for name in util.get(f"{library}_la_SOURCES", "").split()] +
                      [("dtpools/src", name) for name in
                       pools.get("libdtpools_la_SOURCES", "").split()],
            "single": [("util", name) for name in
                       util.get("libmtest_single_la_SOURCES", "").split()],
            "thread": [("util", name) for name in
                       util.get("libmtest_thread_la_SOURCES", "").split()],
        }
        for group, files in groups.items():
            objects = [self._support_object(folder, name, fresh)
                       for folder, name in files if name.endswith(".c")]
            objects = [item for item in objects if item]
            archive = self.out / f"lib{group}.a"
            if objects and not (fresh and archive.exists()):
                subprocess.run(["ar", "rcs", archive, *objects], check=True)
            for item in objects:
                self.support_calls.update(_calls_by_function(item))
        for kind in self.languages:
            self._fortran_support(kind)
        stamp.write_text(self.key)

    def _fortran_support(self, kind):
        """The suite's subroutines for one Fortran folder: an object. Errors: BuildError."""
        target = self._fortran_object(kind)
        if target.exists():
            return
        source = self.source / "util" / fortran.support_source(kind)
        error = self._compile(source, target, [])
        if error:
            raise BuildError(f"{source.name} of the suite does not compile with "
                             f"{self.mpi.fortran}:\n{error}")

    def write_sources(self, folders):
        """Lets the suite's own Makefiles write the sources that they write themselves."""
        for folder in filter(fortran.has_written_sources, folders):
            stamp = self.build / folder / "gen-src-stamp"
            if stamp.exists():
                continue
            done = subprocess.run(["make", "-s", stamp.name], cwd=stamp.parent, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                  timeout=COMPILE_LIMIT_S)
            if done.returncode:
                print(f"conformance: the suite's Makefile of {folder} writes no sources: "
                      f"{first_error(done.stderr)}", flush=True)

    def _fortran_object(self, kind):
        return self.out / f"util_mtest_{kind}.o"

    def _support_object(self, folder, name, fresh):
        target = self.out / f"{folder.replace('/', '_')}_{name[:-2]}.o"
        if fresh and target.exists():
            return target
        if fresh and name not in ESSENTIAL_SUPPORT:
            return None     # failed before
        error = self._compile(self.source / folder / name, target, [])
        if not error:
            return target
        what = f"{folder}/{name} of the suite does not compile with {self.mpi.compiler}"
        if name in ESSENTIAL_SUPPORT:
            raise BuildError(f"{what}:\n{error}")
        print(f"conformance: {what}, nor will the tests that need it: "
              f"{first_error(error)}", flush=True)
        return None

    # ---- tests ----

    def build_test(self, test):
        """Compiles and links one test, or finds it built. Returns a Built, never raises."""
        folder = self.out / test.folder
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / test.program
        variables = self._makefile(test.folder)
        sources, flags, libraries = suite.recipe(variables, test.program, test.folder)
        top = test.folder.split("/")[0]
        flags = flags + [f"-I{self.build}/{test.folder}", f"-I{self.source}/{test.folder}",
                         f"-I{self.build}/{top}/attr"]
        objects = []
        for name in sources:
            target = folder / f"{test.program}-{Path(name).stem}.o"
            objects.append(target)
            if target.exists():
                continue
            source = self._source(test.folder, name)
            if source is None:
                return Built(error=f"the suite has no {test.folder}/{name}")
            error = self._compile(source, target, flags)
            if error:
                return Built(error=error, missing=_missing(error))
        uses = self._uses(objects)
        if not program.exists():
            error = self._link(program, objects, libraries, test.folder)
            if error:
                return Built(error=error, missing=_missing(error), uses=uses)
        return Built(program, uses=uses)

    def _source(self, folder, name):
        """A file of the suite, one that its configure has written, or one that Makefiles copy
        from the same folder of another Fortran."""
        places = [self.source / folder / name, self.build / folder / name]
        if fortran.language(folder):
            places += [self.source / place / name for place in fortran.siblings(folder)]
        return next((path for path in places if path.exists()), None)

    def _makefile(self, folder):
        if folder not in self.makefiles:
            path = self.source / folder / "Makefile.am"
            self.makefiles[folder] = suite.read_makefile(path)
        return self.makefiles[folder]

    def _compile(self, source, target, flags):
        if fortran.is_fortran(source):
            modules = target.parent / f"{target.stem.split('-')[0]}.modules"
            modules.mkdir(parents=True, exist_ok=True)
            return _try([self.mpi.fortran, *fortran.FLAGS, *flags, f"-J{modules}",
                         "-c", str(source), "-o", str(target)], target)
        return _try([*self.launcher, self.mpi.compiler, *COMPILE_FLAGS, *flags,
                     *self.includes, "-c", str(source), "-o", str(target)], target)

    def _link(self, program, objects, libraries, folder):
        kind = "thread" if self._makefile(folder).get("uses_threads") else "single"
        language = fortran.language(folder)
        compiler = self.mpi.fortran if language else self.mpi.compiler
        if language:
            objects = [*objects, self._fortran_object(language)]
        return _try([compiler, "-o", str(program), *map(str, objects),
                     "-Wl,--start-group", str(self.out / f"lib{kind}.a"),
                     str(self.out / "libcommon.a"), "-Wl,--end-group",
                     *libraries, "-lpthread", "-lm"], program)

    def _uses(self, objects):
        """MPI functions that the objects call, through the suite's support code too."""
        listing = subprocess.run(["nm", "-u", "-j", *map(str, objects)], text=True,
                                 capture_output=True, check=False).stdout
        todo = [fortran.c_name(name) for name in listing.split() if name not in COMMON_SUPPORT]
        seen, uses = set(), set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            if MPI_SYMBOL.match(name) and name not in fortran.WITHOUT_C_NAME:
                uses.add(name)
            todo += self.support_calls.get(name, ())
        return sorted(uses)


def _try(command, target):
    """Runs a compiler. Returns "" or its messages; leaves no half-written target."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False,
                              timeout=COMPILE_LIMIT_S)
    except subprocess.TimeoutExpired:
        target.unlink(missing_ok=True)
        return f"compiler did not end within {COMPILE_LIMIT_S} s"
    if done.returncode == 0 and target.exists():
        return ""
    target.unlink(missing_ok=True)
    return (done.stdout + done.stderr).strip() or f"compiler status {done.returncode}"


def first_error(messages):
    """The line of a compiler's output that says what is wrong."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    for line in lines:
        if "error" in line or "undefined" in line:
            return line[:200]
    return lines[0][:200] if lines else "no message"


def _missing(messages):
    """MPI names that a failed build complains about."""
    names = re.findall(r"undefined reference to [`'‘](P?MPIX?_\w+|DTPI?_\w+)", messages)
    names += re.findall(r"(MPI_\w+) was removed in", messages)
    names += re.findall(r"[`'‘](P?MPIX?_\w+)['’] undeclared", messages)
    names += re.findall(r"unknown type name [`'‘](P?MPIX?_\w+)", messages)
    return sorted(set(names))


def _calls_by_function(item):
    """function -> symbols that its code refers to, from one section per function."""
    listing = subprocess.run(["readelf", "-rW", str(item)], capture_output=True, text=True,
                             check=False).stdout
    calls, current = {}, None
    for line in listing.splitlines():
        section = re.match(r"Relocation section '\.rela\.text\.([\w.]+)'", line)
        if line.startswith("Relocation section"):
            current = section.group(1) if section else None
            if current:
                calls.setdefault(current, set())
        elif current:
            words = line.split()
            if len(words) >= 5 and words[2].startswith("R_"):
                calls[current].add(words[4].removeprefix(".text."))
    return calls
