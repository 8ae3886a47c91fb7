"""Entry points and declarations of bodies, one pair of files per chapter."""

import re

from generator.model import ListError, identifier

BANNER = "// Generated from mpi/api/functions/{chapter}.json; do not edit.\n"


class EntryWriter:
    """Writes the C function of one binding."""

    def __init__(self, api, function, name, large):
        self.api, self.f, self.name, self.large = api, function, name, large
        self.lines = []
        self.room = "impl"  # where the body is
        self.is_in_body = False
        self.open_guard = None
        self.owner = next(
            (p for p in function.params if p.kind.get("error_object")), None)

    def fill(self, template, param, **more):
        """Fills in a template of kinds.json."""
        try:
            return template.format(**self.values(param), **more)
        except KeyError as error:
            raise ListError(
                f"{self.name}.{param.name}: kind {param.kind_name} needs {error}") from error

    def emit(self, line, depth=1):
        self.lines.append("  " * depth + line)

    def values(self, param):
        """The names that templates of kinds.json may mention."""
        values = {"n": param.name, "o": param.object_name}
        if self.owner:
            values["comm"] = f"(*{self.owner.object_name})"
        for key in ("count", "type"):
            if key in param.attrs:
                values[key] = param.attrs[key]
                values[key + "_o"] = self.f.param(param.attrs[key]).object_name
        values["own_count"] = self.count_of_type(param.name)
        if "len" in param.attrs:
            values["len"] = self.length(param.attrs["len"], values)
        return values

    def count_of_type(self, type_name):
        """The parameter that counts the elements of this type; "-1": there is none."""
        counts = {p.attrs["count"] for p in self.f.params
                  if p.attrs.get("type") == type_name and "count" in p.attrs}
        return counts.pop() if len(counts) == 1 else "-1"

    def length(self, spec, values):
        """A parameter's name, a name of kinds.json's lengths, or [length, parameter]."""
        if isinstance(spec, list):
            arg = self.f.param(spec[1])
            arg_len = self.values(arg)["len"]
            return self.api.lengths[spec[0]].format(arg=arg.name, arg_len=arg_len)
        if spec in self.api.lengths:
            return self.api.lengths[spec].format(**values)
        self.f.param(spec)
        return spec

    def condition(self, param):
        spec = param.when
        arg = spec[1] if len(spec) > 1 else ""
        return self.fill(self.api.conditions[spec[0]], param, arg=arg)

    def on_error(self, error):
        """The statement that returns an error."""
        errors = self.f.record.get("errors", "object")
        if errors == "tool":  # no error handler, and codes of its own
            return f"return {error}.code;" if self.is_in_body else "return MPI_T_ERR_INVALID;"
        if errors == "file" and not (self.owner_known and self.owner.kind["handle"] == "MPI_File"):
            return f"return mpi_call.fail({error}, static_cast<File*>(nullptr));"
        if self.owner and self.owner_known:
            name = self.owner.object_name
            if self.owner.kind["body"].startswith("HandleRef"):
                name += ".object"
            return f"return mpi_call.fail({error}, {name});"
        return f"return mpi_call.fail({error});"

    def check(self, expression, guard=None):
        error = "mpi_error"  # no parameter has this name
        condition = f"if (Err {error} = {expression}) [[unlikely]] {self.on_error(error)}"
        if not guard:
            self.emit(condition)
        elif guard == self.open_guard and self.lines[-1] == "  }":
            self.lines.insert(-1, "    " + condition)
        else:
            self.emit(f"if ({guard}) {{")
            self.emit(condition, 2)
            self.emit("}")
        self.open_guard = guard

    def declare(self, param):
        if "declare" in param.kind:
            self.emit(self.fill(param.kind["declare"], param))

    def check_param(self, param, key="check"):
        if key not in param.kind:
            return
        if key == "late_check" and "type" not in param.attrs:
            return
        guard = self.condition(param) if param.when else None
        self.check(self.fill(param.kind[key], param), guard)

    def check_pair(self, param):
        """The check of this parameter together with another one."""
        if "pair" not in param.attrs:
            return
        name, other = param.attrs["pair"]
        more = {f"arg_{key}": value for key, value in self.values(self.f.param(other)).items()}
        self.check(self.fill(self.api.pairs[name], param, arg=other, **more))

    def check_whole(self, param):
        """The checks of a collective's buffer that needs other parameters."""
        values = self.values(param)
        if "blocks" in param.attrs:
            counts, displs, types = (self.f.param(name) for name in param.attrs["blocks"])
            guard = self.condition(counts) if counts.when else None
            kind = types.name if "len" in types.attrs else types.object_name
            length = self.values(counts)["len"]
            self.check(f"check::blocks({param.name}, {counts.name}, {displs.name}, {length}, {kind})",
                       guard)
        if "apart" in param.attrs:
            self.check(f"check::in_one_group({values['comm']}, {param.name})")

    def pass_param(self, param):
        kind = param.kind
        template = kind.get("pass_when") if param.when and "pass_when" in kind else None
        return self.fill(template or kind.get("pass", "{n}"), param)

    def write(self):
        f = self.f
        if f.has_cold_form:
            self.write_cold_form()
        prototype = f.prototype("P" + self.name, self.large)
        self.lines.append(f"{prototype} {{")
        if not f.returns_error:
            self.write_value()
        else:
            self.write_checked()
        self.lines.append("}")
        self.lines.append(
            f'{f.prototype(self.name, self.large)} '
            f'__attribute__((weak, alias("P{self.name}")));\n')
        return self.lines

    def write_value(self):
        if self.f.is_stub:
            self.emit(f"return {self.f.returns}{self.f.value_on_error};")
            return
        args = ", ".join(self.pass_param(p) for p in self.f.params if not p.is_varargs)
        self.emit(f"return impl::{self.f.body}({args});")

    def write_cold_form(self):
        """How the entry point goes on with mpi.check=full: as usual, perhaps with another body."""
        f = self.f
        params = ", ".join(p.c(self.large) for p in f.params)
        self.lines.append("[[gnu::cold, gnu::noinline]] static int "
                          f"checked_{self.name}({params or 'void'}) {{")
        self.emit(f'EntryScope mpi_call("{self.name}");')
        self.room = "checked" if f.has_checked_body else "impl"
        self.write_checks()
        self.room = "impl"
        self.lines.append("}\n")

    def write_start(self):
        """Is MPI running? With mpi.check=full the test says no, so that only the cold way asks again."""
        f = self.f
        is_checked = "EntryScope::is_checked(__builtin_return_address(0))"
        self.emit(f'EntryScope mpi_call("{self.name}");')
        if f.has_cold_form:
            # No more arguments than the body has: the hot path sets up nothing for this call.
            args = ", ".join(p.name for p in f.params)
            self.emit("if (!mpi_call.is_running()) [[unlikely]]")
            self.emit(f"return {is_checked} ? checked_{self.name}({args}) : mpi_call.not_running();", 2)
        elif f.phase == "running":
            self.emit(f"if (!mpi_call.is_running() && !{is_checked}) [[unlikely]] "
                      "return mpi_call.not_running();")
        elif f.checked:
            self.emit(f"{is_checked};")

    def write_checked(self):
        self.write_start()
        self.room = "impl::in_line" if self.f.in_line else "impl"
        self.write_checks()

    def write_checks(self):
        f = self.f
        self.owner_known = False
        self.open_guard = None
        if self.owner:
            self.declare(self.owner)
            self.owner_known = True  # null while it is not, which stands for none
            self.check_param(self.owner)
        if f.is_stub:
            self.emit(self.on_error("mpi_call.unsupported()"))
            return
        params = [p for p in f.params if p is not self.owner]
        for param in params:
            self.declare(param)
        for param in sorted(params, key=lambda p: not p.kind.get("early", False)):
            self.check_param(param)
        for param in params:
            self.check_param(param, "late_check")
        for param in params:
            self.check_whole(param)
        for param in params:
            self.check_pair(param)
        self.call()

    def call(self):
        f = self.f
        args = [self.pass_param(p) for p in f.params if not p.is_varargs]
        if f.binding:
            args.insert(0, "dt::Binding::kLarge" if self.large else "dt::Binding::kClassic")
        if self.room == "impl::in_line":
            args.insert(0, "*mpi_call.state()")
        self.is_in_body = True
        self.check(f"{self.room}::{f.body}({', '.join(args)})")
        self.is_in_body = False
        for param in f.params:
            if "after" in param.kind:
                self.emit(self.fill(param.kind["after"], param))
        self.emit("return MPI_SUCCESS;")


