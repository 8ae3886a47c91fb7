#!/usr/bin/env python3
"""The pages of `mpcinfo trace --html` and `mpcinfo profile --html` in a browser, without a window.

usage: browser.py --build BUILD
Exit status 77: no browser is installed (CTest: skipped).
"""

import argparse
import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
BUILD = None
EVIL = "./prog </script><script>document.body.dataset.broken=1</script><b>\"'&"

# Runs in the page, behind its own script: draws, looks at the picture, points at boxes.
PROBE = """
<script>
function colours() {
  const c = timeline.canvas, pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  const found = new Set();
  for (let i = 0; i < pixels.length; i += 4) found.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
  return found.size;
}
const result = {rows: timeline.rows.length, texts: []};
const begin = performance.now();
timeline.paint();
result.paint_ms = performance.now() - begin;
result.colours = colours();
result.note = timeline.note;
for (let y = 30; y < timeline.visible; y += 18)
  for (let x = 200; x < timeline.width; x += 97) result.texts.push(timeline.textAt(x, y));
timeline.zoom(timeline.end / 2, 1e-3);
timeline.from = result.from = Math.max(0, timeline.end / 2 - 50000);
timeline.to = timeline.from + 100000;
timeline.paint();
result.zoomed_colours = colours();
result.zoomed_note = timeline.note;
for (let y = 30; y < timeline.visible; y += 18)
  for (let x = 200; x < timeline.width; x += 37) result.texts.push(timeline.textAt(x, y));
result.texts = Array.from(new Set(result.texts));
document.body.dataset.result = JSON.stringify(result);
</script>
"""


def synthetic_trace(ranks, rounds, program="./prog"):
    """Each rank computes, sends to the next one and receives from the one before; as mpcrun writes it."""
    rng = random.Random(1)
    events = [{"name": "thread_name", "ph": "M", "ts": 0, "pid": 1, "tid": core,
               "args": {"name": f"core {core} (application)"}} for core in range(8)]
    for rank in range(ranks):
        events.append({"name": "thread_name", "ph": "M", "ts": 0, "pid": 2, "tid": 2 * rank,
                       "args": {"name": f"rank {rank}"}})
    now, number, later = [0.0] * ranks, 0, []
    for _ in range(rounds):
        for rank in range(ranks):
            tid, partner, number = 2 * rank, (rank - 1) % ranks, number + 1
            begin = now[rank] + 20 + 10 * rng.random()
            end = begin + 5 + 5 * rng.random()
            args = {"bytes": 100000, "source": partner, "tag": 0, "context": 0, "rank": rank, "worker": rank % 8}
            later += [
                (begin, {"name": "MPI_Sendrecv", "ph": "B", "pid": 2, "tid": tid, "cat": "mpi", "args": {"rank": rank}}),
                (begin + 1, {"name": "send", "ph": "i", "s": "t", "pid": 2, "tid": tid, "cat": "message",
                             "args": {"bytes": 100000, "dest": (rank + 1) % ranks, "rank": rank}}),
                (begin + 1, {"name": "message", "ph": "s", "pid": 2, "tid": tid, "cat": "message", "id": number}),
                (end - 3, {"name": "match", "ph": "i", "s": "t", "pid": 2, "tid": tid, "cat": "message", "args": args}),
                (end - 3, {"name": "copy", "ph": "B", "pid": 2, "tid": tid, "cat": "message", "args": args}),
                (end - 3, {"name": "message", "ph": "f", "pid": 2, "tid": tid, "cat": "message", "id": number}),
                (end - 1, {"ph": "E", "pid": 2, "tid": tid}),
                (end, {"ph": "E", "pid": 2, "tid": tid})]
            now[rank] = end
    later.sort(key=lambda pair: pair[0])
    events += [dict(event, ts=round(time, 3)) for time, event in later]
    messages = [[rank, (rank - 1) % ranks, rounds, rounds * 100000] for rank in range(ranks)]
    return {"otherData": {"program": program, "ranks": ranks, "lost_events": 0, "messages": messages},
            "traceEvents": events}


