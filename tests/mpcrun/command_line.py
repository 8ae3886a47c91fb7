"""Options, settings and what else stands on the command line: what they do, and what is said of wrong ones."""

import os
import re
import subprocess
import tempfile
import unittest

from support import END, INIT, Case, example, options, run, small_stack, tool


class CommandLine(Case):
    def test_an_unknown_emulated_machine_is_refused_with_the_known_ones(self):
        self.refused(2, "-n", 2, "--emulate", "cray1", example("hello"),
                     says=("--emulate", "cray1", "knl64", "skylake48"))
        self.refused(2, "-n", 2, "--emulate", "skylake48", "--cores", 49, example("hello"),
                     says=("--cores 49", "48 cores"))
        status, out, err = run("-n", 60, "--emulate", "knl64", "--show", example("hello"))
        self.assertEqual(status, 0, err)
        self.assertIn("emulated machine: knl64, 64 cores", out)
        self.assertEqual(out.count(": communication"), 4)

    def test_scattered_ranks_are_far_from_each_other(self):
        status, out, err = run("-n", 2, "--emulate", "skylake48", "--placement", "scatter",
                               "--show", example("hello"))
        self.assertEqual(status, 0, err)
        cores = [int(core) for core, ranks in
                 re.findall(r"on core (\d+) .*: ranks (\d+)", out)]
        self.assertEqual(len(cores), 2)
        self.assertEqual({core // 24 for core in cores}, {0, 1}, "not on both packages")
        status, out, _ = run("-n", 4, "--emulate", "skylake48", "--cores", "0,1,24,25",
                             "--placement", "scatter", "--show", example("hello"))
        self.assertRegex(out, r"(?s)on core 0 .*: ranks 0\n.*on core 24 .*: ranks 1\n")

    def test_placement_on_a_worker_that_is_not_there(self):
        self.refused(2, "-n", 2, "--placement", "0,4000", example("hello"), says=["worker 4000"])

    def test_help_teaches(self):
        status, out, _ = run("--help")
        self.assertEqual(status, 0)
        for text in ("-n", "--cores", "--stack-size", "Examples", "Exit status"):
            self.assertIn(text, out)

    def test_unknown_option(self):
        self.refused(2, "--nonsense", "-n", 2, example("hello"))

    def test_every_spelling_of_the_number_of_ranks(self):
        for words in (["-np", 3], ["--np", 3], ["-n", 3], ["-n3"], ["-np3"], ["--np=3"], ["-n=3"],
                      ["-c", 3], ["-np", 3, "--"]):
            status, out, err = run(*words, example("hello"))
            self.assertEqual((status, err, len(out.splitlines())), (0, "", 3), words)
        status, out, _ = run("-np", 1, example("hello"), ":", "-np", 2, example("hello"))
        self.assertEqual((status, len(out.splitlines())), (0, 3))

    def test_messages_name_the_option_that_was_typed(self):
        for words, says in ((["-n", "./a"], "-n wants a number of ranks, not './a'"),
                            (["-np", "0", "./a"], "-np wants a number of ranks from 1 to"),
                            (["-n", "--label", "./a"], "-n wants N, and there is none"),
                            (["-n"], "-n wants N, and there is none"),
                            (["-np", "1", "-np", "2", "./a"], "-np is given twice"),
                            (["--wdir=", "./a"], "--wdir wants DIR, and there is none"),
                            (["--label=1", "./a"], "--label takes no value"),
                            (["-timeout", "soon", "./a"], "-timeout wants a number of seconds"),
                            (["--bind", "socket", "./a"], "--bind wants auto, core or none, not 'socket'"),
                            (["-n", "1", "./a", ":", "--cores", "2", "./b"],
                             "--cores goes before the first program")):
            err = self.refused(2, *words, says=[says])
            self.assertTrue(err.startswith("mpcrun: -"), err)

    def test_options_of_other_launchers_are_refused_with_the_way_out(self):
        per_host = "--ranks-per-host"
        for words, says in (
                (["--nodelist", "a,b"], "--hosts"), (["-w", "a"], "--hosts"), (["-nolocal"], "--hosts"),
                (["-launcher", "rsh"], "--agent"), (["-bootstrap", "slurm"], "--agent"),
                (["-N", "2"], per_host),
                (["-cpus-per-proc", "2"], "--bind none"), (["--cpus-per-rank=2"], "share of the cores"),
                (["--cpus-per-task", "2"], "--cores"), (["-soft", "3"], "-n N"), (["-arch", "x"], "leave it out"),
                (["-file", "f"], "':'"), (["-N1"], per_host), (["--bind-to", "user:0"], "--cores LIST"),
                (["--map-by", "ppr:1:socket"], per_host), (["--map-by", "node"], "--placement"),
                (["--rank-by", "node"], "--placement"), (["--output", "xml"], "--output-file"),
                (["--dry-run"], "--show"), (["-gdb"], "before mpcrun"), (["-envnone"], "env -i"),
                (["--stdin", "all"], "rank 0"), (["-genv", "A"], "-genv wants a name and a value"),
                (["--tag-output=x"], "takes no value")):
            last = () if words[-1] == "A" else ("-n", 1, example("hello"))
            err = self.refused(2, *words, *last, says=[says])
            self.assertTrue(err.startswith(f"mpcrun: {words[0].split('=')[0].rstrip('1')}"), err)

    def test_options_of_other_launchers_that_need_not_be_said_have_no_effect(self):
        for words in (["--oversubscribe"], ["--allow-run-as-root"], ["-q"], ["-genvall"], ["-ppn", 1],
                      ["--map-by", "core"], ["--map-by", ":OVERSUBSCRIBE"], ["--bind-to", "socket"],
                      ["--mca", "btl", "self,tcp"], ["-genvlist", "HOME,PATH"], ["-launcher", "fork"],
                      ["--use-hwthread-cpus"], ["--prefix", "/usr"], ["-map-by", "ppr:2:node"],
                      ["--bind-to=none"], ["--map-by", "socket"], ["-npernode", 2], ["--rank-by", "slot"],
                      ["-memory-alloc-kinds", "system,mpi"]):
            status, out, err = run("-n", 2, *words, example("hello"))
            self.assertEqual((status, err, len(out.splitlines())), (0, "", 2), words)

    def test_options_of_other_launchers_do_what_ours_do(self):
        program = self.programs.build("variable", INIT + 'printf("%s %s\\n", getenv("A"), getenv("B"));' + END)
        for words, says in ((["-env", "A", "1", "-env", "B", "2"], "1 2\n"),
                            (["-genv", "A", "x=y", "-genv", "B="], "x=y \n"),
                            (["-genv", "A", "1", "-genv", "B", "1", "-env", "B", "2"], "1 2\n"),
                            (["-x", "A=1", "--export-all", "B=2"], "1 2\n")):
            self.assertEqual(run("-n", 1, *words, program), (0, says, ""), words)
        status, out, err = run("-genv", "A", "1", "-n", 1, "-env", "B", "2", program,
                               ":", "-n", 1, "-env", "B", "3", program)
        self.assertEqual((status, sorted(out.splitlines()), err), (0, ["1 2", "1 3"], ""))
        for word in ("--tag-output", "-prepend-rank"):
            status, out, err = run("-ntasks", 2, word, example("hello"))
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(line[:3] for line in out.splitlines()), ["[0]", "[1]"])
        self.assertEqual(run("--chdir", "/usr", "-n", 1, "/bin/pwd")[0], 126)
        status, out, err = run("-v", "-n", 1, example("hello"))
        self.assertEqual((status, len(out.splitlines())), (0, 1), err)

    def test_a_report_of_the_placement_does_not_keep_the_job_from_running(self):
        for word in ("--report", "--report-bindings", "-display-map", "--display=map"):
            status, out, err = run(word, "-n", 2, example("hello"))
            self.assertEqual((status, len(out.splitlines())), (0, 2), err)
            self.assertIn("ranks 0", err, word)

    def test_messages_name_the_spelling_of_other_launchers(self):
        for words, says in ((["-ppn", "0"], "-ppn wants a number of ranks from 1 to 100000, not '0'"),
                            (["-npernode", "x"], "-npernode wants a number of ranks, not 'x'"),
                            (["-ntasks", "0"], "-ntasks wants a number of ranks from 1 to"),
                            (["-genv", "", "x"], "-genv =x: a variable has a name"),
                            (["-cores", "0"], "-cores 0: a job needs a core"),
                            (["-stack-size", "1"], "-stack-size '1': a stack has 256k")):
            err = self.refused(2, *words, "-n", 1, example("hello"), says=[says]) if words[0] != "-ntasks" else \
                self.refused(2, *words, example("hello"), says=[says])
            self.assertTrue(err.startswith("mpcrun: -"), err)

    def test_unknown_policy_of_progress_threads_is_refused_with_all_names(self):
        self.refused(2, "--progress", "bogus", example("hello"), says=["closest", "list:WORKERS"])

    def test_no_word_with_a_dash_ends_with_0(self):
        for word in ("-hosts", "-helper", "-versions", "-np4x", "-x4", "-l2", "-", "-=", "--=x",
                     "---", "-ln", "-Vn", "-\t", "-n", "--n 3"):
            self.refused(2, word, says=["mpcrun: "])

    def test_working_folder(self):
        program = self.programs.build("where", INIT + "puts(getcwd(NULL, 0));" + END)
        for word in ("--wdir", "-wdir", "-wd", "--wd"):
            self.assertEqual(run(word, "/usr", "-n", 1, program)[:2], (0, "/usr\n"))

    def test_two_dashes_end_the_options(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(example("hello"), os.path.join(folder, "-n"))
            status, out, err = run("-np", 2, "--", "-n", cwd=folder,
                                   env=dict(os.environ, PATH=folder))
            self.assertEqual((status, len(out.splitlines())), (0, 2), err)

    def test_no_program(self):
        self.refused(2, "-n", 2, says=["no program"])

    def test_zero_ranks(self):
        self.refused(2, "-n", 0, example("hello"))

    def test_too_many_ranks(self):
        self.refused(2, "-n", 1000000, example("hello"))

    def test_unknown_setting_names_the_nearest(self):
        self.refused(2, "-n", 1, "--set", "log.levle=info", example("hello"), says=["log.level"])

    def test_bad_core_list(self):
        self.refused(2, "-n", 2, "--cores", "0,x", example("hello"))
        self.refused(2, "-n", 2, "--cores", "4000", example("hello"), says=["4000"])
        self.refused(2, "-n", 2, "--cores", "4294967297", example("hello"), says=["4294967297"])

    def test_a_variable_without_a_name(self):
        self.refused(2, "-n", 1, "-x", "=1", example("hello"), says=["-x =1"])

    def test_bad_timeout(self):
        for value in ("0", "-1", "soon", "1e99"):
            self.refused(2, "-n", 1, f"--timeout={value}", example("hello"), says=["seconds above 0"])

    def test_bad_stack_size(self):
        self.refused(2, "-n", 1, "--stack-size", "many", example("hello"), says=["many"])
        self.refused(2, "-n", 1, "--stack-size", "255k", example("hello"), says=["256k"])
        self.assertEqual(run("-n", 20, "--stack-size", small_stack(), example("hello"))[0], 0)

    def test_wdir_that_does_not_exist(self):
        self.refused(2, "-n", 1, "--wdir", "/no/such/folder", example("hello"),
                     says=["/no/such/folder"])

    def test_show_runs_nothing(self):
        status, out, err = run("-n", 4, "--show", example("hello"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("4 ranks", out)
        self.assertNotIn("hello from rank", out)

    def test_values_without_meaning_are_refused(self):
        for assignment, why in (("sched.spin_us=-1", "0 to 1000000"),
                                ("sched.spin_us=99999999999999999999", "0 to 1000000"),
                                ("nbc.segment_bytes=9000000000G", "1 or more"),
                                ("sched.steal=2", "0|1"), ("nbc.plan=guess", "table|model"),
                                ("nbc.split=-1", "auto|0|1"), ("nbc.split=99999999999", "auto|0|1"),
                                ("nbc.algorithm=bcast", "'bcast' names no algorithm"),
                                ("nbc.algorithm=bcats:chain", "no collective 'bcats'"),
                                ("nbc.algorithm=bcast:chain,scan:cahin", "linear, chain, doubling"),
                                ("nbc.machine_file=/nosuch", "/nosuch: cannot be read"),
                                ("nbc.machine_file=/dev/null", "is no regular file"),
                                ("progress.policy=nearest", "closest")):
            self.refused(2, "-n", 1, "--set", assignment, example("hello"),
                         says=[assignment.partition("=")[0], why])

    def test_a_variable_that_is_no_setting_is_named_once(self):
        def errors_of(**variables):
            status, out, err = run("-n", 2, example("hello"), env=dict(os.environ, **variables))
            self.assertEqual((status, len(out.splitlines())), (0, 2), err)
            return err
        err = errors_of(MPC_SCHED_STEALS="1", MPC_SCHED_STEAL="1")
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("MPC_SCHED_STEALS, did you mean 'MPC_SCHED_STEAL'?", err)
        self.assertIn("MPC_NO_SUCH_THING;", errors_of(MPC_NO_SUCH_THING=""))
        # Not those of ./run, mpcc, the tests and GNU MPC.
        self.assertEqual(errors_of(MPC_JOBS="2", MPC_TEST_JOBS="2", MPC_CC="cc", MPC_TEST_SEED="1",
                                   MPC_ROOT="/usr", MPC_LOG_LEVEL="warn"), "")
        self.assertEqual(errors_of(MPC_NO_SUCH_THING="", MPC_LOG_LEVEL="error"), "")

    def test_programs_that_run_alone_take_settings_and_warn_of_wrong_ones(self):
        def alone(**variables):
            done = subprocess.run([example("hello")], capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, **variables), check=False)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1))
            return done.stderr
        self.assertEqual(alone(MPC_SCHED_STEAL="1"), "")
        err = alone(MPC_SCHED_STEAL="2")
        self.assertIn("MPC_SCHED_STEAL", err)
        self.assertIn("the default is used", err)
        self.assertIn("MPC_SCHED_STEALS, did you mean", alone(MPC_SCHED_STEALS="1"))
        self.assertEqual(alone(MPC_SCHED_STEAL="2", MPC_LOG_LEVEL="error"), "")

    def test_the_page_of_settings_is_current(self):
        done = subprocess.run([tool("mpcinfo"), "settings", "--markdown"], capture_output=True,
                              text=True, check=True)
        with open(os.path.join(options.source, "docs", "settings.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), done.stdout,
                             "run: mpcinfo settings --markdown > docs/settings.md")

    def test_topology_of_named_machines(self):
        for machine, cores in (("knl64", 64), ("skylake48", 48)):
            done = subprocess.run([tool("mpcinfo"), "topology", machine],
                                  capture_output=True, text=True, check=True)
            self.assertIn(str(cores), done.stdout)
        done = subprocess.run([tool("mpcinfo"), "topology", "no-such-machine"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("knl64", done.stderr)

    def test_no_memory_for_stacks(self):
        err = self.refused(3, "--stack-size", "100g", "-n", 3000, example("hello"),
                           says=["no address space for a stack", "lower the stack size"])
        self.assertNotIn("core dumped", err)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core is nothing to share")
    def test_shares_of_the_cores_are_shown(self):
        status, out, _ = run("-n", 1, "--bind", "core", "--cores", 2, "--show",
                             example("hello"))
        self.assertEqual(status, 0)
        self.assertIn("worker 0 on core 0", out)
        self.assertIn("ranks 0; their threads on cores 0-1\n", out)
        for options_ in (("-n", 2, "--cores", 2), ("-n", 1, "--bind", "none"),
                         ("-n", 1, "--cores", 2, "--comm-cores", 1)):
            self.assertNotIn("threads on cores", run(*options_, "--show", example("hello"))[1])

    def test_ranks_with_more_openmp_threads_than_cores_wait_passively(self):
        program = self.programs.compile(
            "policy.c",
            '#include <mpi.h>\n#include <omp.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
            'int main(int c, char **v) { MPI_Init(&c, &v);'
            'const char* policy = getenv("OMP_WAIT_POLICY");'
            'printf("%s\\n", policy ? policy : "unset");'
            'MPI_Finalize(); return omp_get_num_procs() < 1; }\n', "-fopenmp")

        def policy(*args, **variables):
            environment = {name: value for name, value in os.environ.items()
                           if not name.startswith(("OMP_", "GOMP_"))}
            status, out, err = run(*args, program, env={**environment, **variables})
            self.assertEqual(status, 0, err)
            return set(out.split())

        crowded = ("-n", 2, "--bind", "core", "--cores", 1)
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2"), {"passive"})
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="1"), {"unset"})
        self.assertEqual(policy(*crowded), {"unset"})   # a team is as large as its cores are many
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2,2", OMP_WAIT_POLICY="active"),
                         {"active"})
        self.assertEqual(policy(*crowded, OMP_NUM_THREADS="2", GOMP_SPINCOUNT="7"), {"unset"})
        everywhere = ("-n", len(os.sched_getaffinity(0)) + 1, "--bind", "none")
        self.assertEqual(policy(*everywhere, OMP_NUM_THREADS="2"), {"passive"})
        self.assertEqual(policy(*everywhere, OMP_NUM_THREADS="1"), {"unset"})
