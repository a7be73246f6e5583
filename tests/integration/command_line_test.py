"""The command line as a person and a script meet it: every verb, the fixed JSON names, typical mistakes."""

import base64
import json
import unittest

from owlet_program import STORIES, TINY_RECIPE, ProgramTest


class Verbs(ProgramTest):
    def test_version(self):
        self.assertRegex(self.run_json("version")["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn("owlet", self.run_program("--version").stdout)

    def test_help_is_there_for_every_verb(self):
        self.assertIn("demo", self.run_program().stdout)
        for verb in ("demo", "data", "tokenizer", "pretrain", "resume", "generate", "machine", "bench", "version"):
            done = self.run_program(verb, "--help")
            self.assertEqual(done.returncode, 0, verb)
            self.assertIn(verb, done.stdout)
        self.assertIn("Examples:", self.run_program("pretrain", "--help").stdout)

    def test_tokenizer(self):
        self.write("stories.txt", STORIES)
        made = self.run_json("tokenizer", "train", "stories.txt", "--vocab", 300, "--out", "tok")
        self.assertLessEqual(made["vocab_size"], 300)
        ids = self.run_json("tokenizer", "encode", "--tokenizer", "tok", "the red fox, naïve 猫")["ids"]
        text = self.run_json("tokenizer", "decode", "--tokenizer", "tok", *ids)["text"]
        self.assertEqual(text, "the red fox, naïve 猫")
        self.assertEqual(self.run_json("tokenizer", "encode", "--tokenizer", "bytes", "Hi")["ids"], [72, 105])
        piped = self.run_json("tokenizer", "encode", "--tokenizer", "bytes", "-", stdin="Hi")
        self.assertEqual(piped["ids"], [72, 105])
        self.assertEqual(self.run_json("tokenizer", "encode", "--tokenizer", "bytes", "")["ids"], [])

    def test_import_and_bench_of_tokenizers(self):
        self.write("stories.txt", STORIES)
        self.run_json("tokenizer", "train", "stories.txt", "--vocab", 300, "--out", "tok")
        made = self.run_json("tokenizer", "import", "tok/tokenizer.json", "--out", "copy")
        self.assertLessEqual(made["vocab_size"], 300)
        for folder in ("tok", "copy"):
            ids = self.run_json("tokenizer", "encode", "--tokenizer", folder, "the red fox, naïve 猫")["ids"]
            timed = self.run_json("bench", "tokenizer", "stories.txt", "--tokenizer", folder)
            self.assertGreater(timed["megabytes_per_second"], 0)
            self.assertEqual(timed["bytes"], len(STORIES.encode()))
            self.assertEqual(timed["tokens"], len(self.run_json("tokenizer", "encode", "--tokenizer", folder, "-", stdin=STORIES)["ids"]))
        self.assertEqual(ids, self.run_json("tokenizer", "encode", "--tokenizer", "tok", "the red fox, naïve 猫")["ids"])
        ranks = "".join(f"{base64.b64encode(bytes([i])).decode()} {i}\n" for i in range(256)) + "dGhl 256\n"
        self.write("small.tiktoken", ranks)
        self.assert_fails(2, "tokenizer", "import", "small.tiktoken", "--out", "small", says=["257", "--splitter", "cl100k"])
        self.run_json("tokenizer", "import", "small.tiktoken", "--splitter", "cl100k", "--out", "small")
        self.assertEqual(self.run_json("tokenizer", "encode", "--tokenizer", "small", "the!")["ids"], [256, 33])
        self.assert_fails(2, "tokenizer", "import", "tok", "--out", "small", says=["--force"])
        self.assert_fails(3, "tokenizer", "import", "nowhere", "--out", "other", says=["nowhere"])
        self.write("tokenizer.model", "\n\x0e\n\x05<unk>")
        self.assert_fails(1, "tokenizer", "import", "tokenizer.model", "--out", "other", says=["SentencePiece", "tokenizer.json"])
        self.write("empty.txt", "")
        self.assert_fails(2, "bench", "tokenizer", "empty.txt", "--tokenizer", "bytes", says=["empty.txt"])

    def test_whole_journey(self):
        prepared = self.prepare_stories()
        self.assertEqual(prepared["documents"], 100)
        self.assertEqual(self.run_json("data", "stats", "data", "--verify")["tokens"], prepared["tokens"])

        plan = self.run_json("pretrain", "tiny.toml", "--data", "data", "--dry-run")
        self.assertEqual(sum(plan["breakdown"].values()), plan["peak_bytes"])
        self.assertGreater(plan["flops_per_step"], 0)

        trained = self.run_json("pretrain", "tiny.toml", "--data", "data", "--run", "run")
        for key in ("run", "steps", "tokens", "train_loss", "validation_loss", "bits_per_byte", "tokens_per_second", "seconds", "peak_bytes"):
            self.assertIn(key, trained)
        self.assertEqual(trained["steps"], 20)
        self.assertLess(abs(plan["peak_bytes"] / trained["peak_bytes"] - 1), 0.02)
        self.assertEqual(plan["parameters"], plan["parameters"] // 1)
        lines = [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()]
        self.assertGreater(len(lines), 20)

        first = self.run_json("generate", "run", "Story 1", "--max-tokens", 12, "--temperature", 0.9, "--seed", 5)
        again = self.run_json("generate", "run", "Story 1", "--max-tokens", 12, "--temperature", 0.9, "--seed", 5)
        self.assertEqual((first["text"], first["ids"]), (again["text"], again["ids"]))
        self.assertGreater(first["tokens_per_second"], 0)
        spoken = self.run_program("generate", "run", "Story", "--max-tokens", 3)
        self.assertNotIn("warning", spoken.stderr)
        greedy = [self.run_json("generate", "run", "Story", "--max-tokens", 8, "--temperature", 0, "--seed", s)["ids"] for s in (1, 2)]
        self.assertEqual(greedy[0], greedy[1])

        longer = self.run_json("resume", "run", "--set", "horizon.steps=25")
        self.assertEqual(longer["steps"], 25)

    def test_options_that_save_memory_train_resume_and_generate(self):
        self.prepare_stories()
        options = []
        for setting in ("compute.precision=bf16", "compute.weights=bf16", "optimizer.kind=adamw8bit", "compute.checkpointing=every 2",
                        "optimizer.in_backward=true", "optimizer.clip=0", "data.accumulation=1"):
            options += ["--set", setting]
        plan = self.run_json("pretrain", "tiny.toml", "--data", "data", "--dry-run", *options)
        trained = self.run_json("pretrain", "tiny.toml", "--data", "data", "--run", "run", *options)
        self.assertEqual(plan["peak_bytes"], trained["peak_bytes"])
        self.assertEqual(self.run_json("resume", "run", "--set", "horizon.steps=25")["steps"], 25)
        self.assertIn("text", self.run_json("generate", "run", "Story 1", "--max-tokens", 12))
        clipped = ("--set", "optimizer.in_backward=true", "--set", "data.accumulation=1", "--set", "optimizer.clip=1")
        self.assert_fails(2, "pretrain", "tiny.toml", "--data", "data", "--run", "run2", *clipped, says=["optimizer.in_backward", "optimizer.clip"])

    def test_bench_train(self):
        small = ("--context", 32, "--batch", 2, "--set", "model.layers=2", "--set", "model.vocab=300", "--steps", 2)
        result = self.run_json("bench", "train", "--preset", "stories-15m", *small, "--save-start", "start")
        for name in ("tokens_per_second", "gflops", "percent_of_peak", "peak_gflops_bf16", "peak_bytes", "step_seconds"):
            self.assertGreaterEqual(result[name], 0, name)
        self.assertAlmostEqual(result["tokens_per_second"] * result["step_seconds"], 64, delta=1e-6)
        self.assertEqual(len(result["losses"]), 4)
        self.assertIn("linear_cross_entropy bf16", [row["name"] for row in result["operations"]])
        self.assertEqual(sorted(path.name for path in (self.folder / "start").iterdir()),
                         ["batches.safetensors", "config.json", "model.safetensors", "training.json"])
        rates = json.loads((self.folder / "start" / "training.json").read_text())["learning_rates"]
        self.assertEqual(len(rates), 4)
        # What changes memory or time only leaves the losses as they are, to the last bit or nearly so.
        again = self.run_json("bench", "train", "--preset", "stories-15m", *small, "--checkpointing", "block")
        self.assertEqual(again["losses"], result["losses"])
        other = self.run_json("bench", "train", "--preset", "stories-15m", *small, "--dtype", "f32", "--attention", "plain",
                              "--optimizer", "adamw8bit", "--weights", "f32")
        self.assertAlmostEqual(other["losses"][-1], result["losses"][-1], delta=0.02)

    def test_bench_ladder(self):
        rungs = self.run_json("bench", "ladder", "--preset", "stories-3m", "--context", 256, "--batch", 4, "--steps", 1)["rungs"]
        self.assertEqual(len(rungs), 4)
        self.assertGreater(rungs[0]["peak_bytes"], rungs[-1]["peak_bytes"])
        for rung in rungs:
            self.assertGreater(rung["step_seconds"], 0)
            self.assertAlmostEqual(rung["losses"][0], rungs[0]["losses"][0], delta=0.05)

    def test_text_and_json_go_to_stdout_and_the_rest_to_stderr(self):
        self.prepare_stories()
        done = self.run_program("pretrain", "tiny.toml", "--data", "data", "--run", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Next: owlet generate run", done.stdout)
        self.assertIn("validation loss", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)


class Mistakes(ProgramTest):
    def test_near_misses_are_suggested(self):
        self.assert_fails(2, "pretrian", says=["no command 'pretrian'", "'pretrain'"])
        self.assert_fails(2, "generate", "x", "y", "--max-token", "3", says=["--max-tokens"])
        self.assert_fails(2, "tokenizer", "trian", says=["'train'"])
        self.assert_fails(2, "data", "prepare", says=["files", "owlet data prepare --help"])

    def test_dry_run_without_data(self):
        self.write("tiny.toml", TINY_RECIPE)
        plan = self.run_json("pretrain", "stories-3m", "--vocab", 4096, "--dry-run")
        self.assertEqual(plan["steps"], 1000)
        self.assert_fails(2, "pretrain", "tiny.toml", "--dry-run", says=["--vocab"])

    def test_missing_input_files(self):
        self.assert_fails(3, "generate", "nowhere", "Hi", says=["nowhere"])
        self.assert_fails(3, "data", "prepare", "nothing.txt", "--tokenizer", "bytes", "--out", "d", says=["nothing.txt"])
        self.assert_fails(3, "data", "stats", ".", says=["data.json"])
        self.assert_fails(3, "resume", "nowhere", says=["nowhere"])
        self.assert_fails(3, "pretrain", "no-such-recipe", "--data", "d", "--run", "r", says=["no-such-recipe"])

    def test_nothing_is_overwritten_without_force(self):
        self.prepare_stories()
        again = ("data", "prepare", "stories.txt", "--tokenizer", "bytes", "--out", "data")
        self.assert_fails(2, *again, says=["--force"])
        self.assertEqual(self.run_program(*again, "--force").returncode, 0)
        self.assertEqual(self.run_program("pretrain", "tiny.toml", "--data", "data", "--run", "run", "--set", "horizon.steps=2").returncode, 0)
        self.assert_fails(2, "pretrain", "tiny.toml", "--data", "data", "--run", "run", says=["owlet resume"])

    def test_recipe_mistakes_name_the_key(self):
        self.prepare_stories()
        common = ("--data", "data", "--run", "run")
        self.assert_fails(2, "pretrain", "tiny.toml", *common, "--set", "model.widht=64", says=["widht", "width"])
        self.assert_fails(2, "pretrain", "tiny.toml", *common, "--set", "model.width=abc", says=["width"])
        self.assert_fails(2, "pretrain", "tiny.toml", *common, "--set", "model.heads=3", says=["head"])
        self.write("broken.toml", "[model\nwidth = 3")
        self.assert_fails(3, "pretrain", "broken.toml", *common, says=["broken.toml"])
        self.assertFalse((self.folder / "run").exists())

    def test_too_little_data_for_one_window(self):
        self.prepare_stories()
        self.write("short.txt", "tiny")
        self.assertEqual(self.run_program("data", "prepare", "short.txt", "--tokenizer", "bytes", "--out", "short").returncode, 0)
        done = self.assert_fails(2, "pretrain", "tiny.toml", "--data", "short", "--run", "r2")
        self.assertRegex(done.stderr, r"\d+ .*\d+")

    def test_what_does_not_fit_is_refused_before_it_starts(self):
        self.prepare_stories()
        huge = ("--set", "model.width=65536", "--set", "model.layers=200", "--set", "model.heads=64")
        self.assert_fails(4, "pretrain", "tiny.toml", "--data", "data", "--run", "run", *huge, says=["needs", "free"])
        self.assertFalse((self.folder / "run").exists())

    def test_bench_of_what_is_not_there_or_does_not_fit(self):
        self.write("tiny.toml", TINY_RECIPE)
        self.assert_fails(3, "bench", "train", "--preset", "stories-15", says=["stories-15m"])
        self.assert_fails(2, "bench", "train", "--preset", "tiny.toml", says=["vocabulary", "model.vocab"])
        self.assert_fails(2, "bench", "train", "--preset", "stories-15m", "--dtype", "f16", says=["f16"])
        huge = ("--batch", 2, "--set", "model.width=65536", "--set", "model.layers=200", "--set", "model.heads=64")
        self.assert_fails(4, "bench", "train", "--preset", "stories-15m", *huge, says=["needs", "free"])

    def test_prompt_longer_than_the_context(self):
        self.prepare_stories()
        self.run_json("pretrain", "tiny.toml", "--data", "data", "--run", "run", "--set", "horizon.steps=2")
        self.assert_fails(2, "generate", "run", "x" * 100, says=["101", "32"])
        full = self.run_json("generate", "run", "x" * 20, "--max-tokens", 600, "--temperature", 1)
        self.assertLessEqual(len(full["ids"]), 11)

    def test_errors_are_json_under_json(self):
        error = self.run_json("generate", "nowhere", "Hi", exit_code=3)["error"]
        self.assertEqual(error["kind"], "not_found")
        self.assertIn("nowhere", error["message"])

    def test_damaged_checkpoint(self):
        self.prepare_stories()
        self.run_json("pretrain", "tiny.toml", "--data", "data", "--run", "run", "--set", "horizon.steps=2")
        weights = next((self.folder / "run/checkpoints").glob("step-*/model.safetensors"))
        weights.write_bytes(weights.read_bytes()[:-100])
        self.assert_fails(3, "generate", "run", "Hi", says=["model.safetensors"])


if __name__ == "__main__":
    unittest.main()
