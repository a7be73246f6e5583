// Wikipedia's articles as plain text (dump of November 2023).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> wikipedia_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "wikipedia-simple",
                  .repo = "wikimedia/wikipedia",
                  .licence = "CC-BY-SA-3.0 and GFDL",
                  .kind = DatasetKind::text,
                  .format = "parquet",
                  .layout = "text",
                  .bytes = 156'000'000,
                  .content = "about 240,000 articles in simple English",
                  .purpose = "facts in easy sentences, small enough for an afternoon",
                  .parts = {{"train", "20231101.simple/*.parquet"}}});
  return sets;
}

}  // namespace owlet
