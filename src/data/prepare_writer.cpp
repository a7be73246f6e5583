#include "data/prepare_writer.hpp"

#include <cstring>

#include "base/error.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace {

/// Share of the memory for the hashes of documents seen.
constexpr uint64_t kSeenShare = 4;

OrderedJson to_json(const std::vector<SkippedRecord>& places) {
  OrderedJson json = OrderedJson::array();
  for (const SkippedRecord& place : places) json.push_back({{"place", place.place}, {"reason", place.reason}});
  return json;
}

OrderedJson to_json(const DocumentLengths& lengths) {
  OrderedJson json = OrderedJson::array();
  for (const auto& [length, count] : lengths.counts()) json.push_back({length, count});
  return json;
}

}  // namespace

PrepareWriter::PrepareWriter(PrepareFolder& folder, const Tokenizer& tokenizer, const CorpusSplit& split,
                             const PrepareOptions& options, uint64_t total_bytes)
    : folder_(folder),
      split_(split),
      options_(options),
      mark_tokens_(tokenizer.end_of_text_id() ? 1 : 0),
      train_(folder.data_path(), folder.path(), "train", document_shards(tokenizer), options.tokens_per_shard),
      validation_(folder.data_path(), folder.path(), "validation", document_shards(tokenizer),
                  options.tokens_per_shard),
      seen_(folder.path(), options.memory_bytes / kSeenShare) {
  progress_.total_bytes = total_bytes;
  if (folder.state()) {
    resume(*folder.state());
  } else {
    hashes_ = std::make_unique<GrowingFile>(folder.hashes_path(), 0);
    keep();
  }
}

void PrepareWriter::resume(const Json& state) {
  const std::string source = folder_.journal_name();
  position_ = source_position_from_json(json_get<Json>(state, "position", source), source);
  train_.resume(json_get<Json>(state, "train", source), source);
  validation_.resume(json_get<Json>(state, "validation", source), source);
  counts_.documents = json_get<uint64_t>(state, "documents", source);
  counts_.empty = json_get<uint64_t>(state, "empty", source);
  counts_.skipped = json_get<uint64_t>(state, "skipped", source);
  for (const Json& place : json_get<std::vector<Json>>(state, "skipped_places", source)) {
    counts_.skipped_places.push_back(
        {json_get<std::string>(place, "place", source), json_get<std::string>(place, "reason", source)});
  }
  counts_.duplicates.within_train = json_get<uint64_t>(state, "within_train", source);
  counts_.duplicates.within_validation = json_get<uint64_t>(state, "within_validation", source);
  counts_.duplicates.across = json_get<uint64_t>(state, "across", source);
  text_tokens_ = json_get<uint64_t>(state, "text_tokens", source);
  text_bytes_ = json_get<uint64_t>(state, "text_bytes", source);
  progress_.bytes = json_get<uint64_t>(state, "file_bytes", source);
  progress_.documents = counts_.documents;
  progress_.tokens = text_tokens_ + mark_tokens_ * counts_.documents;
  for (const auto& entry : json_get<std::vector<std::vector<uint64_t>>>(state, "lengths", source)) {
    check(entry.size() == 2, ErrorKind::corrupt_file, "{}: 'lengths' has an entry of {} numbers", source, entry.size());
    lengths_.add(entry[0], entry[1]);
  }
  const uint64_t num_hashes = json_get<uint64_t>(state, "hashes", source);
  hashes_ = std::make_unique<GrowingFile>(folder_.hashes_path(), num_hashes * sizeof(DocumentHash));
  const MappedFile kept(folder_.hashes_path());
  constexpr uint64_t kReleaseHashes = uint64_t{1} << 16;
  for (uint64_t i = 0; i < num_hashes; ++i) {
    DocumentHash hash;
    std::memcpy(&hash, kept.bytes().data() + i * sizeof hash, sizeof hash);
    seen_.find_or_insert(hash);
    if (i % kReleaseHashes == 0) kept.release_pages(0, kept.size());
  }
}

