// The families of the catalogue, one function and one file each.
#pragma once

#include <vector>

#include "data/catalogue/catalogue.hpp"

namespace owlet {

std::vector<CatalogueSet> tiny_stories_sets();
std::vector<CatalogueSet> fineweb_sets();
std::vector<CatalogueSet> slimpajama_sets();
std::vector<CatalogueSet> wikitext_sets();
std::vector<CatalogueSet> wikipedia_sets();
std::vector<CatalogueSet> alpaca_sets();
std::vector<CatalogueSet> dolly_sets();
std::vector<CatalogueSet> open_orca_sets();
std::vector<CatalogueSet> ultrachat_sets();
std::vector<CatalogueSet> wizard_lm_sets();
std::vector<CatalogueSet> smoltalk_sets();

}  // namespace owlet
