// Which documents, or which end of the text, become validation data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "data/document_source.hpp"
#include "data/prepare.hpp"

namespace owlet {

/// What a first look at a source found.
struct CorpusSurvey {
  uint64_t documents = 0;
  uint64_t bytes = 0;  ///< text of the documents seen
  uint64_t empty = 0, skipped = 0;
  std::string first_skipped;     ///< place and reason, for a message
  bool is_whole = false;         ///< every document was seen
  std::string sample;            ///< the first text, up to 256 KiB, to estimate tokens per byte
  std::vector<uint64_t> hashes;  ///< split hashes of the documents seen, sorted, each once
};

/// Decides a side for each document or part of one.
class CorpusSplit {
 public:
  /// Reads the beginning of `source` (all of it for the tail split), rewinds it, and settles kind and share.
  /// Throws invalid_argument for a share outside [0, 1) or a source without documents.
  CorpusSplit(DocumentSource& source, SplitKind kind, double share, uint64_t seed);

  enum class Side { train, validation };
  /// Calls `add` with the whole document and its side, or with both parts of the document in which the tail begins.
  /// Documents come in the source's order.
  void place(std::string document, const std::function<void(std::string, Side)>& add);

  /// The side of a document under a split by documents. Safe to call from several threads.
  Side side_of(std::string_view document) const;

  /// What was decided, and a split that goes on with it from the beginning of the source, without looking at it again.
  OrderedJson decision() const;
  CorpusSplit(const Json& decision, const std::string& source, uint64_t seed);

  SplitKind kind() const { return kind_; }  ///< documents or tail
  double share() const { return share_; }
  const CorpusSurvey& survey() const { return survey_; }

 private:
  void choose_threshold();

  SplitKind kind_;
  double share_;
  uint64_t seed_;
  CorpusSurvey survey_;
  uint64_t threshold_ = 0;   ///< documents: validation if the hash is below
  uint64_t tail_begin_ = 0;  ///< tail: validation from this byte of text on
  uint64_t position_ = 0;    ///< bytes of text placed so far
};

/// Hash of a document's content for the split; equal documents have equal hashes.
uint64_t document_split_hash(uint64_t seed, std::string_view document);

}  // namespace owlet
