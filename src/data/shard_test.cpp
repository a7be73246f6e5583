#include "data/shard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "data/token_sequence.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<int32_t>;

class ShardTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("owlet-shard-{}", getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::vector<Tokens>& documents, uint64_t vocab_size, int64_t end_of_text_id,
                 const std::string& name = "a.owl") {
    ShardWriter writer(folder_ / name, vocab_size, 0xfeed, end_of_text_id);
    for (const Tokens& document : documents) writer.add_document(document, document.size() * 3);
    writer.commit();
    return folder_ / name;
  }

  /// Overwrites bytes of a file; with `reseal` the header's checksum is made right again, as an attacker would.
  template <typename T>
  static void patch(const fs::path& path, uint64_t offset, T value, bool reseal = true) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
    if (!reseal) return;
    std::byte header[124];
    file.seekg(0);
    file.read(reinterpret_cast<char*>(header), sizeof header);
    const uint32_t crc = crc32(header);
    file.seekp(124);
    file.write(reinterpret_cast<const char*>(&crc), 4);
  }

  /// A shard of one document of zeros that takes no room on the disk; empty where the file system has no holes.
  fs::path write_sparse(uint64_t num_tokens) {
    const fs::path path = write({{5, 6, 7}}, 100, 99);
    std::error_code error;
    fs::resize_file(path, 128 + 2 * num_tokens + 8, error);
    if (error) return {};
    patch(path, 128 + 8, uint64_t{0});  // where the index was
    patch(path, 40, num_tokens);
    patch(path, 72, 128 + 2 * num_tokens);
    return path;
  }

  static std::string message_of(const fs::path& path, bool verify = false) {
    try {
      const ShardReader shard(path);
      if (verify) shard.verify();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  fs::path folder_;
};

Tokens read_all(const TokenSequence& sequence) {
  Tokens tokens(sequence.num_tokens());
  sequence.copy_tokens(0, tokens.size(), tokens.data());
  return tokens;
}

TEST_F(ShardTest, KeepsDocumentsBehindTheirMarks) {
  const ShardReader shard(write({{5, 6, 7}, {8}, {9, 10}}, 100, 99));
  EXPECT_EQ(shard.header().token_width_bytes, 2u);
  EXPECT_EQ(shard.header().num_tokens, 9u);
  EXPECT_EQ(shard.header().num_documents, 3u);
  EXPECT_EQ(shard.header().text_bytes, 18u);
  EXPECT_EQ(shard.header().tokenizer_fingerprint, 0xfeedu);
  Tokens tokens(9);
  shard.copy_tokens(0, 9, tokens.data());
  EXPECT_EQ(tokens, (Tokens{99, 5, 6, 7, 99, 8, 99, 9, 10}));
  EXPECT_EQ(shard.document_start(1), 4u);
  EXPECT_EQ(shard.document_start(3), 9u);
  EXPECT_EQ(shard.first_document_from(0), 0u);
  EXPECT_EQ(shard.first_document_from(1), 1u);
  EXPECT_EQ(shard.first_document_from(4), 1u);
  EXPECT_EQ(shard.first_document_from(7), 3u);
  shard.verify();
  EXPECT_THROW(shard.copy_tokens(0, 10, tokens.data()), Error);
  EXPECT_THROW(shard.copy_tokens(10, 0, tokens.data()), Error);
  EXPECT_THROW(shard.copy_tokens(1, UINT64_MAX, tokens.data()), Error);
  shard.copy_tokens(9, 0, tokens.data());
}

TEST_F(ShardTest, ChoosesAndRecordsTheTokenWidth) {
  const Tokens high = {65535, 0};
  EXPECT_EQ(ShardReader(write({high}, 65536, -1)).header().token_width_bytes, 2u);
  const Tokens higher = {65536, 119546, 1};
  const ShardReader wide(write({higher}, 119547, 0));
  EXPECT_EQ(wide.header().token_width_bytes, 4u);
  Tokens tokens(4);
  wide.copy_tokens(0, 4, tokens.data());
  EXPECT_EQ(tokens, (Tokens{0, 65536, 119546, 1}));
  wide.verify();
}

TEST_F(ShardTest, RefusesWrongIdsAndEmptyDocuments) {
  ShardWriter writer(folder_ / "w.owl", 10, 0, 9);
  EXPECT_THROW(writer.add_document(Tokens{10}, 1), Error);
  EXPECT_THROW(writer.add_document(Tokens{-1}, 1), Error);
  EXPECT_THROW(writer.add_document(Tokens{}, 0), Error);
  EXPECT_THROW(ShardWriter(folder_ / "x.owl", 0, 0, -1), Error);
  EXPECT_THROW(ShardWriter(folder_ / "x.owl", uint64_t{1} << 31, 0, -1), Error);
  EXPECT_THROW(ShardWriter(folder_ / "x.owl", 10, 0, 10), Error);
}

TEST_F(ShardTest, EmptyShardIsValid) {
  const ShardReader shard(write({}, 10, 9));
  EXPECT_EQ(shard.header().num_tokens, 0u);
  shard.verify();
}

TEST_F(ShardTest, RefusesDamagedAndHostileFiles) {
  const auto fresh = [&] { return write({{5, 6, 7}, {8}}, 100, 99); };
  const auto patched = [&](uint64_t offset, auto value) {
    const fs::path path = fresh();
    patch(path, offset, value);
    return message_of(path);
  };
  EXPECT_EQ(message_of(fresh(), true), "");
  EXPECT_NE(patched(0, 'X').find("is no Owlet shard"), std::string::npos);
  EXPECT_NE(patched(8, uint32_t{3}).find("version 3"), std::string::npos);
  EXPECT_NE(patched(12, uint32_t{4}).find("4 bytes per token"), std::string::npos);
  EXPECT_NE(patched(12, uint32_t{0}).find("0 bytes per token"), std::string::npos);
  EXPECT_NE(patched(16, uint64_t{0}).find("vocabulary of 0"), std::string::npos);
  EXPECT_NE(patched(32, int64_t{100}).find("end-of-text id 100"), std::string::npos);
  EXPECT_NE(patched(40, uint64_t{9}).find("sections at bytes"), std::string::npos);
  EXPECT_NE(patched(40, UINT64_MAX / 2 + 4).find("do not fit"), std::string::npos);
  EXPECT_NE(patched(48, UINT64_MAX / 8 + 3).find("do not fit"), std::string::npos);
  EXPECT_NE(patched(48, uint64_t{1}).find("cut short"), std::string::npos);
  EXPECT_NE(patched(64, uint64_t{0}).find("sections at bytes"), std::string::npos);
  EXPECT_NE(patched(72, uint64_t{1} << 40).find("sections at bytes"), std::string::npos);

  const uint64_t index = 144;  // 128 + 6 tokens of 2 bytes, rounded up to 8
  EXPECT_NE(patched(index, uint64_t{1}).find("document 0 begins at token 1"), std::string::npos);
  EXPECT_NE(patched(index + 8, uint64_t{0}).find("document 1 begins at token 0"), std::string::npos);
  EXPECT_NE(patched(index + 8, uint64_t{6}).find("document 1 begins at token 6"), std::string::npos);

  const fs::path path = fresh();
  patch(path, 40, uint64_t{5}, false);
  EXPECT_NE(message_of(path).find("checksum"), std::string::npos);
  fresh();
  fs::resize_file(path, 100);
  EXPECT_NE(message_of(path).find("too few"), std::string::npos);
  fresh();
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_NE(message_of(path).find("cut short"), std::string::npos);
}

TEST_F(ShardTest, VerifyFindsDamagedTokens) {
  const auto patched = [&](uint64_t offset, auto value) {
    const fs::path path = write({{5, 6, 7}, {8}}, 100, 99);
    patch(path, offset, value);
    EXPECT_EQ(message_of(path), "");
    return path;
  };
  EXPECT_NE(message_of(patched(130, uint16_t{6}), true).find("tokens have checksum"), std::string::npos);
  EXPECT_NE(message_of(patched(144 + 8, uint64_t{3}), true).find("index has checksum"), std::string::npos);
  const ShardReader shard(patched(130, uint16_t{100}));
  int32_t token = 0;
  EXPECT_THROW(shard.copy_tokens(1, 1, &token), Error);  // never an id outside the vocabulary
}

TEST_F(ShardTest, SequenceJoinsShards) {
  std::vector<ShardReader> shards;
  shards.emplace_back(write({{1, 2}, {3}}, 100, 99, "0.owl"));
  shards.emplace_back(write({}, 100, 99, "1.owl"));
  shards.emplace_back(write({{4, 5, 6}}, 100, 99, "2.owl"));
  const TokenSequence sequence(std::move(shards));
  EXPECT_EQ(sequence.num_tokens(), 9u);
  EXPECT_EQ(sequence.num_documents(), 3u);
  EXPECT_EQ(read_all(sequence), (Tokens{99, 1, 2, 99, 3, 99, 4, 5, 6}));
  for (uint64_t begin = 0; begin <= 9; ++begin) {
    for (uint64_t end = begin; end <= 9; ++end) {
      Tokens tokens(end - begin);
      sequence.copy_tokens(begin, end - begin, tokens.data());
      std::vector<uint64_t> starts, expected;
      sequence.append_document_starts(begin, end, starts);
      for (const uint64_t start : {0, 3, 5}) {
        if (start >= begin && start < end) expected.push_back(start);
      }
      EXPECT_EQ(starts, expected) << begin << " " << end;
      for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], read_all(sequence)[begin + i]);
    }
  }
  Tokens tokens(10);
  EXPECT_THROW(sequence.copy_tokens(0, 10, tokens.data()), Error);
}

