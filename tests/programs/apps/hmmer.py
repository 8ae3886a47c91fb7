"""HMMER: searches for related sequences by profiles; a master and workers, which probe for packed messages of any rank."""
import re

from model import Case, Program, Wrong

SEQUENCES = "sequences.fa"      # made from some profiles, at each build the same
PROFILES = ("RRM_1", "Patched", "LuxC", "SMC_N", "Caudal_act")
COUNT = 200


def build(tree):
    tree.configure("--enable-mpi", "CFLAGS=-O1 -w")
    tree.make(cwd="easel")
    tree.make(cwd="libdivsufsort")
    tree.make(cwd="src")
    for name in PROFILES:
        tree.run("src/hmmemit", "--seed", "7", "-N", str(COUNT), "-o", f"{name}.fa", f"testsuite/{name}.hmm")
    tree.run("sh", "-c", f"cat {' '.join(f'{name}.fa' for name in PROFILES)} >{SEQUENCES}")
    tree.run("src/hmmpress", "-f", "testsuite/minifam")


def hits(text, folder):
    """All that it says of hits and alignments, without times."""
    if "[ok]" not in text and "CPU time" not in text:
        raise Wrong("it does not say that all is ok")
    lines = [line.rstrip() for line in text.splitlines() if not re.search(r"time:|Mc/sec|^# (?:output|.*file:|.*database:)", line)]
    tables = [" ".join(line.split()) for path in sorted(folder.glob("*.hmm")) for line in path.read_text().splitlines()
              if not line.startswith(("DATE", "COM"))]
    return {f"line {place}": line for place, line in enumerate(lines + tables)}


def cases(folder, ranks):
    if ranks < 2:
        return []
    data, tests = folder / SEQUENCES, folder / "testsuite"
    runs = {"hmmsearch": [tests / "minifam", data], "hmmscan": [tests / "minifam", folder / "Patched.fa"],
            "phmmer": ["--seed", "5", folder / "tutorial/HBB_HUMAN", data], "jackhmmer": ["-N", "3", "--seed", "5", folder / "tutorial/7LESS_DROME", data],
            "hmmbuild": ["--seed", "5", "out.hmm", tests / "SMC_N.sto"]}
    return [Case(name, folder / "src" / name, ["--mpi", *map(str, words)], results=hits, same_for_all_ranks=True)
            for name, words in runs.items()]


PROGRAM = Program("hmmer", "hmmer", "Searches for related sequences by profiles; a master, and workers that ask it for work",
                  "Hits, scores and alignments are equal, character by character, for all numbers of ranks.", build, cases,
                  commands=("autoreconf",))
