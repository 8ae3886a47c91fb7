#!/usr/bin/env python3
"""Jobs on several hosts, which are virtual ones, connect with others, spawn, and end with them."""

import os
import re
import subprocess
import time

from common import END, INIT, OPEN, PORT, RETURN, Ends, script_around, source_of
from virtual_hosts import HostsCase, main

ACCEPT = "MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); "
CONNECT = "MPI_Comm_connect(argv[1], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter); "
WAIT = "MPI_Recv(NULL, 0, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);"
CLASS = ("{ int class = -1, length; char text[MPI_MAX_ERROR_STRING]; MPI_Error_class(code, &class);"
         " MPI_Error_string(code, text, &length);"
         " printf(\"%s\\n\", class == MPI_SUCCESS ? \"success\" : class == MPI_ERR_PORT ? \"port\" :"
         " class == MPI_ERR_SPAWN ? \"spawn\" : text); fflush(stdout); fprintf(stderr, \"%s\\n\", text); } ")
# What a job runs on: the host of mpcrun, options.
ON_1 = ("h1", ("-n", 3))
ON_2 = ("h2", ("-n", 2))
TWO_ON_2 = ("h2", ("-n", 4, "-p", 2))
BOTH = ("h1", ("-n", 4, "--hosts", "h1,h2"))
BOTH_BACK = ("h2", ("-n", 5, "--hosts", "h2,h1", "--processes-per-host", 2))
EACH = ("h1", ("-n", 4, "--hosts", "h1,h2", "--ranks-per-process", 1))


