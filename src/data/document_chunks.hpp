// Files cut into chunks that several threads can parse and encode at once, from any place that was kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "data/sources/line_reader.hpp"
#include "data/sources/open_documents.hpp"

namespace owlet {

/// A place between two documents of a list of files.
struct SourcePosition {
  uint64_t file = 0;                                     ///< index in the list
  uint64_t offset = 0;                                   ///< in the unpacked file (lines, text)
  uint64_t count = 0;                                    ///< lines, or documents, of this file before the place
  bool has_seen_separator = false, is_unchanged = true;  ///< as in TextPosition
};
OrderedJson to_json(const SourcePosition& position);
SourcePosition source_position_from_json(const Json& json, const std::string& source);

/// Some documents in a row: complete, or as lines of JSON that parse_lines() turns into documents.
struct DocumentChunk {
  std::vector<std::string> documents;
  std::string lines;        ///< each ended by LF
  uint64_t first_line = 0;  ///< number of the first of them
  std::string path;         ///< their file
  uint64_t num_empty = 0, num_skipped = 0;
  std::vector<SkippedRecord> skipped;  ///< the first places of this chunk
  SourcePosition end;                  ///< behind its last document
  uint64_t file_bytes = 0;             ///< of all files, read up to here
};

/// Turns `lines` into documents. Safe to call on several chunks from several threads. Throws as RecordSource and
/// fail_column unless bad records are skipped.
void parse_lines(DocumentChunk& chunk, const DocumentOptions& options);

/// Reads the files in order. Not thread-safe.
class ChunkReader {
 public:
  /// Chunks of about `chunk_bytes` bytes of text or lines; one document may exceed it.
  ChunkReader(std::vector<std::filesystem::path> files, const DocumentOptions& options, uint64_t chunk_bytes);
  /// False at the end. Throws what reading throws.
  bool next(DocumentChunk& chunk);
  /// Goes on from the end of an earlier chunk; lines and text of unpacked files are found at once, the rest is read
  /// over. Only before the first next().
  void seek(const SourcePosition& position);

 private:
  void open_file();
  void close_file();
  void read_lines(DocumentChunk& chunk);
  void read_documents(DocumentChunk& chunk);
  /// Adds what `source_` counted since the last call.
  void take_counts(DocumentChunk& chunk);
  void skip(DocumentChunk& chunk, std::string place, std::string reason);
  SourcePosition position() const;

  std::vector<std::filesystem::path> files_;
  std::vector<uint64_t> file_bytes_;
  DocumentOptions options_;
  uint64_t chunk_bytes_;
  size_t file_ = 0;
  uint64_t bytes_before_ = 0;  ///< of the files before the current one
  bool is_open_ = false;
  std::unique_ptr<LineReader> lines_;       ///< of a file of lines of JSON,
  std::unique_ptr<DocumentSource> source_;  ///< or of any other file
  TextFileSource* text_ = nullptr;          ///< source_, where it is a text file
  uint64_t counted_empty_ = 0, counted_skipped_ = 0, documents_before_ = 0;
  size_t counted_places_ = 0;
};

}  // namespace owlet
