"""The MPICH test suite as data: where it comes from, and which tests its lists name.

Role:     fetches the suite of the Debian source package, configures it for one MPI, reads
          its test lists and the few lines of its Makefiles that matter to a build.
Users:    conformance.py.
See also: the head of the suite's own runtests.in, which defines the list format.
"""
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import fortran

UNLISTED = Path(__file__).resolve().parent / "unlisted.txt"
PACKAGE = "mpich"
LISTS = ("testlist", "testlist.dtp")   # testlist.cvar selects MPICH's own algorithms
DEFAULT_RANKS = 2


class SuiteError(Exception):
    """The suite cannot be had or configured; the text says why and what to do."""


class FetchError(SuiteError):
    """The suite cannot be downloaded."""


@dataclass
class Test:
    folder: str                 # "threads/pt2pt"
    program: str                # "mt_sendrecv"
    ranks: int
    arguments: list = field(default_factory=list)
    environment: list = field(default_factory=list)
    launcher_arguments: list = field(default_factory=list)
    time_limit_s: int = 0       # 0: the runner's default
    result_test: str = ""       # TestStatus | TestErrFatal | TestStatusNoErrors |
                                # TestAllowWarnings | TestBench
    xfail: str = ""
    memory_gb: float = 0.0
    strict: str = ""

    @property
    def name(self):
        """Unique in a run, and what the known-failure list names."""
        words = [f"{self.folder}/{self.program}", str(self.ranks)]
        return " ".join(words + self.arguments + self.environment)


# ---- fetching -------------------------------------------------------------------------

def fetch(work):
    """test/mpi of the Debian source package, unpacked below `work`. Errors: FetchError."""
    sources = work / "src"
    found = sorted(sources.glob(f"{PACKAGE}-*/test/mpi/configure"))
    if found:
        return found[-1].parent
    try:
        tarball = download(PACKAGE, work)
    except FetchError as error:
        raise FetchError(f"{error}\nGive another copy of the suite with --suite DIR.") from None
    _apt(["tar", "xf", tarball.name, "--wildcards", "*/test/mpi/*"], sources)
    found = sorted(sources.glob(f"{PACKAGE}-*/test/mpi/configure"))
    if not found:
        raise SuiteError(f"{tarball} holds no test/mpi with a configure script")
    return found[-1].parent


def download(package, work, later_releases=()):
    """The tarball of a Debian source package, in work/src: of this machine's release or, where the mirror has lost
    that file, of the first of `later_releases` that has it. Errors: FetchError, the first one."""
    sources = work / "src"
    sources.mkdir(parents=True, exist_ok=True)
    first_error = None
    for release in ("", *later_releases):
        found = sorted(sources.glob(f"{package}_*.orig.tar.*"))
        if found:
            return found[-1]
        try:
            _download_from(release, package, work, sources)
        except FetchError as error:
            first_error = first_error or error
    found = sorted(sources.glob(f"{package}_*.orig.tar.*"))
    if not found:
        raise first_error or FetchError(f"apt-get source left no {package}_*.orig.tar.* in {sources}")
    return found[-1]


def _download_from(release, package, work, sources):
    options = _private_apt(work / (f"apt-{release}" if release else "apt"), release)
    print(f"fetching the Debian source package {package}{' of ' if release else ''}{release} ...", flush=True)
    _apt(["apt-get", *options, "-qq", "update"], sources)
    _apt(["apt-get", *options, "-qq", "--download-only", "--tar-only", "source", package], sources)


def _private_apt(folder, release=""):
    """Options that keep apt away from /etc/apt and from the system's package lists; "": this machine's release."""
    mirror, suite = _debian_mirror()
    suite = release or suite
    for part in ("parts", "lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "parts/source.sources").write_text(
        f"Types: deb-src\nURIs: {mirror}\nSuites: {suite}\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    return ["-o", "Dir::Etc::sourcelist=/dev/null",
            "-o", f"Dir::Etc::sourceparts={folder}/parts",
            "-o", f"Dir::State::Lists={folder}/lists",
            "-o", f"Dir::Cache={folder}/cache",
            "-o", "APT::Sandbox::User="]


def _debian_mirror():
    """(URI, suite) of the main archive this machine installs from."""
    texts = []
    for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if path.suffix in (".list", ".sources") and path.is_file():
            texts.append(path.read_text(errors="replace"))
    text = "\n".join(texts)
    release = dict(line.split("=", 1) for line in
                   Path("/etc/os-release").read_text().splitlines() if "=" in line)
    suite = release.get("VERSION_CODENAME", "bookworm").strip('"')
    for match in re.finditer(r"https?://\S+", re.sub(r"(?m)^\s*#.*$", "", text)):
        uri = match.group(0).rstrip("/")
        if uri.endswith("/debian"):
            return uri, suite
    return "http://deb.debian.org/debian", suite


def _apt(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, check=False, timeout=600)
    if done.returncode:
        raise FetchError(f"`{shlex.join(command)}` failed:\n{done.stderr.strip()}")


def locate(given):
    """test/mpi inside a copy of the suite that the user names. Errors: SuiteError."""
    for folder in (given, given / "test/mpi"):
        if (folder / "util/mtest.c").exists():
            if not (folder / "configure").exists():
                raise SuiteError(f"{folder} has no configure: run its autogen.sh first")
            return folder.resolve()
    raise SuiteError(f"{given} is no copy of the MPICH test suite (no util/mtest.c)")


