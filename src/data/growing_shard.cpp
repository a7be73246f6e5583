#include "data/growing_shard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "base/error.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr size_t kPendingBytes = size_t{1} << 18;
constexpr size_t kCopyBytes = size_t{1} << 20;

fs::path under_way(const fs::path& work_folder, const fs::path& path, std::string_view extension) {
  return (work_folder / path.filename()).replace_extension(extension);
}

/// Where the tokens of a shard are: a finished one that is to go on gets back there.
fs::path take_apart(const fs::path& work_folder, const fs::path& path) {
  const fs::path tokens = under_way(work_folder, path, ".tokens");
  std::error_code ignored;
  if (fs::exists(path, ignored)) fs::rename(path, tokens, ignored);
  return tokens;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

GrowingFile::GrowingFile(fs::path path, uint64_t bytes) : path_(std::move(path)), size_(bytes) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  check(descriptor_ >= 0, ErrorKind::io, "cannot open '{}': {}", path_.string(), std::strerror(errno));
  struct stat status {};
  const bool is_known = fstat(descriptor_, &status) == 0;
  const bool is_whole = is_known && static_cast<uint64_t>(status.st_size) >= bytes;
  const bool is_cut = is_whole && ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0;
  if (is_cut) return;
  const int error = errno;
  close(descriptor_);
  check(is_whole, ErrorKind::corrupt_file, "'{}' has {} bytes, expected at least {}", path_.string(), status.st_size,
        bytes);
  fail(ErrorKind::io, "cannot cut '{}' to {} bytes: {}", path_.string(), bytes, std::strerror(error));
}

GrowingFile::~GrowingFile() { close(descriptor_); }

void GrowingFile::write_all(std::span<const std::byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : ENOSPC;
      throw Error(ErrorKind::io,
                  fmt::format("cannot write {} bytes at offset {} of '{}': {}", bytes.size(), offset, path_.string(),
                              std::strerror(error)),
                  "what is done so far is kept: free some space on that disk and run the same command again");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
}

void GrowingFile::append(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
  if (pending_.size() < kPendingBytes) return;
  write_all(pending_, size_ - pending_.size());
  pending_.clear();
}

void GrowingFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  write_all(pending_, size_ - pending_.size());
  pending_.clear();
  write_all(bytes, offset);
}

void GrowingFile::flush() {
  write_at(size_, {});
  check(fsync(descriptor_) == 0, ErrorKind::io, "cannot flush '{}' to disk: {}", path_.string(), std::strerror(errno));
}

OrderedJson to_json(const ShardProgress& progress) {
  return {{"tokens", progress.tokens},
          {"documents", progress.documents},
          {"bytes", progress.bytes},
          {"tokens_crc", progress.tokens_crc},
          {"documents_crc", progress.documents_crc}};
}

ShardProgress shard_progress_from_json(const Json& json, const std::string& source) {
  return {json_get<uint64_t>(json, "tokens", source), json_get<uint64_t>(json, "documents", source),
          json_get<uint64_t>(json, "bytes", source), json_get<uint32_t>(json, "tokens_crc", source),
          json_get<uint32_t>(json, "documents_crc", source)};
}

GrowingShard::GrowingShard(const fs::path& path, const fs::path& work_folder, const ShardKind& kind,
                           const ShardProgress& progress)
    : path_(path),
      kind_(kind),
      progress_(progress),
      tokens_(take_apart(work_folder, path),
              progress.tokens == 0 ? 0 : kShardHeaderBytes + progress.tokens * token_width_bytes(kind.vocab_size)),
      documents_(under_way(work_folder, path, ".documents"), 8 * progress.documents) {
  if (progress.tokens == 0) tokens_.append(std::vector<std::byte>(kShardHeaderBytes));
}

void GrowingShard::put(std::span<const int32_t> tokens) {
  const uint32_t width = token_width_bytes(kind_.vocab_size);
  scratch_.resize(tokens.size() * width);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int32_t token = tokens[i];
    check(token >= 0 && static_cast<uint64_t>(token) < kind_.vocab_size, ErrorKind::internal,
          "token id {} of document {} is outside the vocabulary of {}", token, progress_.documents, kind_.vocab_size);
    std::memcpy(scratch_.data() + i * width, &token, width);
  }
  progress_.tokens_crc = crc32(scratch_, progress_.tokens_crc);
  progress_.tokens += tokens.size();
  tokens_.append(scratch_);
}

void GrowingShard::begin_document() {
  const auto start = bytes_of(progress_.tokens);
  progress_.documents_crc = crc32(start, progress_.documents_crc);
  documents_.append(start);
  progress_.documents += 1;
  if (kind_.end_of_text_id < 0) return;
  const auto mark = static_cast<int32_t>(kind_.end_of_text_id);
  put({&mark, 1});
}

void GrowingShard::append(std::span<const int32_t> tokens) { put(tokens); }

