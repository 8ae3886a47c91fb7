#!/usr/bin/env python3
"""Builds programs of others from Debian's source packages and runs them: `./run programs [NAME...]`.

Each is built with our MPI and with the peers, run at 1, 2, 4 and 16 ranks in turn, and ours is compared with
the peers: bit by bit, or within what the program itself allows. Foreign sources stay below --work.

Exit status: 0 all is right, 1 something of ours is not, 2 it could not run, 3 all that ran is right, but a
program was not run: its source could not be downloaded, or what it needs is not installed.
"""
import argparse
import datetime
import json
import os
import shlex
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import mpis  # noqa: E402
import suite  # noqa: E402

import page  # noqa: E402
import runs  # noqa: E402
import summary  # noqa: E402
import trees  # noqa: E402
from apps import PROGRAMS  # noqa: E402

ROOT = HERE.parents[1]
RANKS = (1, 2, 4, 16)
QUICK_RANKS = (1, 2, 4)
PEERS = ("openmpi", "mpich")


def main():
    options = parse_arguments()
    try:
        if options.list:
            print_list()
            return 0
        return run(options)
    except (mpis.MpiMissing, suite.SuiteError, page.PageError) as error:
        print(f"programs: {error}", file=sys.stderr)
        return 2


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(
        prog="./run programs", description="Real programs against our MPI and others.",
        epilog="Programs: " + " ".join(program.name for program in PROGRAMS) + " (all of these when none is named).")
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="programs")
    add("--list", action="store_true", help="say what each is and what is compared; run nothing")
    add("--quick", action="store_true", help="the cheapest ones, at 1, 2 and 4 ranks")
    add("--ranks", type=rank_list, help="numbers of ranks, as in 1,2,4,16 (the default)")
    add("--peers", default="openmpi", help="MPIs to compare with: openmpi, mpich or both (default: openmpi)")
    add("--no-peers", action="store_true", help="only what programs check by themselves, and other numbers of ranks")
    add("--repeat", type=int, default=1, help="run each case this often, in turn; the median counts")
    add("--goals", action="store_true",
        help=f"those that are built already, at {' and '.join(map(str, summary.GOALS))} ranks; --write writes only the first table")
    add("--build", action="store_true", help="build only, so that what follows is quiet; run nothing")
    add("--timeout", type=int, default=0, help="seconds that a run may take (default: what the case says, 120)")
    add("--jobs", type=int, default=int(os.environ.get("MPC_JOBS", 0)) or os.cpu_count() or 1,
        help="compilers at once")
    add("--keep", action="store_true", help="keep the folders of runs that were right, too")
    add("--write", action="store_true", help=f"write the tables into docs/{page.PAGE.name}")
    add("--prefix", type=Path, help="where our own MPI is installed")
    add("--work", type=Path, default=ROOT / "build/programs", help="build folder")
    options = parser.parse_args(words)
    known = {program.name: program for program in PROGRAMS}
    for name in options.names:
        if name not in known:
            parser.error(f"there is no program '{name}': {' '.join(known)}")
    options.peers = [] if options.no_peers else [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"--peers: '{name}' is none of {', '.join(PEERS)}")
    if options.goals and summary.PEER not in options.peers:
        parser.error(f"--goals compares with {summary.PEER}: it is not among --peers")
    if options.build and (options.goals or options.write):
        parser.error("--build runs nothing: leave out --goals and --write")
    if options.repeat < 1:
        parser.error(f"--repeat: {options.repeat} is less than 1")
    chosen = [known[name] for name in options.names] or list(PROGRAMS)
    options.programs = [program for program in chosen if program.is_quick] if options.quick and not options.names \
        else chosen
    options.ranks = options.ranks or list(summary.GOALS if options.goals else QUICK_RANKS if options.quick else RANKS)
    options.command = "./run programs " + shlex.join(shown_words(sys.argv[1:] if words is None else words))
    return options


def shown_words(words):
    """The command line without paths: `run` adds --prefix PREFIX, and --work is a folder of this machine only."""
    out, is_place = [], False
    for word in words:
        if not is_place and word not in ("--prefix", "--work"):
            out.append(word)
        is_place = word in ("--prefix", "--work")
    return out


