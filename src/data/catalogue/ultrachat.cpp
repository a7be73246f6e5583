// Conversations of several turns by GPT-3.5, filtered (Zephyr's set; Ding et al., 2023, arXiv 2305.14233).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> ultrachat_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "ultrachat",
                  .repo = "HuggingFaceH4/ultrachat_200k",
                  .licence = "MIT",
                  .kind = DatasetKind::chat,
                  .format = "parquet",
                  .layout = "messages",
                  .bytes = 813'000'000,
                  .content = "231,000 conversations",
                  .purpose = "teach a model to stay in a conversation over several turns",
                  .parts = {{"train", "data/train_sft-*.parquet"}, {"test", "data/test_sft-*.parquet"}}});
  return sets;
}

}  // namespace owlet
