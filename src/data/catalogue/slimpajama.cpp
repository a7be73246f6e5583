// RedPajama cleaned and without duplicates (Cerebras, 2023). Its seven sources keep their own licences.
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> slimpajama_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back(
      {.name = "slimpajama",
       .repo = "cerebras/SlimPajama-627B",
       .licence = "by source, see the set's page",
       .kind = DatasetKind::text,
       .format = "jsonl.zst",
       .layout = "text",
       .bytes = 895'000'000'000,
       .content = "627 billion tokens in 59,166 files",
       .purpose = "a broad mix (web, code, books, papers, Wikipedia); take a part with --max-files",
       .parts = {
           {"train", "train/*.jsonl.zst"}, {"validation", "validation/*.jsonl.zst"}, {"test", "test/*.jsonl.zst"}}});
  sets.push_back({.name = "slimpajama-6b",
                  .repo = "DKYoon/SlimPajama-6B",
                  .licence = "by source, see the set's page",
                  .kind = DatasetKind::text,
                  .format = "parquet",
                  .layout = "text",
                  .bytes = 14'000'000'000,
                  .content = "about 6 billion tokens, a random hundredth",
                  .purpose = "the same mix at a size for one computer",
                  .parts = {{"train", "data/train-*.parquet"},
                            {"validation", "data/validation-*.parquet"},
                            {"test", "data/test-*.parquet"}}});
  return sets;
}

}  // namespace owlet
