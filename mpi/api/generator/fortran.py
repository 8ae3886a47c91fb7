"""Fortran: mpif.h, the module mpi, and the subroutines behind them."""

from generator.model import ListError, identifier

INDENT = "      "  # statements of fixed form begin in column 7

INTRO = """\
! mpif.h: the constants of MPI for Fortran, generated from mpi/api.
! Fits fixed and free source form. Handles are INTEGER, with C's values.
"""

KINDS = [
    ("MPI_ADDRESS_KIND", 8), ("MPI_OFFSET_KIND", 8), ("MPI_COUNT_KIND", 8),
    ("MPI_INTEGER_KIND", 4),
]
# Fortran's name, C's, and the lowest index of an array.
STATUS = [("MPI_STATUS_SIZE", "MPI_F_STATUS_SIZE", 0), ("MPI_SOURCE", "MPI_F_SOURCE", 1),
          ("MPI_TAG", "MPI_F_TAG", 1), ("MPI_ERROR", "MPI_F_ERROR", 1)]
# In the order of MpcFortranIntegers and MpcFortranCharacters (mpi/fortran/convert.h).
INTEGER_SENTINELS = [
    ("MPI_BOTTOM", ""), ("MPI_IN_PLACE", ""), ("MPI_BUFFER_AUTOMATIC", ""),
    ("MPI_UNWEIGHTED", "(1)"), ("MPI_WEIGHTS_EMPTY", "(1)"), ("MPI_ERRCODES_IGNORE", "(1)"),
    ("MPI_STATUS_IGNORE", "(MPI_STATUS_SIZE)"), ("MPI_STATUSES_IGNORE", "(MPI_STATUS_SIZE,1)"),
]
CHARACTER_SENTINELS = [("MPI_ARGV_NULL", "(1)"), ("MPI_ARGVS_NULL", "(1,1)")]
SUFFIXES_OF_FUNCTIONS = {"double": "DOUBLE PRECISION", "MPI_Aint": "INTEGER(KIND=8)"}


def parameter(kind, name, value):
    return [f"{INDENT}{kind} {name}", f"{INDENT}PARAMETER ({name}={value})"]


def number(value, group):
    if isinstance(value, str) and not value.startswith("0x"):
        value = group["values"][value]  # an alias
    return int(value, 0) if isinstance(value, str) else value


def constants(api):
    for group in api.constants:
        how = group.get("fortran")
        for name, value in group["values"].items():
            if how == "string_length":  # Fortran strings have no terminating zero
                value = number(value, group)
                length = value - 1 if name.startswith("MPI_MAX_") else value
                yield from parameter("INTEGER", name, length)
            elif how in ("parameter", "handle"):
                kind = "INTEGER" if group.get("type") != "MPI_Offset" else "INTEGER(KIND=8)"
                yield from parameter(kind, name, number(value, group))
            elif how == "procedure" and "CONVERSION" not in name:
                yield f"{INDENT}EXTERNAL {name}"


def common(block, kind, variables):
    lines = [f"{INDENT}{kind} {name}{shape}" for name, shape in variables]
    lines += [f"{INDENT}COMMON /{block}/ {name}" for name, _ in variables]
    return lines + [f"{INDENT}SAVE /{block}/"]


def mpif(api):
    out = [INTRO.rstrip()]
    for name, value in list(api.types["version"].items()) + KINDS:
        out += parameter("INTEGER", name, value)
    values = {name: value for group in api.constants for name, value in group["values"].items()}
    for name, c_name, first in STATUS:
        out += parameter("INTEGER", name, values[c_name] + first)
    for name in ("MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"):
        out += parameter("LOGICAL", name, ".FALSE.")
    out += constants(api)
    out += common("MPC_F_INTEGERS", "INTEGER", INTEGER_SENTINELS)
    out += common("MPC_F_CHARACTERS", "CHARACTER*1", CHARACTER_SENTINELS)
    for function in bound(api.functions()):
        kind = SUFFIXES_OF_FUNCTIONS.get(function.returns)
        if kind:
            for name in (function.name.upper(), "P" + function.name.upper()):
                out += [f"{INDENT}{kind} {name}", f"{INDENT}EXTERNAL {name}"]
    return "\n".join(out) + "\n"


def bound(functions):
    return [f for f in functions if f.f77]


