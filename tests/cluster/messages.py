#!/usr/bin/env python3
"""Messages, output and input of a job of several processes."""

import os
import subprocess
import sys
import tempfile
import unittest

from common import END, INIT, SANITIZED, ClusterCase, example, parse_options, run, source_of, tool, traffic

WHO = ("int before; for (before = 0; before < size; ++before) {"
       " if (before == rank) { printf(\"rank %d of %d pid %d\\n\", rank, size, getpid()); fflush(stdout); }"
       " MPI_Barrier(MPI_COMM_WORLD); }")


class Messages(ClusterCase):
    def test_ranks_are_divided_among_processes(self):
        program = self.build("who", INIT + WHO + END)
        ways = [(("-p", 2), 2), (("-p", 4), 4)]
        if not SANITIZED:  # a process of its own does not bring what the library needs then
            ways.append((("--ranks-per-process", 1), 8))
        for how, processes in ways:
            status, out, err = run("-n", 8, *how, program)
            self.assertEqual((status, err), (0, ""))
            lines = sorted(out.splitlines(), key=lambda line: int(line.split()[1]))
            self.assertEqual([line.split()[1] for line in lines], [str(r) for r in range(8)])
            pids = [line.split()[-1] for line in lines]
            self.assertEqual(len(set(pids)), processes)
            each = 8 // processes
            for first in range(0, 8, each):
                self.assertEqual(len(set(pids[first:first + each])), 1, "not consecutive")

    def test_messages_of_all_sizes_wildcards_layouts_collectives(self):
        for ranks, processes in ((2, 2), (8, 2), (6, 3), (4, 4)):
            with self.subTest(ranks=ranks, processes=processes):
                status, out, err = run("-n", ranks, "-p", processes, "--timeout", 60, traffic())
                self.assertEqual((status, out, err), (0, "No Errors\n", ""))

    def test_collectives_in_two_levels(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi")
        with open(os.path.join(folder, "two_levels.c"), encoding="utf-8") as file:
            program = self.shared.compile("two_levels.c", file.read(), "-O1", f"-I{folder}")
        for ranks, processes, seed in ((8, 2, 3), (9, 3, 4), (13, 3, 5)):
            with self.subTest(ranks=ranks, processes=processes):
                done = run("-n", ranks, "-p", processes, "--timeout", 60, program, 60, seed)
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_processes_of_a_host_meet_in_memory_that_they_share(self):
        program = self.shared.compile("meetings.c", source_of("meetings.c"), "-O1")
        for ranks, processes, *options in ((2, 2), (5, 5), (8, 2), (7, 3), (8, 8),
                                           (4, 4, "--set", "net.host_segment=0")):
            with self.subTest(ranks=ranks, processes=processes, options=options):
                done = run("-n", ranks, "-p", processes, "--timeout", 100, *options, program, 30)
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_short_messages_are_found_where_they_lie_whatever_is_around_them(self):
        program = self.shared.compile("near_messages.c", source_of("near_messages.c"), "-O1", "-pthread")
        for options, words in ((("-p", 2), []), (("-p", 2), ["threads"]), (("--ranks-per-process", 1), []),
                               (("-p", 2, "--set", "net.grace_us=0"), ["threads"]),
                               (("-p", 2, "--set", "net.interrupts=always"), []),
                               (("-p", 2, "--set", "net.unexpected_bytes=32k"), ["threads"])):
            with self.subTest(options=options, words=words):
                done = run("-n", 2, *options, "--timeout", 100, program, *words)
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_short_messages_are_taken_from_a_network_by_whom_they_are_for(self):
        program = self.shared.compile("near_messages.c", source_of("near_messages.c"), "-O1", "-pthread")
        network = ("-p", 2, "--set", "net.host_segment=0")
        for options, words, networks in ((network, [], None), (network, ["threads"], None), (network, [], "tcp"),
                                         (network, ["threads"], "tcp"),
                                         ((*network, "--set", "net.grace_us=0"), ["threads"], None),
                                         ((*network, "--set", "net.interrupts=always"), [], "tcp"),
                                         ((*network, "--set", "net.unexpected_bytes=32k"), ["threads"], "tcp")):
            with self.subTest(options=options, words=words, networks=networks):
                env = {**os.environ, "UCX_TLS": networks} if networks else None
                done = run("-n", 2, *options, "--timeout", 100, program, *words, env=env)
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_a_thread_that_waits_hears_of_messages_while_its_rank_computes(self):
        program = self.shared.compile("thread_waits.c", source_of("thread_waits.c"), "-O1", "-pthread")
        for words in ([], ["probe"]):
            with self.subTest(words=words):
                status, out, err = run("-n", 2, "-p", 2, "--counters", "--timeout", 60, program, *words)
                self.assertEqual((status, out), (0, "No Errors\n"), err)
                late = [int(line.split()[1]) for line in err.splitlines() if line.startswith("net.late_finds")]
                self.assertLess(sum(late), 100, "found by the monitor's tick, 10 ms later")  # of 400

    def test_nothing_is_shared_where_the_system_does_not_allow_it(self):
        status, out, err = run("-n", 4, "-p", 2, "--timeout", 60, "--set", "net.host_segment=0",
                               traffic())
        self.assertEqual((status, out, err), (0, "No Errors\n", ""))

    def test_long_messages_may_be_left_to_the_library_of_the_network(self):
        for processes in (2, 4):
            with self.subTest(processes=processes):
                done = run("-n", 4, "-p", processes, "--timeout", 60, "--set", "net.host_copies=0", traffic())
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_both_ends_copy_a_long_message(self):
        program = self.build("long", INIT + "enum { kMost = 8 << 20 }; static char data[kMost];"
                             " for (int i = 0; i < 50; ++i) { if (rank == 0) { memset(data, i, kMost);"
                             " MPI_Ssend(data, kMost, MPI_BYTE, 1, 0, MPI_COMM_WORLD); } else {"
                             " MPI_Recv(data, kMost, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
                             " for (int at = 0; at < kMost; ++at) if (data[at] != i) abort(); } }"
                             " if (rank == 0) puts(\"right\");" + END)
        status, out, err = run("-n", 2, "-p", 2, "--counters", "--timeout", 60, program)
        self.assertEqual(status, 0, err)
        self.assertIn("right", out)
        self.assertRegex(out + err, r"net.host_copies +50\b")

    def test_collective_accesses_to_a_file_in_two_phases(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi")
        with open(os.path.join(folder, "two_phase.c"), encoding="utf-8") as file:
            program = self.shared.compile("two_phase.c", file.read(), "-O1", f"-I{folder}")
        ways = [("-n", 4, "-p", 2), ("-n", 7, "-p", 3)]
        if not SANITIZED:
            ways.append(("-n", 3, "--ranks-per-process", 1))
        for way in ways:
            for how in ([], ["fails"]):
                with self.subTest(way=way, how=how):
                    done = run(*way, "--timeout", 120, program, *how)
                    self.assertEqual(done, (0, "No Errors\n", ""))

    def test_programs_of_their_own_on_both_sides(self):
        boss = self.build("boss", INIT + "int sum = 0, one; for (int r = 1; r < size; ++r) {"
                          " MPI_Recv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,"
                          " MPI_STATUS_IGNORE); sum += one; } printf(\"%d\\n\", sum);" + END)
        worker = self.build("worker", INIT + "MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);"
                            + END)
        status, out, err = run("-n", 1, "-p", 2, boss, ":", "-n", 5, worker)
        self.assertEqual((status, out, err), (0, "15\n", ""))

    def test_programs_without_mpi(self):
        program = self.build("plain", "puts(\"here\"); return 0;")
        status, out, err = run("-n", 4, "-p", 2, program)
        self.assertEqual((status, out, err), (0, "here\n" * 4, ""))

    def test_standard_input_goes_to_rank_0(self):
        program = self.build("reads", INIT + "char line[64]; int n = 0;"
                             " while (fgets(line, sizeof line, stdin)) { ++n; if (rank == 0)"
                             " fputs(line, stdout); } MPI_Barrier(MPI_COMM_WORLD);"
                             " if (rank != 0 && n) puts(\"wrong\");" + END)
        text = "".join(f"line {i}\n" for i in range(1000))
        status, out, err = run("-n", 4, "-p", 2, program, input=text)
        self.assertEqual((status, out, err), (0, text, ""))

    def test_lines_are_whole_and_labelled(self):
        program = self.build("lines", INIT + "char line[9001]; memset(line, 'a' + rank, 9000);"
                             " line[9000] = 0; for (int i = 0; i < 20; ++i) puts(line);" + END)
        for label in ((), ("--label",)):
            status, out, err = run("-n", 4, "-p", 2, *label, program)
            self.assertEqual((status, err), (0, ""))
            lines = out.splitlines()
            self.assertEqual(len(lines), 80)
            for line in lines:
                who = ord(line[-1]) - ord("a")
                begin = f"[{who}] " if label else ""
                self.assertEqual(line, begin + chr(ord("a") + who) * 9000)

    def test_show_says_what_each_process_has(self):
        status, out, err = run("-n", 8, "-p", 2, "--show", example("hello"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("process 0 of 2: 4 ranks", out)
        self.assertIn("process 1 of 2: 4 ranks", out)
        self.assertRegex(out, r"(?s)ranks 0-?.*process 1 of 2.*ranks 4")

    def test_ranks_and_their_children_do_not_see_the_launcher(self):
        program = self.build("env", "extern char **environ; for (char **e = environ; *e; ++e)"
                             " if (!strncmp(*e, \"PMIX_\", 5) || !strncmp(*e, \"MPC_L\", 5)) puts(*e);"
                             " return 0;")
        status, out, err = run("-n", 2, "-p", 2, program)
        self.assertEqual((status, out, err), (0, "", ""))

    def test_a_wrong_setting_is_said_once(self):
        err = self.refused(2, "-n", 4, "-p", 2, "--set", "nbc.nothing=1", example("hello"),
                           says=("nbc.nothing",))
        self.assertEqual(err.count("mpcrun:"), 1)
        err = self.refused(127, "-n", 4, "-p", 2, "./no-such-program", says=("no-such-program",))
        self.assertEqual(err.count("mpcrun:"), 1)

    def test_without_a_network_module_the_job_does_not_start(self):
        err = self.refused(3, "-n", 2, "-p", 2, "--set", "net.module=/no/such/module.so",
                           example("hello"), says=("/no/such/module.so", "libucx-dev"))
        self.assertEqual(err.count("mpcrun:"), 1)

    def test_one_trace_of_all_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.json")
            status, _, err = run("-n", 2, "-p", 2, "--trace", path, example("hello"))
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(os.listdir(folder)), ["t.json"])

    def test_a_pipe_that_nobody_reads_any_more(self):
        program = self.build("prints", "for (int i = 0; i < 100000; ++i) puts(\"line\"); return 0;")
        done = subprocess.run(f"'{tool('mpcrun')}' -n 4 -p 2 '{program}' | head -1", shell=True,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout, "line\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
