"""Constants and names of handles for the layers that must not know mpi.h."""

import re

from generator.model import ListError

CONSTANTS_HEADER = """\
#pragma once
// The integer constants and predefined handles of MPI; generated from mpi/api/constants.json.
//
// Role:      MPI_COMBINER_F90_REAL as kCombinerF90Real, for layers below mpi/.
// Users:     every layer.
// Threads:   constants.
// See also:  docs/mpi-api.md.

#include <cstdint>

namespace mpc::abi {
"""

NAMES_HEADER = """\
#pragma once
// The names of the predefined handles; generated from mpi/api/constants.json.
//
// Role:      "MPI_INT" for 0x209. The codes of all kinds of handles differ, so one table will do.
// Users:     reports and object names, in any layer.
// Threads:   constants.
// See also:  docs/mpi-api.md.

#include <cstdint>

namespace mpc::abi {

struct HandleName {
  uint32_t code;
  const char* name;
};

// In the order of their codes.
inline constexpr HandleName kHandleNames[] = {
"""

NAMES_END = """\
};

// nullptr: no predefined handle has this code.
constexpr const char* handle_name(uint64_t code) noexcept {
  for (const HandleName& handle : kHandleNames)
    if (handle.code == code) return handle.name;
  return nullptr;
}

}  // namespace mpc::abi
"""


def cpp_name(name):
    """MPI_COMBINER_F90_REAL -> kCombinerF90Real, MPI_2INT -> k2Int."""
    words = name.removeprefix("MPI_").split("_")
    return "k" + "".join(
        re.sub("[A-Za-z]+", lambda m: m[0].capitalize(), word) for word in words)


def is_tool(group):
    return group.get("type", "").startswith("MPI_T_")


def constants(api):
    """The header of values."""
    out, seen = [CONSTANTS_HEADER], {}
    for group in api.constants:
        if group["form"] not in ("handle", "int") or is_tool(group):
            continue
        kind = "uint32_t" if group["form"] == "handle" else "int"
        out.append(f"// {group['group']}")
        for name, value in group["values"].items():
            cpp = cpp_name(name)
            if seen.setdefault(cpp, name) != name:
                raise ListError(f"{name} and {seen[cpp]} are both {cpp}")
            if isinstance(value, str) and value.startswith("MPI_"):
                value = cpp_name(value)
            out.append(f"inline constexpr {kind} {cpp} = {value};")
        out.append("")
    return "\n".join([*out, "}  // namespace mpc::abi", ""])


def handle_names(api):
    """The header of names. A group says in "called" which alias its handle is called by."""
    names = {}
    for group in api.constants:
        if group["form"] != "handle" or is_tool(group):
            continue
        called = group.get("called", {})
        for name, value in group["values"].items():
            if value.startswith("MPI_"):
                continue
            if int(value, 0) in names:
                raise ListError(f"{name} has the code of {names[int(value, 0)]}")
            names[int(value, 0)] = called.get(name, name)
    rows = [f'    {{0x{code:03x}, "{name}"}},' for code, name in sorted(names.items())]
    return NAMES_HEADER + "\n".join(rows) + "\n" + NAMES_END
