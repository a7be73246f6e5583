// How long documents are, in tokens: percentiles, and the share that fits a context.
#pragma once

#include <cstdint>
#include <map>

#include "data/dataset.hpp"

namespace owlet {

/// Counts documents by length; memory: one entry per different length.
class DocumentLengths {
 public:
  void add(uint64_t num_tokens) { counts_[num_tokens] += 1; }
  void add(uint64_t num_tokens, uint64_t num_documents) { counts_[num_tokens] += num_documents; }
  const std::map<uint64_t, uint64_t>& counts() const { return counts_; }
  uint64_t longest() const { return counts_.empty() ? 0 : counts_.rbegin()->first; }
  /// Fills in length_percentiles (the smallest length that at least so many percent do not exceed) and fits.
  void fill(DatasetInfo& info) const;

 private:
  std::map<uint64_t, uint64_t> counts_;  ///< tokens of a document -> documents
};

}  // namespace owlet
