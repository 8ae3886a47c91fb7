"""The list of functions, kinds and constants, read from JSON and checked.

A function's parameter is [name, kind] or [name, kind, attributes]. What a kind means (its C
type, checks, how it reaches the body, its Fortran form) stands in kinds.json; no module here
knows a function by its name.
"""

import json
import re
from pathlib import Path

FUNCTION_KEYS = {
    "name", "since", "status", "large", "abi", "returns", "f77", "impl", "body", "phase",
    "f77_mark", "f77_ierror", "f77_by_hand", "f08",
    "binding", "errors", "value_on_error", "doc", "params", "describe", "direct", "direct_start", "checked",
    "in_line",
}
PARAM_KEYS = {"c", "c_large", "len", "when", "count", "type", "pair", "doc", "f77", "f77_len", "f08",
              "section", "blocks", "apart"}


class ListError(Exception):
    """The list itself is wrong."""


def c_type_of(declarator):
    """The type in a declarator: 'const int {n}[]' -> 'const int*'."""
    match = re.match(r"^(.*?)\{n\}((?:\[\w*\])*)$", declarator)
    if not match:
        raise ListError(f"not a declarator: {declarator}")
    base, array = match.group(1).strip(), match.group(2)
    if not array:
        return base
    inner = array[array.index("]") + 1:]
    return f"{base} (*){inner}" if inner else base + "*"


class Param:
    """One parameter of a function."""

    def __init__(self, record, kinds, function):
        if not 2 <= len(record) <= 3:
            raise ListError(f"{function}: parameter {record}")
        self.name, self.kind_name = record[0], record[1]
        self.attrs = record[2] if len(record) == 3 else {}
        unknown = set(self.attrs) - PARAM_KEYS
        if unknown:
            raise ListError(f"{function}.{self.name}: unknown attribute {sorted(unknown)}")
        if self.kind_name not in kinds:
            raise ListError(f"{function}.{self.name}: unknown kind {self.kind_name}")
        self.kind = kinds[self.kind_name]

    @property
    def when(self):
        return self.attrs.get("when")

    @property
    def object_name(self):
        """Name of the local variable that holds the object or the widened value."""
        return self.name + "_"

    def declarator(self, large=False):
        """C declarator template with {n} for the name."""
        for source in (self.attrs, self.kind):
            if large and "c_large" in source:
                return source["c_large"]
            if "c" in source and source["c"] != "{c}":
                return source["c"]
        raise ListError(f"{self.name}: kind {self.kind_name} needs an attribute 'c'")

    def c(self, large=False):
        return self.declarator(large).replace("{n}", self.name)

    def c_type(self, large=False):
        return c_type_of(self.declarator(large))

    @property
    def is_varargs(self):
        return self.kind["c"] == "..."

    @property
    def differs(self):
        return self.declarator(False) != self.declarator(True)

    def body_type(self):
        if self.is_varargs:
            return None
        if self.when and "body_when" in self.kind:
            return self.kind["body_when"]
        body = self.kind["body"]
        if body == "{c_type}":
            return self.c_type(False)
        return body


class Function:
    """One function with its classic and, if `large`, its `_c` binding."""

    def __init__(self, record, chapter, kinds):
        unknown = set(record) - FUNCTION_KEYS
        if unknown:
            raise ListError(f"{record.get('name')}: unknown attribute {sorted(unknown)}")
        self.record = record
        self.chapter = chapter
        self.name = record["name"]
        if not self.name.startswith("MPI_"):
            raise ListError(f"{self.name}: not an MPI name")
        self.large = record.get("large")
        self.in_abi = record.get("abi", True)
        self.returns = record.get("returns", "int")
        self.f77 = record.get("f77", False)
        self.phase = record.get("phase", "running")
        if self.phase not in ("running", "any"):
            raise ListError(f"{self.name}: phase {self.phase}")
        self.impl = record.get("impl", "body")
        if self.impl not in ("body", "stub"):
            raise ListError(f"{self.name}: impl {self.impl}")
        self.binding = record.get("binding", False)
        self.checked = record.get("checked", False)
        if self.checked and (self.is_stub or not self.returns_error):
            raise ListError(f"{self.name}: nothing to check")
        self.in_line = record.get("in_line", False)
        if self.in_line and not self.has_checked_body:
            raise ListError(f"{self.name}: only a function with a cold form is in line")
        self.params = [Param(p, kinds, self.name) for p in record["params"]]
        if self.large and not any(p.differs for p in self.params):
            raise ListError(f"{self.name}: both bindings are the same")

    @property
    def is_stub(self):
        return self.impl == "stub"

    @property
    def body(self):
        """Name of the hand-written function in mpc::mpi::impl."""
        return self.record.get("body", self.name[4:].lower())

    @property
    def has_checked_body(self):
        """Has it a body in mpi/check? Calls that are allowed at any time only have their place noted."""
        return self.checked and self.phase == "running"

    @property
    def has_cold_form(self):
        """With mpi.check=full it goes on out of line. Others return to their hot path, which costs that
        path a register: not worth it where calls take less than 100 ns."""
        return self.has_checked_body or (self.record.get("direct", False) and not self.is_stub)

    @property
    def returns_error(self):
        return self.returns == "int" and "value_on_error" not in self.record

    @property
    def value_on_error(self):
        return self.record.get("value_on_error", "{}")

    def bindings(self):
        """(C name, is large) of each binding."""
        yield self.name, False
        if self.large:
            yield self.name + "_c", True

    def prototype(self, name, large):
        params = ", ".join(
            p.kind["c"] if p.is_varargs else p.c(large) for p in self.params)
        return f"{self.returns} {name}({params or 'void'})"

    def param(self, name):
        for p in self.params:
            if p.name == name:
                return p
        raise ListError(f"{self.name}: no parameter {name}")


class Api:
    """Everything in the list."""

    def __init__(self, folder):
        folder = Path(folder)
        self.folder = folder
        kinds = read_json(folder / "kinds.json")
        self.kinds = kinds["kinds"]
        self.conditions = kinds["conditions"]
        self.pairs = kinds["pairs"]
        self.lengths = kinds["lengths"]
        self.fortran = read_json(folder / "fortran.json")
        self.constants = read_json(folder / "constants.json")["groups"]
        self.types = read_json(folder / "types.json")
        self.chapters = {}
        for path in sorted((folder / "functions").glob("*.json")):
            data = read_json(path)
            chapter = data["chapter"]
            self.chapters[chapter] = [
                Function(r, chapter, self.kinds) for r in data["functions"]]
        seen = set()
        for function in self.functions():
            for name, _ in function.bindings():
                if name in seen:
                    raise ListError(f"{name} stands twice in the list")
                seen.add(name)

    def functions(self):
        for functions in self.chapters.values():
            yield from functions

    def names(self):
        """All C names in the order of the list."""
        return [name for f in self.functions() for name, _ in f.bindings()]


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ListError(f"{path}: {error}") from error


def identifier(chapter):
    """A chapter's name as part of a file name: 'group-comm' -> 'group_comm'."""
    return chapter.replace("-", "_")
