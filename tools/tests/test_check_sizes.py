"""Tests of tools/check_sizes.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_sizes

SAMPLE = r'''
#include <x>
#define MACRO(a) { \
  (a)
namespace owlet {
namespace {
// a comment with { braces }
struct Point {
  int x = 0;
  int sum() const { return x; }
};
enum class Kind { one, two };
constexpr int kTable[] = {1,
                          2};
}  // namespace

/* more { */
template <typename T, typename = std::enable_if_t<(sizeof(T) > 2)>>
T Thing<T>::first(int a,
                  const std::string& text) const {
  const auto lambda = [&](int b) {
    return b + '{' + 1'000;
  };
  if (a > 0) {
    text = "}}}";
  }
  return R"(}})";
}

Thing::Thing(int a) : a_{a}, b_(a), c_{a} {
  run();
}

Thing& Thing::operator=(const Thing& other) {
  return *this;
}

TEST(Suite, Case) {
  EXPECT_TRUE(true);
}
}  // namespace owlet
'''


class CppFunctions(unittest.TestCase):
    def test_finds_each_function_with_its_length(self):
        self.assertEqual(check_sizes.cpp_functions(SAMPLE), [
            ("sum", 1), ("first", 11), ("Thing::Thing", 3), ("operator=", 3),
            ("Suite.Case", 3)])

    def test_lambda_in_a_global_counts_as_one(self):
        self.assertEqual(check_sizes.cpp_functions("int f() { auto g = [] { return 1; }; return g(); }\n"), [("f", 1)])


class CheckFile(unittest.TestCase):
    def function(self, num_lines):
        return "void f() {\n" + "  g();\n" * (num_lines - 2) + "}\n"

    def test_hard_limits_are_errors(self):
        errors, _ = check_sizes.check_file("src/a.cpp", self.function(101))
        self.assertEqual(errors, ["src/a.cpp: function f has 101 lines, at most 100"])
        errors, _ = check_sizes.check_file("src/a.cpp", "int x;\n" * 601)
        self.assertEqual(errors, ["src/a.cpp: 601 lines, at most 600"])

    def test_wishes_are_no_errors(self):
        errors, wishes = check_sizes.check_file("src/a.cpp", self.function(100) + "int x;\n" * 500)
        self.assertEqual(errors, [])
        self.assertEqual(len(wishes), 2)

    def test_short_files_are_fine(self):
        self.assertEqual(check_sizes.check_file("src/a.cpp", self.function(40)), ([], []))

    def test_python_functions_count(self):
        errors, _ = check_sizes.check_file("tools/a.py", "def f():\n" + "    g()\n" * 100)
        self.assertEqual(errors, ["tools/a.py: function f has 101 lines, at most 100"])

    def test_exceptions_are_honoured(self):
        check_sizes.FILE_EXCEPTIONS["src/table.cpp"] = "a table"
        check_sizes.FUNCTION_EXCEPTIONS["src/table.cpp:f"] = "a table"
        try:
            errors, _ = check_sizes.check_file("src/table.cpp", self.function(700))
            self.assertEqual(errors, [])
        finally:
            del check_sizes.FILE_EXCEPTIONS["src/table.cpp"], check_sizes.FUNCTION_EXCEPTIONS["src/table.cpp:f"]


if __name__ == "__main__":
    unittest.main()
