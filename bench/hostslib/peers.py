"""The MPIs that are compared, and their command lines for several virtual hosts.

Role:     knows what each needs to find the other hosts, and to use their network only.
Users:    bench/hosts, bench/interrupts, hostslib/*.
"""
from dataclasses import dataclass, field

import mpis

from hostslib.virtual import INTERFACE

# MPICH and UCX would otherwise try each interface that they see.
UCX_ONLY = ("UCX_NET_DEVICES", INTERFACE)
OPENMPI_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self",
               "--mca", "btl_tcp_if_include", INTERFACE]
OPENMPI_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any",
               "-x", "=".join(UCX_ONLY)]
TITLES = {"ours": "ours", "openmpi": "Open MPI, tcp", "openmpi-ucx": "Open MPI, UCX", "mpich": "MPICH",
          "ours-always": "ours, always", "ours-never": "ours, never",
          "mpich-async": "MPICH, async"}


@dataclass
class Series:
    name: str
    mpi: mpis.Mpi
    options: list = field(default_factory=list)

    @property
    def is_ours(self):
        return self.mpi.name == "ours"

    @property
    def title(self):
        return TITLES[self.name]

    # Command lines of the processes that `bench/hosts` kills.
    @property
    def process(self):
        """A process with ranks, running the program of this name."""
        return r"^\S*mpcrun\b.*/{0}\b" if self.is_ours else r"^\S*/{0}\b"

    daemon = r"^\S*(mpclaunch --daemon|orted|hydra_pmi_proxy)\b"

    def on_hosts(self, hosts, per_host, words, extra=()):
        """The command for hosts.run(), with a number of ranks on each host."""
        ranks = per_host * len(hosts.names)
        slots = ",".join(f"{name}:{per_host}" for name in hosts.names)
        more = [*self.options, *extra]
        if self.is_ours:
            where = ["--agent", hosts.agent, "--hosts", slots, *more]
        elif self.mpi.name == "openmpi":
            where = ["--mca", "plm_rsh_agent", hosts.agent, "--mca", "oob_tcp_if_include", INTERFACE,
                     *self.mpi.launch_options, *more, "-H", slots]
        else:
            where = ["-launcher", "ssh", "-launcher-exec", hosts.agent, "-genv", *UCX_ONLY, *more,
                     "-hosts", slots]
        return [self.mpi.launcher, *where, "-n", ranks, *words]

    def on_one_host(self, ranks, words, extra=()):
        """The same for one host and a process for each rank."""
        if self.is_ours:
            where = ["--ranks-per-process", 1]
        elif self.mpi.name == "openmpi":
            where = [*self.mpi.launch_options]
        else:
            where = ["-launcher", "fork"]
        return [self.mpi.launcher, *where, *extra, "-n", ranks, *words]


def find(prefix, names, complain):
    """The Series of these names; `complain(text)` is called for those that do not exist."""
    found = []
    for name in names:
        try:
            mpi = mpis.find(name.partition("-")[0], prefix)
        except mpis.MpiMissing as error:
            complain(f"without {name}: {error}")
            continue
        options = {"openmpi": OPENMPI_TCP, "openmpi-ucx": OPENMPI_UCX,
                   "ours-always": ["--set", "net.interrupts=always"],
                   "ours-never": ["--set", "net.interrupts=never"],
                   "mpich-async": ["-genv", "MPICH_ASYNC_PROGRESS", "1"]}.get(name, [])
        found.append(Series(name, mpi, options))
    return found