class Binding:
    """One Fortran subroutine or function around a C function: the classic one, or the one with
    large counts, which only mpi_f08 has."""

    def __init__(self, api, function, large=False, f08=False):
        self.api, self.f, self.large, self.f08 = api, function, large, f08
        self.name = function.name + ("_c" if large else "")

    def category(self, param):
        name = param.attrs.get("f77") or param.kind.get("f77")
        if self.f08:
            name = param.attrs.get("f08", name)
        if self.large and param.differs:
            name = param.kind.get("f77_large", name)
        try:
            return self.api.fortran["categories"][name]
        except KeyError as error:
            raise ListError(
                f"{self.name}.{param.name}: no Fortran form ({name})") from error

    def values(self, param):
        values = {"n": param.name, "o": param.name + "_c"}
        if "handle" in param.kind:
            values["handle"] = param.kind["handle"]
        first = self.f.params[0]
        if "handle" in first.kind:
            values["object"] = f"fortran::to_c<{first.kind['handle']}>(*{first.name})"
        if not param.is_varargs:
            values["c_type"] = param.c_type(self.large)
        if "f77_len" in param.attrs:
            values["f77_len"] = self.f.param(param.attrs["f77_len"]).name
        length = param.attrs.get("len")
        lengths = self.api.fortran["lengths"]
        if isinstance(length, str) and length in lengths:
            comm = next(p.name for p in self.f.params
                        if p.kind.get("handle") == "MPI_Comm")
            values["len"] = lengths[length].format(comm=f"fortran::to_c<MPI_Comm>(*{comm})")
        elif isinstance(length, str):
            values["len"] = f"*{length}"
        return values

    def lines_of(self, key):
        for param in self.f.params:
            template = self.category(param).get(key)
            if template:
                yield "  " + template.format(**self.values(param))

    def arguments(self):
        """The parameters that Fortran has, except ierror."""
        return [p for p in self.f.params if "arg" in self.category(p)]

    def is_choice(self, param):
        """Does the argument accept any type?"""
        return self.category(param).get("f90") == "choice"

    def hidden(self):
        """The parameters whose lengths follow all arguments."""
        return [p for p in self.f.params if self.category(p).get("hidden")]

    def signature(self):
        args = [self.category(p)["arg"].format(**self.values(p)) for p in self.arguments()]
        if self.has_ierror():
            args.append("MPI_Fint* ierror")
        args += [f"size_t {p.name}_length" for p in self.hidden()]
        return ", ".join(args)

    def has_ierror(self):
        return self.f.returns_error and self.f.record.get("f77_ierror", True)

    def returns(self):
        return "void" if self.f.returns_error else self.f.returns

    def call(self):
        if self.f.record.get("f77_by_hand"):  # mpi/fortran/by_hand.h
            args = [p.name for p in self.arguments()] + [p.name + "_length" for p in self.hidden()]
            return f"fortran::{self.name[4:].lower()}({', '.join(args)})"
        args = []
        for param in self.f.params:
            passed = self.category(param)["pass"].format(**self.values(param))
            if passed:
                args.append(passed)
        return f"P{self.name}({', '.join(args)})"

    def mark(self):
        """Notes on the new object that its callbacks are Fortran's."""
        spec = self.f.record.get("f77_mark")
        if not spec:
            return
        if len(spec) == 2:
            yield f"  fortran::mark_keyval(*{spec[0]}, fortran::Values::{spec[1]});"
        else:
            yield f"  fortran::mark({spec[0]}_c);"

    def body(self):
        if self.f.record.get("f77_by_hand"):
            return [f"  const int mpi_code = {self.call()};",
                    "  if (ierror != nullptr) *ierror = mpi_code;"]
        out = list(self.lines_of("before"))
        if not self.f.returns_error:
            return [*out, f"  return {self.call()};"]
        if not self.has_ierror():
            return [*out, f"  (void){self.call()};"]
        out.append(f"  const int mpi_code = {self.call()};")
        out.append("  if (ierror != nullptr) *ierror = mpi_code;")
        out += self.lines_of("after")
        success = list(self.mark()) + list(self.lines_of("success"))
        if success:
            out.append("  if (mpi_code != MPI_SUCCESS) return;")
            out += success
        return out

    def definition(self, name, before=""):
        return [f"{before}{self.returns()} {name}({self.signature()}) {{", *self.body(), "}"]

    def alias(self, name, strong, weak):
        attribute = "weak, " if weak else ""
        return (f"{self.returns()} {name}({self.signature()}) "
                f'__attribute__(({attribute}alias("{strong}")));')

    def write(self):
        """The classic function under the names that compilers make for mpif.h."""
        lower, upper = self.f.name.lower(), self.f.name.upper()
        strong = f"p{lower}_"
        aliases = [(f"{lower}_", True), (f"{lower}__", True), (upper, True),
                   (f"p{lower}__", False), ("P" + upper, False)]
        if any(self.category(p).get("cptr") for p in self.f.params):
            aliases += [(f"{lower}_cptr_", True), (f"p{lower}_cptr_", False)]
        if shares_code(self):
            aliases += [(f"{lower}_f08_", True), (f"p{lower}_f08_", False)]
        return [*self.definition(strong),
                *(self.alias(name, strong, weak) for name, weak in aliases), ""]


def shares_code(classic):
    """Is the subroutine of mpi_f08 the one of mpif.h? Handles, statuses, callbacks and lengths of
    strings are passed alike; choice buffers come as descriptors, but not beside a string."""
    choice = any(classic.is_choice(p) for p in classic.f.params)
    return is_in_f08(classic.f) and classic.has_ierror() and (not choice or bool(classic.hidden())) and \
        not any("f08" in p.attrs for p in classic.f.params)


def is_in_f08(function):
    """mpi_f08 has no function that was deprecated before it came."""
    status = function.record.get("status", "")
    return (function.f77 or function.record.get("f08", False)) and \
        not status.startswith(("removed", "deprecated 2."))


def source(api, chapter, functions):
    out = [
        f"// Generated from mpi/api/functions/{chapter}.json; do not edit.",
        "#include <vector>",
        "",
        '#include "mpi/fortran/by_hand.h"',
        '#include "mpi/fortran/convert.h"',
        "",
        "using namespace mpc::mpi;",
        "",
        "#pragma GCC visibility push(default)",
        'extern "C" {',
        "",
    ]
    for function in functions:
        out += Binding(api, function).write()
    out += ['}  // extern "C"', "#pragma GCC visibility pop", ""]
    return "\n".join(out)


def generate(api):
    files = {"include/mpif.h": mpif(api)}
    for chapter, functions in api.chapters.items():
        if bound(functions):
            name = f"generated/mpi/fortran/f77_{identifier(chapter)}.cpp"
            files[name] = source(api, chapter, bound(functions))
    return files
