#!/usr/bin/env python3
"""Are the tools of cmake/packages-test.txt here? Says which tests a missing one leaves out.

usage: tools.py --packages FILE

Exit status: 0 all are here, 77 some are missing (CTest: skipped), 1 if MPC_TEST_STRICT is set
and some are missing, or if the list of packages and the table below differ.
"""
import argparse
import os
import shutil
import sys
from pathlib import Path

# Package: (a command or file that it brings, the tests that are left out without it).
TOOLS = {
    "make": ("make", "wrappers.makefile, wrappers.autoconf, wrappers.cmake*, names.cmake*, names.autoconf"),
    "autoconf": ("autoconf", "wrappers.autoconf, names.autoconf"),
    "autoconf-archive": ("/usr/share/aclocal/ax_mpi.m4", "names.autoconf"),
    "automake": ("automake", "names.automake, names.libtool"),
    "libtool": ("libtoolize", "names.libtool"),
    "meson": ("meson", "names.meson"),
    "clang": ("clang", "wrappers.clang, wrappers.cmake_clang, Loader.*clang*, Loader.*lld*, "
                        "./run fuzz"),
    "libclang-rt-dev": ("/usr/lib/clang/*/lib/linux/libclang_rt.asan-x86_64.so",
                        "a case of mpcrun.cases, ./run fuzz"),
    "lld": ("ld.lld", "wrappers.lld, Loader.*lld*"),
    "libomp-dev": ("/usr/lib/llvm-*/lib/libomp.so", "wrappers.openmp_clang"),
    "gdb": ("gdb", "gdb.*, wrappers.debug_entry, wrappers.gdb_copies, a part of mpcrun.failures"),
    "gnuplot-nox": ("gnuplot", "bench.overlap, pictures of mpcinfo.models"),
    "libpython3-dev": ("/usr/lib/*/pkgconfig/python3-embed.pc", "private.python*, python.cases"),
    "python3-numpy": ("/usr/lib/python3/dist-packages/numpy", "private.python_numpy, a case of python.cases"),
    "python3-setuptools": ("/usr/lib/python3/dist-packages/setuptools", "names.python"),
    "python3-pip": ("/usr/lib/python3/dist-packages/pip", "names.pip"),
    "tcl": ("/usr/bin/tclsh", "a case of python.cases"),
    "openssh-server": ("/usr/sbin/sshd", "cluster.hosts, cluster.host_ends"),
    "openssh-client": ("ssh", "cluster.hosts, cluster.host_ends"),
    "iproute2": ("ip", "cluster.hosts, cluster.host_ends"),
    "valgrind": ("valgrind", "docs.message_cost"),
    "xz-utils": ("xz", "./run conformance"),
}


def is_here(name):
    if name.startswith("/"):
        return any(Path("/").glob(name[1:]))
    return shutil.which(name) is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", required=True, type=Path)
    lines = parser.parse_args().packages.read_text().splitlines()
    packages = {line.split("#")[0].strip() for line in lines} - {""}
    if packages != set(TOOLS):
        print("different in the list of packages and in tools.py:",
              " ".join(sorted(packages ^ set(TOOLS))))
        return 1
    missing = [package for package in sorted(packages) if not is_here(TOOLS[package][0])]
    for package in missing:
        print(f"{package} is not installed; left out: {TOOLS[package][1]}")
    if not missing:
        return 0
    return 1 if os.environ.get("MPC_TEST_STRICT") else 77


if __name__ == "__main__":
    sys.exit(main())
