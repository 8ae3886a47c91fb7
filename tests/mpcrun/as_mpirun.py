#!/usr/bin/env python3
"""mpcrun by the names of other launchers, and what programs and scripts of their users expect of them."""

import os
import shutil
import subprocess
import sys
import unittest

from support import END, INIT, SANITIZED, Case, options, parse_options, run, tool

SHOWN = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
         "OMPI_COMM_WORLD_NODE_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
         "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_FD", "OMPI_MCA_orte_ess_num_procs")
SAY = "".join(f'printf(" %s", getenv("{name}") ? getenv("{name}") : "-");' for name in SHOWN)


def said(rank, size):
    """What the variables are in a job on one host."""
    return " ".join(str(n) for n in (rank, size) * 2 + (rank, rank, size, rank, size, rank, size)) + " - -"


def launcher(name="mpirun"):
    return os.path.join(options.build, "compat", "bin", name)


def mpirun(*args, name="mpirun", timeout=60, **kwargs):
    done = subprocess.run([launcher(name), *map(str, args)], capture_output=True,
                          text=True, timeout=timeout, **kwargs)
    return done.returncode, done.stdout, done.stderr


def has_launcher():
    """Can ranks be processes of their own? Asked before the options are read, too."""
    build = next((word for last, word in zip(sys.argv, sys.argv[1:]) if last == "--build"), "")
    return os.path.exists(os.path.join(build, "lib", "mpc", "mpclaunch"))


