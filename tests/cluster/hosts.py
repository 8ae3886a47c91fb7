#!/usr/bin/env python3
"""Jobs on several hosts, which are virtual ones: what a user sees is as on one host."""

import functools
import os
import re
import subprocess

from common import END, INIT, SANITIZED, source_of, tool, traffic
from virtual_hosts import HostsCase, main

WHERE = ("char host[256]; gethostname(host, 256); for (int r = 0; r < size; ++r) {"
         " if (r == rank) { printf(\"rank %d of %d on %s pid %d\\n\", rank, size, host, getpid());"
         " fflush(stdout); } MPI_Barrier(MPI_COMM_WORLD); }")


class OnHosts(HostsCase):
    def where(self, *words, host="h1"):
        """The host and process of each rank."""
        program = self.build("where", INIT + WHERE + END)
        status, out, err = self.run_job(*words, program, host=host)
        self.assertEqual((status, err), (0, ""))
        lines = sorted((line.split() for line in out.splitlines()), key=lambda w: int(w[1]))
        self.assertEqual([int(w[1]) for w in lines], list(range(len(lines))))
        return [w[5] for w in lines], [(w[5], w[7]) for w in lines]

    def test_hosts_are_up_within_a_second(self):
        self.assertLess(self.hosts.up_s, 5)  # on a machine that does other things, too

    def test_ranks_lie_in_blocks(self):
        for words in (("-n", 8, "--hosts", "h1,h2"), ("-n", 8, "-H", "h1:4,h2:4"),
                      ("-n", 8, "-host", "h1,h2", "--ranks-per-host", 4)):
            hosts, processes = self.where(*words)
            self.assertEqual(hosts, ["h1"] * 4 + ["h2"] * 4)
            self.assertEqual(len(set(processes)), 2)

    def test_several_processes_on_each_host(self):
        for words in (("--processes-per-host", 2), ("-p", 4), ("--ranks-per-process", 2)):
            hosts, processes = self.where("-n", 8, "--hosts", "h1,h2", *words)
            self.assertEqual(hosts, ["h1"] * 4 + ["h2"] * 4)
            self.assertEqual(len(set(processes)), 4)

    def test_files_of_hosts(self):
        for name, lines in (("openmpi", "# a comment\nh1 slots=2 max_slots=4\n\nh2 slots=2\n"),
                            ("mpich", "h1:2\nh2:2  # two\n")):
            path = self.hosts.path("net", name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(lines)
            for option in ("--hostfile", "-f", "-machinefile"):
                hosts, _ = self.where("-n", 4, option, path)
                self.assertEqual(hosts, ["h1", "h1", "h2", "h2"])

    def test_hosts_give_the_number_of_ranks_and_each_its_numbers(self):
        program = self.build("numbers", INIT + 'printf("%d %s/%s %s/%s\\n", rank, getenv("PMI_RANK"), getenv("PMI_SIZE"),'
                             ' getenv("MPI_LOCALRANKID"), getenv("OMPI_COMM_WORLD_LOCAL_SIZE"));' + END)
        wanted = ["0 0/3 0/1", "1 1/3 0/2", "2 2/3 1/2"]
        # A process of its own does not bring what the library needs with a sanitizer.
        for words in ((),) if SANITIZED else ((), ("--ranks-per-process", 1)):
            status, out, err = self.run_job("--hosts", "h1:1,h2:2", *words, program)
            self.assertEqual((status, sorted(out.splitlines()), err), (0, wanted, ""))
        status, out, err = self.run_job("--hosts", "h1,h2", "--ranks-per-host", 2, program)
        self.assertEqual((status, len(out.splitlines()), err), (0, 4, ""))

    def test_mpcrun_may_be_on_a_third_host_or_reach_one_only(self):
        hosts, _ = self.where("-n", 2, "--hosts", "h2")
        self.assertEqual(hosts, ["h2", "h2"])
        hosts, _ = self.where("-n", 4, "--hosts", "h2,h1")
        self.assertEqual(hosts, ["h2", "h2", "h1", "h1"])
        hosts, _ = self.where("-n", 2, "--hosts", "localhost")
        self.assertEqual(hosts, ["h1", "h1"])

    def test_messages_and_collectives(self):
        for ranks, words in ((2, ()), (6, ()), (8, ("--processes-per-host", 2))):
            with self.subTest(ranks=ranks, words=words):
                status, out, err = self.run_job("-n", ranks, "--hosts", "h1,h2", *words, traffic(),
                                                "hosts")
                self.assertEqual((status, out, err), (0, "No Errors\n", ""))

    def test_short_messages_are_taken_by_whom_they_are_for(self):
        program = self.shared.compile("near_messages.c", source_of("near_messages.c"), "-O1", "-pthread")
        for words in ([], ["threads"]):
            with self.subTest(words=words):
                done = self.run_job("-n", 2, "--hosts", "h1:1,h2:1", program, *words)
                self.assertEqual(done, (0, "No Errors\n", ""))

    def test_what_shares_memory_and_a_clock_is_a_host(self):
        program = self.build("shared", INIT + "MPI_Comm c; int n, *global, flag;"
                             " MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,"
                             " MPI_INFO_NULL, &c); MPI_Comm_size(c, &n);"
                             " MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);"
                             " if (rank == size - 1) printf(\"%d %d\\n\", n, *global);" + END)
        for words, says in ((("--hosts", "h1,h2", "--processes-per-host", 2), "4 0\n"),
                            (("-p", 2), "8 1\n")):
            status, out, err = self.run_job("-n", 8, *words, program)
            self.assertEqual((status, out, err), (0, says, ""))

    def test_standard_input_goes_to_rank_0_wherever_it_is(self):
        program = self.build("reads", INIT + "char line[64]; int n = 0;"
                             " while (fgets(line, 64, stdin)) { ++n; if (rank == 0)"
                             " fputs(line, stdout); } MPI_Barrier(MPI_COMM_WORLD);"
                             " if (rank != 0 && n) puts(\"wrong\");" + END)
        text = "".join(f"line {i}\n" for i in range(20000))
        for hosts in ("h1,h2", "h2,h1"):
            status, out, err = self.run_job("-n", 4, "--hosts", hosts, program, input=text)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out, text)

    def test_input_that_nobody_reads_does_not_matter(self):
        program = self.build("deaf", INIT + END)
        status, _, err = self.run_job("-n", 2, "--hosts", "h2,h1", program, input="x" * 1000000)
        self.assertEqual((status, err), (0, ""))

    def test_lines_are_whole_and_labelled(self):
        program = self.build("lines", INIT + "char line[9001]; memset(line, 'a' + rank, 9000);"
                             " line[9000] = 0; for (int i = 0; i < 20; ++i) {"
                             " fputs(line, i % 2 ? stdout : stderr);"
                             " fputc('\\n', i % 2 ? stdout : stderr); }" + END)
        for label in ((), ("--label",)):
            status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", *label, program)
            self.assertEqual(status, 0)
            for lines in (out.splitlines(), err.splitlines()):
                self.assertEqual(len(lines), 40)
                for line in lines:
                    who = ord(line[-1]) - ord("a")
                    begin = f"[{who}] " if label else ""
                    self.assertEqual(line, begin + chr(ord("a") + who) * 9000)

    def test_both_streams_in_one_file_keep_their_order(self):
        program = self.build("both", INIT + "if (rank == size - 1) for (int i = 0; i < 500; ++i)"
                             " fprintf(i % 2 ? stderr : stdout, \"%d\\n\", i);" + END)
        words = self.hosts.mpcrun("-n", 2, "--hosts", "h1,h2", program)
        status, out, err = self.run_job("-n", 2, "--hosts", "h1,h2", program)
        self.assertEqual((status, len(out.splitlines())), (0, 250), err)
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60)
        self.assertEqual(done.stdout, "".join(f"{i}\n" for i in range(500)))

    def test_what_goes_along(self):
        program = self.build("env", INIT + "char dir[512]; if (rank == 1) { const char *names[] ="
                             " {\"MPC_LOG_LEVEL\", \"UCX_TLS\", \"OMP_X\", \"GIVEN\", \"NAMED\","
                             " \"OTHER\", \"MPC_LAUNCHER\", \"UCX_NET_DEVICES\"};"
                             " for (int i = 0; i < 8; ++i) { const char *v = getenv(names[i]);"
                             " printf(\"%s \", v ? v : \"-\"); } puts(getcwd(dir, 512)); }" + END)
        folder = self.programs.folder.name
        env = {**os.environ, "MPC_LOG_LEVEL": "error", "UCX_TLS": "tcp,self,sm", "OMP_X": "1",
               "NAMED": "2", "OTHER": "3"}
        status, out, err = self.run_job("-n", 2, "--hosts", "h1,h2", "-x", "GIVEN=4", "-x", "NAMED",
                                        program, env=env, cwd=folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, f"error tcp,self,sm 1 4 2 - - - {folder}\n")

    def test_show_says_where_everything_is(self):
        program = self.build("where", INIT + WHERE + END)
        status, out, err = self.run_job("-n", 8, "--hosts", "h1,h2", "--show", program)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("process 0 of 2 on host h1: 4 ranks", out)
        self.assertIn("process 1 of 2 on host h2: 4 ranks", out)

    def test_an_agent_that_starts_nothing(self):
        program = self.build("where", INIT + WHERE + END)
        status, _, err = self.run_job("-n", 2, "--hosts", "h1,h2", program, agent="false")
        self.assertEqual(status, 3)
        self.assertRegex(err, r"^mpcrun: host h2: false could not start a daemon there")


