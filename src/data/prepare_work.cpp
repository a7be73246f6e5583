#include "data/prepare_work.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace owlet {
namespace {

constexpr size_t kPartBytes = size_t{1} << 20;
constexpr size_t kChunkDocuments = 8192;

}  // namespace

WorkReader::WorkReader(const std::vector<std::filesystem::path>& files, const DocumentOptions& options,
                       CorpusSplit& split, const Tokenizer& tokenizer, uint64_t chunk_bytes)
    : split_(split), tokenizer_(tokenizer), chunk_bytes_(chunk_bytes) {
  if (split.kind() == SplitKind::tail) {
    documents_ = open_documents(files, options);
  } else {
    chunks_ = std::make_unique<ChunkReader>(files, options, chunk_bytes);
  }
}

void WorkReader::seek(const SourcePosition& position) {
  if (chunks_) return chunks_->seek(position);
  std::string document;
  while (documents_->num_documents() < position.count) {
    check(documents_->next(document), ErrorKind::corrupt_file, "the source has {} documents, expected at least {}",
          documents_->num_documents(), position.count);
    split_.place(std::move(document), [](std::string, CorpusSplit::Side) {});
  }
  counted_empty_ = documents_->num_empty();
  counted_skipped_ = documents_->num_skipped();
  counted_places_ = documents_->skipped().size();
}

bool WorkReader::read_placed(PrepareWork& work) {
  uint64_t bytes = 0;
  std::string document;
  bool is_at_end = true;
  while (bytes < chunk_bytes_ && work.placements.size() < kChunkDocuments && documents_->next(document)) {
    is_at_end = false;
    bytes += document.size();
    bool is_continuation = false;
    split_.place(std::move(document), [&](std::string part, CorpusSplit::Side side) {
      work.chunk.documents.push_back(std::move(part));
      work.placements.push_back({side, is_continuation});
      is_continuation = true;
    });
  }
  DocumentChunk& chunk = work.chunk;
  chunk.num_empty = documents_->num_empty() - counted_empty_;
  chunk.num_skipped = documents_->num_skipped() - counted_skipped_;
  counted_empty_ = documents_->num_empty();
  counted_skipped_ = documents_->num_skipped();
  const std::vector<SkippedRecord>& places = documents_->skipped();
  for (; counted_places_ < places.size(); ++counted_places_) chunk.skipped.push_back(places[counted_places_]);
  chunk.end.count = documents_->num_documents();
  chunk.file_bytes = documents_->bytes_read();
  return !is_at_end || chunk.num_empty > 0 || chunk.num_skipped > 0;
}

bool WorkReader::read_chunk(PrepareWork& work) {
  work = {};
  work.has_position = true;
  return chunks_ ? chunks_->next(work.chunk) : read_placed(work);
}

/// Parts `work` where a document is so large that several threads should share it.
void WorkReader::cut_large(PrepareWork&& work) {
  DocumentChunk& chunk = work.chunk;
  PrepareWork small;
  const auto add_small = [&] {
    if (!small.chunk.documents.empty()) pending_.push_back(std::move(small));
    small = {};
  };
  for (size_t i = 0; i < chunk.documents.size(); ++i) {
    const bool is_placed = !work.placements.empty();
    if (chunk.documents[i].size() < 2 * kPartBytes) {
      if (is_placed) small.placements.push_back(work.placements[i]);
      small.chunk.documents.push_back(std::move(chunk.documents[i]));
      continue;
    }
    add_small();
    const auto document = std::make_shared<const std::string>(std::move(chunk.documents[i]));
    for (size_t begin = 0; begin < document->size();) {
      PrepareWork& part = pending_.emplace_back();
      part.large = document;
      part.begin = begin;
      const bool is_short = document->size() - begin < 2 * kPartBytes;
      part.end = is_short ? document->size() : tokenizer_.safe_cut(*document, begin + kPartBytes);
      if (is_placed) part.placements.push_back(work.placements[i]);
      begin = part.end;
    }
  }
  add_small();
  if (pending_.empty()) pending_.emplace_back();
  PrepareWork& last = pending_.back();
  last.has_position = true;
  last.chunk.num_empty = chunk.num_empty;
  last.chunk.num_skipped = chunk.num_skipped;
  last.chunk.skipped = std::move(chunk.skipped);
  last.chunk.end = chunk.end;
  last.chunk.file_bytes = chunk.file_bytes;
}

bool WorkReader::next(PrepareWork& work) {
  if (pending_.empty()) {
    if (!read_chunk(work)) return false;
    const auto& documents = work.chunk.documents;
    const bool has_large = std::any_of(documents.begin(), documents.end(),
                                       [](const std::string& text) { return text.size() >= 2 * kPartBytes; });
    if (!has_large) return true;
    cut_large(std::move(work));
  }
  work = std::move(pending_.front());
  pending_.pop_front();
  return true;
}

EncodedWork encode_work(PrepareWork&& work, const DocumentOptions& options, const CorpusSplit& split,
                        const Tokenizer& tokenizer) {
  EncodedWork encoded;
  DocumentChunk& chunk = work.chunk;
  if (!chunk.lines.empty()) parse_lines(chunk, options);
  const auto begin_part = [&](std::string_view document, size_t index) {
    const Placement placement = work.placements.empty() ? Placement{split.side_of(document)} : work.placements[index];
    EncodedPart part;
    part.bytes = document.size();
    part.hash = hash_document(document).with_side(placement.side == CorpusSplit::Side::validation);
    part.is_continuation = placement.is_continuation;
    return part;
  };
  const auto encode_part = [&](std::string_view text, EncodedPart part) {
    const size_t before = encoded.tokens.size();
    tokenizer.encode_append(text, encoded.tokens);
    part.num_tokens = encoded.tokens.size() - before;
    encoded.parts.push_back(part);
  };
  if (work.large) {
    EncodedPart part;
    part.is_first = work.begin == 0;
    if (part.is_first) part = begin_part(*work.large, 0);
    part.is_last = work.end == work.large->size();
    encode_part(std::string_view(*work.large).substr(work.begin, work.end - work.begin), part);
  }
  for (size_t i = 0; i < chunk.documents.size(); ++i) {
    encode_part(chunk.documents[i], begin_part(chunk.documents[i], i));
    chunk.documents[i] = std::string();
  }
  encoded.num_empty = chunk.num_empty;
  encoded.num_skipped = chunk.num_skipped;
  encoded.skipped = std::move(chunk.skipped);
  if (work.has_position) encoded.end = chunk.end;
  encoded.file_bytes = chunk.file_bytes;
  return encoded;
}

}  // namespace owlet
