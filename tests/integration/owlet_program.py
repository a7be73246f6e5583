"""Running the program from tests: OWLET names the executable, everything else happens in temporary folders."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("OWLET", str(SOURCE / "build/release/owlet"))
SHARED_DATA = SOURCE.parent / "shared" / "data"

STORIES = "\n<|endoftext|>\n".join(
    f"Story {i}: the {color} {animal} went to the {place}. It was happy there, and it slept until number {i % 7} came."
    for i, (color, animal, place) in enumerate(
        (c, a, p)
        for c in ("red", "blue", "green", "small", "old")
        for a in ("fox", "owl", "cat", "dog", "hen")
        for p in ("park", "lake", "hill", "barn")
    )
)

TINY_RECIPE = """
seed = 3
[model]
width = 32
layers = 1
heads = 2
context = 32
[data]
batch = 4
[optimizer]
learning_rate = 3e-3
[schedule]
warmup_steps = 5
[horizon]
steps = 20
[evaluation]
every = 10
[checkpoint]
every = 10
[log]
every = 1
"""


class ProgramTest(unittest.TestCase):
    """A test case with a folder of its own and ways to run the program in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="owlet-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, stdin=None, environment=None):
        full = dict(os.environ, OWLET_HOME=str(self.folder / "home"), **(environment or {}))
        return subprocess.run(
            [PROGRAM, *map(str, arguments)], cwd=self.folder, input=stdin, env=full, capture_output=True, text=True, timeout=300
        )

    def run_json(self, *arguments, exit_code=0, stdin=None):
        done = self.run_program(*arguments, "--json", stdin=stdin)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return json.loads(done.stdout)

    def assert_fails(self, exit_code, *arguments, says=()):
        done = self.run_program(*arguments)
        self.assertEqual(done.returncode, exit_code, done.stderr + done.stdout)
        for words in says:
            self.assertIn(words, done.stderr)
        return done

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def prepare_stories(self):
        """A data folder of tiny stories with the byte tokenizer, and a tiny recipe."""
        self.write("stories.txt", STORIES)
        self.write("tiny.toml", TINY_RECIPE)
        return self.run_json("data", "prepare", "stories.txt", "--tokenizer", "bytes", "--out", "data")
