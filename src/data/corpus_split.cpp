#include "data/corpus_split.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/random.hpp"

namespace owlet {
namespace {

// Below this many documents the validation share is met exactly; above it, by the law of large numbers.
constexpr uint64_t kSurveyDocuments = 4096;
constexpr size_t kSampleBytes = size_t{1} << 18;
constexpr size_t kMinDocumentsToSplit = 20;
constexpr double kDocumentsShare = 0.05, kTailShare = 0.1;

CorpusSurvey survey_corpus(DocumentSource& source, SplitKind kind, uint64_t seed) {
  CorpusSurvey survey;
  std::string document;
  source.rewind();
  survey.is_whole = true;
  while (source.next(document)) {
    survey.documents += 1;
    survey.bytes += document.size();
    if (survey.sample.size() < kSampleBytes) {
      survey.sample.append(document, 0, kSampleBytes - survey.sample.size());
    }
    if (survey.documents <= kSurveyDocuments) survey.hashes.push_back(document_split_hash(seed, document));
    if (survey.documents > kSurveyDocuments && kind != SplitKind::tail) {
      survey.is_whole = false;
      break;
    }
  }
  survey.empty = source.num_empty();
  survey.skipped = source.num_skipped();
  if (!source.skipped().empty()) {
    const SkippedRecord& first = source.skipped().front();
    survey.first_skipped = fmt::format("; the first: {}: {}", first.place, first.reason);
  }
  source.rewind();
  std::sort(survey.hashes.begin(), survey.hashes.end());
  survey.hashes.erase(std::unique(survey.hashes.begin(), survey.hashes.end()), survey.hashes.end());
  return survey;
}

}  // namespace

uint64_t document_split_hash(uint64_t seed, std::string_view document) {
  // FNV-1a, then mixed with the seed: FNV alone is too regular in its upper bits for a threshold.
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : document) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return random_u64(seed, stream_id("validation split"), hash);
}

CorpusSplit::CorpusSplit(DocumentSource& source, SplitKind kind, double share, uint64_t seed)
    : kind_(kind), share_(share), seed_(seed) {
  check(share < 1, ErrorKind::invalid_argument, "validation share {}, expected at least 0 and below 1", share);
  survey_ = survey_corpus(source, kind, seed);
  const std::string first_file = source.files().empty() ? std::string("the source") : source.files()[0].path;
  check(survey_.documents > 0, ErrorKind::invalid_argument,
        "no document with text in {} ({} file(s), {} empty, {} skipped{})", first_file, source.files().size(),
        survey_.empty, survey_.skipped, survey_.first_skipped);
  if (kind_ == SplitKind::automatic) {
    kind_ = survey_.is_whole && survey_.hashes.size() < kMinDocumentsToSplit ? SplitKind::tail : SplitKind::documents;
  }
  if (share_ < 0) share_ = kind_ == SplitKind::tail ? kTailShare : kDocumentsShare;
  if (kind_ == SplitKind::tail) {
    tail_begin_ = static_cast<uint64_t>(static_cast<double>(survey_.bytes) * (1 - share_));
  } else {
    choose_threshold();
  }
}

void CorpusSplit::choose_threshold() {
  if (share_ == 0) return;
  if (!survey_.is_whole) {
    threshold_ = static_cast<uint64_t>(std::ldexp(share_, 64));
    return;
  }
  const size_t distinct = survey_.hashes.size();
  check(distinct >= 2, ErrorKind::invalid_argument,
        "all {} documents are equal: there is nothing to split by documents (a tail split is possible)",
        survey_.documents);
  const auto wanted = static_cast<size_t>(std::llround(share_ * static_cast<double>(distinct)));
  threshold_ = survey_.hashes[std::clamp<size_t>(wanted, 1, distinct - 1)];
}

CorpusSplit::CorpusSplit(const Json& decision, const std::string& source, uint64_t seed)
    : kind_(json_get<bool>(decision, "is_tail", source) ? SplitKind::tail : SplitKind::documents),
      share_(json_get<double>(decision, "share", source)),
      seed_(seed),
      threshold_(json_get<uint64_t>(decision, "threshold", source)),
      tail_begin_(json_get<uint64_t>(decision, "tail_begin", source)) {}

OrderedJson CorpusSplit::decision() const {
  return {
      {"is_tail", kind_ == SplitKind::tail}, {"share", share_}, {"threshold", threshold_}, {"tail_begin", tail_begin_}};
}

CorpusSplit::Side CorpusSplit::side_of(std::string_view document) const {
  return document_split_hash(seed_, document) < threshold_ ? Side::validation : Side::train;
}

void CorpusSplit::place(std::string document, const std::function<void(std::string, Side)>& add) {
  if (kind_ == SplitKind::documents) {
    const Side side = side_of(document);
    add(std::move(document), side);
    return;
  }
  const uint64_t begin = position_;
  position_ += document.size();
  if (position_ <= tail_begin_) {
    add(std::move(document), Side::train);
  } else if (begin >= tail_begin_) {
    add(std::move(document), Side::validation);
  } else {
    // The cut moves back to the beginning of a character.
    size_t cut = tail_begin_ - begin;
    while (cut > 0 && (static_cast<unsigned char>(document[cut]) & 0xC0) == 0x80) --cut;
    std::string tail = document.substr(cut);
    document.resize(cut);
    if (!document.empty()) add(std::move(document), Side::train);
    add(std::move(tail), Side::validation);
  }
}

}  // namespace owlet
