"""The subroutines of mpi_f08 that mpif.h cannot provide: descriptors and large counts.

A choice buffer of mpi_f08 is TYPE(*), DIMENSION(..): a descriptor. Of a contiguous one only the
address is wanted, and the subroutine of mpif.h does the rest. What becomes of an array section
depends on how the call uses the buffer (attribute "section", else by the parameters after it):

  message   one message of (count, datatype): a derived datatype, nothing is copied
  elements  blocks of several ranks: a resized datatype if the section has one stride, else a copy
  partitions  as elements, but never a copy: the call fails instead
  whole     reductions, several datatypes: a copy
  first     an address, or the first element only
"""

from generator.fortran import Binding, is_in_f08, shares_code
from generator.model import ListError, identifier

SECTIONS = ("message", "elements", "partitions", "whole", "first")
TYPES = ("type", "type_committed")


def kinds_after(function, param, n):
    at = function.params.index(param) + 1
    return [p.kind_name for p in function.params[at:at + n]]


def section(function, param):
    """How the call uses a choice buffer."""
    given = param.attrs.get("section")
    if given:
        if given not in SECTIONS:
            raise ListError(f"{function.name}.{param.name}: section {given}")
        return given
    if param.kind_name in ("address", "address_in") or "pointer" in param.kind_name:
        return "first"
    after = kinds_after(function, param, 3)
    if after[:1] == ["count"] and after[1:2] and after[1] in TYPES:
        return "message"
    if after[:2] == ["counts_in", "displs_in"] and after[2] in TYPES:
        return "elements"
    return "whole"


class Shim:
    """One subroutine of mpi_f08 with descriptors around one with addresses."""

    def __init__(self, binding, inner):
        self.b, self.f, self.inner = binding, binding.f, inner
        self.choices = {p.name: section(self.f, p) for p in self.f.params if binding.is_choice(p)}
        self.checked = [name for name, use in self.choices.items() if use != "first"]

    def signature(self):
        args = [f"const fortran::Array* {p.name}" if p.name in self.choices
                else self.b.category(p)["arg"].format(**self.b.values(p))
                for p in self.b.arguments()]
        return ", ".join([*args, "MPI_Fint* ierror"])

    def direct(self):
        args = [p.name + "->base" if p.name in self.choices else p.name
                for p in self.b.arguments()]
        return f"{self.inner}({', '.join([*args, 'ierror'])});"

    def replaced(self):
        """Parameter -> what is passed if a buffer is not contiguous."""
        passed = {name: f"{name}->base" for name in self.choices}
        for name in self.checked:
            param = self.f.param(name)
            passed[name] = f"{name}_.address()"
            after = self.f.params[self.f.params.index(param) + 1:]
            if self.choices[name] == "message":
                passed[after[0].name] = f"{name}_.count({after[0].name})"
                passed[after[1].name] = f"{name}_.type({after[1].name})"
            elif self.choices[name] in ("elements", "partitions"):
                kind = self.type_of(name)
                passed[kind] = f"{name}_.type({kind})"
        return passed

    def type_of(self, name):
        """The datatype parameter of a buffer: the next one."""
        after = self.f.params[self.f.params.index(self.f.param(name)) + 1:]
        return next(p.name for p in after if p.kind_name in TYPES)

    def count_of(self, name):
        return self.f.params[self.f.params.index(self.f.param(name)) + 1].name

    def body(self):
        if not self.checked:
            return ["  " + self.direct()]
        tests = " && ".join(f"{name}->is_contiguous()" for name in self.checked)
        out = [f"  if ({tests}) [[likely]]", f"    return {self.direct()}"]
        for name in self.checked:
            written = "kWritten" if self.f.param(name).kind_name == "choice_out" else "kRead"
            out.append(f"  fortran::Section {name}_(*{name}, fortran::Section::{written});")
            use = self.choices[name]
            args = [] if use == "whole" else ["*" + self.type_of(name)]
            if use == "message":
                args.insert(0, "*" + self.count_of(name))
            out.append(f"  {name}_.use_{use}({', '.join(args)});")
        passed = self.replaced()
        args = [passed.get(p.name, p.name) for p in self.b.arguments()]
        out += ["  MPI_Fint mpi_code = MPI_SUCCESS;",
                f"  {self.inner}({', '.join([*args, '&mpi_code'])});"]
        out += self.keep()
        out.append("  if (ierror != nullptr) *ierror = mpi_code;")
        return out

    def keep(self):
        """Copies live as long as the operation."""
        request = next((p for p in self.f.params if p.kind_name == "request_out"), None)
        copied = [name for name in self.checked
                  if self.choices[name] not in ("message", "partitions")]
        if request and copied:
            sections = ", ".join(f"&{name}_" for name in copied)
            yield f"  if (mpi_code == MPI_SUCCESS) fortran::keep(*{request.name}, {{{sections}}});"

    def write(self, lower):
        strong, weak = f"p{lower}_f08ts_", f"{lower}_f08ts_"
        return [f"void {strong}({self.signature()}) {{", *self.body(), "}",
                f'void {weak}({self.signature()}) __attribute__((weak, alias("{strong}")));', ""]


