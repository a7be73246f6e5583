// Any bytes as a Parquet file: rows are read or refused with an Error, nothing else. Pages are small and rows few, so
// that a small file that truly unpacks to much does not count as slow.
//
// Seeds are files of pyarrow and DuckDB in base64 ("base64:…", from tools/golden/parquet_golden.py). The mutator
// decodes them, and keeps magic numbers and the footer's length right, without which nothing behind them would be
// reached.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "../support/base64.hpp"
#include "base/error.hpp"
#include "data/sources/parquet_records.hpp"
#include "data/sources/parquet_text.hpp"
#include "fuzz_file.hpp"

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t max_size);

namespace {

constexpr int kMaxRows = 2000;
constexpr owlet::parquet::ParquetLimits kLimits{1 << 20, 1 << 20};
constexpr std::string_view kBase64 = "base64:", kMagic = "PAR1";

std::string as_file(const uint8_t* bytes, size_t count) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  return text.starts_with(kBase64) ? owlet::decode_base64(text.substr(kBase64.size())) : std::string(text);
}

void mutate(std::string& part, size_t max_size) {
  const size_t size = part.size();
  if (max_size == 0) return;
  part.resize(std::max(size, max_size));
  part.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(part.data()), size, part.size()));
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t max_size, unsigned int seed) {
  constexpr size_t kTail = 8;
  std::string file = as_file(bytes, size);
  uint32_t footer_bytes = 0;
  const bool is_whole = file.size() >= 4 + kTail && file.starts_with(kMagic) && file.ends_with(kMagic);
  if (is_whole) std::memcpy(&footer_bytes, file.data() + file.size() - kTail, 4);
  if (!is_whole || footer_bytes > file.size() - 4 - kTail || seed % 16 == 0) {
    mutate(file, max_size);
  } else {
    const size_t data_end = file.size() - kTail - footer_bytes;
    std::string pages = file.substr(4, data_end - 4), footer = file.substr(data_end, footer_bytes);
    if (seed % 2 == 0) {
      mutate(pages, pages.size());  // not longer: the footer points into them
      pages.resize(data_end - 4);
    } else {
      mutate(footer, footer.size() + 16);
    }
    footer_bytes = static_cast<uint32_t>(footer.size());
    file = std::string(kMagic) + pages + footer + std::string(reinterpret_cast<const char*>(&footer_bytes), 4);
    file += kMagic;
  }
  const size_t count = std::min(file.size(), max_size);
  std::memcpy(bytes, file.data(), count);
  return count;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const std::string file = as_file(bytes, count);
  const auto path = owlet::fuzz_file(reinterpret_cast<const uint8_t*>(file.data()), file.size(), ".parquet");
  try {
    owlet::ParquetRecords records({path}, {{}, true}, kLimits);
    owlet::Json row;
    for (int i = 0; i < kMaxRows && records.next(row); ++i) {
    }
  } catch (const owlet::Error&) {
  }
  for (const std::string column : {"text", "nothing"}) {
    try {
      owlet::ParquetTextReader reader({path}, column, false, kLimits);
      std::string_view text;
      uint64_t sum = 0;
      for (int i = 0; i < kMaxRows && reader.next(text); ++i) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
      [[maybe_unused]] volatile uint64_t sink = sum;  // keeps the reads
    } catch (const owlet::Error&) {
    }
  }
  return 0;
}