def body_declaration(function):
    params = []
    if function.binding:
        params.append("dt::Binding binding")
    for param in function.params:
        kind = param.body_type()
        if kind is not None:
            params.append(f"{kind} {param.name}")
    returns = "Err" if function.returns_error else function.returns
    return f"{returns} {function.body}({', '.join(params)});"


# Types that MPI-2.0 renamed.
OLD_TYPES = {
    "MPI_Copy_function": "MPI_Comm_copy_attr_function",
    "MPI_Delete_function": "MPI_Comm_delete_attr_function",
}


def without_names(declaration):
    """What distinguishes declarations for the compiler: types, without parameters' names."""
    head, parameters = declaration.rstrip(");").split("(", 1)
    types = [re.sub(r"\w+$", "", parameter).strip() for parameter in parameters.split(", ")]
    return head, tuple(" ".join(OLD_TYPES.get(word, word) for word in kind.split())
                       for kind in types)


def has_checked(functions):
    return any(f.has_checked_body for f in functions)


IMPL_ROLE = [
    "// The bodies of this chapter: arguments are checked, handles are objects, counts are",
    "// wide. An Err goes to the error handler of the call's object.",
]
CHECKED_ROLE = ["// What calls of this chapter do with mpi.check=full: a body around the body (mpi/check)."]


