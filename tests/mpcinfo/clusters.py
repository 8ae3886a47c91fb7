#!/usr/bin/env python3
"""mpcinfo's models of several hosts: --machine "16*knl64".

    clusters.py --build FOLDER --source FOLDER [unittest options]
"""
import json
import os
import sys
import tempfile
import unittest

from models import Case, mpcinfo, rest

# A copy takes a microsecond for 1000 bytes, nothing else takes time.
PARAMETERS = {"version": 1, "machine": "plain", "source": "a test",
              "shape": {"cores": 8, "cores_per_cache": 8, "cores_per_numa": 8},
              "node_us": 0, "handover_us": 0, "message_us": 0,
              "copy": {reach: {"latency_us": 0, "bandwidth_gbs": 1}
                       for reach in ("cache", "numa", "machine")},
              "numa_gbs": 0, "reduce_gbs": 1}


class Cluster(Case):
    def test_one_host_is_the_host(self):
        for command in (("model",), ("model", "--kind", "calibrated"), ("simulate", "--from", 6)):
            machine = "pack:1 numa:1 core:8 pu:1"
            self.assertEqual(mpcinfo(*command, "--csv", "--machine", machine),
                             mpcinfo(*command, "--csv", "--machine", "1*" + machine))

    def test_levels_of_the_network_come_on_top(self):
        host = self.rows("model", "--machine", "knl64", "--kind", "calibrated")
        cluster = self.rows("model", "--machine", "16*knl64", "--kind", "calibrated")
        self.assertEqual([row["N"] for row in cluster], [row["N"] for row in host])
        for one, many in zip(host, cluster):
            self.assertEqual(many["hosts"], "16")
            self.assertEqual(int(many["H"]), int(one["H"]) + 4)
            self.assertGreater(float(many["T_nonblocking_S0"]), float(one["T_nonblocking_S0"]))
        status, out, _ = mpcinfo("model", "--machine", "16*knl64")
        self.assertEqual(status, 0)
        self.assertIn("16 hosts of 64 cores", out)
        self.assertIn("Fastest, on each host: ", out)

    def test_a_network_is_a_key_of_the_machines_file(self):
        slow = {"network": {"latency_us": 100, "bandwidth_gbs": 0.125}}
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "machine.json")
            with open(file, "w", encoding="utf-8") as made:
                json.dump({**PARAMETERS, **slow}, made)
            rows = [self.rows("model", "--machine", machine, "--kind", "calibrated",
                              "--parameters", file, "--bytes", "1MB")
                    for machine in ("pack:1 numa:1 core:8 pu:1", "2*pack:1 numa:1 core:8 pu:1")]
            for one, many in zip(*rows):
                added = float(many["T_nonblocking_S0"]) - float(one["T_nonblocking_S0"])
                self.assertAlmostEqual(added, 100 + 2 ** 20 / 125, delta=1e-3 * added)
            with open(file, "w", encoding="utf-8") as made:
                json.dump({**PARAMETERS, "network": {"latency_us": 1}}, made)
            self.refused("model", "--machine", "2*knl64", "--parameters", file,
                         says=["bandwidth_gbs"])

    def test_a_thousand_hosts_are_simulated(self):
        rows = self.rows("simulate", "--machine", "1024*knl64", "--from", 57, "--to", 57)
        self.assertEqual([(row["kind"], row["hosts"], row["H"]) for row in rows],
                         [("simulated", "1024", "16")])

    def test_is_refused_where_it_means_nothing(self):
        self.refused("topology", "16*knl64", says=["several hosts"])
        self.refused("possible", "--machine", "16*knl64", says=["one host"])
        self.refused("model", "--machine", "0*knl64", says=["0*knl64"])
        self.refused("model", "--machine", "2*knl65", says=["knl65", "skylake48"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *rest])
