"""mpi.h: constants, types and prototypes."""

PREAMBLE = """\
/* mpi.h: the C interface of MPI 4.1 in the standard ABI of MPI 5.0.
 *
 * Generated from mpi/api; handles, constants and structures have the values of the
 * MPI 5.0 ABI, version 1.0. What stands below MPC_MPI_EXTRAS is not part of that ABI;
 * define MPC_MPI_ABI_ONLY before including this file to leave it out.
 */
#ifndef MPI_H_INCLUDED
#define MPI_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
"""

BASIC_TYPES = """\
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;

typedef struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
} MPI_Status;
"""

EXTRA_TYPES = """\
/* ---- Not in the standard ABI: Fortran conversion, removed functions ---- */
#ifndef MPC_MPI_ABI_ONLY
#define MPC_MPI_EXTRAS 1

typedef int MPI_Fint;
typedef MPI_Status MPI_F08_status;
extern MPI_Fint* MPI_F_STATUS_IGNORE;
extern MPI_Fint* MPI_F_STATUSES_IGNORE;
extern MPI_F08_status* MPI_F08_STATUS_IGNORE;
extern MPI_F08_status* MPI_F08_STATUSES_IGNORE;
"""


def constant_value(group, value):
    """The replacement text of one constant."""
    if isinstance(value, str) and value.startswith("MPI_"):
        return value
    if group["form"] == "int":
        return f"({value})" if value < 0 else str(value)
    return f"(({group['type']}){value})"


def callback(record):
    params = ", ".join(record["params"])
    return f"typedef {record['returns']} ({record['name']})({params});"


def constants(api, forms):
    for group in api.constants:
        if group["form"] not in forms:
            continue
        if group.get("group"):
            yield f"\n/* {group['group']} */"
        for name, value in group["values"].items():
            yield f"#define {name} {constant_value(group, value)}"


def prototypes(api, in_abi):
    for chapter, functions in api.chapters.items():
        chosen = [f for f in functions if f.in_abi == in_abi]
        if chosen:
            yield f"\n/* {chapter} */"
        for function in chosen:
            for name, large in function.bindings():
                yield function.prototype(name, large) + ";"
                yield function.prototype("P" + name, large) + ";"


def generate(api):
    types = api.types
    out = [PREAMBLE]
    for name, value in types["version"].items():
        out.append(f"#define {name} {value}")
    out.append("\n" + BASIC_TYPES)
    for handle in types["handles"] + types["tool_handles"]:
        out.append(f"typedef struct {handle.replace('MPI_', 'MPI_ABI_', 1)}* {handle};")
    for enum in types["enums"]:
        values = ",\n".join(f"  {n} = {v}" for n, v in enum["values"].items())
        out.append(f"\ntypedef enum {enum['name']} {{\n{values}\n}} {enum['name']};")
    out.append("")
    out += [callback(c) for c in types["callbacks"]]
    out += [f"typedef {a['of']} {a['name']};" for a in types["aliases"]]
    out += constants(api, ("handle", "int", "pointer", "callback"))
    out += prototypes(api, True)
    out.append("\n" + EXTRA_TYPES)
    out += [f"typedef {a['of']} {a['name']};" for a in types["extra_aliases"]]
    out += prototypes(api, False)
    out.append("#endif /* MPC_MPI_ABI_ONLY */\n")
    out.append("#ifdef __cplusplus\n}\n#endif\n\n#endif /* MPI_H_INCLUDED */\n")
    return "\n".join(out)
