#!/usr/bin/env python3
"""Runs the MPICH test suite, unmodified, against our MPI or another one.

    tests/conformance/conformance.py --mpi ours --prefix build/stage attr coll
    tests/conformance/conformance.py --mpi openmpi --filter 'coll/allred*' coll

Exit status: 0 every test passed or has a reason, 1 some test has not, 2 it could not run,
3 it could not run because the suite cannot be downloaded.
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import builder  # noqa: E402
import executor  # noqa: E402
import fortran  # noqa: E402
import mpis  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402
import variants  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = ["attr", "basic", "coll", "comm", "datatype", "errhan", "errors", "group", "info", "init",
           "io", "mpi_t", "part", "pt2pt", "rma", "threads", "topo"]
LIMIT_S = 30            # the limit of the figures we compare with
LAUNCHER_GRACE_S = 5    # for a launcher that ends a job by itself
MEMORY_SHARE = 0.7      # of the free memory that one test may want


def main():
    options = parse_arguments()
    try:
        return run(options)
    except suite.FetchError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 3
    except (mpis.MpiMissing, suite.SuiteError, builder.BuildError, ValueError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="Run the MPICH test suite against an MPI.",
        epilog="Folders: " + " ".join(FOLDERS) + " (all of these when none is named); "
               "in Fortran: " + " ".join(fortran.FOLDERS) + ".")
    add = parser.add_argument
    add("folders", nargs="*", help="folders of the suite; 'coll/allred2' names one program")
    add("--mpi", default="ours", choices=("ours", "mpich", "openmpi"))
    add("--prefix", type=Path, help="where our own MPI is installed")
    add("--suite", type=Path, help="another copy of the suite (its root or test/mpi)")
    add("--work", type=Path, default=ROOT / "build/conformance", help="build folder")
    add("--cores", type=int, default=0, help="cores a job may use (default: all)")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at once")
    add("--run-jobs", type=int, default=1, help="tests at once")
    add("--variant", action="append", default=[], choices=list(variants.VARIANTS),
        help="another way to run the tests, several may be named. " + variants.help_text())
    add("--filter", default="", help="only tests whose name matches this (* and ?)")
    add("--skip", action="append", default=[], help="no tests whose name matches this")
    add("--timeout", type=int, default=LIMIT_S, help="seconds a test may take")
    add("--retry", type=int, default=0, help="repeat a failed test this often, and say so")
    add("--quick", action="store_true", help="leave out slow.txt and generated datatype lists")
    add("--strict", action="store_true", help="only what the MPI standard defines")
    add("--cvar", action="store_true", help="also MPICH's lists of its own algorithms")
    add("--known", type=Path, default=None, help="list of known failures")
    add("--working", type=Path, default=ROOT / "mpi/api/functions",
        help="folder of the lists that say which functions have a body")
    add("--extra", action="append", default=[], help="another option for the launcher")
    add("--json", type=Path, default=None, help="result file")
    add("--build-only", action="store_true", help="compile and link, run nothing")
    add("--list", action="store_true", help="name the tests, run nothing")
    add("--verbose", action="store_true", help="name each test as it ends")
    options = parser.parse_args()
    options.how = variants.combined(options.variant)
    if options.how.ours_only and options.mpi != "ours":
        parser.error("these variants are options of our mpcrun's")
    return options


def run(options):
    mpi = mpis.find(options.mpi, options.prefix)
    options.work = options.work.resolve()
    source = suite.locate(options.suite) if options.suite else suite.fetch(options.work)
    with_fortran = any(fortran.language(name) for name in options.folders or FOLDERS)
    label = mpi.name + ("-strict" if options.strict else "") + \
        ("-fortran" if with_fortran else "") + \
        (f"-{abs(hash_path(source)) % 10000:04d}" if options.suite else "")
    build = options.work / label
    suite.configure(source, build, mpi, options.strict, with_fortran)
    folders, tests = choose_tests(options, source, build)
    if options.list:
        print("\n".join(test.name for test in tests))
        return 0
    if not tests:
        raise suite.SuiteError("no test matches")
    known_path = options.known or (HERE / "known-failures.txt" if mpi.name == "ours" else None)
    known = report.read_known(known_path, options.variant)
    working = report.read_working(options.working) if mpi.name == "ours" else None
    builds = build_all(options, source, build, mpi, tests)
    started = time.monotonic()
    results = run_all(options, mpi, build, tests, builds, known, working)
    report.print_table(results, folders)
    report.print_failures(results)
    path = options.json or options.work / f"results-{'-'.join([label, *options.variant])}.json"
    header = {"mpi": mpi.name, "version": mpi.version(), "cores": options.cores,
              "variants": options.variant,
              "seconds": round(time.monotonic() - started, 1), "suite": str(source)}
    report.write_json(path, results, header)
    print(f"\nDetails with each test's output: {path}")
    print(report.summary_line(results, working is not None))
    return 1 if any(r.surprising for r in results) else 0


def hash_path(path):
    """A number that is the same in each run (hash() of a str is not)."""
    return sum((i + 1) * byte for i, byte in enumerate(str(path).encode()))


def choose_tests(options, source, build):
    """(folders, tests) that the command line asks for."""
    wanted = [name.rstrip("/") for name in options.folders] or FOLDERS
    folders = list(dict.fromkeys(name.split("/")[0] for name in wanted))
    lists = ("testlist",) if options.quick else suite.LISTS
    if options.cvar:
        lists += ("testlist.cvar",)
    tests = []
    for folder in folders:
        if not (source / folder).is_dir():
            raise suite.SuiteError(f"the suite has no folder {folder}")
        tests += suite.read_tests(source, build, folder, lists)
    for name in wanted:     # folders that no list of the suite names: errors/f08
        if "/" in name and (source / name).is_dir() and \
                not any(f"{test.folder}/".startswith(name + "/") for test in tests):
            tests += suite.read_tests(source, build, name, lists)
    slow = report.read_known(HERE / "slow.txt") if options.quick else []

    def chosen(test):
        place = f"{test.folder}/{test.program}"
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.skip
               for name in (test.name, place)):
            return False
        return (any(place == name or place.startswith(name + "/") for name in wanted) and
                (not options.filter or fnmatch.fnmatchcase(test.name, options.filter) or
                 fnmatch.fnmatchcase(place, options.filter)) and
                not report.known_reason(slow, test.name))
    return folders, [test for test in tests if chosen(test)]


def build_all(options, source, build, mpi, tests):
    """(folder, program) -> Built, compiled in parallel."""
    languages = sorted({fortran.language(test.folder) for test in tests} - {""})
    work = builder.Builder(source, build, mpi, languages)
    work.build_support()
    work.write_sources(sorted({test.folder for test in tests}))
    programs = {(test.folder, test.program): test for test in tests}
    print(f"conformance: {len(tests)} tests of {len(programs)} programs, {mpi.name}",
          flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        built = pool.map(work.build_test, programs.values())
        return dict(zip(programs, built))


def run_all(options, mpi, build, tests, builds, known, working):
    one_by_one = threading.Lock()

    def one(test):
        # Tests of files call them all "testfile".
        with one_by_one if test.folder.split("/")[-1] == "io" else contextlib.nullcontext():
            result = run_one(options, mpi, build, test, builds[(test.folder, test.program)],
                             known)
        result.known = report.known_reason(known, test.name)
        result.not_working = report.not_working(result.uses, working)
        return result

    results = []
    with concurrent.futures.ThreadPoolExecutor(max(1, options.run_jobs)) as pool:
        for number, result in enumerate(pool.map(one, tests), 1):
            results.append(result)
            if options.verbose or result.verdict in report.BAD:
                print(f"  [{number}/{len(tests)}] {result.verdict:<9} {result.name} "
                      f"({result.seconds:.1f} s) {result.detail}", flush=True)
    return results


def run_one(options, mpi, build, test, built, known):
    result = report.Result(test.name, test.folder, "skipped", uses=built.uses)
    result.detail = reason_to_skip(options, mpi, test, known)
    if result.detail:
        return result
    if built.program is None:
        result.verdict = "not built"
        result.detail = "lacks " + ", ".join(built.missing) if built.missing else \
            builder.first_error(built.error)
        result.output = built.error
        return result
    if options.build_only:
        result.detail = "built"
        return result
    limit = options.timeout
    how = options.how
    extra = [*options.extra, *how.launcher, *test.launcher_arguments]
    if test.time_limit_s and test.time_limit_s <= options.timeout:
        # A test may want the launcher itself to end it: give that a chance to.
        limit = test.time_limit_s + LAUNCHER_GRACE_S
        if test.result_test == "TestErrFatal" and mpi.timeout_option:
            extra.append(mpi.timeout_option % test.time_limit_s)
    command = mpi.command(test.ranks * how.ranks_factor, built.program, test.arguments,
                          how.cores or options.cores, extra)
    for attempt in range(options.retry + 1):
        outcome = executor.run(command, test, built.program.parent, limit)
        result.attempts = attempt + 1
        if outcome.verdict in ("pass", "needs", "skipped") or report.known_reason(known, test.name):
            break
        if attempt < options.retry:
            print(f"  {outcome.verdict:<9} {test.name}: {outcome.detail}; once more",
                  flush=True)
    result.verdict, result.detail = outcome.verdict, outcome.detail
    result.seconds, result.status = outcome.seconds, outcome.status
    result.output = outcome.output
    return result


def reason_to_skip(options, mpi, test, known):
    reason = report.known_reason(known, test.name)
    if reason.startswith(report.NOT_APPLICABLE):
        return reason
    if test.ranks * options.how.ranks_factor < options.how.least_ranks:
        return f"has {test.ranks} rank, the variant needs {options.how.least_ranks}"
    if test.xfail and mpi.honours_xfail and not options.strict:
        return f"the suite expects it to fail: {test.xfail}"
    if options.strict and test.strict == "false":
        return "not in the MPI standard"
    if test.memory_gb and test.memory_gb > MEMORY_SHARE * free_memory_gb():
        return f"wants {test.memory_gb} GB of memory"
    return ""


def free_memory_gb():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1e6
    return 0.0


if __name__ == "__main__":
    sys.exit(main())
