"""A run survives being killed at any moment and a full disk: what it resumes from is whole, and it ends with the bits
of a run that was never disturbed. Takes about a minute; the part with the full disk needs root for a small tmpfs."""

import json
import os
import random
import subprocess
import time
import unittest

from owlet_program import PROGRAM, ProgramTest

NUM_KILLS = 50
LONGEST_LIFE_SECONDS = 0.5

SETTINGS = ["horizon.steps=400", "checkpoint.every=20", "evaluation.every=50", "evaluation.batches=2", "log.every=10"]


class KillResumeTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.prepare_stories()
        # Ends the measuring of the machine, so that the first life is as long as the others.
        self.run_program("machine", "measure", "--json")

    def pretrain_arguments(self, run):
        arguments = ["pretrain", "tiny.toml", "--data", "data", "--run", str(run), "--threads", "1", "--json"]
        for setting in SETTINGS:
            arguments += ["--set", setting]
        return arguments

    def resume_arguments(self, run):
        return ["resume", str(run), "--threads", "1", "--json"]

    def result_of(self, arguments):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def final_files(self, run):
        checkpoint = run / "checkpoints" / "latest"
        return {name: (checkpoint / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")}

    def saved_step(self, run):
        """The step that `latest` points at, -1 before the first checkpoint; its files must all be there."""
        latest = run / "checkpoints" / "latest"
        if not latest.exists():
            return -1
        for name in ("config.json", "model.safetensors", "optimizer.safetensors", "tokenizer.json", "checkpoint.json"):
            self.assertTrue((latest / name).exists(), f"{latest.resolve()} lacks {name}")
        return json.loads((latest / "trainer.json").read_text())["step"]

    def live_and_die(self, arguments, seconds):
        """Runs the program and kills it after `seconds`; true if it was killed before it ended."""
        environment = dict(os.environ, OWLET_HOME=str(self.folder / "home"))
        process = subprocess.Popen(
            [PROGRAM, *arguments], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        self.assertEqual(process.returncode, 0, errors)
        return False

    def start_or_resume(self, run):
        has_begun = (run / "run.json").exists() and (run / "recipe.toml").exists()
        return self.resume_arguments(run) if has_begun else self.pretrain_arguments(run)

    def assert_metrics_are_whole(self, run):
        steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        logged = [line["step"] for line in steps if line["type"] == "step"]
        self.assertEqual(logged, list(range(10, 401, 10)))

    def test_fifty_kills_at_random_moments(self):
        whole = self.folder / "whole"
        self.result_of(self.pretrain_arguments(whole))
        expected = self.final_files(whole)
        seed = int(time.time())
        moments = random.Random(seed)
        kills = runs = 0
        while kills < NUM_KILLS:
            runs += 1
            run = self.folder / f"run-{runs}"
            step, is_complete = -1, False
            while not is_complete:
                if kills >= NUM_KILLS:
                    self.result_of(self.start_or_resume(run))
                    is_complete = True
                elif self.live_and_die(self.start_or_resume(run), moments.uniform(0.01, LONGEST_LIFE_SECONDS)):
                    kills += 1
                    self.assertGreaterEqual(self.saved_step(run), step, f"went back; seed {seed}")
                    step = self.saved_step(run)
                else:
                    is_complete = True
            self.assertEqual(self.final_files(run), expected, f"run {runs} differs; seed {seed}")
            self.assert_metrics_are_whole(run)
            leftovers = [path.name for path in run.rglob("*.partial-*")]
            self.assertEqual(leftovers, [])
        print(f"{kills} kills over {runs} runs, seed {seed}")

    def mount_disk(self, size):
        """A folder on a file system of its own that holds `size`; unmounted after the test."""
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        return disk

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_full_disk_loses_nothing(self):
        disk = self.mount_disk("8m")
        run = disk / "run"
        self.result_of(self.pretrain_arguments(run) + ["--set", "horizon.steps=40"])
        self.assertEqual(self.saved_step(run), 40)

        for free_bytes in (100_000, 0):
            filler = disk / "filler"
            status = os.statvfs(disk)
            filler.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free_bytes)))
            done = self.run_program(*self.resume_arguments(run), "--set", "horizon.steps=400")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(self.saved_step(run), 40)
            filler.unlink()
        result = self.result_of(self.resume_arguments(run) + ["--set", "horizon.steps=400"])
        self.assertEqual(result["steps"], 400)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_disk_too_small_is_refused_before_the_first_step(self):
        disk = self.mount_disk("200k")
        done = self.run_program(*self.pretrain_arguments(disk / "run"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("checkpoint", done.stdout + done.stderr)
        self.assertFalse((disk / "run").exists())


if __name__ == "__main__":
    unittest.main()
