#include "base/json.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

/// The message of the Error that `action` throws, with its kind checked.
template <typename Action>
std::string corrupt_message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_file);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(ParseJson, ErrorNamesSourceLineAndColumn) {
  const auto message_for = [](std::string_view text) {
    return corrupt_message([&] { parse_json(text, "config.json"); });
  };
  EXPECT_EQ(message_for("{\n  \"a\": 1,\n  \"b\": oops\n}").rfind("config.json:3:8: invalid JSON: ", 0), 0u)
      << message_for("{\n  \"a\": 1,\n  \"b\": oops\n}");
  EXPECT_EQ(message_for("").rfind("config.json:1:1: ", 0), 0u);
  EXPECT_EQ(message_for("[1, 2").rfind("config.json:1:6: ", 0), 0u) << message_for("[1, 2");
  EXPECT_EQ(message_for("{} x").rfind("config.json:1:4: ", 0), 0u);
  EXPECT_EQ(message_for("{").find("json.exception"), std::string::npos);
  EXPECT_EQ(message_for("\"\xff\"").rfind("config.json:1:2: ", 0), 0u);
  EXPECT_EQ(message_for("[NaN]").rfind("config.json:1:2: ", 0), 0u);
}

TEST(ParseJson, DepthIsBounded) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse_json(nested(512), "s"));
  EXPECT_EQ(corrupt_message([&] { parse_json(nested(513), "s"); }), "s:1:513: JSON is nested deeper than 512 levels");
  EXPECT_THROW(parse_json(nested(10000000), "s"), Error);
  // Brackets inside strings are no nesting.
  EXPECT_NO_THROW(parse_json("\"\\\"" + std::string(1000, '[') + "\"", "s"));
}

TEST(ReadJson, NamesTheFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a.json", "{\"x\": [1, 2]}");
  EXPECT_EQ(json_get<std::vector<int>>(read_json(folder / "a.json"), "x", "a.json"), (std::vector<int>{1, 2}));
  write_file_atomically(folder / "a.json", "{");
  EXPECT_NE(corrupt_message([&] { read_json(folder / "a.json"); }).find("a.json:1:2"), std::string::npos);
}

TEST(JsonGet, ReadsEachType) {
  const Json object = parse_json(R"({"i": -3, "u": 18446744073709551615, "f": 1e-6, "b": true, "s": "x",
                                     "v": ["p", "q"], "n": null, "o": {"k": 1}})",
                                 "s");
  EXPECT_EQ(json_get<int>(object, "i", "s"), -3);
  EXPECT_EQ(json_get<uint64_t>(object, "u", "s"), ~uint64_t{0});
  EXPECT_EQ(json_get<double>(object, "f", "s"), 1e-6);
  EXPECT_EQ(json_get<float>(object, "i", "s"), -3.0f);
  EXPECT_TRUE(json_get<bool>(object, "b", "s"));
  EXPECT_EQ(json_get<std::string>(object, "s", "s"), "x");
  EXPECT_EQ(json_get<std::vector<std::string>>(object, "v", "s"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(json_get<int>(json_get<Json>(object, "o", "s"), "k", "s"), 1);
}

TEST(JsonGet, RefusesWrongTypesAndRanges) {
  const Json object = parse_json(R"({"s": "7", "f": 1.5, "big": 4294967296, "neg": -1, "v": [1, "x"]})", "config.json");
  EXPECT_EQ(corrupt_message([&] { json_get<double>(object, "s", "config.json"); }),
            "config.json: 's' is string \"7\", expected a number");
  EXPECT_EQ(corrupt_message([&] { json_get<int>(object, "none", "config.json"); }), "config.json: 'none' is missing");
  EXPECT_THROW(json_get<int>(object, "f", "s"), Error);
  EXPECT_THROW(json_get<int32_t>(object, "big", "s"), Error);
  EXPECT_THROW(json_get<uint64_t>(object, "neg", "s"), Error);
  EXPECT_THROW(json_get<bool>(object, "neg", "s"), Error);
  EXPECT_THROW(json_get<std::string>(object, "f", "s"), Error);
  EXPECT_THROW(json_get<std::vector<int>>(object, "v", "s"), Error);
  EXPECT_THROW(json_get<std::vector<int>>(object, "f", "s"), Error);
  EXPECT_THROW(json_get<int>(parse_json("[1]", "s"), "k", "s"), Error);
}

TEST(JsonGetOr, FallsBackOnMissingAndNullOnly) {
  const Json object = parse_json(R"({"n": null, "i": 4, "s": "x"})", "s");
  EXPECT_EQ(json_get_or<int>(object, "none", 9, "s"), 9);
  EXPECT_EQ(json_get_or<int>(object, "n", 9, "s"), 9);
  EXPECT_EQ(json_get_or<int>(object, "i", 9, "s"), 4);
  EXPECT_THROW(json_get_or<int>(object, "s", 9, "s"), Error);
}

TEST(DumpJson, IsOneLineAndNeverThrows) {
  EXPECT_EQ(dump_json(Json{{"b", 1}, {"a", {1, 2}}}), R"({"a":[1,2],"b":1})");
  EXPECT_EQ(dump_json(OrderedJson{{"b", 1}, {"a", 2}}), R"({"b":1,"a":2})");
  EXPECT_EQ(dump_json(Json("a\xff\n")), "\"a\xEF\xBF\xBD\\n\"");
  EXPECT_EQ(dump_json(Json(std::numeric_limits<double>::infinity())), "null");
}

}  // namespace
}  // namespace owlet
