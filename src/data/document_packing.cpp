#include "data/document_packing.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/token_sequence.hpp"

namespace owlet {
namespace {

/// More open rows waste less room; far fewer than a step's rows would leave gaps, far more would gather the short
/// documents of an epoch.
constexpr size_t kOpenRows = 64;

}  // namespace

DocumentPacker::DocumentPacker(const TokenSequence& tokens, uint64_t context, std::string_view side)
    : context_(context) {
  check(tokens.num_documents() > 0, ErrorKind::invalid_argument, "the {} data has no conversation", side);
  check(tokens.num_documents() < UINT32_MAX, ErrorKind::unsupported, "the {} data has {} conversations, at most {} fit",
        side, tokens.num_documents(), UINT32_MAX - 1);
  starts_.reserve(tokens.num_documents() + 1);
  tokens.append_document_starts(0, tokens.num_tokens(), starts_);
  starts_.push_back(tokens.num_tokens());

  uint64_t num_long = 0, longest = 0;
  for (uint64_t i = 0; i < num_documents(); ++i) {
    longest = std::max(longest, range(i).num_tokens);
    num_long += range(i).num_tokens > context ? 1 : 0;
  }
  if (num_long > 0) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} of {} {} conversations are longer than the context of {} tokens, the longest has {}",
                            num_long, num_documents(), side, context, longest),
                fmt::format("take a larger context, or prepare the data again with --context {} and --too-long drop, "
                            "cut or split",
                            context));
  }
}

template <typename Order>
DocumentPacker::Rows DocumentPacker::pack(Order&& document_at) const {
  struct OpenRow {
    std::vector<uint32_t> documents;
    uint64_t room = 0;
  };
  std::vector<OpenRow> open;
  std::set<std::pair<uint64_t, size_t>> by_room;  // (room, index into open)
  Rows rows;
  rows.documents_.reserve(num_documents());
  const auto close = [&](OpenRow& row) {
    rows.documents_.insert(rows.documents_.end(), row.documents.begin(), row.documents.end());
    rows.row_begins_.push_back(rows.documents_.size());
    row = {{}, context_};
  };
  for (uint64_t i = 0; i < num_documents(); ++i) {
    const uint64_t document = document_at(i), length = range(document).num_tokens;
    auto place = by_room.lower_bound({length, 0});
    size_t index = open.size();
    if (place != by_room.end()) {
      index = place->second;
      by_room.erase(place);
    } else if (open.size() < kOpenRows) {
      open.push_back({{}, context_});
    } else {
      index = by_room.begin()->second;  // the fullest makes room for a new one
      by_room.erase(by_room.begin());
      close(open[index]);
    }
    open[index].documents.push_back(static_cast<uint32_t>(document));
    open[index].room -= length;
    by_room.emplace(open[index].room, index);
  }
  for (OpenRow& row : open) close(row);
  return rows;
}

DocumentPacker::Rows DocumentPacker::shuffled_rows(uint64_t seed, uint64_t epoch) const {
  const RandomPermutation order(num_documents(), seed, stream_id("document order") + epoch);
  return pack([&](uint64_t i) { return order(i); });
}

DocumentPacker::Rows DocumentPacker::rows_in_order() const {
  return pack([](uint64_t i) { return i; });
}

}  // namespace owlet
