// Any bytes as a token shard: read or refused with an Error, nothing else. The first byte chooses how much is mended,
// so that what lies behind the magic number and the checksums is reached as well.
#include <cstring>
#include <vector>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "data/shard.hpp"
#include "fuzz_file.hpp"

namespace {

constexpr size_t kHeaderCrcOffset = 124;

/// Makes magic number, version, sizes of the sections and the header's checksum agree with the bytes there are.
void mend(std::vector<uint8_t>& bytes, bool mends_layout) {
  if (bytes.size() < owlet::kShardHeaderBytes) return;
  std::memcpy(bytes.data(), "OWLETSHD", 8);
  bytes[8] = static_cast<uint8_t>(1 + bytes[8] % 2);
  std::memset(bytes.data() + 9, 0, 3);
  const auto put = [&](size_t offset, uint64_t value, size_t width) {
    std::memcpy(bytes.data() + offset, &value, width);
  };
  if (mends_layout && bytes[8] == 1) {
    // Two bytes per token; half of what follows the header is tokens, half is the document index.
    const uint64_t num_documents = (bytes.size() - owlet::kShardHeaderBytes) / 16;
    const uint64_t index = owlet::kShardHeaderBytes + num_documents * 8;
    bytes.resize(index + num_documents * 8);
    put(12, 2, 4);
    put(40, num_documents * 4, 8);
    put(48, num_documents, 8);
    put(64, owlet::kShardHeaderBytes, 8);
    put(72, index, 8);
    put(80, owlet::crc32(std::as_bytes(std::span(bytes)).subspan(owlet::kShardHeaderBytes, num_documents * 8)), 4);
    put(84, owlet::crc32(std::as_bytes(std::span(bytes)).subspan(index)), 4);
  }
  put(kHeaderCrcOffset, owlet::crc32(std::as_bytes(std::span(bytes)).first(kHeaderCrcOffset)), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t count) {
  if (count == 0) return 0;
  std::vector<uint8_t> bytes(data + 1, data + count);
  if (data[0] % 4 != 0) mend(bytes, data[0] % 4 > 1);
  const auto path = owlet::fuzz_file(bytes.data(), bytes.size());
  try {
    const owlet::ShardReader shard(path);
    std::vector<int32_t> tokens(shard.header().num_tokens);
    shard.copy_tokens(0, tokens.size(), tokens.data());
    std::vector<uint8_t> is_trained(tokens.size());
    shard.copy_loss_mask(0, is_trained.size(), is_trained.data());
    shard.first_document_from(shard.header().num_tokens / 2);
    shard.verify();
  } catch (const owlet::Error&) {
  }
  return 0;
}
