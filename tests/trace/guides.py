"""The pages that lead through the code, compared with what traces show: docs/ibcast-to-memcpy.md,
docs/send-to-memcpy.md, docs/completion.md."""

import os
import re
import unittest

from support import RANKS, Case, about, load, options

# Named on a line of another function; their files are in the tables of the page.
ELSEWHERE_IN_THE_PICTURE = ("finish", "progress_rank", "run_in_background")


class Guides(Case):
    def stages(self, page):
        """The column "In the trace" of the page: for each stage, its events (any of them)."""
        found = []
        path = os.path.join(options.source, "docs", page)
        with open(path, encoding="utf-8") as file:
            for line in file:
                if re.match(r"\| \d+ \|", line):
                    cell = line.rstrip().rstrip("|").split("|")[-1]
                    found.append([tuple(event.split(" ", 2)) for event in
                                  re.findall(r"`([BEbei] \w+ [^`]+)`", cell)])
        return [events for events in found if events]

    def test_the_picture_of_a_completion_names_files_and_functions_that_exist(self):
        with open(os.path.join(options.source, "docs", "completion.md"), encoding="utf-8") as file:
            text = file.read()
        picture = re.search(r"```\n(.*?)```", text, re.DOTALL)[1]
        named = re.findall(r"\b(\w+)\(\) +([\w/]+\.\w+)", picture)
        self.assertGreater(len(named), 15)
        # Each function of the picture has its file beside it, or is that of another line.
        self.assertEqual({name for name in re.findall(r"\b(\w+)\(\)", picture)},
                         {name for name, _ in named} | set(ELSEWHERE_IN_THE_PICTURE))
        for functions, path in re.findall(r"((?:`[\w:]+`(?:, )?)+) in `([\w/]+\.\w+)`", text):
            named += [(name, path) for name in re.findall(r"`(?:\w+::)*(\w+)`", functions)]
        for name, path in named:
            with open(os.path.join(options.source, path), encoding="utf-8") as file:
                # A definition or a call: not a word of a comment.
                code = re.sub(r"//.*", "", file.read())
            self.assertRegex(code, rf"\b{name}\b", f"{name} is not in {path}")
        for path in re.findall(r"\b(?:nbc|runtime)/[\w/]+\.\w+", text):
            self.assertTrue(os.path.exists(os.path.join(options.source, path)), path)

    @unittest.skipIf(os.cpu_count() < 2, "needs a core for communication")
    def test_the_guided_path_is_true(self):
        stages = self.stages("ibcast-to-memcpy.md")
        self.assertGreaterEqual(len(stages), 10)
        # On a busy machine a rank may be in MPI_Wait before the other core has begun, and
        # takes its copies back: one broadcast of many is to show the whole way.
        # The data are in the cache of the ranks' core, and would be left to it otherwise.
        self.run_job("bcast", 30, before=("--set", "progress.near_bytes=0"))
        best = []
        for rank in range(1, 4):
            passed = None
            for event in load(self.file)["traceEvents"]:
                if event["pid"] != RANKS or event["ph"] == "M" or about(event) != rank:
                    continue
                what = (event["ph"], event.get("cat"), event.get("name"))
                if what == ("B", "mpi", "MPI_Ibcast"):
                    passed = []
                if passed is not None and len(passed) < len(stages) and \
                        what in stages[len(passed)]:
                    passed.append(what)
                    best = max(best, passed, key=len)
        self.assertEqual(len(best), len(stages),
                         f"after {best} this did not come: {stages[len(best):][:1]}")

    def test_the_guided_path_of_a_message_is_true(self):
        stages = self.stages("send-to-memcpy.md")
        self.assertEqual(len(stages), 4)
        self.run_job("send", 5)
        passed, whole = None, 0
        events = [event for event in load(self.file)["traceEvents"]
                  if event["pid"] == RANKS and event["ph"] in "Bi"]
        for event in sorted(events, key=lambda event: event["ts"]):
            what = (event["ph"], event.get("cat"), event.get("name"))
            if what in stages[0]:
                passed = 0
            if passed is not None and what in stages[passed]:
                # The call and the send are the sender's, match and copy are about the receiver.
                self.assertEqual(about(event), 0 if passed < 2 else 1, event)
                passed += 1
            if passed == len(stages):
                passed, whole = None, whole + 1
        self.assertEqual(whole, 5)