void GrowingShard::end_document(uint64_t text_bytes) { progress_.bytes += text_bytes; }

ShardProgress GrowingShard::flush() {
  tokens_.flush();
  documents_.flush();
  return progress_;
}

fs::path GrowingShard::finish() {
  documents_.flush();
  ShardHeader header;
  header.token_width_bytes = token_width_bytes(kind_.vocab_size);
  header.vocab_size = kind_.vocab_size;
  header.tokenizer_fingerprint = kind_.tokenizer_fingerprint;
  header.end_of_text_id = kind_.end_of_text_id;
  header.num_tokens = progress_.tokens;
  header.num_documents = progress_.documents;
  header.text_bytes = progress_.bytes;
  header.tokens_offset = kShardHeaderBytes;
  header.documents_offset = (tokens_.size() + 7) / 8 * 8;
  header.tokens_crc = progress_.tokens_crc;
  header.documents_crc = progress_.documents_crc;
  tokens_.append(std::vector<std::byte>(header.documents_offset - tokens_.size()));
  const MappedFile index(documents_.path());
  for (size_t begin = 0; begin < index.size(); begin += kCopyBytes) {
    tokens_.append(index.bytes().subspan(begin, std::min(kCopyBytes, index.size() - begin)));
    index.release_pages(begin, kCopyBytes);
  }
  tokens_.write_at(0, encode_shard_header(header));
  tokens_.flush();
  std::error_code error;
  fs::rename(tokens_.path(), path_, error);
  check(!error, ErrorKind::io, "cannot rename the finished file to '{}': {}", path_.string(), error.message());
  return documents_.path();
}

GrowingSplit::GrowingSplit(fs::path folder, fs::path work_folder, std::string name, const ShardKind& kind,
                           uint64_t tokens_per_shard)
    : folder_(std::move(folder)),
      work_folder_(std::move(work_folder)),
      name_(std::move(name)),
      kind_(kind),
      tokens_per_shard_(tokens_per_shard) {}

fs::path GrowingSplit::next_path() const { return folder_ / fmt::format("{}-{:05}.owl", name_, info_.shards.size()); }

void GrowingSplit::begin_document() {
  if (!shard_) shard_ = std::make_unique<GrowingShard>(next_path(), work_folder_, kind_, ShardProgress{});
  shard_->begin_document();
}

void GrowingSplit::append(std::span<const int32_t> tokens) { shard_->append(tokens); }

void GrowingSplit::end_document(uint64_t text_bytes) {
  shard_->end_document(text_bytes);
  if (shard_->progress().tokens >= tokens_per_shard_) close_shard();
}

void GrowingSplit::close_shard() {
  const ShardProgress& progress = shard_->progress();
  old_indexes_.push_back(shard_->finish());
  info_.shards.push_back({next_path().filename().string(), progress.tokens, progress.documents, progress.bytes});
  info_.tokens += progress.tokens;
  info_.documents += progress.documents;
  info_.bytes += progress.bytes;
  shard_.reset();
}

OrderedJson GrowingSplit::state() {
  OrderedJson shards = OrderedJson::array();
  for (const ShardInfo& shard : info_.shards) {
    ShardProgress progress;
    progress.tokens = shard.tokens;
    progress.documents = shard.documents;
    progress.bytes = shard.bytes;
    shards.push_back(to_json(progress));
  }
  return {{"shards", shards}, {"current", shard_ ? to_json(shard_->flush()) : OrderedJson()}};
}

void GrowingSplit::forget_finished() {
  std::error_code ignored;
  for (const fs::path& path : old_indexes_) fs::remove(path, ignored);
  old_indexes_.clear();
}

void GrowingSplit::resume(const Json& state, const std::string& source) {
  for (const Json& shard : json_get<std::vector<Json>>(state, "shards", source)) {
    const ShardProgress progress = shard_progress_from_json(shard, source);
    const fs::path path = next_path();
    const ShardHeader header = ShardReader(path).header();
    check(header.num_tokens == progress.tokens && header.num_documents == progress.documents, ErrorKind::corrupt_file,
          "{} has {} tokens in {} documents, '{}' says {} in {}", path.string(), header.num_tokens,
          header.num_documents, source, progress.tokens, progress.documents);
    info_.shards.push_back({path.filename().string(), progress.tokens, progress.documents, progress.bytes});
    info_.tokens += progress.tokens;
    info_.documents += progress.documents;
    info_.bytes += progress.bytes;
  }
  const Json current = json_get<Json>(state, "current", source);
  if (!current.is_null()) {
    shard_ =
        std::make_unique<GrowingShard>(next_path(), work_folder_, kind_, shard_progress_from_json(current, source));
  }
}

SplitInfo GrowingSplit::finish() {
  if (shard_) close_shard();
  return info_;
}

}  // namespace owlet