TEST_F(ShardTest, SequenceRefusesMixedTokenizers) {
  std::vector<ShardReader> shards;
  shards.emplace_back(write({{1}}, 100, 99, "0.owl"));
  shards.emplace_back(write({{1}}, 101, 99, "1.owl"));
  EXPECT_THROW(TokenSequence{std::move(shards)}, Error);
}

// Token offsets beyond 2^32: a file of 4.5 GB with holes.
TEST_F(ShardTest, ReadsTheLastWindowBehindFourGigabytes) {
  const uint64_t num_tokens = uint64_t{9} << 28;  // 4.5 GiB of two bytes each
  const fs::path path = write_sparse(num_tokens);
  if (path.empty()) GTEST_SKIP() << "no sparse files here";
  patch(path, 128 + 2 * num_tokens - 4, uint32_t{42 | 43 << 16}, false);
  std::vector<ShardReader> shards;
  shards.emplace_back(path);
  const TokenSequence sequence(std::move(shards));
  Tokens tokens(4);
  sequence.copy_tokens(num_tokens - 4, 4, tokens.data());
  EXPECT_EQ(tokens, (Tokens{0, 0, 42, 43}));
  EXPECT_THROW(sequence.copy_tokens(num_tokens - 3, 4, tokens.data()), Error);
}

uint64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  uint64_t total_pages = 0, resident_pages = 0;
  status >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(ShardTest, LongReadingKeepsResidentMemoryFlat) {
  const uint64_t num_tokens = uint64_t{200} << 20;  // 400 MiB
  const fs::path path = write_sparse(num_tokens);
  if (path.empty() || resident_bytes() == 0) GTEST_SKIP() << "no sparse files, or no /proc here";
  std::vector<ShardReader> shards;
  shards.emplace_back(path);
  const TokenSequence sequence(std::move(shards));
  Tokens window(1024);
  const uint64_t before = resident_bytes();
  uint64_t most = before;
  for (uint64_t i = 0; i < 50000; ++i) {
    sequence.copy_tokens(i * 4096, 1024, window.data());  // a new page or two each time
    if (i % 1000 == 0) most = std::max(most, resident_bytes());
  }
  EXPECT_LE(most, before + (uint64_t{64} << 20));
}

}  // namespace
}  // namespace owlet