class Refusals(HostsCase):
    def refuses(self, status, *words, says=(), **kwargs):
        got, out, err = self.run_job(*words, **kwargs)
        self.assertEqual((got, out), (status, ""), err)
        self.assertEqual(err.count("mpcrun: "), 1, err)
        for text in says:
            self.assertIn(text, err)
        return err

    def test_a_host_that_does_not_exist(self):
        self.refuses(3, "-n", 2, "--hosts", "h1,h9", "true", says=("host h9", "h9"))

    def test_a_host_that_does_not_let_us_in(self):
        agent = self.hosts.ssh() + " -o IdentityFile=/dev/null -i /dev/null"
        self.refuses(3, "-n", 2, "--hosts", "h1,h2", "true", says=("host h2",),
                     agent=agent.replace("-F " + self.hosts.path("net", "ssh_config"),
                                         "-F /dev/null -o StrictHostKeyChecking=no"
                                         " -o UserKnownHostsFile=/dev/null"))

    def test_a_program_that_is_not_there(self):
        program = self.build("where", INIT + WHERE + END)
        subprocess.run(self.hosts.command("h1", "mkdir", "-p", "/tmp/own"), check=True)
        subprocess.run(self.hosts.command("h1", "cp", program, "/tmp/own/prog"), check=True)
        err = self.refuses(127, "-n", 2, "--hosts", "h1,h2", "/tmp/own/prog",
                           says=("/tmp/own/prog", "host h2"))
        self.assertEqual(len(err.splitlines()), 1)

    def test_a_folder_that_is_not_there(self):
        subprocess.run(self.hosts.command("h1", "mkdir", "-p", "/tmp/only_h1"), check=True)
        words = self.hosts.mpcrun("-n", 2, "--hosts", "h1,h2", "true")
        at = words.index("exec") + 3
        words[at:at] = ["env", "-C", "/tmp/only_h1"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("host h2: /tmp/only_h1, where mpcrun was started: No such file", done.stderr)

    def check_without(self, prepare, restore, named, setting):
        """Between both commands on the host a job fails and says what is missing; with the setting it runs."""
        program = self.build("where", INIT + WHERE + END)
        without = ["sh", "-c", f"{prepare}; \"$@\"; s=$?; {restore}; exit $s", "sh"]
        words = (tool("mpcrun"), "-n", 2, "-p", 2, program)
        run = functools.partial(subprocess.run, capture_output=True, text=True, timeout=60)
        done = run(self.hosts.command("h1", *without, *words))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, named + ".* " + re.escape(setting))
        done = run(self.hosts.command("h1", *without, "env", setting, *words))
        self.assertEqual((done.returncode, done.stderr, len(done.stdout.splitlines())), (0, "", 2))

    def test_no_room_for_shared_memory(self):
        self.check_without("mount -t tmpfs -o size=64k none /dev/shm", "umount /dev/shm",
                           r"/dev/shm has only \d+ KiB left: ", "UCX_TLS=^posix")

    def test_no_shared_memory_of_system_v(self):
        self.check_without("was=$(cat /proc/sys/kernel/shmall); echo 0 >/proc/sys/kernel/shmall",
                           "echo $was >/proc/sys/kernel/shmall",
                           "no shared memory of System V ", "UCX_TLS=^sysv")


class ThreeHosts(HostsCase):
    COUNT = 3

    def test_messages_and_collectives_on_three(self):
        status, out, err = self.run_job("-n", 6, "--hosts", "h1,h2,h3", traffic(), "hosts")
        self.assertEqual((status, out, err), (0, "No Errors\n", ""))
        status, out, err = self.run_job("-n", 4, "--hosts", "h2,h3", traffic(), "hosts")
        self.assertEqual((status, out, err), (0, "No Errors\n", ""))


if __name__ == "__main__":
    main()
