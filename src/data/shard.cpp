#include "data/shard.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checksum.hpp"
#include "base/error.hpp"

namespace owlet {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read and written as they lie in memory");

constexpr char kMagic[8] = {'O', 'W', 'L', 'E', 'T', 'S', 'H', 'D'};
constexpr uint32_t kVersion = 1, kMaskedVersion = 2;
constexpr uint64_t kHeaderCrcOffset = 124;
constexpr uint64_t kMaxVocabSize = uint64_t{1} << 31;
constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr uint64_t kReleaseDocuments = uint64_t{1} << 20;
constexpr uint64_t kVerifyChunkTokens = uint64_t{1} << 16;

template <typename T>
void put(std::span<std::byte> bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

ShardHeader decode_header(std::span<const std::byte> bytes, const std::string& where) {
  check(bytes.size() >= kShardHeaderBytes, ErrorKind::corrupt_file, "{}: {} bytes are too few for a shard (header: {})",
        where, bytes.size(), kShardHeaderBytes);
  check(std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0, ErrorKind::corrupt_file, "{} is no Owlet shard", where);
  const uint32_t crc = get<uint32_t>(bytes, kHeaderCrcOffset);
  const uint32_t computed = crc32(bytes.first(kHeaderCrcOffset));
  check(crc == computed, ErrorKind::corrupt_file, "{}: the header's checksum is {:08x}, but its bytes give {:08x}",
        where, crc, computed);
  const uint32_t version = get<uint32_t>(bytes, 8);
  check(version == kVersion || version == kMaskedVersion, ErrorKind::unsupported,
        "{}: shard version {}, this program reads {} and {}", where, version, kVersion, kMaskedVersion);
  ShardHeader header;
  header.token_width_bytes = get<uint32_t>(bytes, 12);
  header.vocab_size = get<uint64_t>(bytes, 16);
  header.tokenizer_fingerprint = get<uint64_t>(bytes, 24);
  header.end_of_text_id = get<int64_t>(bytes, 32);
  header.num_tokens = get<uint64_t>(bytes, 40);
  header.num_documents = get<uint64_t>(bytes, 48);
  header.text_bytes = get<uint64_t>(bytes, 56);
  header.tokens_offset = get<uint64_t>(bytes, 64);
  header.documents_offset = get<uint64_t>(bytes, 72);
  header.tokens_crc = get<uint32_t>(bytes, 80);
  header.documents_crc = get<uint32_t>(bytes, 84);
  if (version == kMaskedVersion) {
    header.loss_mask_offset = get<uint64_t>(bytes, 88);
    header.num_trained_tokens = get<uint64_t>(bytes, 96);
    header.loss_mask_crc = get<uint32_t>(bytes, 104);
    check(header.loss_mask_offset != 0, ErrorKind::corrupt_file, "{}: version {} without a loss mask", where, version);
  }
  return header;
}

uint64_t round_up_to_8(uint64_t value) { return (value + 7) / 8 * 8; }

uint64_t loss_mask_bytes(uint64_t num_tokens) { return round_up_to_8((num_tokens + 7) / 8); }

}  // namespace

std::vector<std::byte> encode_shard_header(const ShardHeader& header) {
  std::vector<std::byte> bytes(kShardHeaderBytes);
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  put(bytes, 8, header.has_loss_mask() ? kMaskedVersion : kVersion);
  put(bytes, 12, header.token_width_bytes);
  put(bytes, 16, header.vocab_size);
  put(bytes, 24, header.tokenizer_fingerprint);
  put(bytes, 32, header.end_of_text_id);
  put(bytes, 40, header.num_tokens);
  put(bytes, 48, header.num_documents);
  put(bytes, 56, header.text_bytes);
  put(bytes, 64, header.tokens_offset);
  put(bytes, 72, header.documents_offset);
  put(bytes, 80, header.tokens_crc);
  put(bytes, 84, header.documents_crc);
  if (header.has_loss_mask()) {
    put(bytes, 88, header.loss_mask_offset);
    put(bytes, 96, header.num_trained_tokens);
    put(bytes, 104, header.loss_mask_crc);
  }
  put(bytes, kHeaderCrcOffset, crc32(std::span(bytes).first(kHeaderCrcOffset)));
  return bytes;
}

uint32_t token_width_bytes(uint64_t vocab_size) { return vocab_size <= (uint64_t{1} << 16) ? 2 : 4; }

ShardWriter::ShardWriter(const std::filesystem::path& path, uint64_t vocab_size, uint64_t tokenizer_fingerprint,
                         int64_t end_of_text_id, bool has_loss_mask)
    : file_(path), has_loss_mask_(has_loss_mask) {
  check(vocab_size >= 1 && vocab_size < kMaxVocabSize, ErrorKind::invalid_argument,
        "{}: a vocabulary of {} tokens, expected 1 to {}", path.string(), vocab_size, kMaxVocabSize - 1);
  check(end_of_text_id >= -1 && end_of_text_id < static_cast<int64_t>(vocab_size), ErrorKind::invalid_argument,
        "{}: end-of-text id {} in a vocabulary of {}", path.string(), end_of_text_id, vocab_size);
  header_.token_width_bytes = token_width_bytes(vocab_size);
  header_.vocab_size = vocab_size;
  header_.tokenizer_fingerprint = tokenizer_fingerprint;
  header_.end_of_text_id = end_of_text_id;
  header_.tokens_offset = kShardHeaderBytes;
  file_.write(std::vector<std::byte>(kShardHeaderBytes));
}

void ShardWriter::append(int32_t token) {
  check(token >= 0 && static_cast<uint64_t>(token) < header_.vocab_size, ErrorKind::invalid_argument,
        "token id {} of document {} is outside the vocabulary of {}", token, header_.num_documents, header_.vocab_size);
  std::byte bytes[4];
  std::memcpy(bytes, &token, sizeof token);
  buffer_.insert(buffer_.end(), bytes, bytes + header_.token_width_bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void ShardWriter::flush() {
  header_.tokens_crc = crc32(buffer_, header_.tokens_crc);
  file_.write(buffer_);
  buffer_.clear();
}

void ShardWriter::append_to_mask(uint64_t token_index, bool is_trained) {
  if (token_index / 8 >= loss_mask_.size()) loss_mask_.push_back(0);
  if (!is_trained) return;
  loss_mask_.back() = static_cast<uint8_t>(loss_mask_.back() | 1u << token_index % 8);
  header_.num_trained_tokens += 1;
}

void ShardWriter::add_document(std::span<const int32_t> tokens, uint64_t text_bytes) {
  add_document(tokens, has_loss_mask_ ? std::vector<uint8_t>(tokens.size(), 1) : std::vector<uint8_t>(), text_bytes);
}

void ShardWriter::add_document(std::span<const int32_t> tokens, std::span<const uint8_t> is_trained,
                               uint64_t text_bytes) {
  check(is_trained.size() == (has_loss_mask_ ? tokens.size() : 0), ErrorKind::invalid_argument,
        "document {} has {} tokens and a loss mask of {}", header_.num_documents, tokens.size(), is_trained.size());
  check(!tokens.empty(), ErrorKind::invalid_argument, "document {} has no tokens", header_.num_documents);
  document_starts_.push_back(header_.num_tokens);
  const bool has_mark = header_.end_of_text_id >= 0;
  if (has_mark) append(static_cast<int32_t>(header_.end_of_text_id));
  for (const int32_t token : tokens) append(token);
  if (has_loss_mask_) {
    uint64_t index = header_.num_tokens;
    if (has_mark) append_to_mask(index++, false);
    for (const uint8_t trained : is_trained) append_to_mask(index++, trained != 0);
  }
  header_.num_tokens += tokens.size() + (has_mark ? 1 : 0);
  header_.num_documents += 1;
  header_.text_bytes += text_bytes;
}

void ShardWriter::write_loss_mask() {
  loss_mask_.resize(loss_mask_bytes(header_.num_tokens));
  header_.loss_mask_offset = file_.position();
  const auto mask = std::as_bytes(std::span(loss_mask_));
  header_.loss_mask_crc = crc32(mask);
  file_.write(mask);
}

void ShardWriter::commit() {
  flush();
  header_.documents_offset = round_up_to_8(file_.position());
  file_.write(std::vector<std::byte>(header_.documents_offset - file_.position()));
  const auto index = std::as_bytes(std::span(document_starts_));
  header_.documents_crc = crc32(index);
  file_.write(index);
  if (has_loss_mask_) write_loss_mask();
  file_.write_at(0, encode_shard_header(header_));
  file_.commit();
}

ShardReader::ShardReader(const std::filesystem::path& path) : file_(path, MappedFile::Access::random) {
  header_ = decode_header(file_.bytes(), where());
  check_layout();
  check_document_index();
}

void ShardReader::check_layout() const {
  const ShardHeader& h = header_;
  check(h.vocab_size >= 1 && h.vocab_size < kMaxVocabSize, ErrorKind::corrupt_file, "{}: a vocabulary of {} tokens",
        where(), h.vocab_size);
  check(h.token_width_bytes == token_width_bytes(h.vocab_size), ErrorKind::corrupt_file,
        "{}: {} bytes per token, but a vocabulary of {} takes {}", where(), h.token_width_bytes, h.vocab_size,
        token_width_bytes(h.vocab_size));
  check(h.end_of_text_id >= -1 && h.end_of_text_id < static_cast<int64_t>(h.vocab_size), ErrorKind::corrupt_file,
        "{}: end-of-text id {} in a vocabulary of {}", where(), h.end_of_text_id, h.vocab_size);
  // The two counts are bounded by the file's size first, so that the sums below cannot overflow.
  const uint64_t size = file_.size();
  check(h.num_tokens <= size / h.token_width_bytes && h.num_documents <= size / 8, ErrorKind::corrupt_file,
        "{}: {} tokens and {} documents do not fit into {} bytes", where(), h.num_tokens, h.num_documents, size);
  const uint64_t documents_offset = round_up_to_8(kShardHeaderBytes + h.num_tokens * h.token_width_bytes);
  check(h.tokens_offset == kShardHeaderBytes && h.documents_offset == documents_offset, ErrorKind::corrupt_file,
        "{}: sections at bytes {} and {}, expected {} and {}", where(), h.tokens_offset, h.documents_offset,
        kShardHeaderBytes, documents_offset);
  const uint64_t documents_end = documents_offset + 8 * h.num_documents;
  check(!h.has_loss_mask() || h.loss_mask_offset == documents_end, ErrorKind::corrupt_file,
        "{}: loss mask at byte {}, expected {}", where(), h.loss_mask_offset, documents_end);
  check(h.num_trained_tokens <= h.num_tokens, ErrorKind::corrupt_file, "{}: {} trained tokens of {}", where(),
        h.num_trained_tokens, h.num_tokens);
  const uint64_t needed = documents_end + (h.has_loss_mask() ? loss_mask_bytes(h.num_tokens) : 0);
  check(size == needed, ErrorKind::corrupt_file, "{} has {} bytes, its header needs {} (is the file cut short?)",
        where(), size, needed);
}

void ShardReader::check_document_index() const {
  check((header_.num_documents == 0) == (header_.num_tokens == 0), ErrorKind::corrupt_file,
        "{}: {} tokens in {} documents", where(), header_.num_tokens, header_.num_documents);
  for (uint64_t i = 0; i < header_.num_documents; ++i) {
    const uint64_t start = document_start(i);
    const bool rises = i == 0 ? start == 0 : start > document_start(i - 1);
    check(rises && start < header_.num_tokens, ErrorKind::corrupt_file,
          "{}: document {} begins at token {} (the one before at {}, {} tokens in all)", where(), i, start,
          i == 0 ? 0 : document_start(i - 1), header_.num_tokens);
    // An index may be larger than the memory this process may use.
    if (i % kReleaseDocuments == 0) file_.release_pages(header_.documents_offset, 8 * i);
  }
}

void ShardReader::copy_tokens(uint64_t begin, uint64_t count, int32_t* out) const {
  check(begin <= header_.num_tokens && count <= header_.num_tokens - begin, ErrorKind::invalid_argument,
        "{}: tokens {} to {} asked, it has {}", where(), begin, begin + count, header_.num_tokens);
  const std::byte* source = file_.bytes().data() + header_.tokens_offset + begin * header_.token_width_bytes;
  uint32_t largest = 0;
  if (header_.token_width_bytes == 2) {
    for (uint64_t i = 0; i < count; ++i) {
      uint16_t token;
      std::memcpy(&token, source + 2 * i, 2);
      out[i] = token;
      largest = std::max<uint32_t>(largest, token);
    }
  } else {
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t token;
      std::memcpy(&token, source + 4 * i, 4);
      out[i] = static_cast<int32_t>(token);
      largest = std::max(largest, token);
    }
  }
  check(count == 0 || largest < header_.vocab_size, ErrorKind::corrupt_file,
        "{}: token id {} between tokens {} and {}, the vocabulary has {}", where(), largest, begin, begin + count,
        header_.vocab_size);
}

void ShardReader::copy_loss_mask(uint64_t begin, uint64_t count, uint8_t* out) const {
  check(begin <= header_.num_tokens && count <= header_.num_tokens - begin, ErrorKind::invalid_argument,
        "{}: the mask of tokens {} to {} asked, it has {}", where(), begin, begin + count, header_.num_tokens);
  if (!header_.has_loss_mask()) {
    std::fill_n(out, count, uint8_t{1});
    return;
  }
  const std::byte* mask = file_.bytes().data() + header_.loss_mask_offset;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t token = begin + i;
    out[i] = static_cast<uint8_t>(static_cast<unsigned>(mask[token / 8]) >> token % 8 & 1u);
  }
}

uint64_t ShardReader::document_start(uint64_t i) const {
  if (i >= header_.num_documents) return header_.num_tokens;
  return get<uint64_t>(file_.bytes(), header_.documents_offset + 8 * i);
}

uint64_t ShardReader::first_document_from(uint64_t token) const {
  uint64_t low = 0, high = header_.num_documents;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (document_start(middle) < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void ShardReader::verify() const {
  const auto bytes = file_.bytes();
  uint32_t crc = 0;
  std::vector<int32_t> chunk(kVerifyChunkTokens);
  for (uint64_t begin = 0; begin < header_.num_tokens; begin += kVerifyChunkTokens) {
    const uint64_t count = std::min(kVerifyChunkTokens, header_.num_tokens - begin);
    const uint64_t offset = header_.tokens_offset + begin * header_.token_width_bytes;
    crc = crc32(bytes.subspan(offset, count * header_.token_width_bytes), crc);
    file_.release_pages(offset, count * header_.token_width_bytes);
  }
  check(crc == header_.tokens_crc, ErrorKind::corrupt_file,
        "{}: the tokens have checksum {:08x}, the header says {:08x}", where(), crc, header_.tokens_crc);
  crc = crc32(bytes.subspan(header_.documents_offset, 8 * header_.num_documents));
  check(crc == header_.documents_crc, ErrorKind::corrupt_file,
        "{}: the document index has checksum {:08x}, the header says {:08x}", where(), crc, header_.documents_crc);
  for (uint64_t begin = 0; begin < header_.num_tokens; begin += kVerifyChunkTokens) {
    copy_tokens(begin, std::min(kVerifyChunkTokens, header_.num_tokens - begin), chunk.data());
  }
  for (uint64_t i = 0; header_.end_of_text_id >= 0 && i < header_.num_documents; ++i) {
    int32_t first = 0;
    copy_tokens(document_start(i), 1, &first);
    check(first == header_.end_of_text_id, ErrorKind::corrupt_file,
          "{}: document {} begins with token {}, expected end-of-text {}", where(), i, first, header_.end_of_text_id);
  }
  if (header_.has_loss_mask()) verify_loss_mask();
  release_pages();
}

void ShardReader::verify_loss_mask() const {
  const auto mask = file_.bytes().subspan(header_.loss_mask_offset);
  const uint32_t crc = crc32(mask);
  check(crc == header_.loss_mask_crc, ErrorKind::corrupt_file,
        "{}: the loss mask has checksum {:08x}, the header says {:08x}", where(), crc, header_.loss_mask_crc);
  uint64_t num_trained = 0;
  for (const std::byte byte : mask) num_trained += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
  check(num_trained == header_.num_trained_tokens, ErrorKind::corrupt_file,
        "{}: the loss mask trains {} tokens, the header says {}", where(), num_trained, header_.num_trained_tokens);
}

}  // namespace owlet
