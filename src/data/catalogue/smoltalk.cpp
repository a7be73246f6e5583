// Conversations for models of a few hundred million parameters (Allal et al., 2025, arXiv 2502.02737).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> smoltalk_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "smol-smoltalk",
                  .repo = "HuggingFaceTB/smol-smoltalk",
                  .licence = "Apache-2.0",
                  .kind = DatasetKind::chat,
                  .format = "parquet",
                  .layout = "messages",
                  .bytes = 1'000'000'000,
                  .content = "485,000 conversations",
                  .purpose = "made for small models: short answers, rewriting, summaries",
                  .parts = {{"train", "data/train-*.parquet"}, {"test", "data/test-*.parquet"}}});
  return sets;
}

}  // namespace owlet