def rank_list(text):
    try:
        ranks = sorted({int(word) for word in text.split(",")})
    except ValueError:
        ranks = [0]
    if min(ranks) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers from 1 on, as 1,2,4,16 is")
    return ranks


def print_list():
    for program in PROGRAMS:
        quick = ", quick" if program.is_quick else ""
        print(f"{program.name} (source package {program.package}{quick}): {program.what}.\n    {program.compared}")


# ---- running ---------------------------------------------------------------------------

def run(options):
    found = [mpis.find(runs.OURS, options.prefix), *(mpis.find(name) for name in options.peers)]
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    wrong, absent = [], []
    chosen = [program for program in options.programs if not options.goals or is_built(program, found, options.work)]
    for program in chosen:
        try:
            needed = with_needs(program)
            reason = "; ".join(filter(None, (trees.missing(one) for one in needed)))
            sources = {} if reason else {one.name: trees.tarball(one, options.work) for one in needed}
        except suite.FetchError as error:
            reason = f"its source cannot be downloaded:\n{error}"
        if reason:
            print(f"programs: {program.name} was NOT run: {reason}", file=sys.stderr)
            absent.append(program.name)
            continue
        if not run_one(program, sources, found, options):
            wrong.append(program.name)
    done = len(chosen) - len(absent)
    print(f"programs: {done - len(wrong)} of {done} programs {'built' if options.build else 'right'}" +
          (f"; NOT {'built' if options.build else 'right'}: {' '.join(wrong)}" if wrong else "") +
          (f"; NOT run: {' '.join(absent)}" if absent else ""))
    return 1 if wrong else 3 if absent else 0


def is_built(program, found, work):
    """Whether there is a build of it for each MPI, so that it costs hardly more than its runs."""
    return all((work / f"{program.name}-{mpi.name}" / trees.STAMP).exists() for mpi in found)


def with_needs(program):
    """The programs that it needs, then the program itself."""
    return [one for one in PROGRAMS if one.name in program.needs] + [program]


def run_one(program, sources, found, options):
    """Builds and runs one program. True: all results with our MPI are right; if it is only built, each MPI could."""
    version = trees.version(sources[program.name])
    print(f"{program.name} {version}", flush=True)
    revision = page.revision(ROOT)
    built, notes = build(program, sources, found, options)
    if options.build:
        return not notes
    watch = page.machine.Watch()
    rows = runs.run_program(program, built, options, options.work) if runs.OURS in built else []
    circumstances = page.Circumstances(datetime.date.today().isoformat(), revision, os.cpu_count() or 1,
                                       watch.done()[0], options.command)
    write_json(options.work / f"{program.name}.json", program, version, rows, notes)
    if options.write:
        write_page(program, page.block(program, version, rows, notes, circumstances),
                   summary.row(program.name, rows, circumstances), options.goals)
    return bool(rows) and not any(row.complaint for row in rows)


def write_page(program, block, line, just_goals):
    """Puts the program's table and its line of the first table into the page. `line`: None, if nothing was compared."""
    names = [one.name for one in PROGRAMS]
    if not just_goals:
        page.write(program.name, block, names)
    if line:
        summary.write(program.name, line, names)


def build(program, sources, found, options):
    """({MPI's name: Tree} of the builds that succeeded, [the reasons why others did not])."""
    built, notes = {}, []
    for mpi in found:
        ready = []
        try:
            for one in with_needs(program):
                tree = trees.Tree(one, mpi, options.work, options.jobs, ready if one is program else ())
                start = time.monotonic()
                if tree.prepare(sources[one.name]):
                    print(f"  {one.name} built for {mpi.name} in {time.monotonic() - start:.0f} s", flush=True)
                ready.append(tree)
            built[mpi.name] = ready[-1]
        except trees.BuildError as error:
            print(f"  cannot be built for {mpi.name}: {error}", flush=True)
            notes.append(f"{page.TITLES[mpi.name]}: cannot be built: {page.one_line(str(error).splitlines()[-1])}")
    return built, notes


def write_json(path, program, version, rows, notes):
    path.write_text(json.dumps({"program": program.name, "version": version, "notes": notes,
                                "rows": [row.as_json() for row in rows]}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
