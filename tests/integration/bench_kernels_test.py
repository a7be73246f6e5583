"""`owlet bench kernels --quick`: every operation runs alone and gets numbers that make sense."""

import math
import unittest

from owlet_program import ProgramTest

FIELDS = ("seconds", "gflops", "gbytes_per_second", "percent_of_limit")


class BenchKernels(ProgramTest):
    def test_quick(self):
        done = self.run_json("bench", "kernels", "--quick")
        rows = done["kernels"]
        self.assertEqual({row["dtype"] for row in rows}, {"f32", "bf16"})
        for row in rows:
            self.assertTrue(row["shape"].startswith("("), row)
            for field in FIELDS:
                self.assertTrue(math.isfinite(row[field]) and row[field] >= 0, row)
            self.assertGreater(row["gbytes_per_second"], 0, row)
            self.assertLess(row["seconds"], 1, row)
        for name in ("rope", "adamw8bit", "linear_cross_entropy", "attention_grad", "fill_normal"):
            self.assertEqual(len([row for row in rows if row["name"] == name]), 2, name)
        self.assertGreater(done["machine"]["f32_gflops"], 0)

    def test_filter(self):
        rows = self.run_json("bench", "kernels", "--quick", "--filter", "rms_norm")["kernels"]
        self.assertEqual({row["name"] for row in rows}, {"rms_norm", "rms_norm_grad"})
        self.assertNotEqual(self.run_program("bench", "kernels", "--quick", "--filter", "nonsense").returncode, 0)


if __name__ == "__main__":
    unittest.main()