# ---- configuring ----------------------------------------------------------------------

def configure(source, build, mpi, strict, with_fortran=False):
    """Runs the suite's own configure once for `mpi`. Errors: SuiteError with the log."""
    stamp = build / "configured.stamp"
    key = f"{source}\n{mpi.compiler}\n{mpi.version()}\nstrict={strict}\n"
    languages = fortran.configure_options(mpi) if with_fortran else ["--disable-fortran"]
    if stamp.exists() and stamp.read_text() == key:
        return
    build.mkdir(parents=True, exist_ok=True)
    print(f"conformance: configuring the suite for {mpi.name} ...", flush=True)
    command = [str(source / "configure"), *languages, "--disable-cxx",
               "--enable-threads=multiple", "--disable-dependency-tracking",
               f"--enable-strictmpi={'yes' if strict else 'no'}",
               f"MPICC={mpi.compiler}", f"CC={mpi.compiler}", f"MPIEXEC={mpi.launcher}",
               "CFLAGS=-O1 -w"]
    log = build / "configure.log"
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "CC", "FC", "F77")}
    with log.open("w") as out:
        done = subprocess.run(command, cwd=build, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, env=environment, check=False,
                              timeout=900)
    if done.returncode or not (build / "include/mpitestconf.h").exists():
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise SuiteError(f"the suite's configure fails with {mpi.compiler} (whole log: "
                         f"{log}):\n{tail}")
    stamp.write_text(key)


# ---- test lists -----------------------------------------------------------------------

def read_tests(source, build, folder, lists=LISTS):
    """All tests of `folder`, sub-folders included, in the order of the lists."""
    tests = _unlisted_tests(source, build, folder, lists)
    for list_name in lists:
        path = build / folder / list_name
        if not path.exists():
            path = source / folder / list_name
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            tests += _read_line(source, build, folder, line, lists)
    return tests


def _unlisted_tests(source, build, folder, lists):
    """Tests of a folder that has no list in the suite."""
    tests = []
    for line in UNLISTED.read_text().splitlines():
        if line.startswith(folder + "/"):
            tests += _read_line(source, build, folder, line.removeprefix(folder + "/"), lists)
    return tests


def _read_line(source, build, folder, line, lists):
    words = line.split("#", 1)[0].split()
    if not words or words[0].startswith("!"):
        return []
    if (source / folder / words[0]).is_dir():
        return read_tests(source, build, f"{folder}/{words[0]}", lists)
    ranks = DEFAULT_RANKS
    if len(words) > 1 and words[1].isdigit():
        ranks = int(words[1])
    inner, _, program = words[0].rpartition("/")
    test = Test(f"{folder}/{inner}" if inner else folder, program, ranks)
    for word in words[2:]:
        key, equals, value = word.partition("=")
        if equals:
            _set_key(test, key, value)
    return [test]


def _set_key(test, key, value):
    if key == "arg":
        test.arguments.append(value)
    elif key == "env":
        test.environment.append(value)
    elif key == "mpiexecarg":
        test.launcher_arguments.append(value)
    elif key == "timeLimit" and value.isdigit():
        test.time_limit_s = int(value)
    elif key == "resultTest":
        test.result_test = value
    elif key == "xfail":
        test.xfail = value
    elif key == "mem":
        test.memory_gb = float(value)
    elif key == "strict":
        test.strict = value.lower()


# ---- what the Makefiles say -----------------------------------------------------------

def read_makefile(path):
    """Variables of an automake file, continuations joined, `+=` appended.

    Files beside it that it includes are read, too: newer suites generate some of the recipes.
    """
    variables = {}
    if not path.exists():
        return variables
    text = re.sub(r"\\\n", " ", path.read_text())
    for name in re.findall(r"(?m)^include[ \t]+([\w.]+)[ \t]*$", text):
        if name != path.name:
            variables.update(read_makefile(path.parent / name))
    for match in re.finditer(r"(?m)^(\w+)[ \t]*(\+?=)[ \t]*(.*)$", text):
        name, operator, value = match.groups()
        value = value.split("#", 1)[0]
        old = variables.get(name, "") + " " if operator == "+=" else ""
        variables[name] = old + value
    variables["uses_threads"] = "yes" if "Makefile_threads.mtest" in text else ""
    return variables


def recipe(variables, program, folder=""):
    """(sources, preprocessor flags, libraries) of one program of a folder."""
    given = variables.get(f"{program}_SOURCES") or variables.get(f"nodist_{program}_SOURCES")
    sources = (given or fortran.default_source(folder, program)).split()
    flags = variables.get(f"{program}_CPPFLAGS", "") + " " + \
        variables.get(f"{program}_CFLAGS", "")
    libraries = variables.get(f"{program}_LDADD", "")
    own = [flag for flag in flags.split() if not flag.startswith("$")]
    if variables.get("uses_threads"):
        own.append("-DMTEST_USE_THREAD")
    return ([name for name in sources if name.endswith((".c", *fortran.ENDINGS))], own,
            [word for word in libraries.split() if word.startswith("-l")])
