// Requests and answers by text-davinci-003 (Taori et al., 2023).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> alpaca_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "alpaca",
                  .repo = "tatsu-lab/alpaca",
                  .licence = "CC-BY-NC-4.0 (not for commercial use)",
                  .kind = DatasetKind::instruction,
                  .format = "parquet",
                  .layout = "alpaca",
                  .bytes = 24'200'000,
                  .content = "52,002 requests",
                  .purpose = "the smallest well-known set that makes a model answer",
                  .parts = {{"train", "data/train-*.parquet"}}});
  return sets;
}

}  // namespace owlet