void PrepareWriter::keep() {
  OrderedJson state;
  state["split"] = split_.decision();
  state["position"] = to_json(position_);
  state["train"] = train_.state();
  state["validation"] = validation_.state();
  hashes_->flush();
  state["hashes"] = hashes_->size() / sizeof(DocumentHash);
  state["documents"] = counts_.documents;
  state["empty"] = counts_.empty;
  state["skipped"] = counts_.skipped;
  state["skipped_places"] = to_json(counts_.skipped_places);
  state["within_train"] = counts_.duplicates.within_train;
  state["within_validation"] = counts_.duplicates.within_validation;
  state["across"] = counts_.duplicates.across;
  state["text_tokens"] = text_tokens_;
  state["text_bytes"] = text_bytes_;
  state["file_bytes"] = progress_.bytes;
  state["lengths"] = to_json(lengths_);
  folder_.keep(state);
  train_.forget_finished();
  validation_.forget_finished();
  kept_at_ = std::chrono::steady_clock::now();
}

void PrepareWriter::begin_document(const EncodedPart& part) {
  document_ = part;
  document_tokens_ = 0;
  is_dropped_ = false;
  is_inside_document_ = true;
  const bool is_validation = part.hash.is_validation();
  if (const auto earlier = seen_.find_or_insert(part.hash)) {
    DuplicateInfo& duplicates = counts_.duplicates;
    (earlier->is_validation() != is_validation ? duplicates.across
     : is_validation                           ? duplicates.within_validation
                                               : duplicates.within_train) += 1;
    is_dropped_ = options_.drops_duplicates && !part.is_continuation;
  } else {
    hashes_->append(std::as_bytes(std::span(&part.hash, 1)));
  }
  if (!is_dropped_) side(is_validation).begin_document();
}

void PrepareWriter::end_document() {
  is_inside_document_ = false;
  if (is_dropped_) return;
  side(document_.hash.is_validation()).end_document(document_.bytes);
  if (!document_.is_continuation) counts_.documents += 1;
  lengths_.add(document_tokens_ + mark_tokens_);
  text_tokens_ += document_tokens_;
  text_bytes_ += document_.bytes;
  progress_.tokens += document_tokens_ + mark_tokens_;
}

void PrepareWriter::write(EncodedWork&& work) {
  std::span<const int32_t> tokens = work.tokens;
  for (const EncodedPart& part : work.parts) {
    if (part.is_first) begin_document(part);
    const auto own = tokens.first(part.num_tokens);
    tokens = tokens.subspan(part.num_tokens);
    if (!is_dropped_) side(document_.hash.is_validation()).append(own);
    document_tokens_ += part.num_tokens;
    if (part.is_last) end_document();
  }
  counts_.empty += work.num_empty;
  counts_.skipped += work.num_skipped;
  for (SkippedRecord& place : work.skipped) {
    if (counts_.skipped_places.size() < kMaxSkippedPlaces) counts_.skipped_places.push_back(std::move(place));
  }
  if (work.end) {
    position_ = *work.end;
    progress_.bytes = work.file_bytes;
  }
  progress_.documents = counts_.documents;
  const std::chrono::duration<double> since_kept = std::chrono::steady_clock::now() - kept_at_;
  if (work.end && since_kept.count() >= options_.keep_seconds) keep();
  if (options_.on_progress) options_.on_progress(progress_);
}

void PrepareWriter::finish(DatasetInfo& info) {
  keep();
  info.train = train_.finish();
  info.validation = validation_.finish();
  info.documents = counts_.documents;
  info.empty = counts_.empty;
  info.skipped = counts_.skipped;
  info.skipped_places = counts_.skipped_places;
  info.duplicates = counts_.duplicates;
  info.duplicates.are_dropped = options_.drops_duplicates;
  info.tokens = info.train.tokens + info.validation.tokens;
  info.bytes = info.train.bytes + info.validation.bytes;
  info.bytes_per_token = text_tokens_ == 0 ? 0 : static_cast<double>(info.bytes) / static_cast<double>(text_tokens_);
  lengths_.fill(info);
}

}  // namespace owlet
