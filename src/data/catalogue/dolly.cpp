// Requests and answers written by people at Databricks (2023).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> dolly_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "dolly-15k",
                  .repo = "databricks/databricks-dolly-15k",
                  .licence = "CC-BY-SA-3.0",
                  .kind = DatasetKind::instruction,
                  .format = "jsonl",
                  .layout = "dolly",
                  .bytes = 13'100'000,
                  .content = "15,011 requests of eight kinds",
                  .purpose = "answers by people, free for commercial use",
                  .parts = {{"train", "databricks-dolly-15k.jsonl"}}});
  return sets;
}

}  // namespace owlet
