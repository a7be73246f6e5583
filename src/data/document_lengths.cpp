#include "data/document_lengths.hpp"

namespace owlet {
namespace {

constexpr int kPercentiles[] = {50, 90, 99, 100};
constexpr uint64_t kContexts[] = {128, 256, 512, 1024, 2048, 4096, 8192};

}  // namespace

void DocumentLengths::fill(DatasetInfo& info) const {
  uint64_t total = 0, seen = 0;
  for (const auto& [length, count] : counts_) total += count;
  for (const uint64_t context : kContexts) info.fits[context] = 0;
  for (const auto& [length, count] : counts_) {
    seen += count;
    for (const int percent : kPercentiles) {
      if (!info.length_percentiles.contains(percent) && seen * 100 >= total * static_cast<uint64_t>(percent)) {
        info.length_percentiles[percent] = length;
      }
    }
    for (const uint64_t context : kContexts) {
      if (length <= context) info.fits[context] = static_cast<double>(seen) / static_cast<double>(total);
    }
  }
}

}  // namespace owlet
