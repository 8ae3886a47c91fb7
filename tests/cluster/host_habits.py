#!/usr/bin/env python3
"""Jobs on several hosts under the conditions that users have: their networks, files, shells, and limits."""

import os
import shlex
import signal
import subprocess

from common import END, INIT, source_of, tool
from virtual_hosts import HostsCase, main

# Sends long messages around, and says where each rank is.
RING = ("int n = 1000000; char host[256], *out = malloc(n), *in = malloc(n); MPI_Request both[2];"
        " gethostname(host, 256); memset(out, rank + 1, n); memset(in, 0, n);"
        " MPI_Irecv(in, n, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, both);"
        " MPI_Isend(out, n, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD, both + 1);"
        " MPI_Waitall(2, both, MPI_STATUSES_IGNORE);"
        " for (int i = 0; i < n; ++i) if (in[i] != (char)((rank + size - 1) % size + 1))"
        " { printf(\"wrong at %d\\n\", i); break; }"
        " int sum = 0; MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);"
        " printf(\"rank %d on %s sum %d\\n\", rank, host, sum);")
BOTH_WAYS = ((), ("--ranks-per-process", 1))


def ring_lines(hosts):
    """What the ring prints, for ranks on these hosts."""
    ranks = len(hosts)
    return [f"rank {r} on {host} sum {ranks * (ranks - 1) // 2}" for r, host in enumerate(hosts)]


class HabitsCase(HostsCase):
    def on(self, host, *words, status=0):
        done = subprocess.run(self.hosts.command(host, *words), capture_output=True, text=True, timeout=60)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def shell(self, host, text, **kwargs):
        return self.on(host, "sh", "-c", text, **kwargs)

    def ring(self, *words, hosts=("h1", "h1", "h2", "h2"), **kwargs):
        """A job of four ranks, with all that it has to say."""
        program = self.build("ring", INIT + RING + END)
        status, out, err = self.run_job("-n", len(hosts), *words, program, **kwargs)
        self.assertEqual((status, err), (0, ""), out)
        self.assertEqual(sorted(out.splitlines()), ring_lines(hosts))

    def agent(self, wrap):
        """An agent that starts the daemon by these words."""
        path = self.hosts.path("net", "agent")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nhost=$1; shift\nexec {self.hosts.ssh()} $host {wrap} \"$@\"\n")
        os.chmod(path, 0o755)
        return path

    def bind(self, host, path, text):
        """This text is the host's file until the test has ended."""
        own = self.hosts.path("net", f"{os.path.basename(path)}_{host}")
        with open(own, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(own, 0o644)
        self.on(host, "mount", "--bind", own, path)
        self.addCleanup(self.on, host, "umount", path)


class Networks(HabitsCase):
    def test_a_name_that_means_the_loopback_interface_at_home(self):
        """As Debian's installer writes it: 127.0.1.1 NAME."""
        for host, other, number in (("h1", "h2", 2), ("h2", "h1", 1)):
            self.bind(host, "/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {host}\n"
                      f"10.231.77.{number} {other}\n")
        for words in BOTH_WAYS:
            self.ring("--hosts", "h1,h2", *words)
            self.ring("--hosts", "h2,h1", *words, hosts=("h2", "h2", "h1", "h1"))

    def test_a_clock_that_is_a_day_ahead(self):
        ahead = self.agent("unshare -T --monotonic 86400 --boottime 86400 --fork")
        if self.on("h1", "unshare", "-T", "--monotonic", "86400", "--fork", "true", status=None).returncode:
            self.skipTest("no namespaces for clocks here")
        for words in BOTH_WAYS:
            self.ring("--hosts", "h1,h2", *words, agent=ahead)

    def test_many_jobs_at_once_between_the_same_hosts(self):
        program = self.build("ring", INIT + RING + END)
        jobs = [subprocess.Popen(self.hosts.mpcrun("-n", 4, "--hosts", "h1,h2", program),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(8)]
        for job in jobs:
            out, err = job.communicate(timeout=120)
            self.assertEqual((job.returncode, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), ring_lines(("h1", "h1", "h2", "h2")))

    def test_processes_that_end_at_very_different_times(self):
        """What the last messages of one have opened the others may not have answered yet."""
        program = self.build("writes", INIT + "static char line[50001]; memset(line, 'a' + rank, 50000);"
                             " if (rank % 7 == 0) for (int i = 0; i < 20; ++i) puts(line);" + END)
        for _ in range(3):
            status, out, err = self.run_job("-n", 30, "--ranks-per-process", 1, "--hosts", "h1,h2", program)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()),
                             sorted(chr(ord("a") + r) * 50000 for r in range(0, 30, 7) for _ in range(20)))


