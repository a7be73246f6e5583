#include "data/seen_documents.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

TEST(SeenDocuments, HashesTellDocumentsApartAndKeepTheSide) {
  const DocumentHash a = hash_document("a"), b = hash_document("b");
  EXPECT_FALSE(a.is_same_document(b));
  EXPECT_TRUE(a.with_side(true).is_same_document(a.with_side(false)));
  EXPECT_TRUE(a.with_side(true).is_validation());
  EXPECT_FALSE(a.with_side(false).is_validation());
  EXPECT_EQ(hash_document("").high, 0x141cfc9842c4b0e3u);  // SHA-256 of nothing: e3b0c44298fc1c14…
}

TEST(SeenDocuments, FindsEveryEarlierOneWithLittleMemory) {
  const TemporaryFolder folder;
  // A table of 1,024 hashes: 40,000 documents make 50 runs, merged many times.
  SeenDocuments seen(folder.path(), 1);
  const auto hash_of = [](int i) { return hash_document(std::to_string(i)).with_side(i % 3 == 0); };
  constexpr int kDocuments = 40000;
  for (int i = 0; i < kDocuments; ++i) {
    ASSERT_FALSE(seen.find_or_insert(hash_of(i))) << i;
    if (i % 7 == 0) {
      const auto found = seen.find_or_insert(hash_of(i / 2));
      ASSERT_TRUE(found) << i;
      EXPECT_EQ(found->is_validation(), (i / 2) % 3 == 0);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<uint64_t>(kDocuments));
  EXPECT_LE(seen.num_runs(), 8u);
  for (int i = 0; i < kDocuments; ++i) ASSERT_TRUE(seen.find_or_insert(hash_of(i).with_side(true))) << i;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // its files have no names
}

}  // namespace
}  // namespace owlet
