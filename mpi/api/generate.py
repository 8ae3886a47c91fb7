#!/usr/bin/env python3
"""Writes the generated files of the MPI interface; see docs/mpi-api.md.

usage: generate.py OUT      writes the files below the folder OUT
       generate.py --list   names them, relative to OUT
       generate.py --coverage
                            writes the page docs/mpi-coverage.md
       generate.py --implemented NAME ...
                            notes in the list that these functions have bodies now,
                            and updates that page
                            (names as in C, without _c: MPI_Send, or bodies: send)
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator import (collectives, constants, edit, entries, f08_shims, fortran,  # noqa: E402
                       header, modules, tables)
from generator.model import Api, ListError  # noqa: E402


FOLDER = Path(__file__).resolve().parent
COVERAGE_PAGE = FOLDER.parents[1] / "docs/mpi-coverage.md"


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def outputs(api):
    """Relative path -> text of everything that is built."""
    files = {"include/mpi.h": header.generate(api)}
    files.update(entries.generate(api))
    files.update(fortran.generate(api))
    files.update(f08_shims.generate(api))
    files.update(modules.generate(api))
    files.update(collectives.generate(api))
    files["generated/base/mpi_constants.h"] = constants.constants(api)
    files["generated/base/mpi_handle_names.h"] = constants.handle_names(api)
    files["generated/mpi/api/api_table.inc"] = tables.api_table(api)
    files["generated/mpi/api/symbols.txt"] = tables.symbols(api)
    return files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--implemented", nargs="+", metavar="NAME")
    args = parser.parse_args()
    try:
        api = Api(FOLDER)
        if args.implemented:
            edit.mark_implemented(api, args.implemented)
            write_if_changed(COVERAGE_PAGE, tables.coverage(Api(FOLDER)))
            return
        if args.coverage:
            write_if_changed(COVERAGE_PAGE, tables.coverage(api))
            return
        if args.list:
            print("\n".join(outputs(api)))
            return
        for name, text in outputs(api).items():
            write_if_changed(args.out / name, text)
    except ListError as error:
        sys.exit(f"mpi/api: {error}")


if __name__ == "__main__":
    main()
