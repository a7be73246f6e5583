#include "text/normalizer.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "text/byte_alphabet.hpp"
#include "text/char_class.hpp"
#include "text/json_section.hpp"
#include "text/normal_form.hpp"
#include "text/pattern.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxContentBytes = 1024;
// Replacing and prepending may make a text longer, but not without bound.
constexpr size_t kMaxBytes = size_t{1} << 31;

class NormalFormNormalizer final : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  std::string normalize(std::string_view text) const override { return to_normal_form(text, form_); }

 private:
  NormalForm form_;
};

// Keeps, drops or changes single characters.
template <typename Change>
class CharNormalizer final : public Normalizer {
 public:
  explicit CharNormalizer(Change change) : change_(std::move(change)) {}
  std::string normalize(std::string_view text) const override {
    std::string out;
    out.reserve(text.size());
    for (size_t position = 0; position < text.size();) {
      const Utf8Char c = decode_utf8(text, position);
      change_(c.code_point, out);
      position += c.num_bytes;
    }
    return out;
  }

 private:
  Change change_;
};

void append_lower_case(char32_t c, std::string& out) {
  // The one character whose lower case is two, whatever the language.
  if (c == 0x130) {
    out += "i\u0307";
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
  }
}

void append_unless_accent(char32_t c, std::string& out) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  const bool is_mark =
      category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
  if (!is_mark) append_utf8(c, out);
}

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Regex pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  std::string normalize(std::string_view text) const override {
    std::string out;
    size_t copied = 0;
    pattern_.for_each_match(text, [&](size_t begin, size_t end) {
      out.append(text, copied, begin - copied).append(content_);
      copied = end;
      check(out.size() <= kMaxBytes, ErrorKind::unsupported, "replacing {} by '{}' makes a text of more than {} bytes",
            pattern_.pattern(), content_, kMaxBytes);
    });
    return out.append(text, copied);
  }

 private:
  Regex pattern_;
  std::string content_;
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string content) : content_(std::move(content)) {}
  std::string normalize(std::string_view text) const override {
    return text.empty() ? std::string() : content_ + std::string(text);
  }

 private:
  std::string content_;
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool strips_left, bool strips_right) : strips_left_(strips_left), strips_right_(strips_right) {}
  std::string normalize(std::string_view text) const override {
    size_t begin = 0, end = 0;
    bool has_begun = !strips_left_;
    for (size_t position = 0; position < text.size();) {
      const ClassifiedChar c = classify_char(text, position);
      if (c.char_class != CharClass::space) {
        if (!has_begun) begin = position;
        has_begun = true;
        end = position + c.num_bytes;
      }
      position += c.num_bytes;
    }
    if (!has_begun) return {};
    if (!strips_right_) end = text.size();
    return std::string(text.substr(begin, std::max(begin, end) - begin));
  }

 private:
  bool strips_left_, strips_right_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  std::string normalize(std::string_view text) const override { return spell_bytes(text); }
};

class SequenceNormalizer final : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  std::string normalize(std::string_view text) const override {
    std::string out(text);
    for (const auto& step : steps_) out = step->normalize(out);
    return out;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

template <typename Change>
std::unique_ptr<Normalizer> make_char_normalizer(Change change) {
  return std::make_unique<CharNormalizer<Change>>(std::move(change));
}

std::unique_ptr<Normalizer> make_sequence(const JsonSection& section) {
  const Json& list = section["normalizers"];
  const std::string name = section.path_of("normalizers");
  check(list.is_array() && list.size() <= kMaxSteps, ErrorKind::corrupt_file,
        "{}: {} is of type {} with {} items, expected an array of at most {}", section.source(), name, list.type_name(),
        list.size(), kMaxSteps);
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const Json& item : list) {
    const std::string step_name = fmt::format("{}[{}]", name, steps.size());
    // Sequences in sequences are possible and pointless; refusing them bounds the depth.
    if (is_of_type(item, "Sequence")) JsonSection(item, section.source(), step_name).refuse("type");
    auto step = make_normalizer(item, section.source(), step_name);
    check(step != nullptr, ErrorKind::corrupt_file, "{}: {} is null", section.source(), step_name);
    steps.push_back(std::move(step));
  }
  return std::make_unique<SequenceNormalizer>(std::move(steps));
}

std::string short_text(const JsonSection& section, const std::string& key) {
  std::string text = section.text(key);
  check(text.size() <= kMaxContentBytes, ErrorKind::unsupported, "{}: {} has {} bytes, the most supported is {}",
        section.source(), section.path_of(key), text.size(), kMaxContentBytes);
  return replace_invalid_utf8(text);
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Json& json, const std::string& source, const std::string& name) {
  if (json.is_null()) return nullptr;
  const JsonSection section(json, source, name);
  const std::string type = section.type();
  if (type == "NFC") return std::make_unique<NormalFormNormalizer>(NormalForm::nfc);
  if (type == "NFD") return std::make_unique<NormalFormNormalizer>(NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<NormalFormNormalizer>(NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<NormalFormNormalizer>(NormalForm::nfkd);
  if (type == "Lowercase") return make_char_normalizer(append_lower_case);
  if (type == "StripAccents") return make_char_normalizer(append_unless_accent);
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(short_text(section, "prepend"));
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Strip") {
    return std::make_unique<StripNormalizer>(section.flag("strip_left", true), section.flag("strip_right", true));
  }
  if (type == "Replace") {
    return std::make_unique<ReplaceNormalizer>(parse_pattern(section, "pattern"), short_text(section, "content"));
  }
  if (type == "Sequence") return make_sequence(section);
  section.refuse("type");
}

}  // namespace owlet
