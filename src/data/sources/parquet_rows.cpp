#include "data/sources/parquet_rows.hpp"

#include <utility>

#include "base/error.hpp"
#include "data/sources/parquet_cell.hpp"

namespace owlet {
namespace {

using parquet::ColumnReader;
using parquet::SchemaNode;

constexpr uint64_t kBytesPerValue = 32;  // of JSON around a value, about

}  // namespace

ParquetRows::ParquetRows(const parquet::ParquetFile& file, std::vector<const SchemaNode*> columns, size_t row_group,
                         const parquet::ParquetLimits& limits)
    : columns_(std::move(columns)),
      slots_(file.schema().leaves.size()),
      rows_left_(static_cast<uint64_t>(file.metadata().row_groups.at(row_group).num_rows)),
      max_row_bytes_(limits.max_row_bytes) {
  for (const SchemaNode* column : columns_) {
    check(column->num_leaves > 0, ErrorKind::unsupported, "'{}': column '{}' is a struct without fields", file.name(),
          column->name);
    for (size_t leaf = column->first_leaf; leaf < column->first_leaf + column->num_leaves; ++leaf) {
      check_parquet_cells(file, file.schema().leaves[leaf]);
      slots_[leaf] = readers_.size();
      readers_.emplace_back(file, leaf, row_group, limits);
    }
  }
}

void ParquetRows::fail_apart(size_t leaf) {
  throw Error(ErrorKind::corrupt_file, fmt::format("{}: the levels do not fit together", reader(leaf).place()),
              std::string(parquet::kDamagedHint));
}

void ParquetRows::spend(uint64_t bytes, size_t leaf) {
  row_bytes_ += bytes + kBytesPerValue;
  check(row_bytes_ <= max_row_bytes_, ErrorKind::corrupt_file, "{}: one row of more than {} bytes",
        reader(leaf).place(), max_row_bytes_);
}

bool ParquetRows::continues(size_t leaf, uint32_t repetition_level) {
  const ColumnReader& column = reader(leaf);
  return !column.is_at_end() && column.repetition_level() == repetition_level;
}

void ParquetRows::take_absent(const SchemaNode& node, uint32_t level) {
  for (size_t leaf = node.first_leaf; leaf < node.first_leaf + node.num_leaves; ++leaf) {
    ColumnReader& column = reader(leaf);
    if (column.is_at_end() || column.definition_level() >= level) fail_apart(leaf);
    column.advance();
  }
}

Json ParquetRows::read_list(const SchemaNode& node) {
  Json items = Json::array();
  if (reader(node.first_leaf).definition_level() < node.element_level) {
    take_absent(node, node.element_level);
    return items;
  }
  const SchemaNode& element = node.children.front();
  do {
    items.push_back(read_node(element));
  } while (continues(node.first_leaf, node.repetition_level));
  for (size_t leaf = node.first_leaf + 1; leaf < node.first_leaf + node.num_leaves; ++leaf) {
    if (continues(leaf, node.repetition_level)) fail_apart(leaf);
  }
  return items;
}

Json ParquetRows::read_node(const SchemaNode& node) {
  if (node.num_leaves == 0) return Json::object();
  ColumnReader& column = reader(node.first_leaf);
  if (column.is_at_end()) fail_apart(node.first_leaf);
  spend(0, node.first_leaf);
  if (column.definition_level() < node.definition_level) {
    if (!node.is_optional) fail_apart(node.first_leaf);
    take_absent(node, node.definition_level);
    return nullptr;
  }
  switch (node.kind) {
    case SchemaNode::Kind::list:
      return read_list(node);
    case SchemaNode::Kind::structure: {
      Json object = Json::object();
      for (const SchemaNode& child : node.children) object[child.name] = read_node(child);
      return object;
    }
    case SchemaNode::Kind::leaf:
      break;
  }
  if (parquet::value_class(column.leaf().type) == parquet::ValueClass::bytes) {
    spend(column.bytes().size(), node.first_leaf);
  }
  Json value;
  try {
    value = parquet_cell(column);
  } catch (const Error& error) {
    throw parquet::at_place(error, column.place());
  }
  column.advance();
  return value;
}

void ParquetRows::check_end() const {
  for (const ColumnReader& column : readers_) {
    if (column.is_at_end()) continue;
    throw Error(ErrorKind::corrupt_file, fmt::format("{}: more values than the row group has rows", column.place()),
                std::string(parquet::kDamagedHint));
  }
}

void ParquetRows::read(Json& row) {
  row = Json::object();
  row_bytes_ = 0;
  for (const SchemaNode* column : columns_) {
    for (size_t leaf = column->first_leaf; leaf < column->first_leaf + column->num_leaves; ++leaf) {
      const ColumnReader& values = reader(leaf);
      if (values.is_at_end()) {
        throw Error(
            ErrorKind::corrupt_file,
            fmt::format("{}: fewer values than the row group has rows ({} missing)", values.place(), rows_left_),
            std::string(parquet::kDamagedHint));
      }
      if (values.repetition_level() != 0) fail_apart(leaf);
    }
    row[column->name] = read_node(*column);
  }
  if (--rows_left_ == 0) check_end();
}

}  // namespace owlet
