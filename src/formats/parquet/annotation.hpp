// The two ages of annotations that say what values mean: ConvertedType and LogicalType of parquet.thrift.
#pragma once

#include <cstdint>

#include "formats/parquet/compact_protocol.hpp"
#include "formats/parquet/file_metadata.hpp"

namespace owlet::parquet {

/// ConvertedType of the older files. A decimal's scale stands in the schema element itself.
Annotation annotation_of_converted(int32_t converted);

/// LogicalType, a value of `type` that comes next. Throws Error corrupt_file.
Annotation read_logical_type(CompactReader& reader, CompactType type);

}  // namespace owlet::parquet
