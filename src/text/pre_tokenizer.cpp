#include "text/pre_tokenizer.hpp"

#include <array>

#include "base/error.hpp"

namespace owlet {

namespace {

struct SplitterEntry {
  std::string_view name;
  std::vector<std::string_view> regexes;  // spellings seen in tokenizer.json files, all with the same meaning
  std::unique_ptr<PreTokenizer> (*make)();
};

const std::vector<SplitterEntry>& splitters() {
  static const std::vector<SplitterEntry> list = {
      {"gpt2",
       {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"},
       make_gpt2_pre_tokenizer},
  };
  return list;
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(std::string_view name) {
  std::string known;
  for (const SplitterEntry& entry : splitters()) {
    if (entry.name == name) return entry.make();
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  fail(ErrorKind::unsupported, "splitter '{}' is not known; known: {}", name, known);
}

std::vector<std::string> pre_tokenizer_names() {
  std::vector<std::string> names;
  for (const SplitterEntry& entry : splitters()) names.emplace_back(entry.name);
  return names;
}

std::string_view pre_tokenizer_for_regex(std::string_view regex) {
  for (const SplitterEntry& entry : splitters()) {
    for (const std::string_view known : entry.regexes) {
      if (known == regex) return entry.name;
    }
  }
  return {};
}

}  // namespace owlet
