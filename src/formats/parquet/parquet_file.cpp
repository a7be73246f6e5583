#include "formats/parquet/parquet_file.hpp"

#include <cstring>

#include "formats/parquet/bit_reader.hpp"

namespace owlet::parquet {
namespace {

constexpr size_t kMagicBytes = 4, kTailBytes = 8;
constexpr size_t kMaxNamedColumns = 20;

bool has_magic(std::span<const std::byte> bytes, size_t offset, const char* magic) {
  return std::memcmp(bytes.data() + offset, magic, kMagicBytes) == 0;
}

}  // namespace

Error at_place(const Error& error, std::string_view place) {
  const bool is_damaged = error.kind() == ErrorKind::corrupt_file && error.hint().empty();
  return Error(error.kind(), fmt::format("{}: {}", place, error.what()),
               is_damaged ? std::string(kDamagedHint) : error.hint());
}

ParquetFile::ParquetFile(const std::filesystem::path& path) : file_(path) {
  try {
    read_footer();
    check_row_groups();
  } catch (const Error& error) {
    throw at_place(error, fmt::format("'{}'", path.string()));
  }
}

void ParquetFile::read_footer() {
  const auto bytes = file_.bytes();
  check(bytes.size() >= kMagicBytes + kTailBytes, ErrorKind::corrupt_file, "{} bytes are too few for a Parquet file",
        bytes.size());
  const size_t tail = bytes.size() - kTailBytes;
  if (has_magic(bytes, tail + 4, "PARE")) {
    throw Error(ErrorKind::unsupported, "the Parquet file is encrypted", "write it again without encryption");
  }
  check(has_magic(bytes, 0, "PAR1"), ErrorKind::corrupt_file, "this is no Parquet file: it does not begin with 'PAR1'");
  check(has_magic(bytes, tail + 4, "PAR1"), ErrorKind::corrupt_file,
        "the footer is missing: the file begins like a Parquet file but does not end with 'PAR1'");
  const uint64_t footer_bytes = load<uint32_t>(bytes.data() + tail);
  check(footer_bytes <= tail - kMagicBytes, ErrorKind::corrupt_file, "a footer of {} bytes in a file of {} bytes",
        footer_bytes, bytes.size());
  data_end_ = tail - footer_bytes;
  metadata_ = read_file_metadata(bytes.subspan(data_end_, footer_bytes));
  schema_ = build_schema(metadata_.schema);
  file_.release_pages(data_end_, footer_bytes);
}

void ParquetFile::check_row_groups() const {
  uint64_t num_rows = 0;
  for (size_t i = 0; i < metadata_.row_groups.size(); ++i) {
    const RowGroup& group = metadata_.row_groups[i];
    check(group.columns.size() == schema_.leaves.size(), ErrorKind::corrupt_file,
          "row group {} has {} columns, the schema {}", i, group.columns.size(), schema_.leaves.size());
    num_rows += static_cast<uint64_t>(group.num_rows);
    check(num_rows <= static_cast<uint64_t>(metadata_.num_rows), ErrorKind::corrupt_file,
          "row groups 0 to {} have {} rows, the file {}", i, num_rows, metadata_.num_rows);
  }
  check(num_rows == static_cast<uint64_t>(metadata_.num_rows), ErrorKind::corrupt_file,
        "the row groups have {} rows, the file {}", num_rows, metadata_.num_rows);
}

const SchemaNode& ParquetFile::column(std::string_view name) const {
  const SchemaNode* found = schema_.find(name);
  if (found != nullptr) return *found;
  std::string names;
  for (size_t i = 0; i < schema_.columns.size() && i < kMaxNamedColumns; ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", schema_.columns[i].name);
  }
  if (schema_.columns.size() > kMaxNamedColumns) names += ", …";
  throw Error(ErrorKind::invalid_argument, fmt::format("'{}' has no column '{}'", this->name(), name),
              names.empty() ? "it has no columns" : fmt::format("its columns: {}", names));
}

}  // namespace owlet::parquet
