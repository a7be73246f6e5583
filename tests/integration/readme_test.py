"""The README's own commands, in its order, on a small text (steps cut down so that the test is quick)."""

import shlex
import unittest

from owlet_program import SOURCE, STORIES, ProgramTest

# What makes the commands quick; the commands themselves stay as they are written.
SHORTER = {"pretrain": ["--set", "horizon.steps=4", "--set", "data.batch=2", "--set", "model.context=64"]}
SHORTER_HORIZON = "horizon.steps=6"


def readme_commands():
    text = (SOURCE / "README.md").read_text()
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ") and line.strip().startswith("owlet ")]
    return [shlex.split(line)[1:] for line in lines]


class Readme(ProgramTest):
    def test_commands_work_in_their_order(self):
        commands = readme_commands()
        self.assertGreaterEqual(len(commands), 8)
        self.write("stories.txt", STORIES)
        for command in commands:
            command = [SHORTER_HORIZON if word.startswith("horizon.steps=") else word for word in command]
            done = self.run_program(*command, *SHORTER.get(command[0], []))
            self.assertEqual(done.returncode, 0, f"owlet {' '.join(command)}\n{done.stderr}")
            self.assertTrue(done.stdout.strip(), f"owlet {' '.join(command)} says nothing")

    def test_links_lead_somewhere(self):
        import re

        for page in [SOURCE / "README.md", *(SOURCE / "docs").glob("**/*.md")]:
            for target in re.findall(r"\]\(([^)#: ]+)\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")


if __name__ == "__main__":
    unittest.main()
