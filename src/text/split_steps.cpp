#include "text/split_steps.hpp"

#include <utf8proc.h>

#include "text/byte_alphabet.hpp"
#include "text/char_class.hpp"
#include "text/pattern.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/split_behavior.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

using CharTest = bool (*)(char32_t code_point);

bool is_number(char32_t c) { return char_class(c) == CharClass::number; }
bool is_space(char32_t c) { return char_class(c) == CharClass::space; }

// ASCII punctuation includes symbols such as $ and +, beyond ASCII it is the general category.
bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && char_class(c) == CharClass::other;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

// Parts of `whole` in a sink that wants to know whether they begin the text.
class PartSink {
 public:
  PartSink(TextPart whole, TextPartSink sink) : whole_(whole), sink_(sink) {}
  void operator()(std::string_view text) const {
    sink_({text, whole_.is_at_start && text.data() == whole_.text.data()});
  }

 private:
  TextPart whole_;
  TextPartSink sink_;
};

class RegexSplit final : public SplitStep {
 public:
  RegexSplit(Regex regex, SplitBehavior behavior, bool inverts)
      : regex_(std::move(regex)), behavior_(behavior), inverts_(inverts) {}
  void split(TextPart part, TextPartSink sink) const override {
    const PartSink part_sink(part, sink);
    MatchJoiner joiner(part.text, behavior_, inverts_, part_sink);
    regex_.for_each_match(part.text, [&](size_t begin, size_t end) { joiner.match(begin, end); });
    joiner.finish();
  }

 private:
  Regex regex_;
  SplitBehavior behavior_;
  bool inverts_;
};

// Every character that passes the test is a match.
class CharSplit final : public SplitStep {
 public:
  CharSplit(CharTest test, SplitBehavior behavior) : test_(test), behavior_(behavior) {}
  void split(TextPart part, TextPartSink sink) const override {
    const PartSink part_sink(part, sink);
    MatchJoiner joiner(part.text, behavior_, false, part_sink);
    for (size_t position = 0; position < part.text.size();) {
      const Utf8Char c = decode_utf8(part.text, position);
      if (c.is_valid && test_(c.code_point)) joiner.match(position, position + c.num_bytes);
      position += c.num_bytes;
    }
    joiner.finish();
  }

 private:
  CharTest test_;
  SplitBehavior behavior_;
};

// A splitter that is known by name.
class NamedSplit final : public SplitStep {
 public:
  explicit NamedSplit(std::string_view name) : splitter_(make_pre_tokenizer(name)) {}
  void split(TextPart part, TextPartSink sink) const override { splitter_->split(part.text, PartSink(part, sink)); }

 private:
  std::unique_ptr<PreTokenizer> splitter_;
};

class PrefixSpace final : public SplitStep {
 public:
  void split(TextPart part, TextPartSink sink) const override {
    if (part.text.starts_with(' ')) return sink(part);
    sink({fmt::format(" {}", part.text), part.is_at_start});
  }
};

class SpellBytes final : public SplitStep {
 public:
  void split(TextPart part, TextPartSink sink) const override { sink({spell_bytes(part.text), part.is_at_start}); }
};

enum class PrependScheme { always, first, never };

class Metaspace final : public SplitStep {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool splits)
      : replacement_(std::move(replacement)), scheme_(scheme), splits_(splits) {}

  void split(TextPart part, TextPartSink sink) const override {
    std::string text;
    text.reserve(part.text.size() + replacement_.size());
    const bool begins_with_it = part.text.starts_with(' ') || part.text.starts_with(replacement_);
    const bool is_wanted = scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && part.is_at_start);
    if (is_wanted && !begins_with_it) text = replacement_;
    for (const char c : part.text) c == ' ' ? text.append(replacement_) : text.append(1, c);
    const TextPart whole{text, part.is_at_start};
    if (!splits_) return sink(whole);
    const PartSink part_sink(whole, sink);
    MatchJoiner joiner(text, SplitBehavior::merged_with_next, false, part_sink);
    for (size_t at = text.find(replacement_); at != std::string::npos; at = text.find(replacement_, at + 1))
      joiner.match(at, at + replacement_.size());
    joiner.finish();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool splits_;
};

