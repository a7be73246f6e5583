#include "formats/parquet/schema.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace owlet::parquet {
namespace {

SchemaElement group(const std::string& name, Repetition repetition, int32_t num_children,
                    Meaning meaning = Meaning::plain) {
  SchemaElement element;
  element.name = name;
  element.repetition = repetition;
  element.num_children = num_children;
  element.annotation.meaning = meaning;
  return element;
}

SchemaElement text(const std::string& name, Repetition repetition) {
  SchemaElement element = group(name, repetition, 0, Meaning::text);
  element.type = PhysicalType::byte_array;
  return element;
}

/// "name" for a leaf, "name[…]" for a list, "name{…}" for a struct, "?" behind what may be null; leaves with their
/// highest levels "name/definition,repetition".
std::string describe(const Schema& schema, const SchemaNode& node) {
  std::string description = node.name;
  if (node.kind == SchemaNode::Kind::leaf) {
    const SchemaLeaf& leaf = schema.leaves[node.first_leaf];
    description += fmt::format("/{},{}", leaf.max_definition_level, leaf.max_repetition_level);
  } else {
    const bool is_list = node.kind == SchemaNode::Kind::list;
    description += is_list ? "[" : "{";
    for (const SchemaNode& child : node.children) description += describe(schema, child) + " ";
    description.back() = is_list ? ']' : '}';
  }
  return node.is_optional ? description + "?" : description;
}

std::string describe(const std::vector<SchemaElement>& column) {
  std::vector<SchemaElement> elements = {group("root", Repetition::required, 1)};
  elements.insert(elements.end(), column.begin(), column.end());
  const Schema schema = build_schema(elements);
  return describe(schema, schema.columns.at(0));
}

constexpr auto kRequired = Repetition::required, kOptional = Repetition::optional, kRepeated = Repetition::repeated;

TEST(ParquetSchema, StandardLists) {
  EXPECT_EQ(describe({text("a", kRequired)}), "a/0,0");
  EXPECT_EQ(describe({text("a", kOptional)}), "a/1,0?");
  EXPECT_EQ(
      describe({group("l", kOptional, 1, Meaning::list), group("list", kRepeated, 1), text("element", kOptional)}),
      "l[element/3,1?]?");
  EXPECT_EQ(describe({group("l", kRequired, 1, Meaning::list), group("bag", kRepeated, 1), text("item", kRequired)}),
            "l[item/1,1]");
  EXPECT_EQ(describe({group("messages", kOptional, 1, Meaning::list), group("list", kRepeated, 1),
                      group("element", kOptional, 2), text("role", kOptional), text("content", kRequired)}),
            "messages[element{role/4,1? content/3,1}?]?");
  EXPECT_EQ(describe({group("l", kOptional, 1, Meaning::list), group("list", kRepeated, 1),
                      group("element", kOptional, 1, Meaning::list), group("list", kRepeated, 1),
                      text("element", kOptional)}),
            "l[element[element/5,2?]?]?");
}

TEST(ParquetSchema, OlderListsOfTwoLevels) {
  EXPECT_EQ(describe({group("l", kOptional, 1, Meaning::list), text("element", kRepeated)}), "l[element/2,1]?");
  EXPECT_EQ(describe({group("l", kOptional, 1, Meaning::list), group("element", kRepeated, 2), text("role", kOptional),
                      text("content", kOptional)}),
            "l[element{role/3,1? content/3,1?}]?");
  EXPECT_EQ(
      describe({group("l", kOptional, 1, Meaning::list), group("array", kRepeated, 1), text("content", kOptional)}),
      "l[array{content/3,1?}]?");
  EXPECT_EQ(
      describe({group("l", kOptional, 1, Meaning::list), group("l_tuple", kRepeated, 1), text("content", kOptional)}),
      "l[l_tuple{content/3,1?}]?");
  EXPECT_EQ(describe({group("l", kOptional, 1, Meaning::list), group("list", kRepeated, 1), text("x", kRepeated)}),
            "l[list{x[x/3,2]}]?");
  EXPECT_EQ(describe({text("r", kRepeated)}), "r[r/1,1]");
  EXPECT_EQ(describe({group("r", kRepeated, 1), text("x", kOptional)}), "r[r{x/2,1?}]");
}

TEST(ParquetSchema, Maps) {
  EXPECT_EQ(describe({group("m", kOptional, 1, Meaning::map), group("key_value", kRepeated, 2), text("key", kRequired),
                      text("value", kOptional)}),
            "m[key_value{key/2,1 value/3,1?}]?");
  EXPECT_EQ(
      describe({group("m", kOptional, 1, Meaning::map), group("key_value", kRepeated, 1), text("key", kRequired)}),
      "m[key_value{key/2,1}]?");
}

TEST(ParquetSchema, GroupsThatOnlyCallThemselvesListsAreStructs) {
  EXPECT_EQ(describe({group("l", kOptional, 1, Meaning::list), text("x", kOptional)}), "l{x/2,0?}?");
  EXPECT_EQ(describe({group("l", kOptional, 2, Meaning::list), text("x", kRepeated), text("y", kOptional)}),
            "l{x[x/2,1] y/2,0?}?");
}

TEST(ParquetSchema, RefusesTreesThatDoNotFit) {
  EXPECT_THROW(build_schema({}), Error);
  EXPECT_THROW(describe({group("s", kRequired, 2), text("a", kRequired)}), Error);
  EXPECT_THROW(describe({text("a", kRequired), text("b", kRequired)}), Error);
  EXPECT_THROW(describe({group("l", kRequired, 1, Meaning::list)}), Error);
  std::vector<SchemaElement> deep(40, group("s", kOptional, 1));
  deep.push_back(text("x", kRequired));
  EXPECT_THROW(describe(deep), Error);
  deep.assign(40, group("l", kRepeated, 1, Meaning::list));
  deep.push_back(text("x", kRequired));
  EXPECT_THROW(describe(deep), Error);
}

}  // namespace
}  // namespace owlet::parquet
