#include "formats/safetensors.hpp"

#include <algorithm>
#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "formats/safetensors_header.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";
constexpr uint64_t kHeaderAlignment = 8;

struct TypeName {
  DType dtype;
  std::string_view spelling;
};
constexpr TypeName kTypeNames[] = {{DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
                                   {DType::i64, "I64"}, {DType::i32, "I32"}, {DType::u32, "U32"},   {DType::u16, "U16"},
                                   {DType::i8, "I8"},   {DType::u8, "U8"}};

uint64_t read_u64_le(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// Sorts as the reference library does, checks, and returns the padded header text.
std::string build_header(const std::string& where, std::vector<SafetensorsItem>& items,
                         std::map<std::string, std::string> metadata, std::vector<uint64_t>& sizes) {
  std::sort(items.begin(), items.end(), [](const SafetensorsItem& a, const SafetensorsItem& b) {
    const int type_a = safetensors_type_index(a.dtype), type_b = safetensors_type_index(b.dtype);
    return type_a != type_b ? type_a > type_b : a.name < b.name;
  });
  metadata.try_emplace("format", "pt");
  std::string text = fmt::format("{{\"__metadata__\":{}", dump_json(Json(metadata)));
  std::set<std::string_view> names = {"__metadata__"};
  uint64_t position = 0;
  for (const SafetensorsItem& item : items) {
    check(names.insert(item.name).second, ErrorKind::invalid_argument, "{}: the tensor name '{}' is {}", where,
          item.name, item.name == "__metadata__" ? "reserved" : "used twice");
    const uint64_t bytes = safetensors_tensor_bytes(where, item.name, item.dtype, item.shape);
    check(position <= UINT64_MAX / 2 - bytes, ErrorKind::invalid_argument, "{}: the tensors need more than 2^63 bytes",
          where);
    const OrderedJson entry = {
        {"dtype", item.dtype}, {"shape", item.shape}, {"data_offsets", {position, position + bytes}}};
    text += fmt::format(",{}:{}", dump_json(Json(item.name)), dump_json(entry));
    sizes.push_back(bytes);
    position += bytes;
  }
  text.push_back('}');
  text.append((kHeaderAlignment - text.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  check(text.size() <= kMaxSafetensorsHeaderBytes, ErrorKind::unsupported,
        "{}: the header would have {} bytes, the format allows {}", where, text.size(), kMaxSafetensorsHeaderBytes);
  return text;
}

}  // namespace

int64_t SafetensorsTensor::num_elements() const {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

std::optional<DType> dtype_from_safetensors(std::string_view spelling) {
  for (const TypeName& type : kTypeNames) {
    if (type.spelling == spelling) return type.dtype;
  }
  return std::nullopt;
}

std::string safetensors_dtype(DType dtype) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == dtype) return std::string(type.spelling);
  }
  fail(ErrorKind::unsupported, "safetensors has no element type for {}", to_string(dtype));
}

SafetensorsFile::SafetensorsFile(const fs::path& path) : file_(path) {
  const std::string where = path.string();
  const auto bytes = file_.bytes();
  check(bytes.size() >= 8, ErrorKind::corrupt_file, "{}: {} bytes are too few for a safetensors file", where,
        bytes.size());
  const uint64_t header_bytes = read_u64_le(bytes);
  check(header_bytes <= kMaxSafetensorsHeaderBytes, ErrorKind::corrupt_file,
        "{}: the header claims {} bytes, more than the {} that safetensors allows (is this a safetensors file?)", where,
        header_bytes, kMaxSafetensorsHeaderBytes);
  check(header_bytes <= bytes.size() - 8, ErrorKind::corrupt_file,
        "{}: the header claims {} bytes, but only {} follow (is the file cut short?)", where, header_bytes,
        bytes.size() - 8);
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  const auto data = bytes.subspan(8 + header_bytes);
  SafetensorsHeader header = parse_safetensors_header(json, data.size(), where);
  metadata_ = std::move(header.metadata);
  tensors_.reserve(header.entries.size());
  for (SafetensorsHeaderEntry& entry : header.entries) {
    by_name_.emplace(entry.name, tensors_.size());
    tensors_.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape),
                        data.subspan(entry.begin, entry.end - entry.begin)});
  }
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const SafetensorsTensor& SafetensorsFile::get(std::string_view name) const {
  const SafetensorsTensor* tensor = find(name);
  check(tensor != nullptr, ErrorKind::not_found, "{} has no tensor '{}' ({} tensors)", path().string(), name,
        tensors_.size());
  return *tensor;
}

void SafetensorsFile::release(const SafetensorsTensor& tensor) const {
  if (!tensor.bytes.empty()) {
    file_.release_pages(static_cast<size_t>(tensor.bytes.data() - file_.bytes().data()), tensor.bytes.size());
  }
}

