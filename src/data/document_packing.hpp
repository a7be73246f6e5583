// Whole documents packed into rows of a fixed length: for conversations, where an answer without its question teaches
// nothing. Plain text is cut into windows instead (batch_stream.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace owlet {

class TokenSequence;

/// The tokens of one document within a sequence.
struct DocumentRange {
  uint64_t begin = 0, num_tokens = 0;
};

/// The documents of a sequence, and rows of them. Memory: 8 bytes per document, and 12 in each PackedRows.
class DocumentPacker {
 public:
  /// Throws invalid_argument if there is no document, or naming how many documents are longer than `context` tokens:
  /// to cut them here would be silent.
  DocumentPacker(const TokenSequence& tokens, uint64_t context, std::string_view side);
  uint64_t num_documents() const { return starts_.size() - 1; }
  DocumentRange range(uint64_t document) const {
    return {starts_[document], starts_[document + 1] - starts_[document]};
  }

  /// Rows of at most `context` tokens that together hold each document once.
  class Rows {
   public:
    uint64_t size() const { return row_begins_.size() - 1; }
    /// The documents of a row, each by its number.
    std::span<const uint32_t> documents(uint64_t row) const {
      return std::span(documents_).subspan(row_begins_[row], row_begins_[row + 1] - row_begins_[row]);
    }

   private:
    friend class DocumentPacker;
    std::vector<uint32_t> documents_;
    std::vector<uint64_t> row_begins_{0};
  };

  /// Takes the documents in a random order that is a pure function of (seed, epoch) and puts each into the fullest of
  /// a few open rows that has room (best fit, after Ding et al. 2024, "Fewer truncations improve language modeling").
  Rows shuffled_rows(uint64_t seed, uint64_t epoch) const;
  /// The same with the documents in their own order.
  Rows rows_in_order() const;

 private:
  template <typename Order>
  Rows pack(Order&& document_at) const;

  uint64_t context_;
  std::vector<uint64_t> starts_;  ///< of each document, and the end of the last
};

}  // namespace owlet
