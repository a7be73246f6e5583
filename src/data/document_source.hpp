// Where documents come from: the interface that every kind of corpus (text files, later jsonl, parquet) implements.
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
  virtual const std::vector<SourceFile>& files() const = 0;
  /// How documents are parted, as written in data.json, for example "<|endoftext|>".
  virtual std::string separator() const = 0;
};

}  // namespace owlet
