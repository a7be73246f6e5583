// What the threads of a preparation hand to each other: text with its side, then tokens.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus_split.hpp"
#include "data/document_chunks.hpp"
#include "data/seen_documents.hpp"
#include "text/tokenizer.hpp"

namespace owlet {

/// Where a tail split put a document, or one half of the document that it cut.
struct Placement {
  CorpusSplit::Side side = CorpusSplit::Side::train;
  bool is_continuation = false;  ///< the second half
};

/// Documents to encode: those of a chunk, or a part of one large document.
struct PrepareWork {
  DocumentChunk chunk;
  std::vector<Placement> placements;         ///< of each document under a tail split; empty under a split by documents
  std::shared_ptr<const std::string> large;  ///< the whole document of which [begin, end) is to be encoded
  size_t begin = 0, end = 0;
  bool has_position = false;  ///< chunk.end and the counts hold behind this work
};

/// A document or a part of a large one, encoded.
struct EncodedPart {
  uint64_t num_tokens = 0;
  uint64_t bytes = 0;  ///< of the whole document, with its first part
  DocumentHash hash;   ///< of the whole document with its side, with its first part
  bool is_first = true, is_last = true;
  bool is_continuation = false;  ///< the second half of a document cut by the tail split
};

struct EncodedWork {
  std::vector<int32_t> tokens;  ///< of all parts, one after the other
  std::vector<EncodedPart> parts;
  uint64_t num_empty = 0, num_skipped = 0;
  std::vector<SkippedRecord> skipped;
  std::optional<SourcePosition> end;
  uint64_t file_bytes = 0;
};

/// Reads files and says what is to be encoded together. Not thread-safe.
class WorkReader {
 public:
  WorkReader(const std::vector<std::filesystem::path>& files, const DocumentOptions& options, CorpusSplit& split,
             const Tokenizer& tokenizer, uint64_t chunk_bytes);
  /// Goes on behind earlier work; only before the first next().
  void seek(const SourcePosition& position);
  bool next(PrepareWork& work);

 private:
  bool read_chunk(PrepareWork& work);
  bool read_placed(PrepareWork& work);
  void cut_large(PrepareWork&& work);

  CorpusSplit& split_;
  const Tokenizer& tokenizer_;
  uint64_t chunk_bytes_;
  std::unique_ptr<ChunkReader> chunks_;        ///< split by documents: files are parsed where they are encoded
  std::unique_ptr<DocumentSource> documents_;  ///< tail split: a document's side depends on all before it
  uint64_t counted_empty_ = 0, counted_skipped_ = 0;
  size_t counted_places_ = 0;
  std::deque<PrepareWork> pending_;
};

/// Parses and encodes. Safe to call from several threads.
EncodedWork encode_work(PrepareWork&& work, const DocumentOptions& options, const CorpusSplit& split,
                        const Tokenizer& tokenizer);

}  // namespace owlet
