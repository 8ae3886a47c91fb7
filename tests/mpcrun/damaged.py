#!/usr/bin/env python3
"""Damaged program files: mpcrun says what is wrong, or the program's ranks crash with their report.
Whatever the file holds, mpcrun itself neither dies of a signal nor hangs.

usage: damaged.py --build BUILD --source SOURCE [--sanitize NAME] [unittest arguments]

MPC_TEST_SEED repeats a failure, MPC_TEST_ROUNDS says how many files there are (default 180).
"""

import collections
import os
import random
import struct
import subprocess
import sys
import unittest

import support
from support import run

SEED = int(os.environ.get("MPC_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
ROUNDS = int(os.environ.get("MPC_TEST_ROUNDS", 30 if support.SANITIZED else 180))
PT_DYNAMIC = 2
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")  # type, flags, offset, vaddr, paddr, filesz, memsz, align
FIELDS = ((0, 4), (4, 4), (8, 8), (16, 8), (32, 8), (40, 8), (48, 8))  # of it: place and bytes


class File:
    """The bytes of a program, where its headers are, and ways to damage them."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.headers_at, = struct.unpack_from("<Q", self.bytes, 32)
        self.header_count, = struct.unpack_from("<H", self.bytes, 56)
        for i in range(self.header_count):
            header = PROGRAM_HEADER.unpack_from(self.bytes, self.headers_at + i * PROGRAM_HEADER.size)
            if header[0] == PT_DYNAMIC:
                self.dynamic_at, self.dynamic_bytes = header[2], header[5]
        self.extremes = [0, 1, 7, 0x1000, 0x123456, (1 << 31) - 1, (1 << 32) - 1, 1 << 45, 1 << 46,
                         (1 << 63) - 1, (1 << 64) - 1, len(self.bytes)]

    def elf_header(self, source, data):
        for _ in range(source.randint(1, 8)):
            data[source.randrange(64)] = source.randrange(256)

    def bits_of_the_tables(self, source, data):
        for _ in range(source.randint(1, 8)):
            data[source.randrange(min(len(data), 4096))] ^= 1 << source.randrange(8)

    def bytes_anywhere(self, source, data):
        for _ in range(source.randint(1, 32)):
            data[source.randrange(len(data))] = source.randrange(256)

    def cut(self, source, data):
        del data[source.randrange(len(data)):]

    def a_program_header(self, source, data):
        place, size = source.choice(FIELDS)
        place += self.headers_at + source.randrange(self.header_count) * PROGRAM_HEADER.size
        value = source.choice(self.extremes) & ((1 << 8 * size) - 1)
        data[place:place + size] = value.to_bytes(size, "little")

    def an_entry_of_the_dynamic_section(self, source, data):
        place = self.dynamic_at + 16 * source.randrange(self.dynamic_bytes // 16)
        place += source.choice((0, 8, 8, 8))  # its tag, or its value
        value = source.choice([*self.extremes, source.randrange(1 << 16)])
        data[place:place + 8] = value.to_bytes(8, "little")

    def ways(self):
        return (self.elf_header, self.bits_of_the_tables, self.bytes_anywhere, self.cut,
                self.a_program_header, self.an_entry_of_the_dynamic_section)

    def damaged(self, round_number):
        """A damaged copy, and the name of the way."""
        source = random.Random(SEED + round_number)
        way = self.ways()[round_number % len(self.ways())]
        data = bytearray(self.bytes)
        way(source, data)
        return bytes(data), way.__name__


class Damaged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = support.Programs()

    def run_file(self, data, name):
        path = os.path.join(self.programs.folder.name, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o755)
        return run("-n", 2, path, stdin=subprocess.DEVNULL, errors="replace",
                   env=dict(os.environ, MPC_JOB_GRACE_MS="100"))

    def test_programs(self):
        program = self.programs.build(
            "victim", "static int value = 1, *pointer = &value; MPI_Init(&argc, &argv);"
            " *pointer += argc; MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0;")
        whole = File(program)
        statuses = collections.Counter()
        for i in range(ROUNDS):
            data, way = whole.damaged(i)
            where = f"MPC_TEST_SEED={SEED}, round {i}: {way}"
            try:
                status, _, err = self.run_file(data, "damaged")
            except subprocess.TimeoutExpired:
                self.keep(data)
                self.fail(f"hangs; {where}")
            if status < 0 or (status != 0 and not err) or "thread of the runtime" in err:
                self.fail(f"status {status}; {where}; kept as {self.keep(data)}\n{err}")
            statuses[status] += 1
        print(f"seed {SEED}: statuses {dict(statuses)}", file=sys.stderr)
        self.assertGreater(statuses[126], ROUNDS // 4, "most damage is found before the ranks start")

    @staticmethod
    def keep(data):
        path = os.path.join(support.options.build, "damaged-program")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_an_indirect_function_that_crashes(self):
        """It is called while the program is loaded: no check can know."""
        program = self.programs.compile(
            "indirect.c",
            "#include <mpi.h>\n#include <stdlib.h>\n"
            "static int (*choose(void))(void) { __builtin_trap(); }\n"
            "int chosen(void) __attribute__((ifunc(\"choose\")));\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return chosen(); }\n")
        status, out, err = run("-n", 2, program)
        self.assertEqual((status, out), (126, ""), err)
        self.assertIn("indirect: it cannot be loaded: signal 4", err)


def main():
    unittest.main(argv=[sys.argv[0], *support.parse_options()], verbosity=2)


if __name__ == "__main__":
    main()
