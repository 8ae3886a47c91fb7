"""The sources of the Fortran modules: mpi_f08_types, mpi, mpi_f08. They have no code of their own:
all procedures are external, those with choice buffers in mpi_f08 are BIND(C) (f08_shims.py)."""

import re
import textwrap

from generator.f08_shims import (addresses_only, has_callback, has_choice, is_same_in_fortran,
                                 large_bindings, section)
from generator.fortran import (CHARACTER_SENTINELS, INTEGER_SENTINELS, KINDS, STATUS,
                               SUFFIXES_OF_FUNCTIONS, Binding, bound, is_in_f08, mpif, number)

BANNER = "! Generated from mpi/api; compiled by the Fortran compiler that uses it."

# The directives by which compilers mark a dummy argument of which they check nothing.
ANY_TYPE = """\
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: {n}
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: {n}
      !DIR$ IGNORE_TKR {n}
      !$PRAGMA IGNORE_TKR {n}
      TYPE(*), TARGET :: {n}(*)"""
# The target attribute tells the compiler that the address is kept: without it gfortran may hold
# a buffer in registers while a message arrives.
DESCRIPTOR = "      TYPE(*), DIMENSION(..){intent}, ASYNCHRONOUS, TARGET :: {n}"

TYPES_HEAD = """\
! The handle types of mpi_f08 and its status, which the module mpi has, too.
MODULE mpi_f08_types
  IMPLICIT NONE
  PUBLIC
  PRIVATE :: &
      {functions}
  TYPE, BIND(C) :: MPI_Status
    INTEGER :: MPI_SOURCE, MPI_TAG, MPI_ERROR
    INTEGER, PRIVATE :: internal({internal})
  END TYPE"""

# Functions that C does not have.
EXTRA_MPI = """\
  INTERFACE MPI_Sizeof
    SUBROUTINE MPI_Sizeof_fts(x, size, ierror) BIND(C, NAME="{p}mpi_sizeof_fts_")
      TYPE(*), DIMENSION(..) :: x
      INTEGER :: size, ierror
    END SUBROUTINE
  END INTERFACE
  INTERFACE
    SUBROUTINE MPI_F_sync_reg(buf)
{buf}
    END SUBROUTINE
  END INTERFACE"""
EXTRA_F08 = """\
  INTERFACE MPI_Sizeof
    SUBROUTINE MPI_Sizeof_f08ts(x, size, ierror) BIND(C, NAME="{p}mpi_sizeof_f08ts_")
      TYPE(*), DIMENSION(..) :: x
      INTEGER, INTENT(OUT) :: size
      INTEGER, OPTIONAL, INTENT(OUT) :: ierror
    END SUBROUTINE
  END INTERFACE
  INTERFACE MPI_F_sync_reg
    SUBROUTINE MPI_F_sync_reg_f08ts(buf) BIND(C, NAME="{p}mpi_f_sync_reg_f08ts_")
{buf}
    END SUBROUTINE
  END INTERFACE"""


def both(text):
    """The names of MPI and those of the profiling interface."""
    yield text.replace("{p}", "")
    yield re.sub(r"\bMPI_(?=Sizeof|F_sync)", "PMPI_", text).replace("{p}", "p")


def listed(names):
    """A list of any length, broken into lines that are not too long for Fortran."""
    return " &\n".join(textwrap.wrap(", ".join(names), 100)).replace("\n", "\n      ")


# --- the types -----------------------------------------------------------------------------------

def types_module(api):
    handles = api.types["handles"]
    pairs = [(h, op, f"mpc_f08_{word}_{h[4:].lower()}") for op, word in (("==", "eq"), ("/=", "ne"))
             for h in handles]
    status_words = {c: v for g in api.constants for c, v in g["values"].items()}
    out = [BANNER, TYPES_HEAD.format(functions=listed(name for _, _, name in pairs),
                                     internal=status_words["MPI_F_STATUS_SIZE"] - len(STATUS) + 1)]
    for handle in handles:
        out += [f"  TYPE, BIND(C) :: {handle}", "    INTEGER :: MPI_VAL", "  END TYPE"]
    for op in ("==", "/="):
        out.append(f"  INTERFACE OPERATOR({op})")
        for handle, _, name in (pair for pair in pairs if pair[1] == op):
            out += [f"    ELEMENTAL FUNCTION {name}(a, b)", "      IMPORT",
                    f"      TYPE({handle}), INTENT(IN) :: a, b", f"      LOGICAL :: {name}",
                    "    END FUNCTION"]
        out.append("  END INTERFACE")
    return "\n".join([*out, "END MODULE mpi_f08_types", ""])


# --- the module mpi ------------------------------------------------------------------------------

