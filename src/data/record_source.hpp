// Rows of data files as JSON objects: what jsonl and parquet have in common. Text columns become documents
// (data/sources/), conversations become instruction data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "data/document_source.hpp"

namespace owlet {

struct RecordOptions {
  std::vector<std::string> columns;  ///< the only ones wanted; empty: all
  bool skips_bad_records = false;    ///< count and pass over instead of throwing
  /// Longest row of a text format, in bytes; longer ones are bad. A parsed row takes about three times its bytes.
  uint64_t max_row_bytes = uint64_t{1} << 28;
};

/// Rows one after the other, in an order that is always the same; memory is bounded by the largest row (jsonl) or the
/// largest page (parquet), not by the file.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Puts the next row, a JSON object, into `record` and returns true; false at the end. Throws corrupt_file naming
  /// file and place for a row that is none, unless such rows are skipped.
  virtual bool next(Json& record) = 0;
  /// Back to the first row; the counts start again.
  virtual void rewind() = 0;
  /// Where the row handed out last stands, as in SkippedRecord.
  virtual std::string place() const = 0;
  virtual uint64_t num_records() const = 0;  ///< handed out since the start
  virtual uint64_t num_skipped() const = 0;  ///< passed over since the start
  /// The first 20 rows that were passed over.
  virtual const std::vector<SkippedRecord>& skipped() const = 0;
  virtual uint64_t bytes_read() const = 0;  ///< of the files as they lie on the disk, for progress
  virtual const std::vector<SourceFile>& files() const = 0;
};

}  // namespace owlet
