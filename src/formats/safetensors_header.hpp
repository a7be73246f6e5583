// The JSON header of a safetensors file as plain data: parsing that refuses everything the format does not allow, and
// the table of element types. The files themselves are in formats/safetensors.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// Longest header that the reference reader accepts.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

/// One tensor of the header, offsets relative to the data part.
struct SafetensorsHeaderEntry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsHeaderEntry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// An element type of the format. Sub-byte types are not known here.
struct SafetensorsType {
  std::string_view spelling;
  uint64_t element_bytes;
};

/// All known types in the order of the reference library (which sorts tensors by it, last first).
const std::vector<SafetensorsType>& safetensors_types();
/// Index into safetensors_types(), or -1.
int safetensors_type_index(std::string_view spelling);

/// shape × element size in bytes. Throws corrupt_file or unsupported naming `where` and the tensor: unknown type,
/// negative dimension, product over 2^62.
uint64_t safetensors_tensor_bytes(std::string_view where, std::string_view name, std::string_view dtype,
                                  const std::vector<int64_t>& shape);

/// Parses and checks a header for a data part of `data_bytes`. Throws corrupt_file or unsupported naming `where` (the
/// file) and the tensor.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where);

}  // namespace owlet
