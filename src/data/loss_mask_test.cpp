// Shards with a loss mask, and the batches of whole conversations made from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "data/batch_stream.hpp"
#include "data/token_sequence.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<int32_t>;
using Mask = std::vector<uint8_t>;

struct MaskedDocument {
  Tokens tokens;
  Mask is_trained;
};

fs::path write_shard(const fs::path& path, const std::vector<MaskedDocument>& documents, int64_t mark = -1) {
  ShardWriter writer(path, 10000, 0xfeed, mark, true);
  for (const MaskedDocument& document : documents) writer.add_document(document.tokens, document.is_trained, 1);
  writer.commit();
  return path;
}

Mask mask_of(const ShardReader& shard) {
  Mask mask(shard.header().num_tokens);
  shard.copy_loss_mask(0, mask.size(), mask.data());
  return mask;
}

std::string message_of(const fs::path& path) {
  try {
    ShardReader(path).verify();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(LossMaskTest, ShardKeepsOneBitPerToken) {
  const TemporaryFolder folder;
  const fs::path path =
      write_shard(folder / "a.owl", {{{1, 2, 3}, {0, 1, 1}}, {{4, 5, 6, 7, 8, 9}, {0, 0, 0, 1, 0, 1}}}, 99);
  const ShardReader shard(path);
  EXPECT_TRUE(shard.header().has_loss_mask());
  EXPECT_EQ(shard.header().num_trained_tokens, 4u);
  EXPECT_EQ(mask_of(shard), (Mask{0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1})) << "end-of-text is not trained";
  Mask part(3, 7);
  shard.copy_loss_mask(7, 3, part.data());
  EXPECT_EQ(part, (Mask{0, 1, 0}));
  EXPECT_THROW(shard.copy_loss_mask(9, 3, part.data()), Error);
  EXPECT_THROW(shard.copy_loss_mask(1, UINT64_MAX, part.data()), Error);
  shard.verify();
}

TEST(LossMaskTest, ShardWithoutMaskTrainsEverythingAndStaysVersionOne) {
  const TemporaryFolder folder;
  ShardWriter writer(folder / "a.owl", 100, 0, 99);
  writer.add_document(Tokens{1, 2}, 2);
  EXPECT_THROW(writer.add_document(Tokens{1, 2}, Mask{1, 0}, 2), Error);
  EXPECT_EQ(writer.num_trained_tokens(), 3u);
  writer.commit();
  const ShardReader shard(folder / "a.owl");
  EXPECT_FALSE(shard.header().has_loss_mask());
  EXPECT_EQ(mask_of(shard), (Mask{1, 1, 1}));
  char version = 0;
  std::ifstream(folder / "a.owl", std::ios::binary).seekg(8).get(version);
  EXPECT_EQ(version, 1);
}

TEST(LossMaskTest, WriterRefusesAMaskOfAnotherLength) {
  const TemporaryFolder folder;
  ShardWriter writer(folder / "a.owl", 100, 0, -1, true);
  EXPECT_THROW(writer.add_document(Tokens{1, 2, 3}, Mask{1, 0}, 2), Error);
}

TEST(LossMaskTest, DamagedMaskIsFound) {
  const TemporaryFolder folder;
  const auto patched = [&](uint64_t offset, auto value, bool reseal) {
    const fs::path path = write_shard(folder / "a.owl", {{{1, 2, 3}, {0, 1, 1}}});
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
    if (reseal) {
      std::byte header[124];
      file.seekg(0);
      file.read(reinterpret_cast<char*>(header), sizeof header);
      const uint32_t crc = crc32(header);
      file.seekp(124);
      file.write(reinterpret_cast<const char*>(&crc), 4);
    }
    file.close();
    return message_of(path);
  };
  const uint64_t mask_offset = 144;  // 128 + 6 bytes of tokens, to a multiple of 8, and one document start
  EXPECT_NE(patched(mask_offset, uint8_t{7}, false).find("loss mask has checksum"), std::string::npos);
  EXPECT_NE(patched(96, uint64_t{1}, true).find("trains 2 tokens, the header says 1"), std::string::npos);
  EXPECT_NE(patched(96, uint64_t{4}, true).find("4 trained tokens of 3"), std::string::npos);
  EXPECT_NE(patched(88, uint64_t{8}, true).find("loss mask at byte 8"), std::string::npos);
  EXPECT_NE(patched(88, uint64_t{0}, true).find("without a loss mask"), std::string::npos);
  EXPECT_NE(patched(8, uint32_t{1}, true).find("cut short"), std::string::npos);
  EXPECT_NE(patched(8, uint32_t{3}, true).find("version 3"), std::string::npos);
  fs::resize_file(folder / "a.owl", fs::file_size(folder / "a.owl") - 8);
  EXPECT_NE(message_of(folder / "a.owl"), "");
}

TEST(LossMaskTest, SequenceRefusesMaskedAndPlainShardsTogether) {
  const TemporaryFolder folder;
  ShardWriter writer(folder / "b.owl", 10000, 0xfeed, -1);
  writer.add_document(Tokens{1, 2}, 2);
  writer.commit();
  std::vector<ShardReader> shards;
  shards.emplace_back(write_shard(folder / "a.owl", {{{1, 2}, {0, 1}}}));
  shards.emplace_back(folder / "b.owl");
  EXPECT_THROW(TokenSequence{std::move(shards)}, Error);
}

/// Conversations of the given lengths: document i has the ids 100 (i + 1), 100 (i + 1) + 1, …, its second half is
/// trained.
std::shared_ptr<const TokenSequence> conversations(const fs::path& folder, const std::vector<int32_t>& lengths) {
  std::vector<MaskedDocument> documents;
  for (const int32_t length : lengths) {
    MaskedDocument document{Tokens(static_cast<size_t>(length)), Mask(static_cast<size_t>(length), 0)};
    std::iota(document.tokens.begin(), document.tokens.end(), 100 * static_cast<int32_t>(documents.size() + 1));
    std::fill(document.is_trained.begin() + length / 2, document.is_trained.end(), 1);
    documents.push_back(std::move(document));
  }
  const size_t half = documents.size() / 2;
  std::vector<ShardReader> shards;  // two, so that documents come from both
  shards.emplace_back(write_shard(folder / "0.owl", {documents.begin(), documents.begin() + half}));
  shards.emplace_back(write_shard(folder / "1.owl", {documents.begin() + half, documents.end()}));
  return std::make_shared<const TokenSequence>(std::move(shards));
}

const std::vector<int32_t> kLengths = {3, 9, 16, 2, 7, 5, 8, 11, 4, 6, 12, 3, 10, 2, 15, 1};

/// Checks a row of whole documents and returns their numbers.
std::vector<int32_t> check_row(const Batch& batch, int64_t row, const std::vector<int32_t>& lengths) {
  std::vector<int32_t> documents;
  int64_t t = 0;
  const auto at = [&](const std::vector<int32_t>& values, int64_t place) {
    return values[static_cast<size_t>(row * batch.context + place)];
  };
  while (t < batch.context) {
    const int32_t first = at(batch.inputs, t), document = first / 100 - 1;
    if (first == 0) break;  // padding
    documents.push_back(document);
    const int32_t length = lengths[static_cast<size_t>(document)];
    EXPECT_EQ(first % 100, 0) << "a document begins at its beginning";
    for (int32_t i = 0; i < length; ++i) {
      EXPECT_EQ(at(batch.inputs, t + i), first + i);
      EXPECT_EQ(at(batch.positions, t + i), i);
      EXPECT_EQ(at(batch.document_starts, t + i), t);
      const bool has_target = i + 1 < length && i + 1 >= length / 2;
      EXPECT_EQ(at(batch.targets, t + i), has_target ? first + i + 1 : -1);
    }
    t += length;
  }
  for (int64_t padding = t; padding < batch.context; ++padding) EXPECT_EQ(at(batch.targets, padding), -1);
  return documents;
}

int64_t count_targets(const Batch& batch) {
  return std::count_if(batch.targets.begin(), batch.targets.end(), [](int32_t target) { return target >= 0; });
}

TEST(ConversationStreamTest, WholeConversationsEachOncePerEpoch) {
  const TemporaryFolder folder;
  const auto tokens = conversations(folder.path(), kLengths);
  const auto stream = make_training_stream(tokens, {.batch_size = 1, .context = 16, .seed = 5});
  std::set<std::vector<int32_t>> orders;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int32_t> seen;
    while (stream->state().epoch == epoch) {
      const Batch batch = stream->next();
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.num_valid, count_targets(batch));
      for (const int32_t document : check_row(batch, 0, kLengths)) seen.push_back(document);
    }
    orders.insert(seen);
    std::sort(seen.begin(), seen.end());
    std::vector<int32_t> all(kLengths.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
  }
  EXPECT_EQ(orders.size(), 3u) << "every epoch has its own order";
}

TEST(ConversationStreamTest, SeekGoesOnWhereStateWas) {
  const TemporaryFolder folder;
  const auto tokens = conversations(folder.path(), kLengths);
  const TrainingStreamOptions options{.batch_size = 3, .context = 16, .seed = 5};
  const auto stream = make_training_stream(tokens, options);
  for (int i = 0; i < 7; ++i) {
    const BatchStreamState place = stream->state();
    const Batch expected = stream->next();
    const auto other = make_training_stream(tokens, options);
    other->seek(place);
    const Batch batch = other->next();
    EXPECT_EQ(batch.inputs, expected.inputs);
    EXPECT_EQ(batch.targets, expected.targets);
    EXPECT_EQ(other->state(), stream->state());
  }
  EXPECT_THROW(stream->seek({0, 1000}), Error);
}

TEST(ConversationStreamTest, PacksTightly) {
  const TemporaryFolder folder;
  std::vector<int32_t> lengths;
  for (int i = 0; i < 90; ++i) lengths.push_back(2 + (i * 37) % 60);
  const auto tokens = conversations(folder.path(), lengths);
  const DocumentPacker packer(*tokens, 100, "training");
  const DocumentPacker::Rows rows = packer.shuffled_rows(1, 0);
  EXPECT_LE(rows.size(), (tokens->num_tokens() * 11 / 10 + 99) / 100) << "a tenth of the room may be lost";
}

TEST(ConversationStreamTest, TooLongOnesAreNamedAndRefused) {
  const TemporaryFolder folder;
  const auto tokens = conversations(folder.path(), kLengths);
  try {
    make_training_stream(tokens, {.batch_size = 1, .context = 11});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "3 of 16 training conversations are longer than the context of 11 tokens, the longest has 16");
    EXPECT_NE(error.hint().find("--too-long"), std::string::npos);
  }
  EXPECT_THROW(EvaluationStream(tokens, {}, {.batch_size = 1, .context = 11}), Error);
}

