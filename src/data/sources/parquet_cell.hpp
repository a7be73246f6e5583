// Values of Parquet columns as JSON.
#pragma once

#include "base/json.hpp"
#include "formats/parquet/column_reader.hpp"

namespace owlet {

/// The current entry's value, which it must have.
///
/// Text and bytes become strings (bytes that are no UTF-8 pass through), numbers and booleans themselves. Exact
/// decimals become strings ("12.50"), dates "2024-05-01", times of the day "12:34:56.789", timestamps
/// "2024-05-01T12:34:56.789" with a "Z" where they are instants; dates outside the years 1 to 9999 become the stored
/// number. UUIDs become their usual text. Throws Error corrupt_file for a value that its type does not have, without a
/// place.
Json parquet_cell(const parquet::ColumnReader& column);

/// Throws Error unsupported for a column whose values parquet_cell() does not know, naming the column.
void check_parquet_cells(const parquet::ParquetFile& file, const parquet::SchemaLeaf& leaf);

}  // namespace owlet
