"""Tests of tools/check_layers.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_layers


class CheckLayers(unittest.TestCase):
    TEST_ROOMS = {"models": ["backends"]}

    def complaints(self, path, *includes):
        text = "".join(f'#include "{include}"\n' for include in includes)
        return check_layers.check_file(path, text, self.TEST_ROOMS)

    def test_own_room_and_lower_rooms_are_allowed(self):
        self.assertEqual(self.complaints("ops/add.cpp", "ops/add.hpp", "tensor/tensor.hpp", "base/error.hpp"), [])

    def test_higher_rooms_are_not(self):
        complaints = self.complaints("tensor/tensor.cpp", "base/error.hpp", "ops/add.hpp")
        self.assertEqual(len(complaints), 1)
        self.assertIn('src/tensor/tensor.cpp:2: tensor may not include "ops/add.hpp"', complaints[0])

    def test_a_folder_entry_allows_that_folder_only(self):
        self.assertEqual(self.complaints("planner/plan.cpp", "backends/plan/plan_backend.hpp"), [])
        self.assertEqual(self.complaints("planner/plan.cpp", "backends/cpu/cpu_backend.hpp"), [])
        self.assertEqual(len(self.complaints("planner/plan.cpp", "infer/sampler.hpp")), 1)

    def test_tests_may_include_their_test_libraries(self):
        self.assertEqual(self.complaints("models/decoder/model_test.cpp", "backends/cpu/x.hpp", "tests/support/x.hpp"), [])
        self.assertEqual(len(self.complaints("models/decoder/model.cpp", "backends/cpu/x.hpp")), 1)
        self.assertEqual(len(self.complaints("nn/linear_test.cpp", "backends/cpu/x.hpp")), 1)

    def test_relative_includes_and_unknown_rooms_are_refused(self):
        self.assertEqual(len(self.complaints("ops/add.cpp", "add.hpp", "../base/error.hpp")), 2)
        self.assertEqual(len(self.complaints("attic/x.cpp")), 1)

    def test_libraries_are_no_rooms(self):
        self.assertEqual(check_layers.check_file("base/json.cpp", "#include <nlohmann/json.hpp>\n", {}), [])
        self.assertEqual(self.complaints("backends/cpu/add.cpp", "hwy/highway.h"), [])

    def test_test_rooms_come_from_cmake(self):
        text = "owlet_module(nn DEPS ops)\nowlet_module(models DEPS nn LIBS X::x TEST_LIBS owlet_backends owlet_formats)\n"
        self.assertEqual(check_layers.read_test_rooms(text), {"models": ["backends", "formats"]})

    def test_a_tree_is_walked(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "src"
            (source / "base").mkdir(parents=True)
            (source / "CMakeLists.txt").write_text("owlet_module(base)\n")
            (source / "base" / "a.cpp").write_text('#include "ops/add.hpp"\n')
            self.assertEqual(len(check_layers.check_tree(folder)), 1)


if __name__ == "__main__":
    unittest.main()
