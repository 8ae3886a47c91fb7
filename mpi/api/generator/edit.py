"""Frequent changes to the list, which have a command of their own."""

import re

from generator.model import ListError


def mark_implemented(api, names):
    """Takes `"impl": "stub"` from the records of functions, given by C name or body name."""
    for name in names:
        found = [f for f in api.functions() if name in (f.name, f.body)]
        if not found:
            raise ListError(f"{name}: no such function or body")
        for function in found:
            unstub(api.folder / "functions" / f"{function.chapter}.json", function.name)


def unstub(path, name):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for i, line in enumerate(lines):
        if f'"name": "{name}"' in line:
            lines[i] = re.sub(r'"impl": "stub", |, "impl": "stub"', "", line)
    path.write_text("".join(lines), encoding="utf-8")
