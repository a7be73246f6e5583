"""Preparing data survives being killed at any moment, Ctrl-C and a full disk with the same bytes in the end, stays within
the memory it was given, and accounts for every row. Takes about a minute."""

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import time
import unittest

from owlet_program import PROGRAM, ProgramTest

WORDS = "the owl saw a small red fox near old stones and then it flew over green hills to sleep".split()


def rows(count, seed):
    source = random.Random(seed)
    for index in range(count):
        yield {"id": index, "text": " ".join(source.choices(WORDS, k=source.randrange(5, 120))) + f" {index}."}


class DataPrepareTest(ProgramTest):
    def write_corpus(self, count=20000):
        """Files of all kinds in a folder, about 10 MB of text for 20,000 rows."""
        folder = self.folder / "corpus"
        (folder / "deep").mkdir(parents=True)
        with open(folder / "a.jsonl", "w") as file:
            for row in rows(count, 1):
                file.write(json.dumps(row) + "\n")
        with gzip.open(folder / "deep" / "b.jsonl.gz", "wt", compresslevel=1) as file:
            for row in rows(count, 2):
                file.write(json.dumps(row) + "\n")
        (folder / "c.json").write_text(json.dumps(list(rows(count // 10, 3))))
        (folder / "d.txt").write_text("\r\n<|endoftext|>\r\n".join(row["text"] for row in rows(count // 4, 4)))
        (folder / "e.png").write_text("no text")
        return folder

    def arguments(self, out, *more):
        return ["data", "prepare", "corpus", "--tokenizer", "bytes", "--out", str(out), "--json", "--memory", "64MiB",
                "--keep", "0.05", "--threads", "2", *more]

    def digest(self, out):
        total = hashlib.sha256()
        for path in sorted((self.folder / out).rglob("*")):
            if path.is_file():
                total.update(path.relative_to(self.folder / out).as_posix().encode() + path.read_bytes())
        return total.hexdigest()

    def start(self, arguments):
        environment = dict(os.environ, OWLET_HOME=str(self.folder / "home"))
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def prepare(self, out, *more):
        done = self.run_program(*self.arguments(out, *more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def peak_memory(self, arguments):
        process = self.start(arguments)
        process.stdout.read()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(status, 0, errors)
        return usage.ru_maxrss * 1024

    def test_killed_at_any_moment_the_bytes_are_the_same(self):
        self.write_corpus(count=40000)
        start = time.monotonic()
        info = self.prepare("whole")
        seconds = time.monotonic() - start
        self.assertEqual(info["documents"], 40000 * 2 + 4000 + 10000)
        expected = self.digest("whole")
        source = random.Random(5)
        num_kills = 0
        # Fast machines finish a preparation between two kills, so there are as many as it takes.
        for attempt in range(100):
            out = f"data{attempt}"
            for _ in range(200):
                num_kills += self.prepare_or_kill(out, source.uniform(0.2, 0.8) * seconds, source.randrange(3) == 0)
                if (self.folder / out).exists():
                    break
            self.assertTrue((self.folder / out).exists(), f"{num_kills} kills, and no end: nothing goes on")
            self.assertEqual(self.digest(out), expected)
            if num_kills > 4:
                return
        self.fail(f"only {num_kills} kills in 100 preparations")

    def prepare_or_kill(self, out, seconds, is_gentle):
        """Whether it was killed, or ended by Ctrl-C in an orderly way, after so many seconds."""
        process = self.start(self.arguments(out))
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT if is_gentle else signal.SIGKILL)
            _, errors = process.communicate()
            self.assertIn(process.returncode, (0, 130, -signal.SIGINT, -signal.SIGKILL), errors)
        if process.returncode == 0:
            self.assertTrue((self.folder / out).exists())
            self.assertFalse((self.folder / f"{out}.owlet-prepare").exists())
        return process.returncode != 0

    def test_stays_within_the_memory_given(self):
        self.write_corpus(count=100)
        least = self.peak_memory(self.arguments("small"))
        with open(self.folder / "corpus" / "large.jsonl", "w") as file:
            for row in rows(240000, 6):
                file.write(json.dumps(row) + "\n")
            file.write(json.dumps({"text": "long " * 2000000}) + "\n")
        self.assertGreater((self.folder / "corpus" / "large.jsonl").stat().st_size, 80e6)
        peak = self.peak_memory(self.arguments("large"))
        self.assertLess(peak - least, 64 * 2**20, f"{peak} bytes, {least} for a small corpus")

    def test_a_longer_document_than_the_memory_allows_is_named(self):
        (self.folder / "corpus").mkdir()
        (self.folder / "corpus" / "long.txt").write_text("word " * 3000000)
        done = self.run_program(*self.arguments("data"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("long.txt", done.stderr)
        self.assertIn("--memory", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_goes_on_after_a_full_disk(self):
        self.write_corpus()
        self.prepare("whole")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        filler = disk / "filler"
        filler.write_bytes(bytes(190 * 2**20))
        refused = self.run_program(*self.arguments(disk / "data"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("are free there", refused.stderr)  # told before anything is written
        # Another program takes the space while the work runs.
        os.truncate(filler, 0)
        self.assertEqual(self.start_then_fill(disk, filler).returncode, 1)
        os.truncate(filler, 0)
        done = self.run_program(*self.arguments(disk / "data"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.digest("disk/data"), self.digest("whole"))

    def start_then_fill(self, disk, filler):
        process = self.start(self.arguments(disk / "data"))
        work = disk / "data.owlet-prepare" / "journal.json"
        while not work.exists() and process.poll() is None:
            pass
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(2**18))
            except OSError:
                pass
        _, errors = process.communicate()
        self.assertIn("run the same command again", errors)
        return process

    def test_every_row_is_accounted_for(self):
        (self.folder / "corpus").mkdir()
        (self.folder / "corpus" / "a.jsonl").write_bytes(
            b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two"}\n{"text": ""}\n{"text": "bro\n[1]\n{"text": "one"}\n{"text": "cut'
        )
        refused = self.run_program(*self.arguments("data"))
        self.assertEqual(refused.returncode, 3)
        self.assertIn("a.jsonl, line 4", refused.stderr)
        self.assertIn("--skip-bad", refused.stderr)
        info = self.prepare("data", "--skip-bad", "--validation", "0")
        self.assertEqual((info["documents"], info["empty"], info["skipped"]), (3, 1, 3))
        self.assertEqual([place["place"].rsplit(", ", 1)[1] for place in info["skipped_places"]],
                         ["line 4", "line 5", "line 7"])
        self.assertEqual(info["duplicates"]["within_train"], 1)
        stats = json.loads(self.run_program("data", "stats", "data", "--json").stdout)
        self.assertEqual(stats["length_percentiles"], {"50": 4, "90": 4, "99": 4, "100": 4})
        self.assertEqual(stats["fits"]["512"], 1.0)
        shown = json.loads(self.run_program("data", "show", "data", "--document", "1", "--json").stdout)
        self.assertEqual(shown["documents"][0]["text"], "<|endoftext|>two")
        row = json.loads(self.run_program("data", "show", "corpus/a.jsonl", "--document", "1", "--json").stdout)
        self.assertEqual(row["documents"][0]["value"], {"text": "two"})


if __name__ == "__main__":
    unittest.main()
