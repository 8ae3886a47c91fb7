#!/usr/bin/env python3
"""Ranks that ask again and again (MPI_Iprobe, MPI_Test ...) share a core with the processes that are to answer."""

import os
import sys
import unittest

from common import END, INIT, ClusterCase, parse_options, run

# Without giving the core away each message waits for the end of a time slice, some milliseconds.
HOPS = 20_000
RING = (" int from = (rank + size - 1) % size, to = (rank + 1) % size, got = 0, is_there; MPI_Request request;"
        " MPI_Message message; (void)request; (void)message; MPI_Status status;"
        f" for (int i = 0; i < {HOPS}; i += size) {{ is_there = 0;"
        " if (rank == 0) MPI_Send(&i, 1, MPI_INT, to, 5, MPI_COMM_WORLD); WAY"
        " if (rank > 0) MPI_Send(&got, 1, MPI_INT, to, 5, MPI_COMM_WORLD);"
        " if (got != i) return 9; }")
WAYS = {
    "iprobe": "while (!is_there) MPI_Iprobe(from, 5, MPI_COMM_WORLD, &is_there, &status);"
              " MPI_Recv(&got, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &status);",
    "improbe": "while (!is_there) MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &is_there, &message, &status);"
               " MPI_Mrecv(&got, 1, MPI_INT, &message, &status);",
    "test": "MPI_Irecv(&got, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &request);"
            " while (!is_there) MPI_Test(&request, &is_there, &status);",
    "status": "MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);"
              " while (!is_there) MPI_Request_get_status(request, &is_there, &status); MPI_Wait(&request, &status);",
}


class Asking(ClusterCase):
    def test_processes_that_share_a_core(self):
        core = {min(os.sched_getaffinity(0))}
        for name, way in WAYS.items():
            program = self.build("asks_" + name, INIT + RING.replace("WAY", way) + END)
            for words in (("-p", 4), ("-p", 2)):
                status, _, err = run("-n", 4, *words, "--timeout", 50, program,
                                     preexec_fn=lambda: os.sched_setaffinity(0, core))
                self.assertEqual((status, err), (0, ""), (name, words))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + parse_options())
