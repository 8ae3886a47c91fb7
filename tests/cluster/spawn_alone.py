"""Programs that were started without mpcrun spawn ranks: what both sides can do, and how they end."""

import os
import signal
import subprocess
import sys
import time
import unittest

from common import END, INIT, PortCase, parse_options, script_around, source_of, support

FREE = "MPI_Info_free(&info); "
SPAWN = ("MPI_Comm inter = MPI_COMM_NULL, parent; int code, codes[4] = {-1, -1, -1, -1}; MPI_Info info;"
         "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); MPI_Info_create(&info); ")
# Which class it is, and the text.
SAY = ("{ int class, length; char text[MPI_MAX_ERROR_STRING]; MPI_Error_class(code, &class);"
       " MPI_Error_string(code, text, &length);"
       " printf(\"%s %d\\n\", class == MPI_ERR_SPAWN ? \"spawn\" : class == MPI_SUCCESS ? \"success\" : text,"
       " codes[0] == MPI_ERR_SPAWN); fprintf(stderr, \"%s\\n\", text); } ")


@unittest.skipIf("thread" in support.WORDS, "the sanitizer wants to begin in mpcrun")
class AloneCase(PortCase):
    def files_left(self):
        """Where jobs find each other: the table of slots stays."""
        found = os.listdir(self.path("ports")) if os.path.exists(self.path("ports")) else []
        return sorted(name for name in found if name != "jobs")

    def start(self, program, *args, environment=None, **kwargs):
        variables = dict(os.environ if environment is None else environment,
                         MPC_MPI_PORT_FOLDER=self.path("ports"))
        process = subprocess.Popen([program, *map(str, args)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=variables, **kwargs)
        self.started.append(process)
        return process

    def alone(self):
        return self.programs.compile("spawn_alone.c", source_of("spawn_alone.c"), "-O1")


class Together(AloneCase):
    def both(self, *args, **kwargs):
        self.ends(self.start(self.alone(), *args, **kwargs), 0, "No Errors\n")
        self.assertEqual(self.processes_left(), {})  # children may end after their parent
        self.assertEqual(self.files_left(), [])

    def test_parent_and_children_talk_and_part(self):
        self.both("talk", 1)
        self.both("talk", 3)

    def test_with_all_checks(self):
        self.both("talk", 2, environment=dict(os.environ, MPC_MPI_CHECK="full"))

    def test_two_programs_of_one_call(self):
        self.both("two-programs")

    def test_children_that_need_a_process_each(self):
        variables = dict(os.environ, SPAWNS=script_around(self.folder.name, self.alone()))
        for what in (("talk", 1), ("talk", 3), ("two-programs",)):
            self.both(*what, environment=variables)
        # What such a child has spawned is killed with it, and may leave files.
        self.ends(self.start(self.alone(), "deeper", 1, environment=variables), 0, "No Errors\n")

    def test_the_port_is_on_no_command_line(self):
        parent = self.start(self.alone(), "waits", 2)
        self.assertEqual(parent.stdout.readline(), "spawned\n")
        lines = " ".join(self.processes().values())
        self.assertIn("--spawned", lines)
        self.assertNotIn("mpc:", lines)
        parent.send_signal(signal.SIGTERM)
        self.ends(parent, -signal.SIGTERM)

    def test_a_child_spawns_again(self):
        self.both("deeper", 1)

    def test_the_program_has_no_child_of_ours_and_may_spawn_again(self):
        self.both("alone")

    def test_mpcrun_is_found_without_a_path(self):
        kept = {name: value for name, value in os.environ.items() if name != "PATH"}
        self.both("talk", 1, environment=dict(kept, PATH=""))
        self.both("talk", 1, environment=kept)

    def test_arguments_folder_and_environment_are_what_was_asked_for(self):
        child = self.programs.build("tells", INIT +
                                    "char folder[4096]; if (getcwd(folder, sizeof folder) == NULL) return 9;"
                                    "MPI_Comm parent; MPI_Comm_get_parent(&parent);"
                                    "printf(\"%d of %d: %s %s %s %d in %s, %s\\n\", rank, size, argv[1], argv[2],"
                                    " argv[3], argc, strrchr(folder, '/') + 1, getenv(\"SAID\"));"
                                    "MPI_Comm_disconnect(&parent);" + END)
        parent = self.programs.build("asks", INIT + SPAWN +
                                     "char* args[] = {\"-n\", \"two words\", \":\", NULL};"
                                     "MPI_Info_set(info, \"wdir\", argv[2]); MPI_Info_set(info, \"host\", \"localhost\");"
                                     "MPI_Info_set(info, \"path\", argv[3]);"
                                     "MPI_Comm_spawn(argv[1], args, 1, info, 0, MPI_COMM_WORLD, &inter, codes);"
                                     "if (codes[0] != MPI_SUCCESS) return 9; MPI_Comm_disconnect(&inter);" + FREE + END)
        os.mkdir(self.path("there"))
        folder, name = os.path.split(child)
        process = self.start(parent, name, self.path("there"), folder,
                             environment=dict(os.environ, SAID="a word"))
        # The children have the same output: it ends when they have ended, too.
        self.ends(process, 0, "0 of 1: -n two words : 4 in there, a word\n")

    def test_finalize_waits_for_a_connected_child_and_costs_nothing(self):
        out, _ = self.ends(self.start(self.alone(), "late"), 0)
        self.assertEqual(out, "the child has ended\nthe parent has ended\n")


class Refused(AloneCase):
    """MPI_ERR_SPAWN, with the reason; the program goes on."""

    def refused(self, *args, says, info=""):
        parent = self.programs.build("asks_" + str(abs(hash(info))), INIT + SPAWN + info +
                                     "char** args = argc > 2 ? argv + 2 : MPI_ARGV_NULL;"
                                     "code = MPI_Comm_spawn(argv[1], args, 2, info, 0, MPI_COMM_WORLD, &inter, codes);"
                                     + SAY + FREE + END)
        began = time.monotonic()
        _, err = self.ends(self.start(parent, *args), 0, "spawn 1\n")
        self.assertLess(time.monotonic() - began, 60)
        self.assertIn(says, err)
        self.assertEqual(self.files_left(), [])

    def test_a_program_that_is_not_there(self):
        self.refused("./there-is-none", says="there-is-none")

    def test_another_host_and_a_folder_that_is_not_there(self):
        self.refused(self.alone(), info="MPI_Info_set(info, \"host\", \"elsewhere\");", says="elsewhere")
        self.refused(self.alone(), info="MPI_Info_set(info, \"wdir\", \"/no/such/folder\");",
                     says="/no/such/folder")

    def test_a_program_without_mpi(self):
        self.refused("/bin/true", says="before all its ranks were in MPI_Init")

    def test_a_child_that_ends_without_mpi(self):
        child = self.programs.build("without_mpi", "return 0;")
        self.refused(child, says="before all its ranks were in MPI_Init")
        child = self.programs.build("fails_at_once", "return 5;")
        self.refused(child, says="exited with status 5")

    def test_a_child_that_dies_before_mpi(self):
        child = self.programs.build("dies_at_once", "raise(9);")
        self.refused(child, says="before all its ranks were in MPI_Init")

    def test_one_child_of_two_ends_without_mpi(self):
        child = self.programs.build("one_without",
                                    "int made = open(argv[1], O_CREAT | O_EXCL | O_WRONLY, 0600);"
                                    "if (made >= 0) return 0;" + INIT + END)
        self.refused(child, self.path("first"), says="without calling MPI_Init")


class Ends(AloneCase):
    """Who dies while they are connected takes the other side along, with a report."""

    def test_a_child_that_aborts(self):
        self.ends(self.start(self.alone(), "aborts", 2), 1,
                  says=("MPI_Abort(MPI_COMM_WORLD, 7)", "a job that this one is connected with has ended"))

    def test_a_child_that_crashes(self):
        self.ends(self.start(self.alone(), "crashes", 2), 1,
                  says=("a job that this one is connected with has ended",))

    def test_a_parent_that_is_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            parent = self.start(self.alone(), "waits", 2)
            self.assertEqual(parent.stdout.readline(), "spawned\n")
            self.assertGreater(len(self.processes()), 1)  # not the parent alone
            parent.send_signal(number)
            self.ends(parent, -number, says=("a job that this one is connected with has ended",))
            self.assertEqual(self.processes_left(), {})

    def test_a_parent_that_is_killed_while_its_children_have_not_called_mpi_init(self):
        child = self.programs.build("never_calls", "puts(\"here\"); fflush(stdout); for (;;) sleep(1000);")
        parent = self.start(self.programs.build(
            "spawns", INIT + SPAWN + "MPI_Comm_spawn(argv[1], MPI_ARGV_NULL, 2, info, 0, MPI_COMM_WORLD, &inter, codes);"
            + FREE + END), child)
        self.assertEqual(parent.stdout.readline(), "here\n")
        parent.kill()
        # The children have the same output: it ends when they have ended.
        self.ends(parent, -signal.SIGKILL, says=("the program that has spawned this job has ended",))
        self.assertEqual(self.processes_left(), {})

    def test_a_parent_that_ends_while_its_children_wait_for_it(self):
        _, err = self.ends(self.start(self.alone(), "forgets", 2), 1)
        self.assertIn("deadlock", err)
        self.assertIn("MPI_Recv", err)

    def test_a_parent_that_waits_for_children_that_have_ended(self):
        for what, call in (("receive", "MPI_Recv"), ("disconnect", "MPI_Comm_disconnect"),
                           ("merge", "MPI_Intercomm_merge")):
            with self.subTest(what):
                _, err = self.ends(self.start(self.alone(), f"ended-{what}"), None,
                                   says=(call, "has ended regularly, without MPI_Comm_disconnect",
                                         os.path.basename(self.alone())))
                self.assertNotIn("deadlock", err)

    def test_such_a_parent_goes_on_if_it_handles_errors(self):
        for count in (1, 3):
            self.ends(self.start(self.alone(), "outlive", count), 0, "No Errors\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + parse_options())
