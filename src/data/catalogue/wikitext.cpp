// Good and featured articles of Wikipedia (Merity et al., 2016, arXiv 1609.07843), the raw form. A row is a line of an
// article; a line ' = Title = ' begins the next one.
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> wikitext_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "wikitext-103",
                  .repo = "Salesforce/wikitext",
                  .licence = "CC-BY-SA-3.0 and GFDL",
                  .kind = DatasetKind::text,
                  .format = "parquet",
                  .layout = "text",
                  .bytes = 315'000'000,
                  .content = "about 120 M tokens of 28,595 articles",
                  .purpose = "the classic measure of language models: perplexity beside published figures",
                  .parts = {{"train", "wikitext-103-raw-v1/train-*.parquet"},
                            {"validation", "wikitext-103-raw-v1/validation-*.parquet"},
                            {"test", "wikitext-103-raw-v1/test-*.parquet"}}});
  return sets;
}

}  // namespace owlet