class JobsCase(Ends, HostsCase):
    def setUp(self):
        super().setUp()
        self.started = []
        self.where = self.path("port")
        if os.path.exists(self.where):
            os.remove(self.where)

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        super().tearDown()

    def path(self, name):
        return os.path.join(self.programs.folder.name, name)

    def start(self, kind, program, *args, options=(), **kwargs):
        host, words = kind
        job = subprocess.Popen(self.hosts.mpcrun("--timeout", 50, *words, *options, program,
                                                 *map(str, args), host=host),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
        self.started.append(job)
        return job

    def compiled(self, name):
        return self.programs.compile(name, source_of(name), "-O1", "-pthread")

    def pid_of(self, host, mark):
        until = time.monotonic() + 30
        while time.monotonic() < until:
            for pid, line in self.hosts.processes(host).items():
                if mark in line:
                    return pid
            time.sleep(0.05)
        self.fail(f"nothing with {mark} on {host}")


class Connect(JobsCase):
    def both(self, server, client, what="talk", options=()):
        program = self.compiled("two_jobs.c")
        jobs = [self.start(kind, program, part, what, self.where, options=options)
                for part, kind in (("server", server), ("client", client))]
        for job in jobs:
            self.ends(job, 0, "No Errors\n")
        os.remove(self.where)

    def test_jobs_of_one_process_on_two_hosts(self):
        self.both(ON_1, ON_2)
        self.both(ON_2, ON_1)

    def test_one_of_several_processes(self):
        self.both(TWO_ON_2, ON_1)
        self.both(ON_1, TWO_ON_2)

    def test_one_on_several_hosts(self):
        self.both(BOTH, ON_2)
        self.both(ON_2, BOTH)
        self.both(ON_1, BOTH)

    def test_both_on_several_hosts(self):
        self.both(BOTH, BOTH_BACK)
        self.both(BOTH_BACK, EACH)

    def test_each_message_may_be_fetched(self):
        self.both(BOTH, ON_2, options=("--set", "message.eager_limit=0"))

    def test_a_flood_and_threads(self):
        self.both(BOTH, TWO_ON_2, "flood")
        self.both(ON_1, BOTH_BACK, "threads")

    def test_three_jobs_grow_into_one_group(self):
        program = self.compiled("two_jobs.c")
        four = ("h2", ("-n", 4))
        for kinds in ((BOTH, four, EACH), (four, BOTH, BOTH)):
            jobs = [self.start(kind, program, number, "grow", self.where)
                    for number, kind in enumerate(kinds)]
            for job in jobs:
                self.ends(job, 0, "No Errors\n")
            os.remove(self.where)

    def test_names_of_a_job_are_known_in_all_its_processes(self):
        program = self.programs.build(
            "names", INIT + PORT + "if (rank == size - 1) { MPI_Open_port(MPI_INFO_NULL, port);"
            " MPI_Publish_name(\"a service\", MPI_INFO_NULL, port); }"
            "MPI_Barrier(MPI_COMM_WORLD); char found[MPI_MAX_PORT_NAME];"
            "MPI_Lookup_name(\"a service\", MPI_INFO_NULL, found);"
            "MPI_Bcast(port, sizeof port, MPI_CHAR, size - 1, MPI_COMM_WORLD);"
            "if (strcmp(port, found) != 0) return 9; MPI_Barrier(MPI_COMM_WORLD);"
            "if (rank == 0) { MPI_Unpublish_name(\"a service\", MPI_INFO_NULL, port); puts(\"found\"); }"
            + END)
        self.ends(self.start(BOTH, program), 0, "found\n")


class Apart(JobsCase):
    def refused(self, kind, port, says, options=()):
        program = self.programs.build("connects", INIT + PORT + RETURN + "int code = " + CONNECT +
                                      "if (rank == size - 1) " + CLASS + END)
        _, err = self.ends(self.start(kind, program, port, options=options), 0, "port\n")
        self.assertIn(says, err)

    def server(self, kind=ON_1, options=()):
        waits = self.programs.build("has_a_port", INIT + PORT + OPEN +
                                    "char line[8]; if (rank == 0 && read(0, line, 8) < 0) return 9;" + END)
        server = self.start(kind, waits, options=options, stdin=subprocess.PIPE)
        return server, server.stdout.readline().strip()

    def test_who_does_not_know_the_key_is_not_let_in(self):
        server, port = self.server()
        key = re.search(r"@[0-9a-f]+,[0-9]+,([0-9a-f]{32}),", port).group(1)
        self.refused(ON_2, port.replace(key, "0" * 32), "nobody there accepts the key")
        number = re.search(r",([0-9]+)," + key, port).group(1)
        # A stranger gets a challenge, and nothing after a wrong answer.
        stranger = ("import socket,sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])));"
                    "first = s.recv(64); s.sendall(b'x' * 32); print(len(first), s.recv(64))")
        done = subprocess.run(self.hosts.command("h2", "python3", "-c", stranger, "10.231.77.1", number),
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.stdout, "16 b''\n", done.stderr)
        server.stdin.write("\n")
        self.ends(server, 0)

    def test_a_port_may_be_for_its_own_host_only(self):
        options = ("--set", "mpi.port_network=false")
        server, port = self.server(options=options)
        self.assertNotIn("@", port)
        self.refused(("h1", ("-n", 1)), port, "within 1 s",
                     options=(*options, "--set", "mpi.connect_timeout=1"))
        self.refused(BOTH, port, "mpi.port_network", options=options)
        server.stdin.write("\n")
        self.ends(server, 0)

    def test_a_port_whose_job_has_ended(self):
        server, port = self.server(BOTH)
        server.stdin.write("\n")
        self.ends(server, 0)
        self.refused(ON_2, port, "does not answer")
        self.refused(ON_1, port, "does not answer")

    def connected(self, server_kind, client_kind, then):
        server = self.programs.build("accepts", INIT + PORT + OPEN + ACCEPT + WAIT + END)
        client = self.programs.build("client_" + str(abs(hash(then))),
                                     INIT + PORT + CONNECT + "MPI_Barrier(MPI_COMM_WORLD);"
                                     f"if (rank == size - 1) {{ {then} }}" + WAIT + END)
        first = self.start(server_kind, server)
        return first, self.start(client_kind, client, first.stdout.readline().strip())

    def test_a_process_that_dies_ends_both_jobs(self):
        for kinds in ((ON_1, ON_2), (BOTH, ON_2), (ON_1, BOTH), (BOTH, EACH)):
            for then in ("raise(9);", "MPI_Abort(MPI_COMM_WORLD, 3);"):
                with self.subTest(kinds=kinds, then=then):
                    server, client = self.connected(*kinds, then)
                    self.assertNotEqual(client.wait(timeout=100), 0)
                    _, err = self.ends(server, 1, says=("a job that this one is connected with has ended",))
                    self.assertEqual(err.count("a job that this one is connected with"), 1, err)
                    self.gone()

    def test_who_is_waited_for_in_vain_is_a_deadlock(self):
        server = self.programs.build("accepts", INIT + PORT + OPEN + ACCEPT + WAIT + END)
        client = self.programs.build("ends_at_once", INIT + PORT + CONNECT + END)
        first = self.start(BOTH, server)
        self.ends(self.start(ON_2, client, first.stdout.readline().strip()), 0)
        self.ends(first, 125, says=("deadlock", "MPI_Recv"))

    def test_a_server_outlives_clients_that_have_disconnected(self):
        server = self.programs.build("serves", INIT + PORT + OPEN + "for (int i = 0; i < 3; ++i) {" +
                                     ACCEPT + "MPI_Comm_disconnect(&inter); }" + END)
        client = self.programs.build("leaves", INIT + PORT + CONNECT +
                                     "MPI_Comm_disconnect(&inter); raise(9);")
        first = self.start(BOTH, server)
        port = first.stdout.readline().strip()
        for kind in (ON_2, ON_1, BOTH_BACK):
            self.assertNotEqual(self.start(kind, client, port).wait(), 0)
        self.ends(first, 0)


class Spawn(JobsCase):
    def hosts_of(self, kind, what, count, *keys, options=()):
        """The host and the process of each child."""
        job = self.start(kind, self.compiled("host_spawn.c"), what, count, *keys, options=options)
        out, _ = self.ends(job, 0)
        lines = out.splitlines()
        self.assertEqual(lines[-1], "No Errors", out)
        words = [line.split() for line in lines[:-1]]
        self.assertEqual([int(w[1]) for w in words], list(range(count)))
        return [w[3] for w in words], len({(w[3], w[4]) for w in words})

    def test_children_run_where_the_root_does(self):
        for kind, first, last in ((BOTH, "h1", "h2"), (BOTH_BACK, "h2", "h1"), (EACH, "h1", "h2")):
            with self.subTest(kind):
                self.assertEqual(self.hosts_of(kind, "talk", 3), ([first] * 3, 1))
                self.assertEqual(self.hosts_of(kind, "last", 2), ([last] * 2, 1))

    def test_on_another_host(self):
        for kind in (ON_1, BOTH, EACH):
            with self.subTest(kind):
                self.assertEqual(self.hosts_of(kind, "talk", 2, "host=h2"), (["h2"] * 2, 1))
        self.assertEqual(self.hosts_of(BOTH, "last", 2, "host=h1"), (["h1"] * 2, 1))

    def test_children_that_need_a_process_each(self):
        script = script_around(self.programs.folder.name, self.compiled("host_spawn.c"))
        both, options = ["h1", "h1", "h2", "h2"], ("-x", f"SPAWNS={script}")
        for kind in (ON_1, BOTH, EACH):
            with self.subTest(kind):
                self.assertEqual(self.hosts_of(kind, "talk", 4, "host=h1,h2", options=options), (both, 4))
        self.assertEqual(self.hosts_of(ON_1, "talk", 2, options=options), (["h1"] * 2, 2))

    def test_on_several_hosts(self):
        both = ["h1", "h1", "h2", "h2"]
        for kind in (ON_1, BOTH, BOTH_BACK):
            with self.subTest(kind):
                self.assertEqual(self.hosts_of(kind, "talk", 4, "host=h1,h2"), (both, 2))
        self.assertEqual(self.hosts_of(BOTH, "talk", 4, "mpc_layout=job"), (both, 2))
        self.assertEqual(self.hosts_of(BOTH, "talk", 4, "host=h1:3,h2:1"), (["h1"] * 3 + ["h2"], 2))
        self.assertEqual(self.hosts_of(BOTH, "talk", 4, "host=h1,h2", "mpc_processes=4"), (both, 4))

    def test_hosts_of_a_file(self):
        path = self.path("hostfile")
        with open(path, "w", encoding="utf-8") as file:
            file.write("h2 slots=1\nh1 slots=2\n")
        self.assertEqual(self.hosts_of(ON_1, "talk", 3, f"hostfile={path}"), (["h2", "h1", "h1"], 2))

    def test_several_processes_on_the_roots_host(self):
        for kind in (ON_1, BOTH):
            self.assertEqual(self.hosts_of(kind, "talk", 4, "mpc_processes=2"), (["h1"] * 4, 2))

    def test_a_group_grows_by_spawning(self):
        for kind in (BOTH, EACH):
            self.ends(self.start(kind, self.compiled("several_spawn.c"), "grow"), 0, "No Errors\n")
            self.ends(self.start(kind, self.compiled("spawn_alone.c"), "deeper", 1), 0, "No Errors\n")

    def refused(self, kind, says, *keys, count=2):
        job = self.start(kind, self.compiled("host_spawn.c"), "talk", count, *keys)
        _, err = self.ends(job, 0, "spawn\n")
        self.assertIn(says, err)

    def test_what_cannot_be_spawned(self):
        self.refused(BOTH, "host h9", "host=h9")
        self.refused(ON_1, "host h9", "host=h1,h9")
        self.refused(BOTH, "room for 1", "host=h2:1")
        self.refused(BOTH, "leave one of them out", "host=h2", "hostfile=/no/file")
        self.refused(ON_1, "/no/file", "hostfile=/no/file")
        self.refused(BOTH, "no number of processes", "mpc_processes=many")
        self.refused(BOTH, "-p 3", "mpc_processes=3")
        self.refused(BOTH, "mpc_layout", "mpc_layout=other")


class SpawnEnds(JobsCase):
    """Nothing is left on any host, whoever dies."""

    ENDED = "a job that this one is connected with has ended"

    def waiting(self, kind, *keys, what="waits"):
        parent = self.start(kind, self.compiled("host_spawn.c"), what, 2, *keys)
        if what == "waits":
            self.assertIn("child 0 on ", parent.stdout.readline())
        return parent

    def test_children_that_abort(self):
        for keys in ((), ("host=h2",), ("host=h1,h2",)):
            self.ends(self.waiting(BOTH, *keys, what="aborts"), 1,
                      says=("MPI_Abort(MPI_COMM_WORLD, 7)", self.ENDED))
            self.gone()

    def test_a_parents_mpcrun_that_is_killed(self):
        for keys in ((), ("host=h2",), ("host=h1,h2",)):
            with self.subTest(keys):
                parent = self.waiting(BOTH, *keys)
                self.hosts.kill("h1", self.pid_of("h1", "waits 2"))
                parent.communicate(timeout=60)
                self.gone(within=10)

    def test_a_process_of_either_side_that_is_killed(self):
        for host, mark in (("h1", "waits 2"), ("h2", "--spawned")):
            with self.subTest(host):
                parent = self.waiting(BOTH, "host=h2")
                self.hosts.kill(host, self.pid_of(host, mark))
                self.ends(parent, None)
                self.gone(within=10)

    def test_a_host_that_is_lost(self):
        parent = self.waiting(ON_1, "host=h2")
        began = time.monotonic()
        self.hosts.link("h2", "down")
        try:
            self.ends(parent, 1, says=(self.ENDED, "on host h2"))
            self.assertLess(time.monotonic() - began, 30)
            self.gone(within=20)
        finally:
            self.hosts.link("h2", "up")


if __name__ == "__main__":
    main()