def has_choice(binding):
    return any(binding.is_choice(p) for p in binding.f.params)


def addresses_only(binding):
    """Choice buffers beside strings are passed by address: such a subroutine is not BIND(C)."""
    return has_choice(binding) and bool(binding.hidden())


def large_bindings(api, function):
    """The bindings with large counts."""
    if function.large:
        yield Binding(api, function, large=True, f08=True)
    elif not function.f77:  # a function of its own, as MPI_Type_get_contents_c
        yield Binding(api, function, f08=True)


def is_same_in_fortran(binding):
    """Is a large binding the same as the classic one, because kinds of integers have one size?"""
    classic = Binding(binding.api, binding.f, f08=True)
    def size(b, p):
        text = b.category(p).get("f08", "")
        return text.replace("MPI_ADDRESS_KIND", "8").replace("MPI_COUNT_KIND", "8")
    return binding.large and not has_callback(binding) and all(
        size(binding, p) == size(classic, p) for p in binding.f.params)


def has_callback(binding):
    """Fortran cannot distinguish two procedures by a procedure argument."""
    return any(p.differs and p.kind.get("f77") == "callback" for p in binding.f.params)


def exported(binding, suffix):
    """A subroutine without descriptors, strong and weak."""
    lower = binding.name.lower()
    strong = f"p{lower}_{suffix}_"
    return [*binding.definition(strong), binding.alias(f"{lower}_{suffix}_", strong, True), ""]


def functions_of(api, function):
    """C++ code that one function needs in addition to mpif.h's."""
    out = []
    classic = Binding(api, function, f08=True)
    lower = function.name.lower()
    if function.f77 and not shares_code(Binding(api, function)) and function.returns_error:
        if has_choice(classic):
            out += [f"void p{lower}_({classic.signature()});", *Shim(classic, f"p{lower}_").write(lower)]
        elif classic.has_ierror():
            out += exported(classic, "f08")
    for large in large_bindings(api, function):
        if is_same_in_fortran(large):
            continue
        lower = large.name.lower()
        if has_choice(large) and not addresses_only(large):
            inner = f"mpc_{lower}"
            out += [*large.definition(inner, "static inline "), *Shim(large, inner).write(lower)]
        else:
            out += exported(large, "f08")
    return out


def generate(api):
    files = {}
    for chapter, functions in api.chapters.items():
        body = [line for f in functions if is_in_f08(f) for line in functions_of(api, f)]
        if not body:
            continue
        files[f"generated/mpi/fortran/f08_{identifier(chapter)}.cpp"] = "\n".join([
            f"// Generated from mpi/api/functions/{chapter}.json; do not edit.", "",
            '#include "mpi/fortran/by_hand.h"', '#include "mpi/fortran/convert.h"',
            '#include "mpi/fortran/section.h"', "", "using namespace mpc::mpi;", "",
            "#pragma GCC visibility push(default)", 'extern "C" {', "", *body,
            '}  // extern "C"', "#pragma GCC visibility pop", ""])
    return files
