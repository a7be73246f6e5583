"""Instruction sets from the command line: formats, reports, the loss mask, and a model trained on conversations."""

import gzip
import json
import unittest

from owlet_program import SHARED_DATA, TINY_RECIPE, ProgramTest


def alpaca(number):
    rows = [{"instruction": f"Say number {i}", "input": "", "output": f"It is {i}."} for i in range(number)]
    return rows + [{"instruction": "Say nothing", "input": "", "output": None}, {"instruction": "", "output": "x"}]


class Conversations(ProgramTest):
    def prepare(self, file, *options, out="chat"):
        return self.run_json("data", "prepare-chat", file, "--tokenizer", "bytes", "--out", out, *options)

    def test_report_stats_and_files(self):
        self.write("set.json", json.dumps(alpaca(40)))
        made = self.prepare("set.json", "--chat-jsonl", "chat.jsonl", "--validation", 0.1)
        self.assertEqual(made["documents"], 40)
        self.assertEqual(made["skipped"], 2)
        self.assertEqual(made["chat"]["rows"], 42)
        self.assertEqual({d["reason"]: d["count"] for d in made["chat"]["dropped"]}, {"'output' is null": 1, "a user turn is empty": 1})
        self.assertEqual(made["validation"]["documents"], 4)
        self.assertEqual(made["new_tokens"], ["<|im_start|>", "<|im_end|>"])
        self.assertTrue(0 < made["trained_share"] < 0.5)
        stats = self.run_json("data", "stats", "chat", "--verify")
        self.assertEqual(stats["chat"], made["chat"])
        self.assertEqual(stats["trained_share"], made["trained_share"])
        text = self.run_program("data", "stats", "chat").stdout
        for words in ("40 answers", "tokens are trained", "'output' is null", "set.json"):
            self.assertIn(words, text)
        lines = [json.loads(line) for line in (self.folder / "chat.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 40)
        self.assertEqual(lines[0], {"messages": [{"role": "user", "content": "Say number 0"}, {"role": "assistant", "content": "It is 0."}]})
        config = json.loads((self.folder / "chat/tokenizer/tokenizer_config.json").read_text())
        self.assertEqual((config["bos_token"], config["eos_token"]), ("<|endoftext|>", "<|im_end|>"))
        self.assertIn("generation", config["chat_template"])

    def test_same_shards_from_every_kind_of_file(self):
        rows = [{"prompt": f"p {i}", "completion": f"c {i}"} for i in range(30)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        self.write("a.json", json.dumps(rows))
        self.write("a.jsonl", lines)
        (self.folder / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        shards = []
        for number, file in enumerate(("a.json", "a.jsonl", "b.jsonl.gz")):
            self.prepare(file, out=f"chat{number}")
            shards.append((self.folder / f"chat{number}/train-00000.owl").read_bytes())
        self.assertEqual(shards[0], shards[1])
        self.assertEqual(shards[0], shards[2])

    def test_a_folder_of_packed_stories(self):
        (self.folder / "set").mkdir()
        blocks = "".join(f"Words: cat, hat\nStory:\nA cat {i}.\n<|endoftext|>\n" for i in range(30))
        (self.folder / "set/a.txt.gz").write_bytes(gzip.compress(blocks.encode()))
        self.write("set/b.txt", blocks)
        made = self.prepare("set")
        self.assertEqual((made["documents"], made["chat"]["format"]), (60, "tiny-stories-instruct"))

    def test_long_ones_by_choice(self):
        rows = [{"data": ["q", "a"]}, {"data": ["question", "answer " * 20]}]
        self.write("set.json", json.dumps(rows))
        command = ("data", "prepare-chat", "set.json", "--tokenizer", "bytes", "--out", "chat", "--context", 60)
        self.assert_fails(2, *command, says=("1 of 2 conversations are longer than 60 tokens", "--too-long drop"))
        self.assertEqual(self.run_json(*command, "--too-long", "cut")["chat"]["num_cut"], 1)
        self.assertEqual(self.run_json(*command, "--too-long", "drop", "--force")["documents"], 1)
        self.assert_fails(2, *command, "--too-long", "shorten")

    def test_mistakes_are_named(self):
        self.write("foo.json", '[{"foo": 1}]')
        self.write("bad.json", '[{"instruction": "x", "output": null}]')
        start = ("data", "prepare-chat")
        end = ("--tokenizer", "bytes", "--out", "chat")
        self.assert_fails(2, *start, "foo.json", *end, says=("'foo'", "--format"))
        self.assert_fails(2, *start, "bad.json", *end, says=("none of 1 rows", "'output' is null"))
        self.assert_fails(2, *start, "bad.json", *end, "--format", "alpacca", says=("did you mean 'alpaca'",))
        self.assert_fails(2, *start, "bad.json", *end, "--template", "chatmm", says=("did you mean 'chatml'",))
        self.assert_fails(3, "data", "prepare", "bad.json", *end, says=("prepare-chat",))
        self.assert_fails(3, *start, "missing.json", *end, says=("missing.json",))
        self.assertFalse((self.folder / "chat").exists())

    def test_a_model_learns_answers_and_saves_their_end(self):
        self.write("set.json", json.dumps(alpaca(60)))
        self.write("tiny.toml", TINY_RECIPE.replace("context = 32", "context = 96"))
        self.prepare("set.json", "--validation", 0.1)
        trained = self.run_json("pretrain", "tiny.toml", "--data", "chat", "--run", "run")
        losses = [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()]
        first = next(line["loss"] for line in losses if "loss" in line)
        self.assertLess(trained["train_loss"], first)
        generation = json.loads((self.folder / "run/checkpoints/step-20/generation_config.json").read_text())
        self.assertEqual(generation["eos_token_id"], [258, 256])
        self.assertEqual(generation["bos_token_id"], 256)
        self.assertIn("chat_template", json.loads((self.folder / "run/checkpoints/step-20/tokenizer_config.json").read_text()))
        self.write("small.toml", TINY_RECIPE)
        self.assert_fails(2, "pretrain", "small.toml", "--data", "chat", "--run", "run2", says=("longer than the context of 32", "--too-long"))

    def test_real_sets(self):
        if not (SHARED_DATA / "instruction_data_alpaca.json").exists():
            self.skipTest(f"no instruction sets in {SHARED_DATA}")
        made = self.prepare(SHARED_DATA / "instruction_data_alpaca.json", out="alpaca")
        self.assertEqual((made["documents"], made["chat"]["format"]), (1100, "alpaca"))
        made = self.prepare(SHARED_DATA / "instruction_preference.json", out="preference")
        self.assertEqual((made["documents"], made["chat"]["format"]), (1100, "preference"))


if __name__ == "__main__":
    unittest.main()
