"""Tables made from the list: names for tracing and tests, the version script, coverage."""

from generator.f08_shims import is_same_in_fortran, large_bindings
from generator.fortran import bound, is_in_f08


def api_table(api):
    out = [
        "// Generated from mpi/api; do not edit.",
        "// MPC_API_FUNCTION(name, chapter, has a body)",
    ]
    for function in api.functions():
        has_body = "false" if function.is_stub else "true"
        for name, _ in function.bindings():
            out.append(f'MPC_API_FUNCTION({name}, "{function.chapter}", {has_body})')
    return "\n".join(out) + "\n"


def symbols(api):
    """One MPI_ name a line: what the library must export, as MPI_ weak and PMPI_ strong."""
    return "\n".join(sorted(api.names())) + "\n"


def percent(part, whole):
    return f"{100 * part // whole} %" if whole else "-"


def f08_procedures(api, functions):
    """How many specific procedures mpi_f08 has for these functions."""
    count = 0
    for f in functions:
        if is_in_f08(f):
            large = [b for b in large_bindings(api, f) if not is_same_in_fortran(b)]
            count += (1 if f.f77 else 0) + len(large)
    return count


def coverage(api):
    """docs/mpi-coverage.md"""
    rows, missing, done_sum, all_sum, f08_sum = [], [], 0, 0, 0
    for chapter, functions in api.chapters.items():
        names = [name for f in functions for name, _ in f.bindings()]
        done = [name for f in functions if not f.is_stub for name, _ in f.bindings()]
        done_sum += len(done)
        all_sum += len(names)
        f08 = f08_procedures(api, functions)
        f08_sum += f08
        rows.append(f"| {chapter} | {len(names)} | {len(done)} | {percent(len(done), len(names))} "
                    f"| {len(bound(functions)) or '-'} | {f08 or '-'} |")
        stubs = [f.name + (" (_c)" if f.large else "") for f in functions if f.is_stub]
        if stubs:
            missing.append(f"**{chapter}**: " + ", ".join(f"`{s}`" for s in stubs) + ".")
    fortran = len(bound(api.functions()))
    out = [
        "# Coverage of the MPI interface",
        "",
        "This page is generated from the list in `mpi/api` (target `coverage_page`).",
        "",
        f"The library exports all {all_sum} C functions of MPI 5.0 (`MPI_VERSION` is 5):",
        "those of its ABI, with large-count variants, the handle conversions for Fortran, and the ten",
        "functions that MPI 3.0 removed. A function without a body returns",
        "`MPI_ERR_UNSUPPORTED_OPERATION` through the error handler of its object.",
        f"Fortran has {fortran} of them in `mpif.h` and the module `mpi`, and {f08_sum} procedures",
        "in the module `mpi_f08`, those with large counts included ([fortran.md](fortran.md)); the",
        "others are of C alone (`MPI_T_*`, handle conversions) or, in `mpi_f08`, were deprecated",
        "before it came. A procedure of Fortran works if the function of C has a body.",
        "",
        "| Chapter | C | with a body | share | `mpif.h`, `mpi` | `mpi_f08` |",
        "|---|---:|---:|---:|---:|---:|",
        *rows,
        f"| **all** | {all_sum} | {done_sum} | {percent(done_sum, all_sum)} | {fortran} | {f08_sum} |",
        "",
        "## Not built yet",
        "",
    ]
    for line in missing or ["Nothing."]:
        out += [line, ""]
    return "\n".join(out)