def impl_header(chapter, functions, room="impl", role=None):
    out = [
        "#pragma once",
        BANNER.format(chapter=chapter).rstrip(),
        *(role or IMPL_ROLE),
        "",
        "#include <span>",
        "",
        '#include "mpi.h"',
        '#include "mpi/objects/error.h"',
        '#include "mpi/objects/handles.h"',
        '#include "mpi/objects/views.h"',
        "",
        f"namespace mpc::mpi::{room} {{",
        "",
        "// Chapters may share a body: NOLINTBEGIN(readability-redundant-declaration)",
    ]
    seen = set()
    for function in functions:
        line = body_declaration(function)
        if (signature := without_names(line)) in seen:
            continue  # functions that were renamed share their bodies
        seen.add(signature)
        note = "  // no body yet" if function.is_stub else ""
        out.append(line + note)
    out += ["// NOLINTEND(readability-redundant-declaration)", "",
            f"}}  // namespace mpc::mpi::{room}", ""]
    return "\n".join(out)


def entry_file(api, chapter, functions):
    out = [
        BANNER.format(chapter=chapter).rstrip(),
        f'#include "mpi/impl/{identifier(chapter)}.h"',
        "",
        '#include "mpi/api/checks.h"',
        '#include "mpi/api/entry_scope.h"',
        *([f'#include "mpi/checked/{identifier(chapter)}.h"'] if has_checked(functions) else []),
        *([f'#include "mpi/{identifier(chapter)}/in_line.h"'] if any(f.in_line for f in functions) else []),
        "",
        "using namespace mpc;",
        "using namespace mpc::mpi;",
        "",
        '#pragma GCC visibility push(default)',
        'extern "C" {',
        "",
    ]
    for function in functions:
        for name, large in function.bindings():
            out += EntryWriter(api, function, name, large).write()
    out += ['}  // extern "C"', "#pragma GCC visibility pop", ""]
    return "\n".join(out)


def generate(api):
    files = {}
    for chapter, functions in api.chapters.items():
        name = identifier(chapter)
        files[f"generated/mpi/impl/{name}.h"] = impl_header(chapter, functions)
        if has_checked(functions):
            files[f"generated/mpi/checked/{name}.h"] = impl_header(
                chapter, [f for f in functions if f.has_checked_body], "checked", CHECKED_ROLE)
        files[f"generated/mpi/api/entry_{name}.cpp"] = entry_file(api, chapter, functions)
    return files
