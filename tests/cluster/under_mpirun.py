#!/usr/bin/env python3
"""Jobs whose processes Open MPI's mpirun starts, on this host; Hydra's mpiexec is refused."""

import os
import shutil
import subprocess
import sys
import unittest

from common import ClusterCase, example, parse_options, tool
from guests import Guests

MPIRUN = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.hydra")


class UnderMpirun(Guests, ClusterCase):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def launcher(self, processes):
        return (MPIRUN, "-n", processes, "--bind-to", "none", "--oversubscribe")

    one_host = launcher

    @unittest.skipUnless(HYDRA, "no mpiexec.hydra: apt-get install mpich")
    def test_hydra_is_refused_once(self):
        hello = example("hello")
        for words in ((tool("mpcrun"), "-n", "4", hello), (hello,)):
            done = subprocess.run([HYDRA, "-n", "3", *words], timeout=60, text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertEqual(len(self.ours(done.stderr)), 1, done.stderr)
            self.assertIn("mpiexec has started", done.stderr)
            self.assertIn("mpcrun -n", done.stderr)


if __name__ == "__main__":
    rest = parse_options()
    if not MPIRUN:
        print("skipped: no mpirun.openmpi: apt-get install openmpi-bin")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
