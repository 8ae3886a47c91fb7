"""Two jobs that were started apart connect, talk, part and meet again; and what happens if they do not."""

import os
import signal
import subprocess
import sys
import time
import unittest

from common import END, INIT, OPEN, PORT, RETURN, PortCase, parse_options, source_of, support, tool

MORE = "#include <signal.h>\n"
# Prints the class of what a call returns, and the text.
SAY = ("{ int class = -1, length; char text[MPI_MAX_ERROR_STRING]; MPI_Error_class(code, &class);"
       " MPI_Error_string(code, text, &length);"
       " printf(\"%s\\n\", class == MPI_SUCCESS ? \"success\" : class == MPI_ERR_PORT ? \"port\" :"
       " class == MPI_ERR_NAME ? \"name\" : text); fflush(stdout); } ")


class ConnectCase(PortCase):
    def start(self, ranks, program, *args, options=(), alone=False, **kwargs):
        environment = dict(os.environ, MPC_MPI_PORT_FOLDER=self.path("ports"))
        command = [program] if alone else [tool("mpcrun"), "--timeout", "100", "-n", str(ranks),
                                           *options, program]
        job = subprocess.Popen([*command, *map(str, args)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, **kwargs)
        self.started.append(job)
        return job

    def two_jobs(self):
        return self.programs.compile("two_jobs.c", source_of("two_jobs.c"), "-O1", "-pthread")


class Together(ConnectCase):
    def both(self, what, server_ranks, client_ranks, where=None, options=()):
        where = where or self.path("port")
        program = self.two_jobs()
        server = self.start(server_ranks, program, "server", what, where, options=options)
        client = self.start(client_ranks, program, "client", what, where, options=options)
        for job in (client, server):
            self.ends(job, 0, "No Errors\n")

    def test_jobs_exchange_all_kinds_of_messages_and_connect_again(self):
        self.both("talk", 2, 3)

    def test_more_ranks_than_cores(self):
        self.both("talk", 9, 4)

    def test_the_client_may_have_more_ranks(self):
        self.both("talk", 1, 2)

    def test_they_find_each_other_by_name(self):
        self.both("talk", 2, 1, where="name:the service")

    def test_with_all_checks(self):
        self.both("talk", 2, 2, options=("--set", "mpi.check=full"))

    def test_each_message_may_be_fetched(self):
        self.both("talk", 2, 2, options=("--set", "message.eager_limit=0"))

    def test_a_flood_does_not_fill_the_receiver(self):
        self.both("flood", 1, 1)

    def test_threads_of_both_jobs_talk_at_once(self):
        self.both("threads", 2, 2)

    def test_three_jobs_grow_into_one_group(self):
        program = self.two_jobs()
        jobs = [self.start(2, program, number, "grow", self.path("port")) for number in range(3)]
        for job in jobs:
            self.ends(job, 0, "No Errors\n")

    @unittest.skipIf("thread" in support.WORDS, "the sanitizer wants to begin in mpcrun")
    def test_a_program_without_mpcrun_connects(self):
        program = self.two_jobs()
        server = self.start(2, program, "server", "talk", self.path("port"))
        client = self.start(1, program, "client", "talk", self.path("port"), alone=True)
        for job in (client, server):
            self.ends(job, 0, "No Errors\n")

    def test_spawned_ranks_connect(self):
        child = self.programs.build("spawned_client", INIT + PORT +
                                    "strcpy(port, argv[1]);"
                                    "MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);"
                                    "int sum; MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, inter);"
                                    "if (sum != 4) return 9; MPI_Comm_disconnect(&inter);"
                                    "MPI_Comm parent; MPI_Comm_get_parent(&parent);"
                                    "MPI_Comm_disconnect(&parent);" + END)
        parent = self.programs.build("spawning_client", INIT + PORT +
                                     "char *args[] = {argv[2], NULL};"
                                     "MPI_Comm_spawn(argv[1], args, 3, MPI_INFO_NULL, 0,"
                                     " MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);"
                                     "MPI_Comm_disconnect(&inter);" + END)
        server = self.programs.build("server_of_spawned", INIT + PORT + OPEN +
                                     "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);"
                                     "int sum; MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, inter);"
                                     "if (sum != 9) return 9; MPI_Comm_disconnect(&inter);" + END)
        first = self.start(2, server)
        port = first.stdout.readline().strip()
        self.ends(self.start(1, parent, child, port), 0)
        self.ends(first, 0)

    def test_a_socket_joins_two_jobs(self):
        join = self.programs.compile("join_jobs.c", """
#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm inter;
  int mine = atoi(argv[2]), theirs = -1;
  MPI_Comm_join(atoi(argv[1]), &inter);
  if (inter == MPI_COMM_NULL) return 9;
  MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  printf("%d\\n", theirs);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}
""")
        import socket
        ends = socket.socketpair()
        jobs = [self.start(1, join, end.fileno(), number, pass_fds=(end.fileno(),))
                for number, end in enumerate(ends)]
        for number, job in enumerate(jobs):
            self.ends(job, 0, f"{1 - number}\n")
        for end in ends:
            end.close()


class Apart(ConnectCase):
    """Errors: each says which one, at once or when its time is over."""

    def connect(self, *args, expected, options=(), says=""):
        program = self.programs.build("connects", INIT + PORT + RETURN +
                                      "int code = MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0,"
                                      " MPI_COMM_WORLD, &inter);"
                                      "if (rank == 0) " + SAY +
                                      "if (rank == 0) { int l; char t[MPI_MAX_ERROR_STRING];"
                                      " MPI_Error_string(code, t, &l); fprintf(stderr, \"%s\\n\", t); }"
                                      + END)
        job = self.start(2, program, *args, options=options)
        _, err = self.ends(job, 0, expected)
        self.assertIn(says, err)

    def waits(self):
        """A job that has a port and waits for a line of its input."""
        return self.programs.build("has_a_port", INIT + PORT + OPEN +
                                   "MPI_Publish_name(\"held\", MPI_INFO_NULL, port);"
                                   "char line[8]; if (read(0, line, 8) < 0) return 9;" + END)

    def test_nobody_accepts_there(self):
        server = self.start(1, self.waits(), stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        began = time.monotonic()
        self.connect(port, expected="port\n", options=("--set", "mpi.connect_timeout=1"),
                     says="within 1 s")
        self.assertLess(time.monotonic() - began, 30)
        server.stdin.write("\n")
        self.ends(server, 0)

    def test_the_job_of_the_port_was_killed_and_its_name_with_it(self):
        server = self.start(1, self.waits(), stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        looks = self.programs.build("looks", INIT + PORT + RETURN +
                                    "int code = MPI_Lookup_name(\"held\", MPI_INFO_NULL, port);"
                                    + SAY + END)
        deadline = time.monotonic() + 30  # the name comes after the port
        while self.ends(self.start(1, looks), 0)[0] != "success\n":
            self.assertLess(time.monotonic(), deadline)
        server.kill()
        server.wait()
        self.connect(port, expected="port\n")
        self.ends(self.start(1, looks), 0, "name\n")

    def test_the_server_is_killed_while_somebody_waits_at_its_port(self):
        server = self.start(1, self.waits(), stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        program = self.programs.build("waits_there", INIT + PORT + RETURN +
                                      "int code = MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0,"
                                      " MPI_COMM_WORLD, &inter);" + SAY + END)
        client = self.start(1, program, port)
        time.sleep(1)
        server.kill()
        self.ends(client, 0, "port\n")

    def test_jobs_with_other_settings_are_told_which(self):
        server = self.start(1, self.waits(), stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        self.connect(port, expected="port\n", options=("--set", "message.eager_limit=100"),
                     says="message.eager_limit=100")
        server.stdin.write("\n")
        self.ends(server, 0)

    def test_a_job_of_several_processes_says_that_it_cannot(self):
        server = self.start(1, self.waits(), stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        self.connect(port, expected="port\n", options=("--set", "job.virtual_processes=2"),
                     says="several processes")
        server.stdin.write("\n")
        self.ends(server, 0)

    def connected(self, then):
        """Both ranks are connected; what the client does then."""
        server = self.programs.build("accepts", INIT + PORT + OPEN +
                                     "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);"
                                     "MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);" + END)
        client = self.programs.build("client_" + str(abs(hash(then))), INIT + PORT +
                                     "MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0, MPI_COMM_WORLD,"
                                     " &inter);" + then)
        first = self.start(1, server)
        return first, self.start(1, client, first.stdout.readline().strip())

    def test_a_client_that_dies_ends_the_server_with_a_report(self):
        for signal_number in (signal.SIGKILL, signal.SIGSEGV):
            server, client = self.connected(f"raise({int(signal_number)});")
            self.assertNotEqual(client.wait(), 0)
            self.ends(server, 1, says=("a job that this one is connected with has ended",))

    def test_a_client_that_ends_without_a_message_is_a_deadlock_of_the_server(self):
        server, client = self.connected(END)
        self.ends(client, 0)
        self.ends(server, 125, says=("deadlock", "MPI_Recv"))

    def test_a_server_outlives_clients_that_have_disconnected(self):
        server = self.programs.build("serves", INIT + PORT + OPEN +
                                     "for (int i = 0; i < 4; ++i) {"
                                     "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);"
                                     "MPI_Comm_disconnect(&inter); }" + END)
        client = self.programs.build("leaves", INIT + PORT +
                                     "MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0, MPI_COMM_WORLD,"
                                     " &inter); MPI_Comm_disconnect(&inter); raise(9);")
        first = self.start(2, server)
        port = first.stdout.readline().strip()
        for _ in range(4):
            self.assertNotEqual(self.start(1, client, port).wait(), 0)
        self.ends(first, 0)

    def test_a_server_that_waits_costs_no_cpu(self):
        program = self.programs.build("accepts_for_ever", INIT + PORT + OPEN +
                                      "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD,"
                                      " &inter);" + END)
        server = self.start(2, program)
        server.stdout.readline()
        time.sleep(1)

        def used():
            with open(f"/proc/{server.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            return int(fields[11]) + int(fields[12])

        before = used()
        time.sleep(3)
        self.assertLess(used() - before, 15)  # hundredths of a second, of 300
        self.assertIsNone(server.poll())

    def test_a_folder_that_others_may_read_is_not_used(self):
        os.mkdir(self.path("ports"), 0o755)
        program = self.programs.build("opens", INIT + PORT + RETURN + OPEN + END)
        out, err = self.ends(self.start(1, program), 0)
        self.assertEqual(out.count(":"), 2)  # known in this job only
        self.assertIn("no rights for others", err)

    def test_a_job_without_ports_opens_nothing(self):
        program = self.programs.build("nothing", INIT + "MPI_Barrier(MPI_COMM_WORLD);" + END)
        self.ends(self.start(2, program), 0)
        self.assertFalse(os.path.exists(self.path("ports")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + parse_options())
