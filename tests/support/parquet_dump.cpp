// Rows of Parquet files as JSON lines, or one column's texts counted and timed: what tools/golden/parquet_sweep.py and
// bench/peers/parquet_read.py compare with pyarrow.
//
//   parquet_dump FILE…                   rows on stdout; "ERROR kind: message" as the last line where they end early
//   parquet_dump --text COLUMN FILE…     {"rows", "nulls", "bytes", "seconds", "peak_resident_bytes"} on stdout
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "data/sources/parquet_records.hpp"
#include "data/sources/parquet_text.hpp"
#include "machine/process_memory.hpp"

namespace {

using Paths = std::vector<std::filesystem::path>;

void dump_rows(const Paths& files) {
  owlet::ParquetRecords records(files);
  owlet::Json row;
  while (records.next(row)) std::puts(owlet::dump_json(row).c_str());
}

void count_texts(const std::string& column, const Paths& files) {
  const auto start = std::chrono::steady_clock::now();
  owlet::ParquetTextReader reader(files, column);
  std::string_view text;
  uint64_t nulls = 0, bytes = 0, mixed = 0;
  while (reader.next(text)) {
    nulls += reader.is_null() ? 1 : 0;
    bytes += text.size();
    for (const char c : text) mixed += static_cast<unsigned char>(c);  // so that every byte is read
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const owlet::Json result = {{"rows", reader.num_rows()},
                              {"nulls", nulls},
                              {"bytes", bytes},
                              {"byte_sum", mixed},
                              {"seconds", seconds},
                              {"peak_resident_bytes", owlet::read_process_memory().peak_resident_bytes}};
  std::puts(owlet::dump_json(result).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_text = arguments.size() >= 2 && arguments[0] == "--text";
  const Paths files(arguments.begin() + (is_text ? 2 : 0), arguments.end());
  try {
    if (is_text) {
      count_texts(arguments[1], files);
    } else {
      dump_rows(files);
    }
  } catch (const owlet::Error& error) {
    std::printf("ERROR %s: %s\n", std::string(owlet::to_string(error.kind())).c_str(), error.what());
    return 1;
  }
  return 0;
}