// Parts of so many characters.
class FixedLength final : public SplitStep {
 public:
  explicit FixedLength(int64_t length_chars) : length_chars_(length_chars) {}
  void split(TextPart part, TextPartSink sink) const override {
    const PartSink part_sink(part, sink);
    size_t begin = 0;
    int64_t num_chars = 0;
    for (size_t position = 0; position < part.text.size();) {
      position += decode_utf8(part.text, position).num_bytes;
      if (++num_chars < length_chars_ && position < part.text.size()) continue;
      part_sink(part.text.substr(begin, position - begin));
      begin = position;
      num_chars = 0;
    }
  }

 private:
  int64_t length_chars_;
};

std::string single_char(const JsonSection& section, const std::string& key) {
  const std::string text = section.text(key);
  const bool is_single = !text.empty() && decode_utf8(text, 0).num_bytes == text.size();
  check(is_single, ErrorKind::corrupt_file, "{}: {} is '{}', expected one character", section.source(),
        section.path_of(key), text);
  return text;
}

std::unique_ptr<SplitStep> make_metaspace(const JsonSection& section) {
  PrependScheme scheme = section.flag("add_prefix_space", true) ? PrependScheme::always : PrependScheme::never;
  const Json& given = section["prepend_scheme"];
  if (given == "always") {
    scheme = PrependScheme::always;
  } else if (given == "first") {
    scheme = PrependScheme::first;
  } else if (given == "never") {
    scheme = PrependScheme::never;
  } else if (!given.is_null()) {
    section.refuse("prepend_scheme");
  }
  return std::make_unique<Metaspace>(single_char(section, "replacement"), scheme, section.flag("split", true));
}

std::unique_ptr<SplitStep> make_split(const JsonSection& section, std::string_view known_splitter) {
  if (!known_splitter.empty()) return std::make_unique<NamedSplit>(known_splitter);
  if (section["behavior"].is_null()) section.refuse("behavior");
  return std::make_unique<RegexSplit>(parse_pattern(section, "pattern"),
                                      parse_split_behavior(section, "behavior", SplitBehavior::isolated),
                                      section.flag("invert", false));
}

}  // namespace

void append_byte_level_steps(const JsonSection& section, bool spells, std::vector<std::unique_ptr<SplitStep>>& steps) {
  if (section.flag("add_prefix_space", true)) steps.push_back(std::make_unique<PrefixSpace>());
  if (section.flag("use_regex", true)) steps.push_back(std::make_unique<NamedSplit>("gpt2"));
  if (spells) steps.push_back(std::make_unique<SpellBytes>());
}

void append_split_steps(const JsonSection& section, std::string_view known_splitter,
                        std::vector<std::unique_ptr<SplitStep>>& steps) {
  const std::string type = section.type();
  if (type == "Split") {
    steps.push_back(make_split(section, known_splitter));
  } else if (type == "Digits") {
    const bool is_single = section.flag("individual_digits", false);
    steps.push_back(
        std::make_unique<CharSplit>(is_number, is_single ? SplitBehavior::isolated : SplitBehavior::contiguous));
  } else if (type == "Punctuation") {
    steps.push_back(std::make_unique<CharSplit>(is_punctuation,
                                                parse_split_behavior(section, "behavior", SplitBehavior::isolated)));
  } else if (type == "Whitespace") {
    steps.push_back(
        std::make_unique<RegexSplit>(Regex(R"(\w+|[^\w\s]+)", RegexDialect::rust), SplitBehavior::removed, true));
  } else if (type == "WhitespaceSplit") {
    steps.push_back(std::make_unique<CharSplit>(is_space, SplitBehavior::removed));
  } else if (type == "BertPreTokenizer") {
    steps.push_back(std::make_unique<CharSplit>(is_space, SplitBehavior::removed));
    steps.push_back(std::make_unique<CharSplit>(is_punctuation, SplitBehavior::isolated));
  } else if (type == "CharDelimiterSplit") {
    steps.push_back(
        std::make_unique<RegexSplit>(Regex::of_text(single_char(section, "delimiter")), SplitBehavior::removed, false));
  } else if (type == "FixedLength") {
    steps.push_back(std::make_unique<FixedLength>(section.integer("length", 1, 1 << 20)));
  } else if (type == "Metaspace") {
    steps.push_back(make_metaspace(section));
  } else {
    section.refuse("type");
  }
}

}  // namespace owlet
