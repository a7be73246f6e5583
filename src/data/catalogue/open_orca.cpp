// FLAN tasks answered by GPT-4 and GPT-3.5 with their reasoning (2023, after arXiv 2306.02707).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> open_orca_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "open-orca",
                  .repo = "Open-Orca/OpenOrca",
                  .licence = "MIT",
                  .kind = DatasetKind::instruction,
                  .format = "parquet",
                  .layout = "prompt-completion",
                  .bytes = 4'100'000'000,
                  .content = "4.2 M requests with system prompts",
                  .purpose = "a large, varied set of answers that explain themselves",
                  .parts = {{"train", "1M-GPT4-Augmented.parquet"}, {"train", "3_5M-GPT3_5-Augmented.parquet"}}});
  return sets;
}

}  // namespace owlet