SafetensorsFolder::SafetensorsFolder(const fs::path& path, std::set<std::string> other_files)
    : path_(path), other_files_(std::move(other_files)) {
  std::error_code ignored;
  fs::path index_path;
  if (fs::is_directory(path, ignored)) {
    index_path = fs::exists(path / kIndexName, ignored) ? path / kIndexName : path / kSingleName;
    if (index_path.filename() == kSingleName) {
      check(fs::exists(index_path, ignored), ErrorKind::not_found, "{} holds neither {} nor {}", path.string(),
            kSingleName, kIndexName);
    }
  } else {
    index_path = path;
  }
  if (index_path.extension() != ".json") {
    files_.push_back(std::make_unique<SafetensorsFile>(index_path));
    for (const SafetensorsTensor& tensor : files_[0]->tensors()) by_name_[tensor.name] = {0, &tensor};
    report_stray_files(index_path.parent_path(), {index_path.filename().string()});
  } else {
    open_index(index_path);
  }
}

void SafetensorsFolder::open_index(const fs::path& index_path) {
  const std::string where = index_path.string();
  const Json index = read_json(index_path);
  const Json weight_map = json_get<Json>(index, "weight_map", where);
  check(weight_map.is_object(), ErrorKind::corrupt_file, "{}: weight_map is no object", where);
  const fs::path folder = index_path.parent_path();
  std::map<std::string, size_t> opened;
  std::set<std::string> names_in_use;
  for (const auto& [name, value] : weight_map.items()) {
    check(value.is_string(), ErrorKind::corrupt_file, "{}: weight_map gives no file name for '{}'", where, name);
    const std::string file_name = value.get<std::string>();
    check(!file_name.empty() && file_name.find('/') == std::string::npos && file_name != "." && file_name != "..",
          ErrorKind::corrupt_file, "{}: '{}' is said to be in '{}', which is no plain file name", where, name,
          file_name);
    if (!opened.contains(file_name)) {
      std::error_code ignored;
      check(fs::exists(folder / file_name, ignored), ErrorKind::not_found, "{} names the file '{}', which is missing",
            where, file_name);
      opened[file_name] = files_.size();
      names_in_use.insert(file_name);
      files_.push_back(std::make_unique<SafetensorsFile>(folder / file_name));
    }
    const size_t file = opened[file_name];
    const SafetensorsTensor* tensor = files_[file]->find(name);
    check(tensor != nullptr, ErrorKind::corrupt_file, "{}: '{}' is said to be in '{}', but is not there", where, name,
          file_name);
    by_name_[name] = {file, tensor};
  }
  for (const auto& file : files_) {
    for (const SafetensorsTensor& tensor : file->tensors()) {
      const auto found = by_name_.find(tensor.name);
      if (found == by_name_.end() || found->second.second != &tensor) {
        leftovers_.push_back(fmt::format("tensor '{}' in {} is not named by the index and was not read", tensor.name,
                                         file->path().filename().string()));
      }
    }
  }
  report_stray_files(folder, names_in_use);
}

void SafetensorsFolder::report_stray_files(const fs::path& folder, const std::set<std::string>& names_in_use) {
  std::error_code ignored;
  std::vector<std::string> stray;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_known = names_in_use.contains(name) || other_files_.contains(name);
    if (entry.path().extension() == ".safetensors" && !is_known) stray.push_back(name);
  }
  std::sort(stray.begin(), stray.end());
  for (const std::string& name : stray) {
    leftovers_.push_back(fmt::format("file {} does not belong to this model and was not read", name));
  }
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> names;
  names.reserve(by_name_.size());
  for (const auto& [name, unused] : by_name_) names.push_back(name);
  return names;
}

const SafetensorsTensor* SafetensorsFolder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.second;
}

const SafetensorsTensor& SafetensorsFolder::get(std::string_view name) const {
  const SafetensorsTensor* tensor = find(name);
  check(tensor != nullptr, ErrorKind::not_found, "{} has no tensor '{}' ({} tensors)", path_.string(), name,
        by_name_.size());
  return *tensor;
}

void SafetensorsFolder::release(const SafetensorsTensor& tensor) const {
  const auto found = by_name_.find(tensor.name);
  if (found != by_name_.end()) files_[found->second.first]->release(tensor);
}

void write_safetensors(const fs::path& path, std::vector<SafetensorsItem> items,
                       std::map<std::string, std::string> metadata) {
  const std::string where = path.string();
  std::vector<uint64_t> sizes;
  const std::string header = build_header(where, items, std::move(metadata), sizes);
  AtomicFile file(path);
  std::byte length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  file.write(std::span<const std::byte>(length));
  file.write(header);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto bytes = items[i].bytes();
    check(bytes.size() == sizes[i], ErrorKind::invalid_argument,
          "{}: tensor '{}' was given {} bytes, but its type and shape need {}", where, items[i].name, bytes.size(),
          sizes[i]);
    file.write(bytes);
  }
  file.commit();
}

uint64_t safetensors_file_bytes(const std::vector<SafetensorsItem>& items,
                                std::map<std::string, std::string> metadata) {
  std::vector<SafetensorsItem> sorted = items;
  std::vector<uint64_t> sizes;
  uint64_t bytes = 8 + build_header("model.safetensors", sorted, std::move(metadata), sizes).size();
  for (const uint64_t size : sizes) bytes += size;
  return bytes;
}

}  // namespace owlet
