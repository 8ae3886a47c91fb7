"""Programs and libraries that mpcrun is given: refused ones, tools before them, what is private to each rank."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support import END, INIT, WORDS, Case, example, run, small_stack, tool


class Programs(Case):
    def test_a_program_may_be_replaced_while_it_runs(self):
        program = self.programs.build(
            "replaced", INIT + "if (rank == 0) { puts(\"ready\"); fflush(stdout); }"
            "char word[8] = \"\"; if (rank == 0 && fgets(word, sizeof word, stdin) == NULL) return 9;"
            "MPI_Barrier(MPI_COMM_WORLD); double x = atof(\"1.5\");"
            "printf(\"%d says %g %s\\n\", rank, x, strerror(ENOENT));" + END)
        copy = program + ".copy"
        shutil.copy(program, copy)
        with subprocess.Popen([tool("mpcrun"), "-n", "3", copy], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "ready\n")
            with open(copy, "r+b") as file:  # as cp does it
                size = os.path.getsize(copy)
                file.truncate(0)
                file.write(b"\xcc" * size)
            out, err = job.communicate("go\n", timeout=60)
            self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(out.splitlines()),
                         [f"{r} says 1.5 No such file or directory" for r in range(3)])

    @unittest.skipIf(shutil.which("gcov") is None, "gcov is not installed")
    def test_gcov_counts_all_ranks(self):
        with tempfile.TemporaryDirectory(prefix="mpcrun-gcov-") as folder:
            with open(os.path.join(folder, "counted.c"), "w", encoding="utf-8") as file:
                file.write("#include <mpi.h>\nint main(int c, char **v) {\nMPI_Init(&c, &v);\n"
                           "return MPI_Finalize();\n}\n")
            subprocess.run([tool("mpcc"), "--coverage", "counted.c", "-o", "counted"], cwd=folder,
                           check=True)
            status, _, err = run("-n", 16, "./counted", cwd=folder)
            self.assertEqual(status, 0, err)
            notes = [name for name in os.listdir(folder) if name.endswith(".gcno")]
            subprocess.run(["gcov", *notes], cwd=folder, check=True, capture_output=True)
            with open(os.path.join(folder, "counted.c.gcov"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"16: +3:MPI_Init")

    def test_missing_program(self):
        self.refused(127, "-n", 2, "./does-not-exist", says=["does-not-exist"])

    def test_what_is_no_program_is_said_to_be_none(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "fifo"))
            os.mkdir(os.path.join(folder, "bin"))
            os.mkdir(os.path.join(folder, "bin", "sub"))
            for name in ("notes.txt", "bin/notes.txt"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("hello\n")
            environment = dict(os.environ, PATH=os.path.join(folder, "bin"))
            for name, status, says in (("./fifo", 126, "is not a regular file"),
                                       ("sub", 127, "neither in PATH nor in this folder"),
                                       ("", 127, "empty"), (".", 126, "is a directory"),
                                       ("notes.txt", 126, "is not a program")):
                self.refused(status, "-n", 1, name, says=[says], cwd=folder, env=environment)

    def test_program_that_is_not_executable(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("hello\n")
            file.flush()
            os.chmod(file.name, 0o644)
            self.refused(126, "-n", 2, file.name)

    def script(self, folder, text, name="script.sh"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def test_a_script_that_ends_in_the_program_is_ranks_of_it(self):
        program = self.programs.build(
            "in_script", INIT + 'char folder[999]; printf("%d %s %s %s %s %d %s\\n", rank, getenv("MINE"),'
            'getenv("ALL"), getenv("GONE") ? "there" : "gone", argv[argc - 1], argc, getcwd(folder, 999));' + END)
        with tempfile.TemporaryDirectory() as folder:
            path = self.script(folder, "#!/bin/bash\nexport MINE=$((OMPI_COMM_WORLD_RANK * 10)) ALL=$PMI_SIZE\n"
                               'unset GONE\ncd /usr\nexec "$@" last\n')
            env = dict(os.environ, GONE="1")
            status, out, err = run("-n", 3, path, program, "first", env=env)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()),
                             [f"{rank} {rank * 10} 3 gone last 3 /usr" for rank in range(3)])
            for words in (["sh", path, program, "x"], ["bash", "-c", f"{path} {program} $ALL"]):
                status, out, err = run("-n", 2, *words, env=dict(env, ALL="x"))
                self.assertEqual((status, err, len(out.splitlines())), (0, "", 2), words)
            status, out, err = run("-n", 1, path, program, ":", "-n", 1, program, env=env)
            self.assertEqual((status, out), (126, ""), err)
            self.assertIn("--wdir", err)

    def test_a_script_that_does_not_end_in_a_program_is_refused(self):
        program = self.programs.build("after_script", INIT + END)
        with tempfile.TemporaryDirectory() as folder:
            for text, says in (("exit 7", "ended with status 7"), ("kill -9 $$", "died of signal 9"),
                               (f"{program}\ntrue", "goes on after its program"),
                               (f"exec {program} $PMI_RANK", "another command"),
                               (f"{program} & wait", "goes on after its program")):
                path = self.script(folder, "#!/usr/bin/env sh\n" + text + "\n")
                self.refused(126, "-n", 2, path, says=[path, says])
            self.refused(126, "-n", 2, "-p", 2, path, says=[path, "around mpcrun"])

    def test_thread_locals_that_do_not_fit_on_a_small_stack(self):
        program = self.programs.compile(
            "large_tls.c",
            "#include <mpi.h>\nstatic __thread char large[1 << 20];\n"
            "int main(int c, char **v) { MPI_Init(&c, &v); large[c] = 1;"
            "MPI_Finalize(); return large[c] - 1; }\n")
        self.assertEqual(run("-n", 4, program)[0], 0)
        self.assertEqual(run("-n", 4, "--stack-size", small_stack(), program)[0], 0)

    def test_program_that_mpcc_did_not_make(self):
        err = self.refused(126, "-n", 2, "/bin/true", says=["/bin/true"])
        self.assertIn("mpcc", err)

    def test_tools_before_the_program_go_before_mpcrun(self):
        for tool_name, says in (("valgrind", "valgrind --trace-children=yes mpcrun"),
                                ("gdb", "gdb --args mpcrun"), ("strace", "strace -f mpcrun"),
                                ("perf", "perf record mpcrun"),
                                ("time", "time mpcrun"), ("taskset", "taskset -c 0-3 mpcrun"),
                                ("bash", "put the script around mpcrun"),
                                ("python3.11", "libpython3.11.so.1.0")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, tool_name)
                shutil.copy("/bin/true", path)  # the name counts: the tool may not be installed
                err = self.refused(126, "-n", 2, path, example("hello"), says=[path, says])
                self.assertNotIn("compile", err)

    def test_env_and_shells_before_the_program_are_seen_through(self):
        program = self.programs.build("seen", INIT + 'printf("%s %d\\n", getenv("SEEN"), argc);' + END)
        for words in (["env", "SEEN=1", program, "x"], ["/usr/bin/env", "SEEN=1", program, "x"],
                      ["bash", "-c", f"SEEN=1 {program} 'a b'"], ["sh", "-c", f"SEEN=1 exec {program} x"],
                      ["env", "SEEN=0", "sh", "-c", f"SEEN=1 {program} x"]):
            self.assertEqual(run("-n", 2, "--", *words), (0, "1 2\n1 2\n", ""), words)
        for words in (["sh", "-c", f"{program}; true"], ["env", "-i", program]):
            err = self.refused(126, "-n", 2, "--", *words)
            self.assertIn("put", err)

    def test_a_tool_that_is_a_script_goes_before_mpcrun_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "valgrind")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nexit 0\n")
            os.chmod(path, 0o755)
            self.refused(126, "-n", 2, path, example("hello"),
                         says=["valgrind --trace-children=yes mpcrun"])

    def test_a_program_on_a_noexec_mount(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (f"mount -t tmpfs -o noexec none {folder} && cp {example('hello')} {folder} && "
                      f"{tool('mpcrun')} -n 1 {folder}/hello")
            done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True,
                                  text=True, timeout=60, check=False)
            if "noexec" not in done.stderr and "mpcrun" not in done.stderr:
                self.skipTest(f"no mounts here: {done.stderr}")
            self.assertEqual(done.returncode, 126)
            self.assertIn("is mounted noexec", done.stderr)
            self.assertNotIn("chmod", done.stderr)

    @unittest.skipIf({"address", "thread"} & WORDS,
                     "mpcrun has a sanitizer's library in it")
    def test_sanitized_programs_say_how_they_are_started(self):
        text = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
        program = self.programs.compile("with_asan.c", text, "-fsanitize=address")
        self.refused(126, "-n", 2, program,
                     says=["LD_PRELOAD=$(gcc -print-file-name=libasan.so)", "-fsanitize=address"])
        program = self.programs.compile("with_tsan.c", text, "-fsanitize=thread")
        self.refused(126, "-n", 2, program, says=["-fsanitize=thread", "does not work"])
        if shutil.which("clang"):
            program = self.programs.compile("with_clang.c", text, "-cc=clang", "-fsanitize=address")
            self.refused(126, "-n", 2, program,
                         says=["LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan"])

    def wrapper_library(self):
        """A library that counts a rank's barriers in a global of its own."""
        source = os.path.join(self.programs.folder.name, "counting.c")
        library = os.path.join(self.programs.folder.name, "libcounting.so")
        if not os.path.exists(library):
            with open(source, "w", encoding="utf-8") as file:
                file.write("""#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Barrier(MPI_Comm comm) { ++calls; return PMPI_Barrier(comm); }
int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("rank %d: %d barriers\\n", rank, calls);
  return PMPI_Finalize();
}
""")
            subprocess.run([tool("mpcc"), "-fPIC", "-shared", source, "-o", library], check=True)
        return library

    BARRIERS = INIT + "for (int i = 0; i < 3; ++i) MPI_Barrier(MPI_COMM_WORLD);" + END

    COUNTED = [f"rank {rank}: 3 barriers" for rank in range(4)]

    def test_preloaded_wrapper_library_is_private_to_each_rank(self):
        program, library = self.programs.build("barriers", self.BARRIERS), self.wrapper_library()
        for job in (dict(env=dict(os.environ, LD_PRELOAD=library)), {}):
            arguments = [] if job else ["-x", f"LD_PRELOAD={library}"]
            status, out, err = run(*arguments, "-n", 4, program, **job)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), self.COUNTED)

    @unittest.skipIf({"address", "thread"} & WORDS, "a sanitizer's library would have to come first")
    def test_wrapper_library_may_be_preloaded_for_commands_without_mpi(self):
        program, environment = self.programs.build("barriers", self.BARRIERS), dict(os.environ, LD_PRELOAD=self.wrapper_library())
        for command in (["true"], ["sh", "-c", f"{tool('mpcrun')} -n 4 {program}"],
                        ["env", "A=1", tool("mpcrun"), "-n", "4", program]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertEqual(sorted(done.stdout.splitlines()), [] if command == ["true"] else self.COUNTED)

    def test_linked_wrapper_library_is_private_to_each_rank(self):
        library = self.wrapper_library()
        source = self.programs.build("barriers", self.BARRIERS) + ".c"
        program = os.path.join(self.programs.folder.name, "barriers_linked")
        subprocess.run([tool("mpcc"), source, library, "-o", program], check=True)
        status, out, err = run("-n", 4, program)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), self.COUNTED)
