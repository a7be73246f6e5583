// Web pages of educational value, chosen by a classifier (Penedo et al., 2024, arXiv 2406.17557).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> fineweb_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "fineweb-edu-10bt",
                  .repo = "HuggingFaceFW/fineweb-edu",
                  .licence = "ODC-By-1.0",
                  .kind = DatasetKind::text,
                  .format = "parquet",
                  .layout = "text",
                  .bytes = 28'500'000'000,
                  .content = "about 10 billion tokens",
                  .purpose = "general English for models up to some 100 M parameters",
                  .parts = {{"train", "sample/10BT/*.parquet"}}});
  sets.push_back({.name = "fineweb-edu-100bt",
                  .repo = "HuggingFaceFW/fineweb-edu",
                  .licence = "ODC-By-1.0",
                  .kind = DatasetKind::text,
                  .format = "parquet",
                  .layout = "text",
                  .bytes = 277'000'000'000,
                  .content = "about 100 billion tokens",
                  .purpose = "the same for models of 1 B parameters and more; take a part with --max-files",
                  .parts = {{"train", "sample/100BT/*.parquet"}}});
  return sets;
}

}  // namespace owlet
