"""`owlet data list` and `owlet data get` from outside, against a Hub on this computer that also misbehaves."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from fake_hub import COMMIT, CONVERTED_COMMIT, FakeHub
from owlet_program import PROGRAM, ProgramTest

TRAIN = b"\n<|endoftext|>\n".join(b"story %d: once there was an owl." % i for i in range(4000))
VALID = b"A story for validation.\n<|endoftext|>\nAnother one.\n"


class HubTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.hub = FakeHub()
        self.addCleanup(self.hub.__exit__)
        self.hub.add("roneneldan/TinyStories", "TinyStories-train.txt", TRAIN)
        self.hub.add("roneneldan/TinyStories", "TinyStories-valid.txt", VALID)
        self.environment = {"HF_HOME": str(self.folder / "hf"), "HF_ENDPOINT": self.hub.url}
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN_PATH"):
            self.environment.setdefault(name, "")

    def get(self, *arguments, environment=None):
        return self.run_program("data", "get", *arguments, environment={**self.environment, **(environment or {})})

    def get_json(self, *arguments, exit_code=0, environment=None):
        done = self.get(*arguments, "--json", environment=environment)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return json.loads(done.stdout)

    @property
    def repo_folder(self):
        return self.folder / "hf/hub/datasets--roneneldan--TinyStories"

    def incomplete(self):
        return list((self.folder / "hf/hub").glob("*/blobs/*.incomplete"))


class List(ProgramTest):
    def test_sets_have_the_fixed_names(self):
        sets = self.run_json("data", "list")["sets"]
        names = {entry["name"] for entry in sets}
        self.assertLessEqual({"tiny-stories", "tiny-stories-v2", "tiny-stories-instruct", "fineweb-edu-10bt", "fineweb-edu-100bt", "slimpajama",
                              "wikitext-103", "alpaca", "dolly-15k", "open-orca", "ultrachat", "wizard-lm"}, names)
        for entry in sets:
            self.assertIn(entry["kind"], ("text", "instruction", "chat"))
            self.assertRegex(entry["source"], r"^[\w.-]+/[\w.-]+$")
            for key in ("licence", "purpose", "format", "content"):
                self.assertTrue(entry[key], entry)
            self.assertGreater(entry["bytes"], 0)
        shown = self.run_program("data", "list").stdout
        self.assertIn("wikitext-103", shown)
        self.assertIn("Next: owlet data get", shown)


class Get(HubTest):
    def test_files_lie_in_the_cache_and_come_only_once(self):
        got = self.get_json("tiny-stories")
        self.assertEqual([entry["split"] for entry in got["files"]], ["train", "validation"])
        self.assertEqual(pathlib.Path(got["files"][0]["path"]).read_bytes(), TRAIN)
        self.assertEqual((self.repo_folder / "refs/main").read_text(), COMMIT)
        link = os.readlink(self.repo_folder / "snapshots" / COMMIT / "TinyStories-train.txt")
        self.assertEqual(link, "../../blobs/" + hashlib.sha256(TRAIN).hexdigest())
        self.assertIn("owlet data prepare", got["next"])

        contents = self.hub.contents()
        self.assertTrue(all(entry["cached"] for entry in self.get_json("tiny-stories")["files"]))
        self.assertEqual(self.hub.contents(), contents)
        self.hub.requests.clear()
        for offline in ({"HF_HUB_OFFLINE": "1"}, {}):
            again = self.get_json("tiny-stories", "--revision", COMMIT, environment=offline)
            self.assertEqual(again["files"][0]["path"], got["files"][0]["path"])
        self.get_json("tiny-stories", environment={"HF_HUB_OFFLINE": "1"})
        self.assertEqual(self.hub.requests, [])

    def type_next(self, name):
        """Runs what `data get` says to type next, with the byte tokenizer; the statistics of the data folder."""
        done = self.get(name, "--endpoint", self.hub.url, environment={"HF_ENDPOINT": ""})
        self.assertEqual(done.returncode, 0, done.stderr)
        command = next(line for line in done.stdout.splitlines() if line.startswith("Next: owlet"))[len("Next: owlet"):]
        words = command.replace(" TOKENIZER", " bytes").replace(" DATA", f" {name}")
        shell = subprocess.run(f"{PROGRAM} {words}", shell=True, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(shell.returncode, 0, shell.stderr)
        return self.run_json("data", "stats", name)

    def test_what_is_said_to_type_next_works(self):
        self.assertGreater(self.type_next("tiny-stories")["documents"], 3000)
        rows = [json.dumps({"instruction": f"Say {i}.", "context": "", "response": f"It is {i}.", "category": "open_qa"}) for i in range(60)]
        self.hub.add("databricks/databricks-dolly-15k", "databricks-dolly-15k.jsonl", "\n".join(rows).encode())
        self.assertEqual(self.type_next("dolly-15k")["documents"], 60)

    def test_many_files_are_named_by_a_pattern(self):
        for number in range(5):
            self.hub.add_parquet("org/set", "default", "train", f"{number:04}.parquet", b"rows %d" % number)
        next_command = self.get_json("org/set", "--column", "body")["next"]
        self.assertRegex(next_command, r"data prepare \S+/default/train/000\* --column body --tokenizer")

    def test_out_folder_with_its_note(self):
        got = self.get_json("tiny-stories", "--out", "stories")
        self.assertEqual(got["files"][0]["path"], "stories/TinyStories-train.txt")
        self.assertEqual((self.folder / "stories/TinyStories-train.txt").read_bytes(), TRAIN)
        self.assertFalse((self.folder / "stories/TinyStories-train.txt").is_symlink())
        note = json.loads((self.folder / "stories/source.json").read_text())
        self.assertEqual((note["repo"], note["commit"], note["licence"]), ("roneneldan/TinyStories", COMMIT, "CDLA-Sharing-1.0"))
        self.assertEqual(note["files"][1]["sha256"], hashlib.sha256(VALID).hexdigest())
        self.get_json("tiny-stories", "--out", "stories")
        prepared = self.run_json("data", "prepare", "stories", "--tokenizer", "bytes", "--out", "data")
        self.assertEqual(prepared["documents"], 4002)
        self.write("mine.txt", "precious")
        self.assertEqual(self.get("tiny-stories", "--out", ".").returncode, 2)
        self.assertEqual((self.folder / "mine.txt").read_text(), "precious")

    def test_dry_run_downloads_nothing(self):
        plan = self.get_json("tiny-stories", "--dry-run")
        self.assertEqual(plan["bytes_to_download"], len(TRAIN) + len(VALID))
        self.assertEqual(self.hub.contents(), [])
        self.assertIn("TinyStories-train.txt", self.get("tiny-stories", "--dry-run").stdout)

    def test_any_set_through_its_parquet_files(self):
        for config in ("en", "fr"):
            for split in ("train", "test"):
                for number in range(2):
                    self.hub.add_parquet("org/set", config, split, f"{number:04}.parquet", f"{config} {split} {number}".encode())
        undecided = self.get("org/set")
        self.assertEqual(undecided.returncode, 2)
        self.assertIn("en, fr", undecided.stderr)
        self.assertIn("--config", undecided.stderr)
        got = self.get_json("org/set", "--config", "fr", "--split", "train", "--max-files", 1, "--out", "set")
        self.assertEqual([entry["file"] for entry in got["files"]], ["fr/train/0000.parquet"])
        self.assertEqual((self.folder / "set/fr/train/0000.parquet").read_text(), "fr train 0")
        self.assertEqual(got["commit"], CONVERTED_COMMIT)
        self.assertIn("'fr'", self.get("org/set", "--config", "fra").stderr)
        self.assertIn("'train'", self.get("org/set", "--config", "fr", "--split", "trian").stderr)
        ref = self.folder / "hf/hub/datasets--org--set/refs/refs/convert/parquet"
        self.assertEqual(ref.read_text(), CONVERTED_COMMIT)

    def test_partial_pending_and_failed_conversions_are_said(self):
        self.hub.add_parquet("org/set", "default", "partial-train", "0000.parquet", b"rows")
        self.hub.parquet["org/set"].update(partial=True, pending=[{"dataset": "org/set", "config": "big", "split": "train"}],
                                           failed=[{"dataset": "org/set", "config": "odd"}])
        done = self.get("org/set")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("only a part", "big/train", "odd"):
            self.assertIn(words, done.stderr)

    def test_sets_without_a_list_come_from_the_branch_or_as_they_are(self):
        self.hub.add_parquet("org/listed", "default", "train", "0000.parquet", b"rows")
        del self.hub.parquet["org/listed"]
        got = self.get_json("org/listed")
        self.assertEqual((got["config"], got["files"][0]["split"]), ("default", "train"))
        self.hub.add("org/raw", "README.md", b"# card", is_large=False)
        self.hub.add("org/raw", "data/a.jsonl.gz", b"rows")
        self.assertEqual([entry["file"] for entry in self.get_json("org/raw")["files"]], ["data/a.jsonl.gz"])
        card = self.get_json("org/raw", "--files", "*.md")
        self.assertEqual(card["files"][0]["file"], "README.md")
        self.assertIn("'*.csv'", self.get("org/raw", "--files", "*.csv").stderr)
        self.get_json("org/raw", environment={"HF_HUB_OFFLINE": "1"})

    def test_mistakes(self):
        self.assertIn("tiny-stories", self.get("tiny-storis").stderr)
        self.assertEqual(self.get("tiny-storis").returncode, 3)
        self.assertEqual(self.get("org/../x").returncode, 2)
        self.assertEqual(self.get("org/none").returncode, 3)
        self.assertIn("'train'", self.get("tiny-stories", "--split", "tran").stderr)
        self.assertEqual(self.get("tiny-stories", "--endpoint", "huggingface").returncode, 2)
        missing = self.get("tiny-stories", environment={"HF_HUB_OFFLINE": "1"})
        self.assertEqual(missing.returncode, 3)
        self.assertIn("HF_HUB_OFFLINE", missing.stderr)


class Faults(HubTest):
    def drop_once(self, share=0.6):
        """Large files break off once at a share of their bytes."""
        seen = set()

        def fault(handler, content):
            if handler.path in seen or handler.command != "GET":
                return False
            seen.add(handler.path)
            handler.send_content(content, cut_at=int(len(content) * share))
            return True

        self.hub.storage_fault = fault

    def test_a_drop_is_continued_at_once(self):
        self.drop_once()
        got = self.get_json("tiny-stories", "--split", "train")
        self.assertEqual(pathlib.Path(got["files"][0]["path"]).read_bytes(), TRAIN)
        ranges = [asked for path, asked in self.hub.contents() if path.startswith("/storage/")]
        self.assertEqual(ranges, [None, f"bytes={int(len(TRAIN) * 0.6)}-"])
        self.assertEqual(self.incomplete(), [])

    def test_interrupted_runs_go_on_where_they_stopped(self):
        def stall(handler, content):
            handler.send(200, {"Content-Length": str(len(content))}, content, cut_at=len(content) * 6 // 10)
            time.sleep(5)
            return True

        self.hub.storage_fault = stall
        process = subprocess.Popen([PROGRAM, "data", "get", "tiny-stories"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=dict(os.environ, **self.environment))
        deadline = time.time() + 20
        while not (self.incomplete() and self.incomplete()[0].stat().st_size) and time.time() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("goes on from there", stderr)
        kept = self.incomplete()[0].stat().st_size
        self.assertEqual(kept, len(TRAIN) * 6 // 10)
        self.assertFalse((self.repo_folder / "snapshots" / COMMIT / "TinyStories-train.txt").exists())

        self.hub.storage_fault = None
        self.hub.storage_requests.clear()
        got = self.get_json("tiny-stories")
        self.assertEqual(pathlib.Path(got["files"][0]["path"]).read_bytes(), TRAIN)
        self.assertEqual(self.hub.storage_requests[0][2]["Range"], f"bytes={kept}-")

    def test_two_processes_at_once(self):
        processes = [subprocess.Popen([PROGRAM, "data", "get", "tiny-stories", "--json"], cwd=self.folder, stdout=subprocess.PIPE,
                                      env=dict(os.environ, **self.environment)) for _ in range(3)]
        for process in processes:
            got = json.loads(process.communicate(timeout=60)[0])
            self.assertEqual(process.returncode, 0)
            self.assertEqual(pathlib.Path(got["files"][0]["path"]).read_bytes(), TRAIN)
        self.assertEqual(len(self.hub.storage_requests), 2)

    def test_too_many_requests(self):
        refusals = []

        def fault(handler):
            if len(refusals) >= 2:
                return False
            refusals.append(time.time())
            handler.send(429, {"Retry-After": "1"})
            return True

        self.hub.fault = fault
        done = self.get("tiny-stories", "--split", "validation")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(refusals[1] - refusals[0], 1)
        self.assertIn("429", done.stderr)

    def test_wrong_content_is_refused_with_its_name(self):
        self.hub.storage_fault = lambda handler, content: handler.send(200, {}, content[:-1] + b"X") or True
        done = self.get("tiny-stories", "--split", "train")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("TinyStories-train.txt", done.stderr)
        self.assertIn("SHA-256", done.stderr)
        self.assertEqual(list((self.repo_folder / "blobs").iterdir()), [])

    def test_the_token_stays_with_the_hub(self):
        done = self.get("tiny-stories", environment={"HF_TOKEN": "hf_secret"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(all(headers.get("Authorization") == "Bearer hf_secret" for _, _, headers in self.hub.requests))
        self.assertTrue(self.hub.storage_requests)
        for _, _, headers in self.hub.storage_requests:
            self.assertNotIn("Authorization", headers)
        (self.folder / "hf/token").write_text("hf_from_file\n")
        self.hub.requests.clear()
        self.get("tiny-stories")
        self.assertEqual(self.hub.requests[0][2]["Authorization"], "Bearer hf_from_file")

    def test_gated_sets(self):
        self.hub.fault = lambda handler: handler.send(401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted."}) or True
        done = self.get("tiny-stories")
        self.assertEqual(done.returncode, 1)
        self.assertIn("HF_TOKEN", done.stderr)
        self.assertIn(f"{self.hub.url}/datasets/roneneldan/TinyStories", done.stderr)

    def test_files_that_would_leave_their_folder(self):
        self.hub.add("org/evil", "../../evil.txt", b"x")
        done = self.get("org/evil", "--files", "*", "--out", "out")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("../../evil.txt", done.stderr)
        self.assertEqual([path for path in self.folder.rglob("evil.txt")], [])


if __name__ == "__main__":
    unittest.main()
