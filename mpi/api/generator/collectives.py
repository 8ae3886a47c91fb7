"""The three forms of each collective: blocking, non-blocking, persistent.

A function with "describe" has the forms MPI_Ixxx and MPI_Xxx_init; all three use that description
(mpi/coll/describe.h), its nbc::Coll is the name in CamelCase. "direct": the blocking form first
tries a way without messages, direct_xxx() of mpi/coll/direct.h. "direct_start": the non-blocking form
likewise, direct_ixxx().
"""

import textwrap

from generator.entries import body_declaration
from generator.model import identifier

HEAD = """\
// Generated from mpi/api/functions; do not edit.
{includes}
#include "mpi/coll/direct.h"
#include "mpi/coll/forms.h"

namespace mpc::mpi::impl {{
"""


def enumerator(body):
    """'reduce_scatter_block' -> 'kReduceScatterBlock'."""
    return "k" + "".join(word.capitalize() for word in body.split("_"))


def wrapped(line, indent):
    return textwrap.fill(line, 96, subsequent_indent=indent)


def signature(function, named):
    """The definition's first line; parameters that are not used have no name."""
    text = body_declaration(function).rstrip(";")
    for param in function.params:
        if param.name not in named:
            text = text.replace(f" {param.name},", " /*" + param.name + "*/,")
    return text


def form(function, call, arguments, extra):
    named = [*arguments, "comm", *extra]
    describe = call["describe"]
    lambda_ = f"[&](Call& call) {{ return {describe}({', '.join(['call', *arguments])}); }}"
    request = "".join(f", {name}" for name in extra)
    return [wrapped(f"{signature(function, named)} {{", "    "), *call["before"],
            f'  return {call["way"]}("{function.name}", comm, nbc::Coll::{call["coll"]}{request},',
            wrapped(f"      {lambda_});", "        "), "}"]


def forms_of(function, by_body):
    """Lines of the definitions of one collective's forms."""
    body = function.body
    arguments = [p.name for p in function.params if p.name != "comm"]
    record = function.record
    call = {"describe": record["describe"], "coll": enumerator(body), "before": [], "way": "run"}

    def direct(key, name, given):
        if not record.get(key):
            return []
        return [wrapped(f"  if (const auto done = direct_{name}({', '.join(given)})) return *done;",
                        "      ")]
    given = [*arguments, "comm"]
    out = form(function, {**call, "before": direct("direct", body, given)}, arguments, [])
    started = {**call, "before": direct("direct_start", "i" + body, [*given, "request"])}
    out += form(by_body["i" + body], {**started, "way": "start"}, arguments, ["request"])
    out += form(by_body[body + "_init"], {**call, "way": "prepare"}, arguments, ["request"])
    return [*out, ""]


def generate(api):
    by_body = {f.body: f for f in api.functions()}
    described = [f for f in api.functions() if "describe" in f.record]
    chapters = sorted({f.chapter for d in described
                       for f in (d, by_body["i" + d.body], by_body[d.body + "_init"])})
    includes = "\n".join(f'#include "mpi/impl/{identifier(c)}.h"' for c in chapters)
    out = [HEAD.format(includes=includes)]
    for function in described:
        out += forms_of(function, by_body)
    out.append("}  // namespace mpc::mpi::impl\n")
    return {"generated/mpi/coll/forms.cpp": "\n".join(out)}
