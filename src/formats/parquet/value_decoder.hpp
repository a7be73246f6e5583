// The values of a page, in every encoding of the format. Source: apache/parquet-format, Encodings.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parquet/schema.hpp"

namespace owlet::parquet {

/// Some values of one column; which vector holds them follows from the physical type.
struct ValueBatch {
  std::vector<int64_t> integers;        ///< boolean, int32, int64
  std::vector<double> reals;            ///< float, double
  std::vector<std::string_view> bytes;  ///< the others; views into the page, the dictionary or `arena`
  std::vector<char> arena;              ///< keeps its place when the batch moves

  /// `length` bytes of the arena from `begin` on.
  std::string_view in_arena(size_t begin, size_t length) const { return {arena.data() + begin, length}; }

  void clear();
};

enum class ValueClass : uint8_t { integers, reals, bytes };
ValueClass value_class(PhysicalType type);

class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;
  /// Replaces what is in `batch` by the next values: at least one, at most `max` (which is not 0), fewer where they
  /// would take more than a mebibyte of the arena. Throws Error corrupt_file when there are none left.
  virtual size_t decode(size_t max, ValueBatch& batch) = 0;
};

/// The decoder of a page's values; `page` and `dictionary` (null where there is none) must outlive it. Throws Error
/// unsupported for an encoding that the type does not have.
std::unique_ptr<ValueDecoder> make_value_decoder(Encoding encoding, const SchemaLeaf& leaf,
                                                 std::span<const std::byte> page, const ValueBatch* dictionary);

/// DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
std::unique_ptr<ValueDecoder> make_delta_bytes_decoder(Encoding encoding, const SchemaLeaf& leaf,
                                                       std::span<const std::byte> page);

/// Bytes of one value of `leaf`, for types of a fixed size other than boolean. Throws Error corrupt_file for a length
/// below 1.
size_t fixed_value_bytes(const SchemaLeaf& leaf);

}  // namespace owlet::parquet