class AsMpirun(Case):
    def passes(self, *args, **kwargs):
        status, out, err = mpirun(*args, **kwargs)
        self.assertEqual((status, err), (0, ""), args)
        return sorted(out.splitlines())

    def gcc(self, name, body):
        """A program that mpcc did not link."""
        folder = self.programs.folder.name
        source, output, library = (os.path.join(folder, name + "_g.c"), os.path.join(folder, name + "_g"),
                                   os.path.join(options.build, "lib"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                       "int main(int argc, char **argv) { int rank = -1, size = 0; (void)argc, (void)argv;"
                       f" (void)rank, (void)size; {body} }}\n")
        subprocess.run(["gcc", source, "-I" + os.path.join(options.build, "include"), "-L" + library, "-lmpi_abi",
                        "-Wl,-rpath," + library, "-o", output], check=True)
        return output

    def script(self, text, name="script"):
        path = os.path.join(self.programs.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def both(self, name, body):
        """The program by mpcc, and, where such jobs can be, by gcc: ranks are processes then."""
        programs = [self.programs.build(name, body)]
        if not SANITIZED and has_launcher():
            programs.append(self.gcc(name, body))
        return programs


class Counts(AsMpirun):
    """Without -n, as many ranks as the launcher starts whose options these are."""

    def test_hosts_say_how_many_ranks_there_are(self):
        folder = self.programs.folder.name
        files = {}
        for name, text in (("openmpi", "localhost slots=2 max_slots=4\n# a comment\n"), ("mpich", f"{os.uname().nodename}:4\n"),
                           ("twice", "localhost\nlocalhost\n"), ("plain", "localhost\n")):
            files[name] = os.path.join(folder, name)
            with open(files[name], "w", encoding="utf-8") as file:
                file.write(text)
        programs = self.both("count", INIT + 'printf("of %d\\n", size);' + END)
        for count, line in ((2, "--npernode 2"), (1, "--pernode"), (2, "--map-by ppr:2:node"), (2, "-ppn 2"),
                            (2, "--hostfile {openmpi}"), (4, "-f {mpich}"), (2, "--machinefile {twice}"),
                            (1, "--hostfile {plain}"), (3, "--hostfile {plain} --npernode 3"),
                            (2, "--host localhost,localhost"), (2, "-hosts localhost,localhost"),
                            (3, "--host localhost:3"), (2, "--host localhost:3 --npernode 2"), (1, "--host localhost"),
                            (3, "--host localhost --host localhost:2"),
                            (2, "--host localhost:3 -n 2"), (1, "")):
            for program in programs:
                with self.subTest(line=line, program=program):
                    self.assertEqual(self.passes(*line.format(**files).split(), program), count * [f"of {count}"])
        status, out, err = run("--hosts", "localhost", "--ranks-per-host", 3, programs[0])
        self.assertEqual((status, out, err), (0, 3 * "of 3\n", ""))
        # Programs of a job say it each by itself.
        self.assertEqual(self.passes("--host", "localhost:3", programs[0], ":", programs[0]), 2 * ["of 2"])


@unittest.skipUnless(not SANITIZED and has_launcher(), "no ranks that are processes")
class OtherPrograms(AsMpirun):
    """Programs that are no ranks of ours."""

    def test_a_program_of_another_mpi_is_refused(self):
        folder = self.programs.folder.name
        library, source, program = (os.path.join(folder, name) for name in ("libmpi.so.40", "other.c", "other"))
        with open(source, "w", encoding="utf-8") as file:
            file.write("#ifdef LIBRARY\nint call(void) { return 0; }\n#else\nint call(void);\n"
                       "int main(void) { return call(); }\n#endif\n")
        subprocess.run(["gcc", "-DLIBRARY", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", source, "-o", library], check=True)
        subprocess.run(["gcc", source, library, "-Wl,-rpath," + folder, "-o", program], check=True)
        for words in ((program,), ("-n", 1, "true", ":", "-n", 1, program), ("--ranks-per-process", 1, program)):
            status, out, err = mpirun("-n", 2, *words) if words[0] != "-n" else mpirun(*words)
            self.assertEqual((status, out), (126, ""), err)
            self.assertIn("another MPI (libmpi.so.40)", err)
            self.assertEqual(len(err.splitlines()), 1)
        self.refused(126, "-n", 2, "--ranks-per-process", 1, program, says=["another MPI (libmpi.so.40)"])
        # What a script does is its own.
        self.assertEqual(self.passes("-n", 2, self.script(f"#!/bin/sh\n{program}\necho $?\n")), ["0", "0"])


class Forgiving(AsMpirun):
    """What mpirun and mpiexec forgive, and mpcrun refuses; variables that all obey."""

    def test_variables_that_are_not_there(self):
        env = {**os.environ, "HERE": "1", "ALSO": "2"}
        env.pop("GONE", None)
        body = INIT + ('printf("%s %s %s\\n", getenv("HERE"), getenv("ALSO"), getenv("SET") ? getenv("SET") : "-");' + END)
        for program in self.both("variables", body):
            status, out, err = mpirun("-n", 2, "-x", "GONE", program, env=env)
            self.assertEqual((status, out), (0, 2 * "1 2 -\n"))
            self.assertEqual(err, "mpcrun: -x GONE: there is no such environment variable\n")
            for words in (("-x", "HERE,ALSO"), ("-x", "HERE", "-x", "SET=-")):
                self.assertEqual(self.passes("-n", 2, *words, program, env=env), 2 * ["1 2 -"])
            words = ("--mca", "mca_base_env_list", "SET=7;HERE")
            self.assertEqual(self.passes("-n", 2, *words, program, env=env), 2 * ["1 2 7"])
        self.refused(2, "-n", 2, "-x", "GONE", program, env=env, says=["-x GONE: there is no such"])

    def test_an_option_given_twice(self):
        program = self.programs.build("size", INIT + 'printf("%d\\n", size);' + END)
        for name in ("mpirun", "mpiexec"):
            status, out, err = mpirun("-n", 2, "-np", 3, program, name=name)
            self.assertEqual((status, out, err), (0, "3\n3\n3\n", "mpcrun: -np is given twice: 3 counts\n"))
        self.refused(2, "-n", 2, "-np", 3, program, says=["-np is given twice"])

    def test_the_time_limit_may_be_a_variable(self):
        for program in self.both("sleeps", "sleep(argc > 1 ? 0 : 30); return 0;"):
            def env(text):
                return {**os.environ, "MPIEXEC_TIMEOUT": text}
            self.assertEqual(mpirun("-n", 2, program, env=env("1"))[0], 124)
            self.assertEqual(mpirun("-n", 2, "--timeout", 1, program, env=env("50"))[0], 124)
            for text in ("50", "0", ""):
                self.assertEqual(mpirun("-n", 2, program, "quick", env=env(text)), (0, "", ""))
            self.assertIn("MPIEXEC_TIMEOUT", mpirun("-n", 2, program, env=env("soon"))[2])

    def test_an_option_is_no_value_of_another_one(self):
        program = self.programs.build("size", INIT + 'printf("%d\\n", size);' + END)
        for words, says in ((("--trace", "-n", 2), "--trace wants FILE.json, and there is none"),
                            (("--profile-file", "--", program), "--profile-file wants"),
                            (("--wdir", "--oversubscribe"), "--wdir wants DIR")):
            self.refused(2, *words, program, says=[says], cwd=self.programs.folder.name)
        self.assertFalse(os.path.exists(os.path.join(self.programs.folder.name, "-n")))

    @unittest.skipUnless(not SANITIZED and has_launcher(), "no ranks that are processes")
    def test_no_advice_that_is_refused(self):
        program = self.gcc("plain", INIT + END)
        for start in (run, mpirun):
            for option in ("--profile", "--counters", "--trace=t.json"):
                status, out, err = start("-n", 2, option, program)
                self.assertEqual((status, out), (2, ""), err)
                name = option.split("=", maxsplit=1)[0]
                self.assertIn(f"{name}: {program} was not built by mpcc", err)
                self.assertIn("leave the option out", err)


class FoldersAndInput(AsMpirun):
    BODY = INIT + ('char folder[4096]; int n = 0; while (getchar() != EOF) ++n;'
                   'printf("%d %s %d\\n", rank, getcwd(folder, sizeof folder), n);' + END)

    def test_each_program_may_have_a_folder(self):
        here = os.path.realpath(self.programs.folder.name)
        os.makedirs(os.path.join(here, "sub"), exist_ok=True)
        script = self.script('#!/bin/sh\nexec "$@"\n')
        for program in self.both("folder", self.BODY):
            os.makedirs(os.path.join(here, "sub"), exist_ok=True)
            name = os.path.basename(program)
            shutil.copy(program, os.path.join(here, "sub", name))
            both = [f"0 {here}/sub 0", f"1 {here} 0"]
            for words in (("-n", 1, "-wdir", "sub", f"./{name}", ":", "-n", 1, f"./{name}"),
                          ("-n", 1, "-wdir", "sub", script, f"./{name}", ":", "-n", 1, "-wd", here, f"./{name}")):
                self.assertEqual(self.passes(*words, cwd=here, stdin=subprocess.DEVNULL), both)
            self.assertEqual(self.passes("-n", 1, program, ":", "-n", 1, "-wdir", "/", program, cwd=here, stdin=subprocess.DEVNULL),
                             [f"0 {here} 0", "1 / 0"])
            self.assertEqual(self.passes("-n", 2, "-wdir", "sub", f"./{name}", cwd=here, stdin=subprocess.DEVNULL),
                             [f"{rank} {here}/sub 0" for rank in range(2)])
            self.assertNotEqual(mpirun("-n", 1, "-wdir", "/none", program, ":", "-n", 1, program)[0], 0)
        # The first program's folder is that of the job, where mpcrun has its own name.
        program = self.programs.build("folder", self.BODY)
        for more, folders in (((), ("/", "/")), (("--wdir", here), ("/", here))):
            status, out, err = run("-n", 1, "--wdir", "/", program, ":", "-n", 1, *more, program, stdin=subprocess.DEVNULL)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), [f"{rank} {folder} 0" for rank, folder in enumerate(folders)])

    def test_no_input(self):
        here = os.path.realpath(self.programs.folder.name)
        for program in self.both("folder", self.BODY):
            for words, read in ((("--stdin", "none"), 0), (("-stdin", "0"), 3), ((), 3)):
                self.assertEqual(self.passes("-n", 2, *words, program, input="ab\n", cwd=here),
                                 [f"0 {here} {read}", f"1 {here} 0"])
        program = self.programs.build("folder", self.BODY)
        self.assertEqual(run("-n", 1, "--no-stdin", program, input="ab\n", cwd=here), (0, f"0 {here} 0\n", ""))


class Wrappers(AsMpirun):
    """Programs that start the program, or would become it, where ranks are threads."""

    SAYS = "if it is to be the rank, write mpcrun --ranks-per-process 1"

    def test_a_program_that_was_meant_to_be_the_rank_says_that_it_runs_alone(self):
        program = self.programs.build("alone", INIT + 'printf("%d of %d\\n", rank, size);' + END)
        wrapper = self.programs.build("wrapper", "return system(argv[1]) == 0 && system(argv[1]) == 0 ? 0 : 9;")
        for words in ((), ("-p", 2)):
            status, out, err = mpirun("-n", 4, *words, wrapper, program)
            self.assertEqual((status, out), (0, 8 * "0 of 1\n"))
            self.assertIn(self.SAYS, err)
            self.assertEqual(len(err.splitlines()), 1, err)
        # Not where children are what they are meant to be, nor where the user knows.
        self.assertEqual(self.passes("-n", 1, wrapper, program), 2 * ["0 of 1"])
        self.assertEqual(self.passes("-n", 2, wrapper, f"{tool('mpcrun')} -n 1 {program}"), 4 * ["0 of 1"])
        self.assertEqual(self.passes("-n", 2, wrapper, program, env=dict(os.environ, MPC_LOG_LEVEL="error")), 4 * ["0 of 1"])
        both = self.programs.build("both", INIT + "if (system(argv[1])) return 9;" + END)
        self.assertEqual(self.passes("-n", 2, both, program), 2 * ["0 of 1"])

    def test_a_wrapper_that_would_become_the_program_is_told_how(self):
        becomes = self.programs.build("becomes", "execv(argv[1], argv + 1); return 3;")
        status, _, err = mpirun("-n", 2, becomes, becomes)
        self.assertEqual(status, 3)
        first = next(line for line in err.splitlines() if "refused, as it would" in line)
        self.assertLess(0, first.find("write mpcrun --ranks-per-process 1"))
        self.assertLess(first.find("--ranks-per-process 1"), first.find("as a child"))


class RankVariables(AsMpirun):
    PROGRAM = INIT + 'printf("%d", rank);' + SAY + 'puts(""); fflush(stdout); if (argc > 1 && system(argv[1])) return 9;' + END

    def test_ranks_have_their_numbers_in_the_environment(self):
        wanted = [f"{rank} {said(rank, 2)}" for rank in range(2)]
        # What another launcher has left is not the ranks'.
        left = dict(os.environ, PMI_RANK="1", PMI_SIZE="2", OMPI_COMM_WORLD_RANK="7", OMPI_COMM_WORLD_SIZE="9")
        for program in self.both("numbers", self.PROGRAM):
            self.assertEqual(self.passes("-n", 2, program), wanted)
            self.assertEqual(self.passes("-n", 1, program, ":", "-n", 1, program, env=left), wanted)
            self.assertEqual(self.passes("-n", 2, "-x", "PMI_RANK=5", program), wanted)
            path = self.script('#!/bin/sh\nexport MINE=$OMPI_COMM_WORLD_LOCAL_RANK:$PMI_RANK\nexec "$@"\n')
            mine = INIT + 'puts(getenv("MINE"));' + END
            self.assertEqual(self.passes("-n", 2, path, self.both("mine", mine)[program.endswith("_g")]), ["0:0", "1:1"])

    def test_python_reads_them(self):
        line = "import os; print(os.environ['OMPI_COMM_WORLD_RANK'], os.environ['MPI_LOCALNRANKS'])"
        path = self.script("#!/usr/bin/env python3\n" + line + "\n")
        if run("-n", 1, path)[0] == 126:
            self.skipTest("this Python cannot be ranks")
        self.assertEqual(self.passes("-n", 3, path), ["0 3", "1 3", "2 3"])

    def test_a_child_of_a_rank_is_no_rank(self):
        for program in self.both("numbers", self.PROGRAM):
            # A program of its own, and a job of its own, also within a job of another launcher's with one process.
            for env in ({}, {"PMI_SIZE": "1", "PMI_RANK": "0", "PMI_FD": "5"},
                        {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0", "OMPI_MCA_orte_ess_num_procs": "1"}):
                lines = self.passes("-n", 2, program, program, env={**os.environ, **env})
                self.assertEqual(lines, sorted(f"{own} {said(rank, 2)}" for rank in (0, 1) for own in (rank, 0)))
                lines = self.passes("-n", 2, program, f"{launcher()} -n 3 {program}", env={**os.environ, **env})
                self.assertEqual(len(lines), 8)
                self.assertEqual(lines.count(f"2 {said(2, 3)}"), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2)