def subroutine(name, heading, names, body, bind="", result=None):
    what = f"{result} FUNCTION" if result else "SUBROUTINE"
    arguments = "&\n      " + listed(names) if names else ""
    return [f"    {what} {name}({arguments}){bind}", "      IMPORT", *heading, *body,
            f"    END {'FUNCTION' if result else 'SUBROUTINE'} {name}"]


def fortran_name(binding, param):
    """The standard's name, where C's list has a different one (<strings.h> has an index)."""
    return binding.api.fortran["names"].get(param.name, param.name)


def f90_body(binding, pointer):
    names, body = [], []
    for param in binding.arguments():
        name = fortran_name(binding, param)
        names.append(name)
        category = binding.category(param)
        if binding.is_choice(param):
            body.append(ANY_TYPE.format(n=name))
        elif pointer and category.get("cptr"):
            body.append(f"      TYPE(C_PTR) :: {name}")
        else:
            body.append("      " + category["f90"].format(n=name))
    if binding.has_ierror():
        names.append("ierror")
        body.append("      INTEGER :: ierror")
    return names, body


def f90_interface(binding):
    """Explicit interfaces; two of them where a C_PTR may stand for an address."""
    has_pointer = any(binding.category(p).get("cptr") for p in binding.arguments())
    result = SUFFIXES_OF_FUNCTIONS.get(binding.f.returns)
    for name in (binding.f.name, "P" + binding.f.name):
        yield f"  INTERFACE {name}" if has_pointer else "  INTERFACE"
        yield from subroutine(name, [], *f90_body(binding, False), result=result)
        if has_pointer:
            yield from subroutine(name + "_cptr", [], *f90_body(binding, True))
        yield "  END INTERFACE"


def f90_constants(api):
    """The declarations of mpif.h; functions have interfaces instead."""
    functions = {"P"[:p] + f.name.upper() for f in bound(api.functions())
                 if f.returns in SUFFIXES_OF_FUNCTIONS for p in (0, 1)}
    for line in mpif(api).splitlines():
        if line.split()[-1] not in functions:
            yield line


def f90_module(api):
    out = [BANNER, "MODULE mpi", "  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR",
           "  USE mpi_f08_types", "  IMPLICIT NONE", "  PUBLIC", "  PRIVATE :: C_PTR",
           *f90_constants(api)]
    for function in bound(api.functions()):
        out += f90_interface(Binding(api, function))
    for text in both(EXTRA_MPI.format(p="{p}", buf=ANY_TYPE.format(n="buf"))):
        out.append(text)
    return "\n".join([*out, "END MODULE mpi", ""])


# --- the module mpi_f08 --------------------------------------------------------------------------

def f08_constants(api):
    for name, value in list(api.types["version"].items()) + KINDS:
        yield f"  INTEGER, PARAMETER :: {name} = {value}"
    values = {name: value for group in api.constants for name, value in group["values"].items()}
    for name, c_name, first in STATUS:
        if name not in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"):  # components of the status
            yield f"  INTEGER, PARAMETER :: {name} = {values[c_name] + first}"
    yield "  LOGICAL, PARAMETER :: MPI_SUBARRAYS_SUPPORTED = .TRUE."
    yield "  LOGICAL, PARAMETER :: MPI_ASYNC_PROTECTS_NONBLOCKING = .TRUE."
    for group in api.constants:
        how, kind = group.get("fortran"), group.get("type")
        for name, value in group["values"].items():
            if how == "handle":
                yield f"  TYPE({kind}), PARAMETER :: {name} = {kind}({number(value, group)})"
            elif how == "string_length":  # without the terminating zero
                length = number(value, group) - (1 if name.startswith("MPI_MAX_") else 0)
                yield f"  INTEGER, PARAMETER :: {name} = {length}"
            elif how == "parameter":
                word = "INTEGER" if kind != "MPI_Offset" else "INTEGER(MPI_OFFSET_KIND)"
                yield f"  {word}, PARAMETER :: {name} = {number(value, group)}"


def f08_sentinels():
    """The same COMMON blocks as in mpif.h; a status has the size of its integers."""
    for name, shape in INTEGER_SENTINELS:
        if "STATUS" in name:
            yield f"  TYPE(MPI_Status) :: {name}" + ("(1)" if "STATUSES" in name else "")
        else:
            yield f"  INTEGER :: {name}{shape}"
    for name, shape in CHARACTER_SENTINELS:
        yield f"  CHARACTER(LEN=1) :: {name}{shape}"
    for block, variables in (("MPC_F_INTEGERS", INTEGER_SENTINELS),
                             ("MPC_F_CHARACTERS", CHARACTER_SENTINELS)):
        yield f"  COMMON /{block}/ &\n      {listed(name for name, _ in variables)}"
        yield f"  SAVE /{block}/"


