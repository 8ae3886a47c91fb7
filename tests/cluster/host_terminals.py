#!/usr/bin/env python3
"""Jobs on several hosts, started in a terminal by a shell: it is closed, keys are pressed, the job goes to the
background and comes back."""

import os
import pty
import select
import shlex
import time

from common import END, INIT, tool
from virtual_hosts import HostsCase, main

BOTH_WAYS = ((), ("--ranks-per-process", 1))


class Terminals(HostsCase):
    COUNT_BODY = ("for (int i = 0; i < 12; ++i) { MPI_Barrier(MPI_COMM_WORLD); if (rank == 0)"
                  " { printf(\"count %d\\n\", i); fflush(stdout); } usleep(100000); }")
    STAYS = ("MPI_Barrier(MPI_COMM_WORLD); if (rank == 0) { puts(\"ready\"); fflush(stdout); }"
             " if (rank == 3) for (;;) sleep(1); MPI_Barrier(MPI_COMM_WORLD);")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def sees(self, text, within=20):
        """What the terminal shows until then."""
        shown, until = b"", time.monotonic() + within
        while text.encode() not in shown and time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    shown += os.read(self.terminal, 4096)
                except OSError:
                    break
        self.assertIn(text, shown.decode(errors="replace"))
        return shown.decode(errors="replace")

    def start(self, *words):
        """A shell on h1, with a job in its foreground."""
        child, self.terminal = pty.fork()
        if child == 0:
            os.execvp("sh", self.hosts.command("h1", "env", "PS1=prompt> ", "bash", "--norc", "-i"))
        self.child = child
        self.addCleanup(self.close)
        self.sees("prompt> ")
        agent = shlex.quote(self.hosts.ssh())
        # What is typed is shown as well.
        self.type(f"{tool('mpcrun')} --agent {agent} -n 4 --hosts h1,h2 {' '.join(map(str, words))};"
                  " echo sta''tus=$?\n")

    def close(self):
        if self.terminal >= 0:
            os.close(self.terminal)
        self.terminal = -1
        until = time.monotonic() + 10
        while self.child > 0 and time.monotonic() < until:
            if os.waitpid(self.child, os.WNOHANG)[0] == self.child:
                self.child = 0
            time.sleep(0.02)
        self.assertEqual(self.child, 0, "the shell has not ended")

    def test_it_is_closed(self):
        program = self.build("stays", INIT + self.STAYS + END)
        for words in BOTH_WAYS:
            self.start(*words, program)
            self.sees("ready")
            self.close()
            self.gone(within=10)

    def test_ctrl_c_once_and_twice(self):
        program = self.build("stays", INIT + self.STAYS + END)
        for words in BOTH_WAYS:
            for keys in ("\x03", "\x03\x03"):
                self.start(*words, program)
                self.sees("ready")
                self.type(keys)
                self.sees("status=130")
                self.close()
                self.gone(within=10)

    def test_ctrl_z_and_fg(self):
        program = self.build("counts", INIT + self.COUNT_BODY + END)
        for words in BOTH_WAYS:
            self.start(*words, program)
            self.sees("count 2")
            self.type("\x1a")
            self.assertIn("Stopped", self.sees("status=148"))
            time.sleep(0.5)
            self.type("fg; echo sta''tus=$?\n")
            self.assertIn("count 11", self.sees("status=0"))
            self.close()


if __name__ == "__main__":
    main()