class OnlyIPv6(HabitsCase):
    FAMILY = "6"

    def test_names_and_literals(self):
        for words in BOTH_WAYS:
            self.ring("--hosts", "h1,h2", *words)
        self.ring("--hosts", "fd77::1,fd77::2")
        self.ring("--hosts", "[fd77::1]:2,[fd77::2]:2", "-p", 4)
        self.ring("--hosts", "fd77::2", hosts=("h2", "h2"))


class Files(HabitsCase):
    def test_a_folder_that_one_host_does_not_have(self):
        program = self.build("ring", INIT + RING + END)
        self.on("h1", "mkdir", "-p", "/tmp/on_h1")
        for words in BOTH_WAYS:
            status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", *words, "--wdir", "/tmp/on_h1", program)
            self.assertEqual((status, out), (2, ""))
            self.assertEqual(err, "mpcrun: host h2: --wdir /tmp/on_h1: No such file or directory\n")

    def test_a_host_has_an_older_build(self):
        new = self.build("says_new", INIT + "printf(\"new %d\\n\", rank);" + END)
        old = self.build("says_old", INIT + "printf(\"old %d\\n\", rank);" + END)
        for host, program in (("h1", new), ("h2", old)):
            self.on(host, "mkdir", "-p", "/tmp/own")
            self.on(host, "cp", program, "/tmp/own/prog")
        status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", "/tmp/own/prog")
        self.assertEqual((status, sorted(out.splitlines())), (0, ["new 0", "new 1", "old 2", "old 3"]))
        self.assertEqual(err, "mpc: warning: /tmp/own/prog: process 1 (ranks 2-3) runs another build of it than"
                         " process 0; is the same one on all hosts?\n")
        status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", "--set", "log.level=error", "/tmp/own/prog")
        self.assertEqual((status, err), (0, ""))

    def test_tmp_is_full_or_cannot_be_written(self):
        self.shell("h2", "mount -o remount,size=8k /tmp; dd if=/dev/zero of=/tmp/fill bs=4k 2>/dev/null", status=1)
        try:
            for words in (*BOTH_WAYS, ("-p", 4)):
                self.ring("--hosts", "h1,h2", *words)
            self.shell("h2", "rm /tmp/fill; mount -o remount,ro /tmp")
            for words in (*BOTH_WAYS, ("-p", 4)):
                self.ring("--hosts", "h1,h2", *words)
        finally:
            self.shell("h2", "mount -o remount,rw,size=100m /tmp; rm -f /tmp/fill")

    NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
              "env", "HOME=/")

    def let_others_in(self):
        for folder in (self.hosts.folder.name, self.programs.folder.name):
            os.chmod(folder, 0o755)

    def test_programs_that_others_may_not_read(self):
        """The system refuses copies from memory of such a process, except to root."""
        program = self.build("ring", INIT + RING + END)
        folder = self.hosts.path("net", "unreadable")
        os.makedirs(folder)
        self.let_others_in()
        for name in ("bin", "lib"):
            subprocess.run(["cp", "-a", os.path.join(os.path.dirname(os.path.dirname(tool("mpcrun"))), name), folder],
                           check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["cp", program, folder], check=True)
        for path in ("bin/mpcrun", "ring"):
            os.chmod(os.path.join(folder, path), 0o711)
        for words, path in ((("-p", 2), program), (("--ranks-per-process", 1), os.path.join(folder, "ring"))):
            done = self.on("h1", *self.NOBODY, os.path.join(folder, "bin/mpcrun"), "-n", 4, *words, path, status=None)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(sorted(done.stdout.splitlines()), ring_lines(["h1"] * 4))

    def test_ranks_that_no_longer_may_be_read(self):
        """They were when the processes met: prctl(PR_SET_DUMPABLE), a filter of seccomp."""
        program = self.programs.compile("sandbox.c", source_of("sandbox.c"), "-O1")
        self.let_others_in()
        for words in (("-p", 2), ("--ranks-per-process", 1)):
            for how in ("undumpable", "filter", "one"):
                done = self.on("h1", *self.NOBODY, tool("mpcrun"), "-n", 4, *words, program, how, status=None)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "good\n", ""), (words, how))