def callback_argument(api, declaration):
    """(name, Fortran declaration) of a callback's parameter: its name decides, then its type."""
    kind, name = re.match(r"(.*?)(\w+)$", declaration).groups()
    kind = kind.replace("*", "").strip()
    rules = api.fortran["callbacks"]
    text = rules["by_name"].get(name) or rules["by_type"].get(kind) or f"TYPE({kind}) :: {{n}}"
    return name, "      " + text.format(n=name)


def callback_body(api, record):
    pairs = [callback_argument(api, p) for p in record["params"] if p != "..."]
    names, body = [n for n, _ in pairs], [d for _, d in pairs]
    if record["returns"] == "int":
        names.append("ierror")
        body.append("      INTEGER :: ierror")
    return names, body


def f08_callbacks(api):
    """Abstract interfaces, and the predefined procedures."""
    records = {c["name"]: c for c in api.types["callbacks"]
               if not c["name"].startswith(("MPI_T_", "MPI_Copy", "MPI_Delete"))}
    yield "  ABSTRACT INTERFACE"
    for name, record in records.items():
        yield from subroutine(name, [], *callback_body(api, record))
    yield "  END INTERFACE"
    yield "  INTERFACE"
    for group in api.constants:
        record = records.get(group.get("type", "").rstrip("*"))
        if record and group.get("fortran") == "procedure":
            for name in group["values"]:
                yield from subroutine(name, [], *callback_body(api, record))
    yield "  END INTERFACE"


def f08_body(binding):
    """Arguments with their intent."""
    names, body = [], []
    for param in binding.arguments():
        name = fortran_name(binding, param)
        names.append(name)
        if binding.is_choice(param):
            if addresses_only(binding):
                body.append(ANY_TYPE.format(n=name))
            else:
                intent = ", INTENT(IN)" if param.kind_name == "choice_in" else ""
                body.append(DESCRIPTOR.format(n=name, intent=intent))
            continue
        values = {**binding.values(param), "n": name}
        values["interface"] = values.get("c_type", "").rstrip("*").strip()
        body.append("      " + binding.category(param)["f08"].format(**values))
    if binding.has_ierror():
        names.append("ierror")
        body.append("      INTEGER, OPTIONAL, INTENT(OUT) :: ierror")
    return names, body


def f08_specific(binding, profiling):
    """One procedure, with the ending of its name that MPI-4.1 section 19.1.5 requires."""
    prefix = "P" if profiling else ""
    if not binding.has_ierror():  # no optional argument: the one of mpif.h
        kind = SUFFIXES_OF_FUNCTIONS.get(binding.f.returns)
        return subroutine(prefix + binding.name, [], *f08_body(binding), result=kind)
    descriptors = has_choice(binding) and not addresses_only(binding)
    name = prefix + binding.name + ("_f08ts" if descriptors else "_f08")
    bind = f' &\n      BIND(C, NAME="{name.lower()}_")' if descriptors else ""
    return subroutine(name, [], *f08_body(binding), bind=bind)


def f08_interfaces(api, function, generics):
    """Adds the specific procedures of one function to their generic names."""
    for profiling in (False, True):
        prefix = "P" if profiling else ""
        if function.f77:
            generics.setdefault(prefix + function.name, []).extend(
                f08_specific(Binding(api, function, f08=True), profiling))
        for large in large_bindings(api, function):
            if is_same_in_fortran(large):
                continue
            generic = large.name if has_callback(large) else large.name.removesuffix("_c")
            generics.setdefault(prefix + generic, []).extend(f08_specific(large, profiling))


def f08_module(api):
    out = [BANNER, "MODULE mpi_f08", "  USE, INTRINSIC :: ISO_C_BINDING, ONLY: C_PTR",
           "  USE mpi_f08_types", "  IMPLICIT NONE", "  PUBLIC", "  PRIVATE :: C_PTR",
           *f08_constants(api), *f08_sentinels(), *f08_callbacks(api)]
    generics = {}
    for function in api.functions():
        if is_in_f08(function):
            f08_interfaces(api, function, generics)
    for name, specifics in generics.items():
        is_plain = any(re.match(rf"    .*\b{name}\(", line) for line in specifics)
        out += ["  INTERFACE" if is_plain else f"  INTERFACE {name}", *specifics,
                "  END INTERFACE"]
    for text in both(EXTRA_F08.format(p="{p}", buf=DESCRIPTOR.format(n="buf", intent=""))):
        out.append(text)
    return "\n".join([*out, "END MODULE mpi_f08", ""])


def generate(api):
    return {"include/mpi_f08_types.f90": types_module(api), "include/mpi.f90": f90_module(api),
            "include/mpi_f08.f90": f08_module(api)}
