#include "formats/parquet/schema.hpp"

#include "base/error.hpp"

namespace owlet::parquet {
namespace {

constexpr int kMaxDepth = 16;

class SchemaBuilder {
 public:
  explicit SchemaBuilder(const std::vector<SchemaElement>& elements) : elements_(elements) {}

  Schema build() {
    const int32_t num_columns = take().num_children;
    for (int32_t i = 0; i < num_columns; ++i) schema_.columns.push_back(read_node({}, 0, 0, 0));
    check(position_ == elements_.size(), ErrorKind::corrupt_file, "the schema has {} nodes, its tree takes {}",
          elements_.size(), position_);
    return std::move(schema_);
  }

 private:
  const SchemaElement& take() {
    check(position_ < elements_.size(), ErrorKind::corrupt_file, "the schema has {} nodes, its tree takes more",
          elements_.size());
    return elements_[position_++];
  }

  /// The next element and what is below it. `definition` and `repetition` are the levels of the node around it.
  SchemaNode read_node(const std::string& parent_path, uint32_t definition, uint32_t repetition, int depth) {
    const SchemaElement& element = take();
    const std::string path = parent_path.empty() ? element.name : parent_path + "." + element.name;
    if (element.repetition != Repetition::repeated) {
      const bool is_optional = element.repetition == Repetition::optional;
      SchemaNode node = read_content(element, path, definition + (is_optional ? 1 : 0), repetition, depth);
      node.is_optional = is_optional;
      return node;
    }
    // Repeated without a list around it: a list that is never null, of elements that are never null.
    SchemaNode node = begin_list(element.name, definition, repetition);
    node.children.push_back(read_content(element, path, definition + 1, repetition + 1, depth + 1));
    return finish(std::move(node));
  }

  /// What `element`, taken already, holds; the levels are those at which it is present.
  SchemaNode read_content(const SchemaElement& element, const std::string& path, uint32_t definition,
                          uint32_t repetition, int depth) {
    check(depth <= kMaxDepth, ErrorKind::corrupt_file, "the schema is nested deeper than {} levels", kMaxDepth);
    SchemaNode node;
    node.name = element.name;
    node.definition_level = definition;
    node.first_leaf = schema_.leaves.size();
    if (element.type) {
      schema_.leaves.push_back({path, *element.type, element.type_length, element.annotation, definition, repetition});
      return finish(std::move(node));
    }
    if (is_list(element)) return read_list(element, path, definition, repetition, depth);
    node.kind = SchemaNode::Kind::structure;
    for (int32_t i = 0; i < element.num_children; ++i) {
      node.children.push_back(read_node(path, definition, repetition, depth + 1));
    }
    return finish(std::move(node));
  }

  bool is_list(const SchemaElement& element) const {
    const bool is_annotated = element.annotation.meaning == Meaning::list || element.annotation.meaning == Meaning::map;
    return is_annotated && element.num_children == 1 && position_ < elements_.size() &&
           elements_[position_].repetition == Repetition::repeated;
  }

  /// Whether the repeated node is the element itself (two levels, older files) rather than a group around it.
  bool is_element(const SchemaElement& list, const SchemaElement& repeated) const {
    if (repeated.type || repeated.num_children != 1 || list.annotation.meaning == Meaning::map) return true;
    if (repeated.name == "array" || repeated.name == list.name + "_tuple") return true;
    return position_ < elements_.size() && elements_[position_].repetition == Repetition::repeated;
  }

  SchemaNode read_list(const SchemaElement& element, const std::string& path, uint32_t definition, uint32_t repetition,
                       int depth) {
    SchemaNode node = begin_list(element.name, definition, repetition);
    const SchemaElement& repeated = take();
    const std::string inner_path = path + "." + repeated.name;
    node.children.push_back(is_element(element, repeated)
                                ? read_content(repeated, inner_path, definition + 1, repetition + 1, depth + 1)
                                : read_node(inner_path, definition + 1, repetition + 1, depth + 1));
    return finish(std::move(node));
  }

  SchemaNode begin_list(const std::string& name, uint32_t definition, uint32_t repetition) const {
    SchemaNode node;
    node.name = name;
    node.kind = SchemaNode::Kind::list;
    node.definition_level = definition;
    node.element_level = definition + 1;
    node.repetition_level = repetition + 1;
    node.first_leaf = schema_.leaves.size();
    return node;
  }

  SchemaNode finish(SchemaNode node) const {
    node.num_leaves = schema_.leaves.size() - node.first_leaf;
    return node;
  }

  const std::vector<SchemaElement>& elements_;
  size_t position_ = 0;
  Schema schema_;
};

}  // namespace

const SchemaNode* Schema::find(std::string_view name) const {
  for (const SchemaNode& column : columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

Schema build_schema(const std::vector<SchemaElement>& elements) { return SchemaBuilder(elements).build(); }

}  // namespace owlet::parquet
