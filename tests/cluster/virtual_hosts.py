"""Virtual hosts (hosts.sh) for the tests of jobs on several hosts."""

import os
import subprocess
import sys
import tempfile
import time
import unittest

from common import Case, ClusterCase, parse_options, tool

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts.sh")


def why_not():
    """What is missing here for virtual hosts; empty: nothing."""
    done = subprocess.run(["sh", SCRIPT, "check"], capture_output=True, text=True, timeout=30)
    return done.stderr.strip() if done.returncode != 0 else ""


class Hosts:
    """Virtual hosts h1 .. hN, as long as it lives."""

    def __init__(self, count, family=""):
        self.folder = tempfile.TemporaryDirectory(prefix="vhosts-")
        self.names = [f"h{i + 1}" for i in range(count)]
        # Beside the system: the programs of tests are in /tmp.
        shared = {"HOSTS_SHARED": Case.shared.folder.name}
        begin = time.monotonic()
        done = subprocess.run(["sh", SCRIPT, "up", self.path("net"), str(count), *family],
                              env={**os.environ, **shared}, capture_output=True, text=True,
                              timeout=60)
        self.up_s = time.monotonic() - begin
        if done.returncode != 0:
            self.down()
            raise RuntimeError(done.stderr)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def down(self):
        subprocess.run(["sh", SCRIPT, "down", self.path("net")], check=True, timeout=60)
        self.folder.cleanup()

    def command(self, host, *words):
        return ["sh", SCRIPT, "exec", self.path("net"), host, *map(str, words)]

    def ssh(self):
        return f"ssh -x -o BatchMode=yes -F {self.path('net', 'ssh_config')}"

    def mpcrun(self, *words, host="h1", agent=None):
        """The command that runs mpcrun on a host, by default on the first one."""
        return self.command(host, tool("mpcrun"), "--agent", agent or self.ssh(), *words)

    def link(self, host, state):
        subprocess.run(["sh", SCRIPT, "link", self.path("net"), host, state], check=True,
                       timeout=10)

    def processes(self, host):
        """{pid there: command line}, without the host's own."""
        done = subprocess.run(["sh", SCRIPT, "ps", self.path("net"), host], capture_output=True,
                              text=True, timeout=30, check=True)
        lines = [line.split(None, 1) for line in done.stdout.splitlines() if "<defunct>" not in line]
        own = ("sleep infinity", "sshd: /usr/sbin/sshd", "ps -e")
        return {int(pid): args for pid, args in lines
                if not args.startswith(own)}

    def kill(self, host, pid, which=9):
        subprocess.run(self.command(host, "kill", f"-{which}", pid), check=True, timeout=10)


class HostsCase(ClusterCase):
    """Two virtual hosts for all tests of a class. Where they cannot be made its tests are skipped,
    each by its name and with the reason."""

    hosts = None
    missing = ""
    COUNT = 2
    FAMILY = ""  # "6": the hosts have IPv6 addresses only

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.missing = why_not()
        if not cls.missing:
            cls.hosts = Hosts(cls.COUNT, cls.FAMILY)

    @classmethod
    def tearDownClass(cls):
        if cls.hosts:
            cls.hosts.down()

    def setUp(self):
        if self.missing:
            # Tools can be installed, rights cannot.
            if os.environ.get("MPC_TEST_STRICT") and "is not installed" in self.missing:
                self.fail(self.missing)
            self.skipTest(self.missing)
        super().setUp()

    def tearDown(self):
        super().tearDown()
        self.gone()

    def run_job(self, *words, host="h1", timeout=60, agent=None, **kwargs):
        done = subprocess.run(self.hosts.mpcrun(*words, host=host, agent=agent),
                              capture_output=True, text=True, timeout=timeout, **kwargs)
        return done.returncode, done.stdout, done.stderr

    def left(self):
        found = {host: self.hosts.processes(host) for host in self.hosts.names}
        return {host: there for host, there in found.items() if there}

    def gone(self, within=3.0):
        until = time.monotonic() + within
        while time.monotonic() < until:
            if not self.left():
                return
            time.sleep(0.05)
        self.assertEqual(self.left(), {}, "left behind")


def main():
    """As unittest.main(); 77 says CTest that no test could run."""
    result = unittest.main(argv=[sys.argv[0], *parse_options()], verbosity=2, exit=False,
                           module="__main__").result
    are_all_skipped = result.testsRun > 0 and len(result.skipped) == result.testsRun
    sys.exit(77 if are_all_skipped else 0 if result.wasSuccessful() else 1)
