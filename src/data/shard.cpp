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
constexpr uint32_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 128, kHeaderCrcOffset = 124;
constexpr uint64_t kMaxVocabSize = uint64_t{1} << 31;
constexpr size_t kBufferBytes = size_t{1} << 18;
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

std::vector<std::byte> encode_header(const ShardHeader& header) {
  std::vector<std::byte> bytes(kHeaderBytes);
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  put(bytes, 8, kVersion);
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
  put(bytes, kHeaderCrcOffset, crc32(std::span(bytes).first(kHeaderCrcOffset)));
  return bytes;
}

ShardHeader decode_header(std::span<const std::byte> bytes, const std::string& where) {
  check(bytes.size() >= kHeaderBytes, ErrorKind::corrupt_file, "{}: {} bytes are too few for a shard (header: {})",
        where, bytes.size(), kHeaderBytes);
  check(std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0, ErrorKind::corrupt_file, "{} is no Owlet shard", where);
  const uint32_t crc = get<uint32_t>(bytes, kHeaderCrcOffset);
  const uint32_t computed = crc32(bytes.first(kHeaderCrcOffset));
  check(crc == computed, ErrorKind::corrupt_file, "{}: the header's checksum is {:08x}, but its bytes give {:08x}",
        where, crc, computed);
  const uint32_t version = get<uint32_t>(bytes, 8);
  check(version == kVersion, ErrorKind::unsupported, "{}: shard version {}, this program reads {}", where, version,
        kVersion);
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
  return header;
}

uint64_t round_up_to_8(uint64_t value) { return (value + 7) / 8 * 8; }

}  // namespace

uint32_t token_width_bytes(uint64_t vocab_size) { return vocab_size <= (uint64_t{1} << 16) ? 2 : 4; }

ShardWriter::ShardWriter(const std::filesystem::path& path, uint64_t vocab_size, uint64_t tokenizer_fingerprint,
                         int64_t end_of_text_id)
    : file_(path) {
  check(vocab_size >= 1 && vocab_size < kMaxVocabSize, ErrorKind::invalid_argument,
        "{}: a vocabulary of {} tokens, expected 1 to {}", path.string(), vocab_size, kMaxVocabSize - 1);
  check(end_of_text_id >= -1 && end_of_text_id < static_cast<int64_t>(vocab_size), ErrorKind::invalid_argument,
        "{}: end-of-text id {} in a vocabulary of {}", path.string(), end_of_text_id, vocab_size);
  header_.token_width_bytes = token_width_bytes(vocab_size);
  header_.vocab_size = vocab_size;
  header_.tokenizer_fingerprint = tokenizer_fingerprint;
  header_.end_of_text_id = end_of_text_id;
  header_.tokens_offset = kHeaderBytes;
  file_.write(std::vector<std::byte>(kHeaderBytes));
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

void ShardWriter::add_document(std::span<const int32_t> tokens, uint64_t text_bytes) {
  check(!tokens.empty(), ErrorKind::invalid_argument, "document {} has no tokens", header_.num_documents);
  document_starts_.push_back(header_.num_tokens);
  const bool has_mark = header_.end_of_text_id >= 0;
  if (has_mark) append(static_cast<int32_t>(header_.end_of_text_id));
  for (const int32_t token : tokens) append(token);
  header_.num_tokens += tokens.size() + (has_mark ? 1 : 0);
  header_.num_documents += 1;
  header_.text_bytes += text_bytes;
}

void ShardWriter::commit() {
  flush();
  header_.documents_offset = round_up_to_8(file_.position());
  file_.write(std::vector<std::byte>(header_.documents_offset - file_.position()));
  const auto index = std::as_bytes(std::span(document_starts_));
  header_.documents_crc = crc32(index);
  file_.write(index);
  file_.write_at(0, encode_header(header_));
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
  const uint64_t documents_offset = round_up_to_8(kHeaderBytes + h.num_tokens * h.token_width_bytes);
  check(h.tokens_offset == kHeaderBytes && h.documents_offset == documents_offset, ErrorKind::corrupt_file,
        "{}: sections at bytes {} and {}, expected {} and {}", where(), h.tokens_offset, h.documents_offset,
        kHeaderBytes, documents_offset);
  check(size == documents_offset + 8 * h.num_documents, ErrorKind::corrupt_file,
        "{} has {} bytes, its header needs {} (is the file cut short?)", where(), size,
        documents_offset + 8 * h.num_documents);
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
  crc = crc32(bytes.subspan(header_.documents_offset));
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
  release_pages();
}

}  // namespace owlet
