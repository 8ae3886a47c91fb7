"""Jobs of several processes connect with others, spawn, part and meet again; and what happens if they do not."""

import os
import signal
import subprocess
import sys
import unittest

from common import (END, INIT, OPEN, PORT, RETURN, PortCase, parse_options, script_around, source_of, support,
                    tool)

MPI_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi")
# How a job is started: ranks, options.
ALONE = (3, ())
TWO = (4, ("-p", "2"))
THREE = (5, ("-p", "3"))
EACH = (3, ("--ranks-per-process", "1"))
SAY = ("{ int class = -1, length; char text[MPI_MAX_ERROR_STRING]; MPI_Error_class(code, &class);"
       " MPI_Error_string(code, text, &length);"
       " printf(\"%s\\n\", class == MPI_SUCCESS ? \"success\" : class == MPI_ERR_PORT ? \"port\" :"
       " class == MPI_ERR_SPAWN ? \"spawn\" : text); fflush(stdout); fprintf(stderr, \"%s\\n\", text); } ")
ACCEPT = "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); "
CONNECT = "MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); "


class SeveralCase(PortCase):
    def start(self, kind, program, *args, options=(), alone=False, variables=None, **kwargs):
        environment = dict(os.environ, MPC_MPI_PORT_FOLDER=self.path("ports"), **(variables or {}))
        ranks, processes = kind
        command = [program] if alone else [tool("mpcrun"), "--timeout", "100", "-n", str(ranks),
                                           *processes, *options, program]
        job = subprocess.Popen([*command, *map(str, args)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment, **kwargs)
        self.started.append(job)
        return job

    def compiled(self, name, *flags):
        return self.programs.compile(name, source_of(name), "-O1", "-pthread", *flags)


class Together(SeveralCase):
    def both(self, what, server, client, where=None, options=()):
        where = where or self.path("port")
        program = self.compiled("two_jobs.c")
        jobs = [self.start(kind, program, part, what, where, options=options)
                for part, kind in (("server", server), ("client", client))]
        for job in jobs:
            self.ends(job, 0, "No Errors\n")

    def test_one_that_has_several_processes_accepts(self):
        self.both("talk", TWO, ALONE)

    def test_one_that_has_several_processes_connects(self):
        self.both("talk", ALONE, THREE)

    def test_both_have_several_processes(self):
        self.both("talk", TWO, THREE)
        os.remove(self.path("port"))
        self.both("talk", THREE, TWO)

    def test_a_process_for_each_rank(self):
        self.both("talk", EACH, TWO)
        os.remove(self.path("port"))
        self.both("talk", ALONE, EACH)
        os.remove(self.path("port"))
        self.both("talk", EACH, EACH)

    def test_they_find_each_other_by_name(self):
        self.both("talk", TWO, TWO, where="name:the service")

    def test_with_all_checks(self):
        self.both("talk", TWO, TWO, options=("--set", "mpi.check=full"))

    def test_each_message_may_be_fetched(self):
        self.both("talk", TWO, THREE, options=("--set", "message.eager_limit=0"))

    def test_a_flood_and_threads(self):
        self.both("flood", TWO, TWO)
        os.remove(self.path("port"))
        self.both("threads", TWO, TWO)

    def grow(self, *kinds):
        program = self.compiled("two_jobs.c")
        jobs = [self.start(kind, program, number, "grow", self.path("port"))
                for number, kind in enumerate(kinds)]
        for job in jobs:
            self.ends(job, 0, "No Errors\n")
        os.remove(self.path("port"))

    def test_three_jobs_grow_into_one_group(self):
        two, three, each, alone = ((4, ("-p", "2")), (4, ("-p", "3")), (4, ("--ranks-per-process", "1")),
                                   (4, ()))
        self.grow(two, two, two)
        self.grow(three, alone, two)
        self.grow(alone, two, each)
        self.grow(each, each, three)

    def test_clients_that_end_as_soon_as_they_are_connected(self):
        clients = 24
        server = self.programs.build("accepts_many", INIT + PORT + OPEN +
                                     f"for (int i = 0; i < {clients}; ++i) {{ {ACCEPT} }} " + END)
        client = self.programs.build("ends_at_once", INIT + PORT + CONNECT + END)
        for kind in (TWO, EACH):
            first = self.start(kind, server)
            port = first.stdout.readline().strip()
            for _ in range(clients // 4):  # several at once: the others keep the cores busy
                for job in [self.start(ALONE, client, port) for _ in range(4)]:
                    self.ends(job, 0)
            self.ends(first, 0)

    @unittest.skipIf("thread" in support.WORDS, "the sanitizer wants to begin in mpcrun")
    def test_a_program_without_mpcrun_connects(self):
        program = self.compiled("two_jobs.c")
        server = self.start(TWO, program, "server", "talk", self.path("port"))
        client = self.start(ALONE, program, "client", "talk", self.path("port"), alone=True)
        for job in (client, server):
            self.ends(job, 0, "No Errors\n")


class Merged(SeveralCase):
    """Programs of tests/mpi, whose MPI_COMM_WORLD is here the group of two jobs."""

    def over_both(self, name, *args, kinds=(TWO, THREE)):
        with open(os.path.join(MPI_TESTS, f"{name}.c"), encoding="utf-8") as file:
            text = file.read().replace("#include \"", f"#include \"{MPI_TESTS}/")
        header = os.path.join(os.path.dirname(MPI_TESTS), "cluster", "merged_world.h")
        program = self.programs.compile(f"merged_{name}.c", text, "-O1", "-w", "-pthread", "-D_GNU_SOURCE",
                                        "-include", header)
        jobs = [self.start(kind, program, *args, variables={"MERGED_PART": part, "MERGED_PORT": self.path("port")})
                for part, kind in zip(("server", "client"), kinds)]
        self.ends(jobs[0], 0, "No Errors\n")
        self.ends(jobs[1], 0, "")
        os.remove(self.path("port"))

    def test_collectives_in_trees(self):
        self.over_both("trees")

    def test_blocking_collectives_in_two_levels(self):
        self.over_both("two_levels")

    def test_many_collectives_at_once(self):
        self.over_both("storm", 3)
        self.over_both("storm", 3, kinds=(EACH, ALONE))

    def test_messages(self):
        self.over_both("sends")
        self.over_both("waits")

    def test_communicators(self):
        self.over_both("intercomm")
        self.over_both("contexts")
        self.over_both("topologies")
        self.over_both("groups")

    def test_partitioned(self):
        self.over_both("partitioned")

    def test_windows(self):
        for name in ("onesided", "far_windows", "window_mix"):
            self.over_both(name)
        self.over_both("onesided", kinds=(EACH, ALONE))

    def test_epochs_that_wait_in_a_queue(self):
        self.over_both("queued_epochs")

    def test_files(self):
        for name in ("files", "two_phase", "file_async", "file_errors", "file_datareps"):
            self.over_both(name)
        self.over_both("two_phase", kinds=(EACH, ALONE))


class Spawn(SeveralCase):
    def spawn(self, kind, *args, source="spawn_alone.c", **kwargs):
        self.ends(self.start(kind, self.compiled(source), *args, **kwargs), 0, "No Errors\n")

    def test_parent_and_children_talk_and_part(self):
        for kind in (TWO, THREE, EACH):
            self.spawn(kind, "talk", 1)
            self.spawn(kind, "talk", 3)

    def test_two_programs_of_one_call(self):
        self.spawn(TWO, "two-programs")

    def test_a_child_spawns_again(self):
        self.spawn(TWO, "deeper", 2)

    def test_settings_of_the_parent_are_those_of_the_child(self):
        self.spawn(TWO, "talk", 2, options=("--set", "message.eager_limit=100", "--set", "mpi.check=full"))

    def test_a_group_grows_by_spawning(self):
        for kind in (TWO, THREE, EACH):
            self.spawn(kind, "grow", source="several_spawn.c")

    def test_several_spawns_at_a_time(self):
        self.spawn(TWO, "farm", source="several_spawn.c")
        self.spawn(EACH, "each", source="several_spawn.c")

    def test_ranks_that_have_not_spawned_join_by_another_communicator(self):
        for kind in (TWO, THREE, EACH):
            self.spawn(kind, "bridge", source="several_spawn.c")

    def test_ports_and_names_are_those_of_the_job(self):
        for kind in (TWO, THREE, EACH):
            self.spawn(kind, "ports", source="several_spawn.c")
            self.spawn(kind, "names", source="several_spawn.c")

    def test_groups_of_one_job_meet_at_ports(self):
        with open(os.path.join(MPI_TESTS, "ports.c"), encoding="utf-8") as file:
            text = file.read().replace("#include \"", f"#include \"{MPI_TESTS}/")
        program = self.programs.compile("ports.c", text, "-O1", "-w", "-pthread")
        for kind in (TWO, (6, ("-p", "3"))):  # ranks 0 and 1 are of one process: they share a socket
            self.ends(self.start(kind, program), 0, "No Errors\n")

    def test_children_that_need_a_process_each(self):
        program = self.compiled("spawn_alone.c")
        variables = {"SPAWNS": script_around(self.folder.name, program)}
        for kind in (ALONE, TWO, EACH):
            self.spawn(kind, "talk", 3, variables=variables)
        self.spawn(ALONE, "two-programs", variables=variables)
        self.spawn(TWO, "deeper", 1, variables=variables)

    def test_a_job_that_such_a_child_starts_by_itself_is_independent(self):
        program = self.compiled("spawn_alone.c")
        hello = self.programs.build("hello", INIT + END)
        before = f"{tool('mpcrun')} -n 2 --ranks-per-process 1 {hello} || exit 1"
        self.spawn(ALONE, "talk", 2, variables={"SPAWNS": script_around(self.folder.name, program, before)})

    def test_such_children_and_their_parents_die_together(self):
        program = self.compiled("spawn_alone.c")
        variables = {"SPAWNS": script_around(self.folder.name, program)}
        for how, says in (("aborts", "MPI_Abort(MPI_COMM_WORLD, 7)"), ("crashes", "a job that this one is connected")):
            parent = self.start(ALONE, program, how, 2, variables=variables)
            self.ends(parent, 1, says=(says, "a job that this one is connected with has ended"))
        parent = self.start(ALONE, program, "waits", 2, variables=variables)
        self.assertEqual(parent.stdout.readline(), "spawned\n")
        parent.send_signal(signal.SIGTERM)
        self.ends(parent, None)
        self.assertEqual(self.processes_left(), {})

    def test_such_children_that_never_call_mpi_init_end_with_their_parent(self):
        for ends in (True, False):
            path = os.path.join(self.folder.name, f"stays-{ends}.sh")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho here\n" + ("sleep 1000\n" if ends else ""))
            os.chmod(path, 0o700)
            parent = self.start(ALONE, self.compiled("spawn_alone.c"), "talk", 1, variables={"SPAWNS": path})
            self.assertEqual(parent.stdout.readline(), "here\n")
            if ends:
                parent.kill()
                self.ends(parent, -signal.SIGKILL, says=("the program that has spawned this job has ended",))
            else:
                self.ends(parent, None, says=("before all its ranks were in MPI_Init",))
            self.assertEqual(self.processes_left(), {})

    def refused(self, kind, says, *args, options=(), call=None):
        call = call or "MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);"
        program = self.programs.build("asks_" + str(abs(hash(call))),
                                      INIT + RETURN + "MPI_Comm inter; int codes[4]; int code = " + call +
                                      "if (rank == size - 1) " + SAY + END)
        _, err = self.ends(self.start(kind, program, *args, options=options), 0, "spawn\n")
        self.assertIn(says, err)

    def test_what_cannot_be_spawned(self):
        self.refused(TWO, "there-is-none", "./there-is-none")
        self.refused(TWO, "before all its ranks were in MPI_Init", "/bin/true")
        with_key = ("({ MPI_Info info; MPI_Info_create(&info); MPI_Info_set(info, \"mpc_processes\", \"2\");"
                    " int got = MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter, codes);"
                    " MPI_Info_free(&info); got; });")
        self.refused(TWO, "each rank of this job is a process", "/bin/true", call=with_key)
        without = self.programs.build("without_mpi", "return 0;")
        self.refused(TWO, "before all its ranks were in MPI_Init", without)
        self.refused(EACH, "--on-fail notify", self.compiled("spawn_alone.c"), options=("--on-fail", "notify"))
        self.refused((4, ()), "virtual", self.compiled("spawn_alone.c"),
                     options=("--set", "job.virtual_processes=2"))


class Apart(SeveralCase):
    def test_ports_that_are_dead_and_jobs_that_may_not_connect(self):
        program = self.programs.build("connects", INIT + PORT + RETURN + "int code = " + CONNECT +
                                      "if (rank == size - 1) " + SAY + END)
        waits = self.programs.build("has_a_port", INIT + PORT + OPEN +
                                    "char line[8]; if (rank == 0 && read(0, line, 8) < 0) return 9;" + END)
        server = self.start(TWO, waits, stdin=subprocess.PIPE)
        port = server.stdout.readline().strip()
        _, err = self.ends(self.start(THREE, program, port, options=("--set", "mpi.connect_timeout=1")), 0,
                           "port\n")
        self.assertIn("within 1 s", err)
        _, err = self.ends(self.start(EACH, program, port, options=("--on-fail", "notify")), 0, "port\n")
        self.assertIn("--on-fail notify", err)
        server.stdin.write("\n")
        self.ends(server, 0)
        self.ends(self.start(TWO, program, port), 0, "port\n")
        self.ends(self.start(TWO, program, "mpc:none"), 0, "port\n")

    def connected(self, server_kind, client_kind, then):
        """All ranks are connected; what the last rank of the client does then."""
        server = self.programs.build("accepts", INIT + PORT + OPEN + ACCEPT +
                                     "MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);" + END)
        client = self.programs.build("client_" + str(abs(hash(then))), INIT + PORT + CONNECT + "MPI_Barrier(MPI_COMM_WORLD);"
                                     f"if (rank == size - 1) {{ {then} }}"
                                     "MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);" + END)
        first = self.start(server_kind, server)
        return first, self.start(client_kind, client, first.stdout.readline().strip())

    def test_a_process_that_dies_ends_both_jobs(self):
        for kinds in ((TWO, ALONE), (ALONE, TWO), (TWO, THREE), (EACH, EACH)):
            for then in (f"raise({int(signal.SIGKILL)});", "MPI_Abort(MPI_COMM_WORLD, 3);"):
                server, client = self.connected(*kinds, then)
                self.assertNotEqual(client.wait(timeout=100), 0)
                _, err = self.ends(server, 1, says=("a job that this one is connected with has ended",))
                self.assertEqual(err.count("a job that this one is connected with has ended"), 1, err)

    def test_who_is_waited_for_in_vain_is_a_deadlock(self):
        server = self.programs.build("waits_for_more", INIT + PORT + OPEN + ACCEPT +
                                     "MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);" + END)
        client = self.programs.build("ends_at_once", INIT + PORT + CONNECT + END)
        first = self.start(TWO, server)
        self.ends(self.start(TWO, client, first.stdout.readline().strip()), 0)
        self.ends(first, 125, says=("deadlock", "MPI_Recv"))

    def test_a_server_outlives_clients_that_have_disconnected(self):
        server = self.programs.build("serves", INIT + PORT + OPEN +
                                     "for (int i = 0; i < 4; ++i) {" + ACCEPT +
                                     "MPI_Comm_disconnect(&inter); }" + END)
        client = self.programs.build("leaves", INIT + PORT + CONNECT +
                                     "MPI_Comm_disconnect(&inter); raise(9);")
        first = self.start(TWO, server)
        port = first.stdout.readline().strip()
        for kind in (TWO, ALONE, EACH, THREE):
            self.assertNotEqual(self.start(kind, client, port).wait(), 0)
        self.ends(first, 0)

    def test_children_and_parents_die_together(self):
        for how, says in (("aborts", "MPI_Abort(MPI_COMM_WORLD, 7)"), ("crashes", "a job that this one is connected")):
            parent = self.start(TWO, self.compiled("spawn_alone.c"), how, 2)
            self.ends(parent, 1, says=(says, "a job that this one is connected with has ended"))
        parent = self.start(TWO, self.compiled("spawn_alone.c"), "waits", 2)
        self.assertEqual(parent.stdout.readline(), "spawned\n")
        parent.send_signal(signal.SIGTERM)
        self.ends(parent, None)
        self.assertEqual(self.processes_left(), {})

    def test_a_job_without_ports_opens_nothing(self):
        program = self.programs.build("nothing", INIT + "MPI_Barrier(MPI_COMM_WORLD);" + END)
        self.ends(self.start(TWO, program), 0)
        self.assertFalse(os.path.exists(self.path("ports")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + parse_options())