class Shells(HabitsCase):
    def become(self, home, shell):
        with open("/etc/passwd", encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("root:")]
        self.bind("h2", "/etc/passwd", f"root:x:0:0:root:{home}:{shell}\n" + "".join(lines))

    def test_a_shell_that_talks_and_no_home(self):
        shell = self.hosts.path("net", "shell")
        with open(shell, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho Welcome!\necho You have mail. >&2\nexec /bin/sh \"$@\"\n")
        os.chmod(shell, 0o755)
        self.become("/nonexistent", shell)
        for words in BOTH_WAYS:
            self.ring("--hosts", "h1,h2", *words)

    def test_another_kind_of_shell(self):
        if not os.path.exists("/bin/tcsh"):
            self.skipTest("tcsh is not installed")
        self.become("/root", "/bin/tcsh")
        self.ring("--hosts", "h1,h2")

    def test_an_account_without_a_shell(self):
        self.become("/root", "/usr/sbin/nologin")
        status, out, err = self.run_job("-n", 2, "--hosts", "h1,h2", "true")
        self.assertEqual((status, out), (3, ""))
        self.assertIn("mpcrun: host h2: ", err)
        self.assertIn("This account is currently not available.", err)

    def test_values_with_lines_and_quotes(self):
        program = self.build("says", INIT + "for (int r = 0; r < size; ++r) { if (r == rank)"
                             " { printf(\"<%s> <%s>\\n\", getenv(\"LINES_OF\"), getenv(\"QUOTES\"));"
                             " fflush(stdout); } MPI_Barrier(MPI_COMM_WORLD); }" + END)
        lines, quotes = "a\nb\n c", "it's \"x\" $HOME \\ ; * é"
        for words in BOTH_WAYS:
            for given in (("-x", "LINES_OF", "-x", "QUOTES"),
                          ("-x", "LINES_OF=" + lines, "-x", "QUOTES=" + quotes)):
                status, out, err = self.run_job("-n", 2, "--hosts", "h1,h2", *words, *given, program,
                                                env={**os.environ, "LINES_OF": lines, "QUOTES": quotes})
                self.assertEqual((status, out, err), (0, f"<{lines}> <{quotes}>\n" * 2, ""))


class Limits(HabitsCase):
    def test_few_descriptors(self):
        program = self.build("ring", INIT + RING + END)
        self.ring("--hosts", "h1,h2", "--processes-per-host", 2, agent=self.agent("prlimit --nofile=64"))
        for count in (12, 16):
            status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", program,
                                            agent=self.agent(f"prlimit --nofile={count}"))
            self.assertEqual((status, out), (3, ""))
            self.assertRegex(err, "^mpcrun: host h2: ")

    def test_little_address_space(self):
        program = self.build("ring", INIT + RING + END)
        self.ring("--hosts", "h1,h2", "--processes-per-host", 2, agent=self.agent("prlimit --as=1000000000"))
        status, out, err = self.run_job("-n", 4, "--hosts", "h1,h2", program, agent=self.agent("prlimit --as=90000000"))
        self.assertNotEqual(status, 0)
        self.assertIn("host h2", err)
        self.assertEqual(out, "")


class Streams(HabitsCase):
    LINES = ("char line[2001]; memset(line, 'a' + rank %% 26, 2000); line[2000] = 0;"
             " for (int i = 0; i < %d; ++i) puts(line);")

    def test_long_lines_of_200_ranks(self):
        program = self.build("long", INIT + self.LINES % 10 + END)
        status, out, err = self.run_job("-n", 200, "--hosts", "h1,h2", program, timeout=120)
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(sorted(lines), sorted(chr(ord("a") + r % 26) * 2000 for r in range(200) for _ in range(10)))

    def test_a_reader_that_has_seen_enough(self):
        program = self.build("much", INIT + self.LINES % 5000 + END)
        for words in BOTH_WAYS:
            for hosts in ("h1,h2", "h2,h1"):
                job = subprocess.Popen(self.hosts.mpcrun("-n", 4, "--hosts", hosts, *words, program),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertEqual(len(job.stdout.readline()), 2001)
                job.stdout.close()
                _, err = job.communicate(timeout=30)
                self.assertEqual((job.returncode, err), (128 + signal.SIGPIPE, ""))

    def test_a_writer_that_has_written_enough(self):
        """The input ends in the middle of a line; or goes on, and nobody reads it."""
        program = self.build("first", INIT + "char line[64] = \"\"; if (rank == 0 && fgets(line, 64, stdin))"
                             " printf(\"<%s>\\n\", line);" + END)
        for words in BOTH_WAYS:
            for hosts in ("h1,h2", "h2,h1"):
                status, out, err = self.run_job("-n", 4, "--hosts", hosts, *words, program, input="half")
                self.assertEqual((status, out, err), (0, "<half>\n", ""))
                text = " ".join(map(shlex.quote, self.hosts.mpcrun("-n", 4, "--hosts", hosts, *words, program)))
                done = subprocess.run(["sh", "-c", f"yes | {text}"], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (0, "<y\n>\n"), done.stderr)


if __name__ == "__main__":
    main()
