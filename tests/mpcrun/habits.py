"""What users of mpirun and mpiexec type: each does here what it means, or is refused with our spelling.

The lines are those of the manual pages of Open MPI (4.1, 5.0) and of MPICH's Hydra, and of the MPI standard.
"""

import os
import shutil
import subprocess
import tempfile

from support import END, INIT, Case, example, run, tool

# `mpirun --help full` of Open MPI 4.1 and mpirun(1) of 5.0; `mpiexec -help` of Hydra and of its descendants.
OPEN_MPI = """allow-run-as-root am app bind-to bind-to-core bind-to-socket bycore bynode byslot np cf cartofile continuous
    cpu-list cpu-set cpus-per-proc cpus-per-rank d debug-devel debug debug-daemons debug-daemons-file debugger
    default-hostfile disable-recovery display-allocation display-devel-allocation display-devel-map display-diffable-map
    display-map display-topo do-not-launch do-not-resolve dvm enable-instant-on-support enable-recovery fwd-mpirun-port
    get-stack-traces gmca host hnp hostfile index-argv-by-rank launch-agent leave-session-attached machinefile map-by
    max-restarts max-vm-size mca merge-stderr-to-stdout N n nolocal nooversubscribe noprefix novm npernode npersocket
    ompi-server output-filename output-proctable oversubscribe path pernode personality ppr prefix preload-files q quiet
    rank-by report-bindings report-child-jobs-separately report-events report-pid report-state-on-timeout report-uri rf
    rankfile s preload-binary set-cwd-to-session-dir show-progress stdin tag-output timeout timestamp-output tune tv
    use-hwthread-cpus use-regexp v verbose V version wd wdir x xml xml-file xterm
    display output runtime-options rtos pmixmca prtemca omca opmca add-host add-hostfile app-prefix exec-agent
    forward-signals allow-multiple-job-ids stop-on-exec stop-in-init dvm-uri stream-buffering pset""".split()
HYDRA = """genv genvlist genvnone genvall f hosts wdir configfile env envlist envnone envall n np launcher launcher-exec
    enable-x disable-x rmk topolib bind-to map-by membind demux verbose info print-all-exitcodes iface ppn profile
    prepend-rank prepend-pattern outfile-pattern errfile-pattern nameserver disable-auto-cleanup
    disable-hostname-propagation order-nodes localhost usize pmi-port skip-launch-node gpus-per-proc
    perhost rr grr bootstrap bootstrap-exec ordered-output tmpdir machinefile l gdb tv""".split()
STANDARD = "n soft host arch wdir path file configfile initial-errhandler memory-alloc-kinds".split()