TEST(ConversationStreamTest, CrossDocumentsOnlyWhereAsked) {
  const TemporaryFolder folder;
  const auto tokens = conversations(folder.path(), {3, 4});
  const auto stream = make_training_stream(tokens, {.batch_size = 1, .context = 9, .cross_documents = true});
  const Batch batch = stream->next();
  EXPECT_EQ(batch.document_starts, (Tokens{0, 0, 0, 0, 0, 0, 0, 7, 7}));
  EXPECT_EQ(batch.positions, (Tokens{0, 1, 2, 3, 4, 5, 6, 0, 1}));
}

TEST(ConversationStreamTest, EvaluationScoresEachTrainedTokenOnce) {
  const TemporaryFolder folder;
  const auto tokens = conversations(folder.path(), kLengths);
  int64_t expected = 0;  // the first token of a document is never a target
  for (const int32_t length : kLengths) expected += length - std::max(1, length / 2);
  for (const int64_t batch_size : {1, 2, 5}) {
    const EvaluationStream stream(tokens, std::vector<int32_t>(10000, 2), {.batch_size = batch_size, .context = 20});
    int64_t valid = 0, bytes = 0;
    std::vector<int32_t> seen;
    for (int64_t i = 0; i < stream.num_batches(); ++i) {
      const Batch batch = stream.batch(i);
      EXPECT_EQ(batch.num_valid, count_targets(batch));
      valid += batch.num_valid;
      bytes += batch.target_bytes;
      for (int64_t row = 0; row < batch.batch_size; ++row) {
        for (const int32_t document : check_row(batch, row, kLengths)) seen.push_back(document);
      }
    }
    EXPECT_EQ(valid, expected);
    EXPECT_EQ(bytes, 2 * expected);
    EXPECT_EQ(std::set<int32_t>(seen.begin(), seen.end()).size(), kLengths.size());
  }
}

}  // namespace
}  // namespace owlet
