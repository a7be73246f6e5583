// owlet data list
#include "base/human.hpp"
#include "base/text_table.hpp"
#include "cli/commands/data_verbs.hpp"
#include "data/catalogue/catalogue.hpp"

namespace owlet {

namespace {

OrderedJson to_json(const CatalogueSet& set) {
  OrderedJson files = OrderedJson::array();
  for (const CataloguePart& part : set.parts) files.push_back({{"split", part.split}, {"pattern", part.pattern}});
  return {{"name", set.name},       {"source", set.repo},       {"licence", set.licence}, {"kind", to_string(set.kind)},
          {"format", set.format},   {"layout", set.layout},     {"bytes", set.bytes},     {"content", set.content},
          {"purpose", set.purpose}, {"files", std::move(files)}};
}

int run_list(Program& program) {
  OrderedJson sets = OrderedJson::array();
  TextTable table;
  table.add_column("name");
  table.add_column("kind");
  table.add_column("size", TextTable::Align::right);
  table.add_column("licence");
  table.add_column("content");
  Console& console = program.console;
  for (const CatalogueSet& set : catalogue()) {
    sets.push_back(to_json(set));
    table.add_row({set.name, std::string(to_string(set.kind)), format_bytes(set.bytes), set.licence, set.content});
  }
  std::string text = table.to_string();
  if (!text.empty()) text.pop_back();
  console.result(text);
  console.result("");
  for (const CatalogueSet& set : catalogue()) console.result(fmt::format("{}: {}", set.name, set.purpose));
  console.result("");
  console.result("Any other set of the Hugging Face Hub goes by its name there: owlet data get org/name");
  console.result("Next: owlet data get tiny-stories-v2");
  console.json_result({{"sets", sets}});
  return 0;
}

}  // namespace

void add_data_list(CLI::App& parent, Program& program) {
  CLI::App* command = parent.add_subcommand("list", "Show the data sets that are known by name");
  add_common_options(*command, program, "  owlet data list\n  owlet data list --json");
  set_action(*command, program, [&program] { return run_list(program); });
}

}  // namespace owlet