class Habits(Case):
    def starts(self, count, *words, **others):
        """The job runs with so many ranks, and nothing is said."""
        status, out, err = run(*words, **others)
        self.assertEqual((status, err), (0, ""), words)
        self.assertEqual(len([line for line in out.splitlines() if "hello from rank" in line]), count, words)
        return out

    def prints(self, expected, *words, **others):
        status, out, err = run(*words, **others)
        self.assertEqual((status, err), (0, ""), words)
        self.assertEqual(sorted(out.splitlines()), sorted(expected), words)

    def test_every_option_of_the_others_is_known(self):
        for names in (OPEN_MPI, HYDRA, STANDARD):
            for number, name in enumerate(names):
                # Behind it stands nothing that it could take for a value and then run. One dash or two are the same.
                status, out, err = run("-" * (1 + number % 2) + name)
                self.assertNotIn("unknown option", err, name)
                self.assertEqual(status, 0 if name in ("V", "version") else 2, err)
                self.assertTrue(err or out, name)

    def test_lines_that_run(self):
        hello = example("hello")
        for count, line in (
                (4, f"-np 4 {hello}"), (3, f"--np 3 {hello} an argument"), (3, f"-np 2 {hello} : -np 1 {hello}"),
                (2, f"--oversubscribe --allow-run-as-root -np 2 {hello}"), (1, hello),
                (2, f"-np 2 --map-by socket --bind-to core {hello}"), (2, f"-np 2 --bind-to none -- {hello}"),
                (2, f"-np 2 --mca btl tcp,self --mca btl_base_verbose 30 {hello}"),
                (2, f"-mca pml ob1 -mca btl ^openib -np 2 {hello}"), (2, f"-q -np 2 {hello}"),
                (2, f"-np 2 --map-by :OVERSUBSCRIBE {hello}"), (2, f"-np 2 --map-by ppr:2:node {hello}"),
                (2, f"-np 2 --use-hwthread-cpus --rank-by core {hello}"), (2, f"-np 2 -npernode 2 {hello}"),
                (2, f"-np 2 -x PATH -x A=1 -wd / {hello}"), (2, f"-np 2 --prefix /opt/openmpi {hello}"),
                (2, f"--timeout 50 -np 2 {hello}"), (2, f"-np 2 --tag-output {hello}"),
                (2, f"-np 2 --host localhost:2 {hello}"), (2, f"-H localhost,localhost -np 2 {hello}"),
                (2, f"-n 2 -ppn 2 {hello}"), (2, f"-n 2 -hosts localhost {hello}"),
                (2, f"-genv A 1 -genvall -n 2 {hello}"), (2, f"-n 2 -genvlist PATH,HOME {hello}"),
                (2, f"-n 2 -bind-to core -map-by hwthread {hello}"), (2, f"-prepend-rank -n 2 {hello}"),
                (2, f"-l -n 2 {hello}"), (2, f"-launcher fork -n 2 {hello}"), (2, f"-iface eth0 -n 2 {hello}"),
                (2, f"-n 2 -env A 1 {hello}"), (2, f"-membind none -topolib hwloc -n 2 {hello}"),
                (3, f"-n 1 -env A 1 {hello} : -n 2 -env A 2 {hello}"), (2, f"-usize 10 -n 2 {hello}"),
                (2, f"-initial-errhandler mpi_errors_are_fatal -n 2 {hello}"),
                (2, f"-n 2 env A=1 {hello}"), (2, f"-n 2 sh -c {hello}"), (4, f"-n4 {hello}")):
            self.starts(count, *line.split())

    def test_lines_that_are_refused(self):
        hello = example("hello")
        for says, line in (
                ("--cores LIST", "-np 2 --bind-to user:0,1"), ("--placement", "-np 2 --map-by slot:PE=2"),
                ("--ranks-per-host", "-np 2 --map-by ppr:1:socket"), ("--ranks-per-host", "-N 2"),
                ("--cores LIST", "-np 2 -rf ranks"), ("--cores LIST", "-np 2 --cpu-set 0,1"),
                ("--cores", "-np 2 --cpus-per-proc 2"), ("leave it out", "-np 2 --enable-recovery"),
                ("--label", "-np 2 --rank-output"), ("--output-file", "-np 2 --xml"),
                ("2>&1", "-np 2 --merge-stderr-to-stdout"), ("--show", "-np 2 -do-not-launch"),
                ("gdb --args mpcrun", "-np 2 -gdb"), ("gdb --args mpcrun", "--debug -np 2"),
                ("--hosts", "-np 2 --nolocal"), ("env -i", "-genvnone -n 2"), ("-n N", "-soft 2:4"),
                ("leave it out", "-arch x86_64 -n 2"), ("set PATH", "-path /opt/bin -n 2"),
                ("--version", "-info -n 2"), ("--agent", "-launcher slurm -n 2"), ("--agent", "-rmk slurm -n 2"),
                ("leave it out", "--stdin all -np 2"), ("job.universe_size", "-usize INFINITE -n 2"),
                ("MPI_Comm_set_errhandler", "-initial-errhandler mpi_errors_abort"),
                ("-np wants a number", "-np two"), ("-np wants a number of ranks from 1", "-np 0"),
                ("before the first program", f"-n 1 {hello} : -timeout 9 -n 1")):
            self.refused(2, *line.split(), hello, says=[says])

    def test_nothing_that_runs_no_program_ends_with_0(self):
        for status, line in ((2, ""), (2, "-np 2"), (2, "-np 2 --"), (2, "-np"), (127, "-np 2 ./no-such-program"),
                             (126, "-np 2 /usr/bin/true"), (126, "-np 2 sh -c 'true'"), (2, "-configfile"),
                             (126 if shutil.which("time") else 127, f"-np 2 time {example('hello')}"),
                             (2, "-np 2 : -np 2"), (2, f"-np 2 {example('hello')} :"),
                             (126, f"-np 2 valgrind {example('hello')}" if os.path.exists("/usr/bin/valgrind")
                              else "-np 2 /usr/bin/env")):
            self.refused(status, *line.split(), says=["mpcrun: "])

    def test_libraries_are_found_by_the_programs_own_environment(self):
        folder = tempfile.TemporaryDirectory(prefix="mpcrun-habits-")
        self.addCleanup(folder.cleanup)
        source, library, program = (os.path.join(folder.name, name) for name in ("l.c", "libhabit.so", "p"))
        for name, text in ((source, "int habit(void) { return 7; }"),
                           (program + ".c", "#include <mpi.h>\n#include <stdio.h>\nint habit(void);\nint main(int c, char** v) {"
                            " MPI_Init(&c, &v); printf(\"%d\\n\", habit()); return MPI_Finalize(); }\n")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run([tool("mpcc"), "-shared", source, "-o", library], check=True)
        subprocess.run([tool("mpcc"), program + ".c", "-L" + folder.name, "-lhabit", "-o", program], check=True)
        variable = f"LD_LIBRARY_PATH={folder.name}"
        script = os.path.join(folder.name, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{variable}; export LD_LIBRARY_PATH\nexec {program}\n")
        os.chmod(script, 0o755)
        self.refused(126, "-n", 2, program, says=["libhabit.so"])
        for words in (("-x", variable, program), ("-genv", *variable.split("=")[:2], program), (script,),
                      ("env", variable, program)):
            self.prints(["7", "7"], "-n", 2, *words)


class ProgramFile(Case):
    def file(self, text):
        folder = tempfile.TemporaryDirectory(prefix="mpcrun-habits-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "programs")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_the_programs_of_a_job_stand_in_a_file(self):
        program = self.programs.build("say", INIT + 'printf("%d of %d: %s %s\\n", rank, size, argv[1], getenv("A"));' + END)
        path = self.file(f"# what runs\n\n-n 1 -env A '1 2' {program} \"a b\"\n"
                         f"  # the others\n-n 2 \\\n -env A 3 {program} c\\ d\n")
        for word in ("-configfile", "--configfile", "--app", "-appfile"):
            status, out, err = run(word, path)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), ["0 of 3: a b 1 2", "1 of 3: c d 3", "2 of 3: c d 3"])
        # With other options of the job, and over several processes.
        out = self.passes("--label", "-configfile", path, "-genv", "A", "9")
        self.assertIn("[0] 0 of 3: a b 1 2\n", out)
        self.assertEqual(len(self.passes("-p", 3, f"--configfile={path}").splitlines()), 3)

    def test_what_is_wrong_with_it_is_said_with_its_place(self):
        hello = example("hello")
        good = self.file(f"-n 2 {hello}\n")
        for words, says in ((["-configfile", "/no/such/file"], "-configfile /no/such/file: cannot be read: No such file"),
                            (["-configfile", "/usr"], "/usr: cannot be read"),
                            (["--app", self.file("# nothing\n\n")], "names no program"),
                            (["--app", self.file("\n-n 1 './x\n")], "programs:2: a quote has no end"),
                            (["-configfile", good, hello], "another one: " + hello),
                            (["-configfile", good, ":", "-n", 1, hello], "another one"),
                            (["-configfile", good, "-configfile", good], "given twice"),
                            (["-configfile", self.file(f"-configfile {good}")], "before the first program"),
                            (["-configfile", self.file(f"-n 1 {hello}\n-n x {hello}\n")], "-n wants a number"),
                            (["-configfile", self.file("-n 1\n")], "no program")):
            self.refused(2, *words, says=[says])

    def passes(self, *words):
        status, out, err = run(*words)
        self.assertEqual((status, err), (0, ""), words)
        return out


