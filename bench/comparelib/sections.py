"""A page that several benchmarks write together: each writes one section.

Role:     puts one section into bench/RESULTS-cluster.md, and leaves the others as they are.
Users:    bench/net, bench/hosts, bench/interrupts.
"""
import re
import time

from comparelib import machine


def made_by(command):
    """The first lines of a section: which program made it, when, from which revision, where."""
    return (f"Made by `{command}` on {time.strftime('%Y-%m-%d')}: this project at "
            f"{machine.revision()}. {'; '.join(machine.describe())}.")


def put(page, title, text):
    """`page` with this section (its title without the #s, its text) in place of the one with
    the same title, or at the end."""
    head, *sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    new = f"## {title}\n\n{text.strip()}\n"
    is_new = True
    for i, section in enumerate(sections):
        if section.splitlines()[0] == f"## {title}":
            sections[i], is_new = new, False
    if is_new:
        sections.append(new)
    return "\n\n".join(part.strip() for part in [head, *sections] if part.strip()) + "\n"


def write(path, page_title, title, text):
    """The same in a file, which is created if it does not exist."""
    page = path.read_text(encoding="utf-8") if path.exists() else f"# {page_title}\n"
    path.write_text(put(page, title, text), encoding="utf-8")


def table(head, rows):
    """Markdown; the first column is text, all others are figures."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
