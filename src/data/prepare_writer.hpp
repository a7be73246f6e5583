// The end of a preparation's pipeline: tokens in order into shards, everything counted, the state kept now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "data/document_lengths.hpp"
#include "data/growing_shard.hpp"
#include "data/prepare.hpp"
#include "data/prepare_folder.hpp"
#include "data/prepare_work.hpp"
#include "data/seen_documents.hpp"

namespace owlet {

/// Writes what the threads have encoded, in order. Not thread-safe.
class PrepareWriter {
 public:
  /// Goes on from the folder's state, where it has one.
  PrepareWriter(PrepareFolder& folder, const Tokenizer& tokenizer, const CorpusSplit& split,
                const PrepareOptions& options, uint64_t total_bytes);
  /// Where to go on in the source.
  const SourcePosition& position() const { return position_; }
  /// Calls on_progress; what that throws stops the preparation behind this work.
  void write(EncodedWork&& work);
  /// Keeps where everything stands, so that the next process goes on from here.
  void keep();
  /// Completes the shards and fills in what they hold.
  void finish(DatasetInfo& info);

 private:
  void begin_document(const EncodedPart& part);
  void end_document();
  void resume(const Json& state);
  GrowingSplit& side(bool is_validation) { return is_validation ? validation_ : train_; }

  PrepareFolder& folder_;
  const CorpusSplit& split_;
  const PrepareOptions& options_;
  uint64_t mark_tokens_;  ///< before each document
  GrowingSplit train_, validation_;
  SeenDocuments seen_;
  std::unique_ptr<GrowingFile> hashes_;
  SourcePosition position_;
  DocumentLengths lengths_;
  DatasetInfo counts_;  ///< documents, empty, skipped, duplicates
  uint64_t text_tokens_ = 0, text_bytes_ = 0;
  PrepareProgress progress_;
  /// The document under way; it may come in parts.
  EncodedPart document_;
  uint64_t document_tokens_ = 0;
  bool is_dropped_ = false, is_inside_document_ = false;
  std::chrono::steady_clock::time_point kept_at_ = std::chrono::steady_clock::now();
};

}  // namespace owlet
