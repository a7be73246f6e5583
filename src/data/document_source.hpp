// Where documents come from: the interface that every kind of corpus (text files, columns of jsonl and parquet)
// implements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace owlet {

/// A file that a source reads, with its size, for the record in data.json.
struct SourceFile {
  std::string path;
  uint64_t bytes = 0;
};

/// A row or document that could not be read, and why.
struct SkippedRecord {
  std::string place;  ///< for example "chat.jsonl, line 17" or "train.parquet, row 4"
  std::string reason;
};

/// Documents one after the other, in an order that is always the same.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// Puts the next document that is not empty into `document` and returns true; false at the end. Throws Error naming
  /// file and place.
  virtual bool next(std::string& document) = 0;
  /// Back to the first document; the counts start again.
  virtual void rewind() = 0;
  virtual uint64_t num_documents() const = 0;  ///< handed out since the start
  virtual uint64_t num_empty() const = 0;      ///< empty ones passed over since the start
  virtual uint64_t num_skipped() const = 0;    ///< unreadable ones passed over since the start
  /// The first 20 of those, with their places.
  virtual const std::vector<SkippedRecord>& skipped() const = 0;
  virtual uint64_t bytes_read() const = 0;  ///< of the files as they lie on the disk, for progress
  virtual const std::vector<SourceFile>& files() const = 0;
  /// How documents are parted, as written in data.json, for example "<|endoftext|>".
  virtual std::string separator() const = 0;
};

}  // namespace owlet
