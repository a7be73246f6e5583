// A shard: one file of tokenised documents, written as a stream and read through a memory mapping.
//
// Layout, all little-endian:
//   0   "OWLETSHD"                     64  u64 offset of the tokens (128)
//   8   u32 version (1, or 2 with      72  u64 offset of the document index (a multiple of 8)
//       a loss mask)                   80  u32 CRC-32 of the tokens
//   12  u32 bytes per token (2 or 4)   84  u32 CRC-32 of the document index
//   16  u64 vocabulary size            88  version 1: 36 bytes of 0; version 2:
//   24  u64 tokenizer fingerprint      88  u64 offset of the loss mask (behind the document index)
//   32  i64 end-of-text id, or -1      96  u64 number of trained tokens
//   40  u64 number of tokens           104 u32 CRC-32 of the loss mask, then 16 bytes of 0
//   48  u64 number of documents        124 u32 CRC-32 of bytes 0 to 123
//   56  u64 bytes of text              128 tokens: u16 where every id fits, else u32
//                                      …   document index: u64 start of each document, in tokens, rising from 0
//                                      …   loss mask: bit i % 8 of byte i / 8 is 1 where token i is trained; unused
//                                          bits and bytes up to a multiple of 8 bytes are 0
//
// Each document is stored as [end-of-text, its tokens…]: the token marks the beginning of this document and is what the
// last token of the one before has to predict. A tokenizer without end-of-text stores the bare tokens.
// Shards of conversations carry a loss mask: only the assistant's text and the token that ends it are trained. They are
// written without end-of-text id, because what a conversation begins with is the chat template's affair.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/mapped_file.hpp"

namespace owlet {

/// What a shard says about itself.
struct ShardHeader {
  uint32_t token_width_bytes = 0;
  uint64_t vocab_size = 0;
  uint64_t tokenizer_fingerprint = 0;
  int64_t end_of_text_id = -1;
  uint64_t num_tokens = 0;  ///< end-of-text tokens included
  uint64_t num_documents = 0;
  uint64_t text_bytes = 0;
  uint64_t tokens_offset = 0, documents_offset = 0;
  uint32_t tokens_crc = 0, documents_crc = 0;
  uint64_t loss_mask_offset = 0;  ///< 0: no mask, every token is trained
  uint64_t num_trained_tokens = 0;
  uint32_t loss_mask_crc = 0;
  bool has_loss_mask() const { return loss_mask_offset != 0; }
};

/// The header as it stands in the file, for who writes the sections itself.
std::vector<std::byte> encode_shard_header(const ShardHeader& header);
inline constexpr uint64_t kShardHeaderBytes = 128;

/// Writes one shard; memory: a small buffer, 8 bytes per document, and one bit per token with a loss mask. Not
/// thread-safe.
class ShardWriter {
 public:
  /// `end_of_text_id` -1: none. Throws invalid_argument for a vocabulary size outside [1, 2^31) or an end-of-text id
  /// outside the vocabulary; io.
  ShardWriter(const std::filesystem::path& path, uint64_t vocab_size, uint64_t tokenizer_fingerprint,
              int64_t end_of_text_id, bool has_loss_mask = false);
  /// Adds a document of at least one token that was made from `text_bytes` bytes. Throws invalid_argument for an empty
  /// one or an id outside the vocabulary; the shard is then to be thrown away. In a shard with a loss mask all of its
  /// tokens are trained, an end-of-text token before it is not.
  void add_document(std::span<const int32_t> tokens, uint64_t text_bytes);
  /// The same for a shard with a loss mask: `is_trained` has a 0 or 1 for each token.
  void add_document(std::span<const int32_t> tokens, std::span<const uint8_t> is_trained, uint64_t text_bytes);
  uint64_t num_tokens() const { return header_.num_tokens; }
  uint64_t num_documents() const { return header_.num_documents; }
  uint64_t text_bytes() const { return header_.text_bytes; }
  /// Tokens with loss; with no mask, all.
  uint64_t num_trained_tokens() const { return has_loss_mask_ ? header_.num_trained_tokens : header_.num_tokens; }
  /// Completes the file and moves it into place.
  void commit();

 private:
  void append(int32_t token);
  void append_to_mask(uint64_t token_index, bool is_trained);
  void write_loss_mask();
  void flush();

  AtomicFile file_;
  ShardHeader header_;
  bool has_loss_mask_;
  std::vector<uint64_t> document_starts_;
  std::vector<std::byte> buffer_;
  std::vector<uint8_t> loss_mask_;
};

/// Reads one shard. Opening checks the header and its checksum, all sizes against the file's, and that the document
/// index rises; copy_tokens() checks every id it gives out, so a damaged file is never read past its end and never
/// yields an id outside the vocabulary. Safe to read from several threads.
class ShardReader {
 public:
  /// Throws not_found, io, or corrupt_file naming the file and both values.
  explicit ShardReader(const std::filesystem::path& path);
  const ShardHeader& header() const { return header_; }
  const std::filesystem::path& path() const { return file_.path(); }
  /// Copies tokens [begin, begin + count) to `out`. Throws invalid_argument past the end, corrupt_file for a bad id.
  void copy_tokens(uint64_t begin, uint64_t count, int32_t* out) const;
  /// Puts 1 for each trained token of [begin, begin + count) into `out`, 0 for the others; all 1 without a mask. Throws
  /// invalid_argument past the end.
  void copy_loss_mask(uint64_t begin, uint64_t count, uint8_t* out) const;
  /// Token at which document i begins; i == num_documents gives num_tokens.
  uint64_t document_start(uint64_t i) const;
  /// The first document that begins at or behind `token` (binary search); num_documents where there is none.
  uint64_t first_document_from(uint64_t token) const;
  /// Reads everything: checksums of all sections, ids, each document beginning with end-of-text, the count of trained
  /// tokens. Throws corrupt_file.
  void verify() const;
  /// Lets the system forget what was read.
  void release_pages() const { file_.release_pages(0, file_.size()); }

 private:
  std::string where() const { return file_.path().string(); }
  void check_layout() const;
  void check_document_index() const;
  void verify_loss_mask() const;

  MappedFile file_;
  ShardHeader header_;
};

/// Bytes per token that a shard of this vocabulary uses: 2 up to 65,536 ids, else 4.
uint32_t token_width_bytes(uint64_t vocab_size);

}  // namespace owlet
