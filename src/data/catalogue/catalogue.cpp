#include "data/catalogue/catalogue.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "data/catalogue/families.hpp"

namespace owlet {

namespace {

/// The visible list.
constexpr std::vector<CatalogueSet> (*kFamilies[])() = {
    tiny_stories_sets, fineweb_sets,   slimpajama_sets, wikitext_sets,  wikipedia_sets, alpaca_sets,
    dolly_sets,        open_orca_sets, ultrachat_sets,  wizard_lm_sets, smoltalk_sets,
};

}  // namespace

std::string_view to_string(DatasetKind kind) {
  switch (kind) {
    case DatasetKind::text:
      return "text";
    case DatasetKind::instruction:
      return "instruction";
    case DatasetKind::chat:
      return "chat";
  }
  return "text";
}

const std::vector<CatalogueSet>& catalogue() {
  static const std::vector<CatalogueSet> sets = [] {
    std::vector<CatalogueSet> all;
    for (const auto family : kFamilies) {
      for (CatalogueSet& set : family()) all.push_back(std::move(set));
    }
    return all;
  }();
  return sets;
}

const CatalogueSet* find_catalogue_set(std::string_view name) {
  const auto found = std::ranges::find(catalogue(), name, &CatalogueSet::name);
  return found == catalogue().end() ? nullptr : &*found;
}

void fail_unknown_set(const std::string& name) {
  std::vector<std::string> names;
  for (const CatalogueSet& set : catalogue()) names.push_back(set.name);
  const std::string near = nearest_name(name, names);
  throw Error(ErrorKind::not_found, fmt::format("there is no set '{}' in the catalogue", name),
              fmt::format("{}`owlet data list` shows the names; any other set of the Hub is called org/name",
                          near.empty() ? "" : fmt::format("did you mean '{}'? ", near)));
}

}  // namespace owlet
