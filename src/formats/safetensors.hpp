// The safetensors format: named tensors in one file, or in several with an index.
//
//   SafetensorsFolder weights("model-folder");
//   const SafetensorsTensor& w = weights.get("model.norm.weight");   // w.dtype == "F32", w.shape, w.bytes
//
//   write_safetensors("model.safetensors", {{"w", "F32", {2, 3}, [&] { return std::as_bytes(std::span(values)); }}});
//
// Layout: u64 little-endian header length, JSON header, data. Spec: github.com/huggingface/safetensors, README
// "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.hpp"
#include "tensor/dtype.hpp"

namespace owlet {

/// A tensor inside a mapped file. `dtype` is the file's own spelling ("F32", "BF16", "F8_E4M3", …).
struct SafetensorsTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  ///< valid as long as the SafetensorsFile
  int64_t num_elements() const;
};

/// Our type for a spelling of the format, or nothing where Owlet has none.
std::optional<DType> dtype_from_safetensors(std::string_view spelling);
/// The format's spelling of a type; throws unsupported where there is none.
std::string safetensors_dtype(DType dtype);

/// One file, mapped and checked as a whole at opening: header length (at most 100 MB, inside the file) and syntax,
/// duplicate names, shape × element size = range, ranges without overlap or hole that cover the file exactly.
/// Throws not_found, io, or corrupt_file with a message that names file and tensor. Movable. Safe to read from
/// several threads.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return file_.path(); }
  /// All tensors, in the order of their data.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  /// Null where there is none.
  const SafetensorsTensor* find(std::string_view name) const;
  /// Throws not_found naming the file.
  const SafetensorsTensor& get(std::string_view name) const;
  /// "__metadata__" of the header.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Lets the system forget the pages of a tensor that was read, so that loading a large file stays flat.
  void release(const SafetensorsTensor& tensor) const;

 private:
  MappedFile file_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::string> metadata_;
};

/// The weights of a model folder: `model.safetensors`, or the files that `model.safetensors.index.json` names. Where
/// there is an index it alone decides which file a tensor is read from; other safetensors files and tensors that the
/// index does not name are reported by leftovers() and never read. Both present: the index wins.
class SafetensorsFolder {
 public:
  /// `path`: a folder, an index file, or one safetensors file. Throws not_found, corrupt_file (a tensor of the index
  /// missing from its file, a file name that leaves the folder).
  /// Files named in `other_files` may lie beside the weights and are no leftovers.
  explicit SafetensorsFolder(const std::filesystem::path& path, std::set<std::string> other_files = {});
  std::vector<std::string> names() const;  ///< sorted
  const SafetensorsTensor* find(std::string_view name) const;
  const SafetensorsTensor& get(std::string_view name) const;
  /// Files and tensors present but not named by the index, one sentence each.
  const std::vector<std::string>& leftovers() const { return leftovers_; }
  void release(const SafetensorsTensor& tensor) const;

 private:
  void open_index(const std::filesystem::path& index_path);
  void report_stray_files(const std::filesystem::path& folder, const std::set<std::string>& names_in_use);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, std::pair<size_t, const SafetensorsTensor*>, std::less<>> by_name_;
  std::set<std::string> other_files_;
  std::vector<std::string> leftovers_;
};

/// A tensor to write. `bytes` is called once, when the tensor's turn comes; what it returns must stay valid until the
/// next item's call, so one scratch buffer can serve all. Its size must be shape × element size.
struct SafetensorsItem {
  std::string name;
  std::string dtype;  ///< safetensors_dtype(DType), or any spelling of the format
  std::vector<int64_t> shape;
  std::function<std::span<const std::byte>()> bytes;
};

/// Writes a file atomically in the reference library's order (element size from large to small, then name), tensor by
/// tensor without holding more than one. `metadata` gets "format": "pt" unless it says otherwise.
/// Throws invalid_argument (duplicate or reserved name, size mismatch, unknown type), io.
void write_safetensors(const std::filesystem::path& path, std::vector<SafetensorsItem> items,
                       std::map<std::string, std::string> metadata = {});

/// Bytes of the file that write_safetensors would write, header included.
uint64_t safetensors_file_bytes(const std::vector<SafetensorsItem>& items,
                                std::map<std::string, std::string> metadata = {});

}  // namespace owlet
