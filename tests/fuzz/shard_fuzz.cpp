// Any bytes as a token shard: read or refused with an Error, nothing else.
#include "base/error.hpp"
#include "data/shard.hpp"
#include "fuzz_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  const auto path = owlet::fuzz_file(bytes, count);
  try {
    const owlet::ShardReader shard(path);
    std::vector<int32_t> tokens(shard.header().num_tokens);
    shard.copy_tokens(0, tokens.size(), tokens.data());
    std::vector<uint8_t> is_trained(tokens.size());
    shard.copy_loss_mask(0, is_trained.size(), is_trained.data());
    shard.verify();
  } catch (const owlet::Error&) {
  }
  return 0;
}
