#!/usr/bin/env python3
"""The table of other launchers' options in docs/switching.md is that of tools/mpcrun/peer_options.def.

    switching.py SOURCE [--write]
"""
import re
import sys
from pathlib import Path

BEGIN = "<!-- options: written by tests/docs/switching.py --write -->\n"
END = "<!-- end of options -->\n"
MEANINGS = {"kSame": "the same as `{}`", "kNoEffect": "taken, no effect: {}", "kByValue": "{}",
            "kPrograms": "{}", "kRefused": "refused: {}"}
ROW = re.compile(r'PEER\(\s*((?:"[^"]*"\s*)+),\s*((?:"[^"]*"\s*)+),\s*(\d),\s*(\w+),\s*((?:"[^"]*"\s*)+)\)')


def text_of(literals):
    """Of string literals beside each other."""
    return "".join(re.findall(r'"([^"]*)"', literals))


def options(names, words):
    """`-env NAME VALUE`, `-ppn V`: one dash for all, as they are written most often."""
    behind = {"0": "", "1": " V", "2": " NAME VALUE"}[words]
    return ", ".join(f"`{'-' if len(name) == 1 else '--'}{name}{behind}`" for name in names.split())


def ours(text, words):
    if words == "1":
        return f"{text} V"
    return f"{text} NAME=VALUE" if words == "2" else text


def table(definitions):
    rows = ROW.findall(definitions)
    if len(rows) != len(re.findall(r"^PEER\(\"", definitions, re.M)):
        raise SystemExit("switching.py: a line of peer_options.def cannot be read")
    out = ["| Option | of | here |", "|---|---|---|"]
    for names, owners, words, meaning, text in rows:
        text = text_of(text)
        if meaning == "kSame":
            text = ours(text, words)
        shown = "0" if meaning == "kRefused" else words
        out.append(f"| {options(text_of(names), shown)} | {text_of(owners)} | "
                   f"{MEANINGS[meaning].format(text).replace('|', chr(92) + '|')} |")
    return "\n".join(out) + "\n"


def main():
    source = Path(sys.argv[1])
    page = source / "docs/switching.md"
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    foot = rest.split(END)[1]
    wanted = head + BEGIN + "\n" + table((source / "tools/mpcrun/peer_options.def").read_text(encoding="utf-8")) \
        + "\n" + END + foot
    if "--write" in sys.argv:
        page.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        sys.exit("docs/switching.md is not what tools/mpcrun/peer_options.def says: "
                 "python3 tests/docs/switching.py . --write")


if __name__ == "__main__":
    main()
