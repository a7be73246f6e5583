#include "text/pre_tokenizer.hpp"

#include "base/error.hpp"
#include "text/regex.hpp"
#include "text/split_behavior.hpp"

namespace owlet {

namespace {

// Spellings seen in tokenizer.json files, all with the same meaning; the first one is written.
constexpr const char* kGpt2Regexes[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"};
constexpr const char* kLlama3Regexes[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
// $ of Oniguruma is the end of a line.
constexpr const char* kCl100kRegexes[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n]|\s+(?!\S)|\s)"};
constexpr const char* kQwen2Regexes[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr const char* kO200kRegexes[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

struct SplitterEntry {
  std::string_view name;
  std::vector<std::string_view> regexes;
  std::unique_ptr<PreTokenizer> (*make)();
};

const std::vector<SplitterEntry>& splitters() {
  static const std::vector<SplitterEntry> list = {
      {"gpt2", {std::begin(kGpt2Regexes), std::end(kGpt2Regexes)}, make_gpt2_pre_tokenizer},
      {"cl100k", {std::begin(kCl100kRegexes), std::end(kCl100kRegexes)}, make_cl100k_pre_tokenizer},
      {"llama3", {std::begin(kLlama3Regexes), std::end(kLlama3Regexes)}, make_llama3_pre_tokenizer},
      {"qwen2", {std::begin(kQwen2Regexes), std::end(kQwen2Regexes)}, make_qwen2_pre_tokenizer},
      {"o200k", {std::begin(kO200kRegexes), std::end(kO200kRegexes)}, make_o200k_pre_tokenizer},
  };
  return list;
}

const SplitterEntry& splitter_of_name(std::string_view name) {
  std::string known;
  for (const SplitterEntry& entry : splitters()) {
    if (entry.name == name) return entry;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  fail(ErrorKind::unsupported, "splitter '{}' is not known; known: {}", name, known);
}

// What matches an expression and what stands between the matches.
class RegexPreTokenizer final : public PreTokenizer {
 public:
  explicit RegexPreTokenizer(Regex regex) : regex_(std::move(regex)) {}

  void split(std::string_view text, WordSink sink) const override {
    MatchJoiner joiner(text, SplitBehavior::isolated, false, sink);
    regex_.for_each_match(text, [&](size_t begin, size_t end) { joiner.match(begin, end); });
    joiner.finish();
  }
  size_t safe_cut(std::string_view text, size_t) const override { return text.size(); }

 private:
  Regex regex_;
};

}  // namespace

void PreTokenizer::split_part(std::string_view text, bool, WordSink sink) const { split(text, sink); }

std::unique_ptr<PreTokenizer> make_o200k_pre_tokenizer() {
  return std::make_unique<RegexPreTokenizer>(Regex(kO200kRegexes[0]));
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer(std::string_view name) { return splitter_of_name(name).make(); }

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

std::string_view regex_of_pre_tokenizer(std::string_view name) { return splitter_of_name(name).regexes.front(); }

}  // namespace owlet
