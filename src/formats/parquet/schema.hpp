// The schema of a Parquet file as a tree: lists are lists and not the two or three levels of groups that spell them.
// Source: apache/parquet-format, LogicalTypes.md ("Nested Types", with the rules for older files); Melnik et al.,
// "Dremel: Interactive Analysis of Web-Scale Datasets" (VLDB 2010) for definition and repetition levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/parquet/file_metadata.hpp"

namespace owlet::parquet {

/// A column, a field of a struct, or the element of a list.
struct SchemaNode {
  enum class Kind { leaf, structure, list };

  std::string name;
  Kind kind = Kind::leaf;
  bool is_optional = false;
  uint32_t definition_level = 0;          ///< entries with a lower one mean null, here or further up
  uint32_t element_level = 0;             ///< list: entries with a lower definition level mean that it is empty
  uint32_t repetition_level = 0;          ///< list: entries with this one continue it
  std::vector<SchemaNode> children;       ///< structure: its fields; list: its one element
  size_t first_leaf = 0, num_leaves = 0;  ///< the leaves below, or the leaf itself
};

/// A column as it is stored.
struct SchemaLeaf {
  std::string path;  ///< names from the root on, joined by dots, as stored
  PhysicalType type = PhysicalType::boolean;
  int32_t type_length = 0;
  Annotation annotation;
  uint32_t max_definition_level = 0, max_repetition_level = 0;
};

struct Schema {
  std::vector<SchemaNode> columns;
  std::vector<SchemaLeaf> leaves;

  /// The column, or null.
  const SchemaNode* find(std::string_view name) const;
};

/// Throws Error corrupt_file for counts of children that do not fit or nesting deeper than 16.
Schema build_schema(const std::vector<SchemaElement>& elements);

}  // namespace owlet::parquet