def profile(program="./prog", ranks=4):
    return {"profile": 1, "program": program, "ranks": ranks, "seconds": 2.0, "samples": 2000,
            "states": ["computing", "waiting in MPI", "moving data in MPI", "ready, without a core",
                       "asleep outside of MPI"],
            "times_ns": [[r, 10**9, 5 * 10**8 * r, 10**8, 0, 0] for r in range(ranks)],
            "calls": [[3, 0, "MPI_Recv", 1500000000, 100000000]],
            "messages": [[1, 0, 7, 700]]}


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="page-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def page(self, command, data, *more):
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
        subprocess.run([os.path.join(BUILD, "bin", "mpcinfo"), command, self.path("in.json"), *more,
                        "--html", self.path("out.html")], check=True, timeout=400)
        with open(self.path("out.html"), encoding="utf-8") as file:
            return file.read()

    def browse(self, text):
        """The page as it is when its scripts have run."""
        with open(self.path("out.html"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--user-data-dir=" + self.path("user"), "--window-size=1400,900", "--dump-dom",
             "file://" + self.path("out.html")],
            capture_output=True, text=True, timeout=400, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn('data-drawn="yes"', done.stdout, done.stderr[-2000:])
        return done.stdout

    def probe(self, text):
        dom = self.browse(text.replace("</body>", PROBE + "</body>"))
        return json.loads(html.unescape(re.search(r'data-result="([^"]*)"', dom)[1])), dom

    def test_a_small_trace_is_drawn_with_its_tables(self):
        result, dom = self.probe(self.page("trace", synthetic_trace(4, 50)))
        self.assertEqual(result["rows"], 8 + 4)
        self.assertGreater(result["colours"], 5)
        self.assertEqual(result["note"], "")
        texts = "\n".join(result["texts"])
        for part in ("MPI_Sendrecv, ", "with rank ", "97.66 KiB", "waiting ", "computes", "from rank "):
            self.assertIn(part, texts)
        for part in ("Who waited for whom", "rank 1", "MPI_Sendrecv", "4.768 MiB"):
            self.assertIn(part, dom)
        self.assertNotIn("http:", dom)
        self.assertNotIn("https:", dom)

    def test_a_hundred_thousand_events_are_quick_and_drawn_together(self):
        trace = synthetic_trace(64, 200)
        self.assertGreater(len(trace["traceEvents"]), 100000)
        result, _ = self.probe(self.page("trace", trace))
        self.assertEqual(result["rows"], 8 + 64)
        self.assertLess(result["paint_ms"], 2000)
        self.assertIn("12800 messages: zoom in", result["note"])
        self.assertEqual(result["zoomed_note"], "")
        self.assertGreater(result["zoomed_colours"], 5)

    def test_texts_of_programs_are_texts(self):
        trace = synthetic_trace(2, 3, EVIL)
        trace["traceEvents"][-2]["name"] = EVIL
        for event in trace["traceEvents"]:
            if event.get("cat") == "mpi":
                event["name"] = EVIL
        result, dom = self.probe(self.page("trace", trace))
        self.assertNotIn("data-broken", dom)
        self.assertIn(EVIL, "\n".join(result["texts"]))
        self.assertIn(html.escape(EVIL, quote=False), dom)

    def test_an_empty_trace_is_no_error(self):
        empty = {"otherData": {"program": "p", "ranks": 0}, "traceEvents": []}
        self.assertIn("0 ranks", self.browse(self.page("trace", empty)))

    def test_a_profile_has_times_calls_and_messages(self):
        dom = self.browse(self.page("profile", profile(EVIL)))
        self.assertNotIn("data-broken", dom)
        for part in ("waiting in MPI", "MPI_Recv", "1.500 s", "rank 3", "700 B"):
            self.assertIn(part, dom)

    def test_a_trace_with_its_profile(self):
        with open(self.path("profile.json"), "w", encoding="utf-8") as file:
            json.dump(profile(), file)
        dom = self.browse(self.page("trace", synthetic_trace(4, 5), "--profile", self.path("profile.json")))
        self.assertIn("ready, without a core", dom)
        self.assertIn("MPI_Sendrecv", dom)


def main():
    global BUILD
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build
    if BROWSER is None:
        print("no browser is installed: the pages of mpcinfo are not looked at; apt-get install chromium")
        return 77
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
