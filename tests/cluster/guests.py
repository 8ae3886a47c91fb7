"""What holds for a job whose processes another launcher starts, whichever it is."""

import os
import signal
import subprocess
import time

from common import END, INIT, STUCK, processes_of, tool, traffic

# "ready", and the process of each rank.
READY = (" int pids[64], me = getpid(), i; MPI_Gather(&me, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);"
         " if (rank == 0) { printf(\"ready\"); for (i = 0; i < size; ++i) printf(\" %d\", pids[i]);"
         " puts(\"\"); fflush(stdout); } ")
WHO = ("int before; for (before = 0; before < size; ++before) {"
       " if (before == rank) printf(\"rank %d of %d pid %d\\n\", rank, size, getpid());"
       " MPI_Barrier(MPI_COMM_WORLD); }")
# Detection, grace, the launcher's own end, and the machine's noise.
SOON_S = 20.0


class Guests:
    """The cases. Who takes them says how the launcher is called: launcher(processes), one_host(processes)."""

    environment = None

    def words(self, processes, *words, program_alone=False):
        mpcrun = () if program_alone else (tool("mpcrun"),)
        return [str(word) for word in (*self.launcher(processes), *mpcrun, *words)]

    def job(self, processes, *words, **how):
        """Runs it: (status, output, our lines of standard error, all of it)."""
        alone = how.pop("program_alone", False)
        done = subprocess.run(self.words(processes, *words, program_alone=alone), text=True, timeout=90,
                              capture_output=True, env=self.environment, **how)
        return done.returncode, done.stdout, self.ours(done.stderr), done.stderr

    @staticmethod
    def ours(err):
        return [line for line in err.splitlines() if line.startswith(("mpcrun:", "mpc:"))]

    def ends(self, name, body, status, *says, options=(), ranks=4, processes=2):
        program = self.build(name, INIT + body + END)
        begin = time.monotonic()
        got, out, ours, err = self.job(processes, "-n", ranks, *options, program)
        self.assertEqual(got, status, err)
        self.assertLess(time.monotonic() - begin, SOON_S)
        self.assertEqual(len(ours), 1, err)
        for text in says:
            self.assertIn(text, err)
        self.gone(program)
        return out, err

    def gone(self, program):
        until = time.monotonic() + 5
        while processes_of(program) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(processes_of(program), {})

    def start(self, name, body, *options):
        """The launcher of four ranks in two processes, when all are there, and their pids."""
        program = self.build(name, INIT + READY + body + END)
        job = subprocess.Popen(self.words(2, "-n", 4, *options, program), text=True, env=self.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.kill)
        ready, *pids = job.stdout.readline().split()
        self.assertEqual((ready, len(set(pids))), ("ready", 2))
        return job, program, [int(pids[0]), int(pids[2])]

    def finish(self, job, program):
        begin = time.monotonic()
        out, err = job.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, SOON_S)
        self.gone(program)
        return job.returncode, out, err

    # --- what works ---

    def test_ranks_are_divided_among_processes(self):
        program = self.build("who", INIT + WHO + END)
        for ranks, processes, starts in ((8, 2, (0, 4)), (5, 3, (0, 1, 3)), (4, 4, (0, 1, 2, 3))):
            status, out, ours, err = self.job(processes, "-n", ranks, program)
            self.assertEqual((status, ours), (0, []), err)
            lines = sorted(out.splitlines(), key=lambda line: int(line.split()[1]))
            self.assertEqual([line.split()[1] for line in lines], [str(r) for r in range(ranks)])
            pids = [line.split()[-1] for line in lines]
            self.assertEqual(tuple(r for r in range(ranks) if r == 0 or pids[r] != pids[r - 1]), starts)

    def test_messages_of_all_sizes_wildcards_layouts_collectives(self):
        status, out, ours, err = self.job(3, "-n", 6, "--timeout", 80, traffic())
        self.assertEqual((status, out, ours), (0, "No Errors\n", []), err)

    def test_a_program_becomes_mpcrun(self):
        program = self.build("who", INIT + WHO + END)
        status, out, ours, err = self.job(3, program, "word", program_alone=True)
        self.assertEqual((status, ours), (0, []), err)
        self.assertEqual(len(set(line.split()[-1] for line in out.splitlines())), 3)
        self.assertEqual(sorted(line.split()[1] for line in out.splitlines()), ["0", "1", "2"])
        self.assertIn("rank 2 of 3", out)

    def test_programs_that_ranks_start_are_alone(self):
        who = self.build("who", INIT + WHO + END)
        program = self.build("starts", INIT + f"if (rank == 1) return system(\"{who}\") != 0 ||"
                             f" system(\"{tool('mpcrun')} -n 2 -p 2 {who}\") != 0"
                             " ? 1 : (MPI_Finalize(), 0);" + END)
        status, out, ours, err = self.job(2, "-n", 2, program)
        self.assertEqual((status, ours), (0, []), err)
        self.assertEqual([" ".join(line.split()[:4]) for line in out.splitlines()],
                         ["rank 0 of 1", "rank 0 of 2", "rank 1 of 2"])

    def test_standard_input_goes_to_rank_0(self):
        program = self.build("reads", INIT + "char line[64]; int n = 0;"
                             " while (fgets(line, sizeof line, stdin)) { ++n; if (rank == 0)"
                             " fputs(line, stdout); } MPI_Barrier(MPI_COMM_WORLD);"
                             " if (rank != 0 && n) puts(\"wrong\");" + END)
        text = "".join(f"line {i}\n" for i in range(1000))
        status, out, ours, err = self.job(2, "-n", 4, program, input=text)
        self.assertEqual((status, out, ours), (0, text, []), err)

    def test_processes_that_end_at_different_times(self):
        program = self.build("one_is_late", INIT + "MPI_Finalize(); if (rank == 3) { usleep(500000);"
                             " puts(\"late\"); } return 0;" + END)
        status, out, ours, err = self.job(2, "-n", 4, program)
        self.assertEqual((status, out, ours), (0, "late\n", []), err)

    def test_programs_without_mpi(self):
        program = self.build("plain", "puts(\"here\"); return 0;")
        status, out, ours, err = self.job(2, "-n", 4, program)
        self.assertEqual((status, out, ours), (0, "here\n" * 4, []), err)

    def test_processes_share_the_cores(self):
        program = self.build("plain", "puts(\"here\"); return 0;")
        done = subprocess.run([*map(str, self.one_host(2)), tool("mpcrun"), "-n", "2", "--show", program],
                              text=True, timeout=60, capture_output=True, env=self.environment)
        self.assertEqual((done.returncode, self.ours(done.stderr)), (0, []), done.stderr)
        cores = [line.split(" on core ")[1].split()[0] for line in done.stdout.splitlines()
                 if line.startswith("worker ")]
        self.assertEqual(len(set(cores)), min(2, len(os.sched_getaffinity(0))), done.stdout)

    # --- ends ---

    def test_abort(self):
        self.ends("aborts", f"if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 7); {STUCK}", 7,
                  "rank 3: MPI_Abort(MPI_COMM_WORLD, 7)")

    def test_all_abort_and_one_is_reported(self):
        self.ends("all_abort", "MPI_Abort(MPI_COMM_WORLD, 7);", 7, "MPI_Abort")

    def test_others_may_say_last_words(self):
        out, _ = self.ends("last_words", "if (rank == 3) exit(5); usleep(20000);"
                           " if (rank == 0) { puts(\"last words\"); exit(5); }" + STUCK, 5,
                           " of 4", "status 5")
        self.assertEqual(out, "last words\n")

    def test_a_status_after_finalize_is_the_jobs(self):
        for rank in (0, 2):
            self.ends(f"late_status_{rank}", f"MPI_Finalize(); return rank == {rank} ? 9 : 0;", 9,
                      f"rank {rank} of 4", "status 9")

    def test_a_crash_has_its_report(self):
        for rank in (0, 2):
            self.ends(f"crashes_{rank}", f"if (rank == {rank}) *(volatile int *)8 = 1;" + STUCK,
                      128 + signal.SIGSEGV, f"rank {rank} of 4", "signal 11")

    def test_a_program_that_is_not_there(self):
        status, out, ours, err = self.job(2, "-n", 4, "/nowhere/at/all")
        self.assertEqual((status, out, len(ours)), (127, "", 1), err)

    def test_wrong_options_are_said_once(self):
        status, out, ours, err = self.job(2, "-n", "no", "./prog")
        self.assertEqual((status, out, len(ours)), (2, "", 1), err)
        program = self.build("plain", "puts(\"here\"); return 0;")
        status, out, ours, err = self.job(2, "-n", 3, "-p", 3, program)
        self.assertEqual((status, out, len(ours)), (2, "", 1), err)
        self.assertIn("leave the option out", err)
        status, out, ours, err = self.job(2, "-n", 1, program)
        self.assertEqual((status, out, len(ours)), (2, "", 1), err)
        self.assertIn("2 processes for 1 rank", err)

    def test_time_limit(self):
        _, err = self.ends("waits_long", STUCK, 124, "--timeout: the job ran for 6 s",
                           options=("--timeout", 6))
        for rank in range(4):
            self.assertIn(f"rank {rank}: waits in MPI_Recv", err)

    def test_the_end_of_a_process_ends_the_job(self):
        for which in (0, 1):
            job, program, pids = self.start("is_killed", STUCK)
            os.kill(pids[which], signal.SIGKILL)
            status, _, err = self.finish(job, program)
            self.assertEqual(status, 128 + signal.SIGKILL, err)

    def test_a_stopped_process_does_not_keep_the_job(self):
        job, program, pids = self.start("is_stopped", "if (rank == 0) { sleep(1);"
                                        " MPI_Abort(MPI_COMM_WORLD, 7); }" + STUCK)
        os.kill(pids[1], signal.SIGSTOP)
        status, _, err = self.finish(job, program)
        self.assertNotEqual(status, 0)
        self.assertIn("rank 0: MPI_Abort(MPI_COMM_WORLD, 7)", err)

    def test_the_launcher_is_told_to_end(self):
        job, program, _ = self.start("waits", STUCK)
        job.terminate()
        status, _, err = self.finish(job, program)
        self.assertNotEqual(status, 0)
        self.assertLessEqual(len(self.ours(err)), 1, err)
