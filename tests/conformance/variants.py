"""Other ways to run the same tests: more ranks, fewer cores, several processes.

Role:     what `--variant` names: each changes how a test is started, never the test.
Users:    conformance.py.
See also: docs/cluster.md; docs/design/0019-virtual-processes.md.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    meaning: str = ""
    ranks_factor: int = 1
    cores: int = 0              # 0: as without the variant
    launcher: tuple = ()        # options for our mpcrun
    least_ranks: int = 1        # tests with fewer are not run

    @property
    def ours_only(self):
        return bool(self.launcher)


VARIANTS = {
    "twice": Variant("twice the ranks of the suite's lists", ranks_factor=2),
    "core": Variant("every rank on one core", cores=1),
    "processes": Variant("two processes, mpcrun -p 2", launcher=("-p", "2"), least_ranks=2),
    "three": Variant("three processes, mpcrun -p 3", launcher=("-p", "3"), least_ranks=3),
    "each": Variant("a process for each rank, mpcrun --ranks-per-process 1",
                    launcher=("--ranks-per-process", "1"), least_ranks=2),
    "virtual": Variant("two virtual processes, job.virtual_processes=2",
                       launcher=("--set", "job.virtual_processes=2"), least_ranks=2),
    "check": Variant("each call is checked (mpi.check=full); a report is a failure",
                     launcher=("--set", "mpi.check=full")),
}


def combined(names):
    """One Variant that does what all of `names` do."""
    chosen = [VARIANTS[name] for name in names]
    factor = 1
    for variant in chosen:
        factor *= variant.ranks_factor
    return Variant("; ".join(variant.meaning for variant in chosen), factor,
                   max([variant.cores for variant in chosen], default=0),
                   tuple(word for variant in chosen for word in variant.launcher),
                   max([variant.least_ranks for variant in chosen], default=1))


def help_text():
    return "; ".join(f"{name}: {variant.meaning}" for name, variant in VARIANTS.items())
