"""RAxML: searches for the evolutionary trees of most likelihood; ranks search from different trees, and share the best."""
import random
import re

from model import Case, Program, Wrong

SPECIES, SITES = 14, 400
SEARCHES = {"searches": ["-N", "8", "-p", "12345"], "bootstraps": ["-N", "16", "-p", "12345", "-b", "777"],
            "rapid bootstraps": ["-N", "16", "-p", "12345", "-x", "777", "-f", "a"]}


def build(tree):
    tree.run("make", "-f", "Makefile.MPI.gcc", f"-j{tree.jobs}", "raxmlHPC-MPI", "CFLAGS=-D_WAYNE_MPI -D_GNU_SOURCE -O1 -msse -w")


def alignment():
    """Sequences that come from one, each from a random earlier one, with one site in eight changed."""
    chance = random.Random(20261126)
    lines = [[chance.choice("ACGT") for _ in range(SITES)]]
    while len(lines) < SPECIES:
        lines.append([chance.choice("ACGT") if chance.random() < 1 / 8 else letter for letter in chance.choice(lines)])
    return f"{SPECIES} {SITES}\n" + "".join(f"S{number:03d} {''.join(line)}\n" for number, line in enumerate(lines))


def trees_found(text, folder):
    """The best tree and likelihood, or all trees of the bootstraps."""
    files = sorted(path for path in folder.glob("RAxML_*") if re.match(r"RAxML_(?:bestTree|bootstrap|bipartitions)\.", path.name))
    if not files:
        raise Wrong("it wrote no tree")
    return {path.name: "".join(sorted(path.read_text().splitlines(True))) for path in files}


def cases(folder, ranks):
    if ranks < 2:       # which it refuses
        return []
    return [Case(name, folder / "raxmlHPC-MPI", ["-m", "GTRCAT" if "-x" in words else "GTRGAMMA", "-s", "in.phy", "-n", "T", *words],
                 results=trees_found, files={"in.phy": alignment()}) for name, words in SEARCHES.items()]


PROGRAM = Program("raxml", "raxml", "Searches for the evolutionary trees of most likelihood, from a different tree on each rank",
                  "Trees are equal, with all digits of the lengths of their branches.", build, cases)
