#include "text/decoder.hpp"

#include <optional>

#include "text/byte_alphabet.hpp"
#include "text/json_section.hpp"
#include "text/pattern.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxContentBytes = 1024;

// A step that treats each token alike, wherever it stands.
template <typename Change>
class EachToken final : public DecoderStep {
 public:
  explicit EachToken(Change change) : change_(std::move(change)) {}
  void decode(std::vector<std::string>& tokens, bool) const override {
    for (std::string& token : tokens) token = change_(token);
  }
  bool depends_on_place(bool is_fused) const override { return is_fused; }

 private:
  Change change_;
};

template <typename Change>
std::unique_ptr<DecoderStep> each_token(Change change) {
  return std::make_unique<EachToken<Change>>(std::move(change));
}

std::string from_alphabet(const std::string& token) { return unspell_bytes(token).value_or(token); }

// "<0xE3>" is the byte E3.
std::string from_byte_fallback(const std::string& token) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return token;
  const int high = digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? token : std::string(1, static_cast<char>(high * 16 + low));
}

void join(std::vector<std::string>& tokens, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) text += separator;
    text += tokens[i];
  }
  tokens.assign(1, std::move(text));
}

class Fuse final : public DecoderStep {
 public:
  void decode(std::vector<std::string>& tokens, bool) const override { join(tokens, ""); }
  bool depends_on_place(bool) const override { return false; }
};

class JoinBySpaces final : public DecoderStep {
 public:
  void decode(std::vector<std::string>& tokens, bool is_whole) const override { join(tokens, is_whole ? " " : ""); }
  bool depends_on_place(bool) const override { return true; }
};

std::string replace_all(const std::string& text, std::string_view wanted, std::string_view content) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, copied)) {
    out.append(text, copied, at - copied).append(content);
    copied = at + wanted.size();
  }
  return out.append(text, copied);
}

// The replacement is a space again; where spaces are prepended, none at the start of the text.
class MetaspaceDecoder final : public DecoderStep {
 public:
  MetaspaceDecoder(std::string replacement, bool drops_first)
      : replacement_(std::move(replacement)), drops_first_(drops_first) {}
  void decode(std::vector<std::string>& tokens, bool is_whole) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replace_all(tokens[i], replacement_, i == 0 && is_whole && drops_first_ ? "" : " ");
  }
  bool depends_on_place(bool) const override { return drops_first_; }

 private:
  std::string replacement_;
  bool drops_first_;
};

// The suffix of words is a space, but nothing at the end of the text.
class SuffixDecoder final : public DecoderStep {
 public:
  explicit SuffixDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void decode(std::vector<std::string>& tokens, bool is_whole) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replace_all(tokens[i], suffix_, is_whole && i + 1 == tokens.size() ? "" : " ");
  }
  bool depends_on_place(bool) const override { return true; }

 private:
  std::string suffix_;
};

// Removes a character up to so many times from both ends of each token; of the whole text where tokens are fused.
class StripDecoder final : public DecoderStep {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop, bool is_fused)
      : content_(std::move(content)), start_(start), stop_(stop), is_fused_(is_fused) {}
  void decode(std::vector<std::string>& tokens, bool is_whole) const override {
    if (is_fused_ && !is_whole) return;
    for (std::string& token : tokens) {
      std::string_view text = token;
      for (int64_t i = 0; i < start_ && text.starts_with(content_); ++i) text.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && text.ends_with(content_); ++i) text.remove_suffix(content_.size());
      token = std::string(text);
    }
  }
  bool depends_on_place(bool is_fused) const override { return is_fused; }

 private:
  std::string content_;
  int64_t start_, stop_;
  bool is_fused_;
};

std::string short_text(const JsonSection& section, const std::string& key) {
  std::string text = section.text(key);
  check(text.size() <= kMaxContentBytes, ErrorKind::unsupported, "{}: {} has {} bytes, the most supported is {}",
        section.source(), section.path_of(key), text.size(), kMaxContentBytes);
  return text;
}

std::string single_char(const JsonSection& section, const std::string& key) {
  const std::string text = section.text(key);
  const bool is_single = !text.empty() && decode_utf8(text, 0).num_bytes == text.size();
  check(is_single, ErrorKind::corrupt_file, "{}: {} is '{}', expected one character", section.source(),
        section.path_of(key), text);
  return text;
}

std::unique_ptr<DecoderStep> make_metaspace(const JsonSection& section) {
  const Json& scheme = section["prepend_scheme"];
  const bool is_known = scheme.is_null() || scheme == "always" || scheme == "first" || scheme == "never";
  if (!is_known) section.refuse("prepend_scheme");
  const bool prepends = scheme.is_null() ? section.flag("add_prefix_space", true) : scheme != "never";
  return std::make_unique<MetaspaceDecoder>(single_char(section, "replacement"), prepends);
}

std::unique_ptr<DecoderStep> make_replace(const JsonSection& section) {
  return each_token([pattern = parse_pattern(section, "pattern"),
                     content = short_text(section, "content")](const std::string& token) {
    std::string out;
    size_t copied = 0;
    pattern.for_each_match(token, [&](size_t begin, size_t end) {
      out.append(token, copied, begin - copied).append(content);
      copied = end;
    });
    return out.append(token, copied);
  });
}

}  // namespace

Decoder::Decoder(const Json& json, const std::string& source, const std::string& name) {
  if (!is_of_type(json, "Sequence")) {
    json.is_null() ? add(std::make_unique<JoinBySpaces>()) : add_step(json, source, name);
    return;
  }
  const JsonSection section(json, source, name);
  const Json& list = section["decoders"];
  const std::string list_name = section.path_of("decoders");
  check(list.is_array() && list.size() <= kMaxSteps, ErrorKind::corrupt_file,
        "{}: {} is of type {} with {} items, expected an array of at most {}", source, list_name, list.type_name(),
        list.size(), kMaxSteps);
  size_t index = 0;
  for (const Json& item : list) add_step(item, source, fmt::format("{}[{}]", list_name, index++));
}

void Decoder::add(std::unique_ptr<DecoderStep> step, bool fuses) {
  is_context_free_ = is_context_free_ && !step->depends_on_place(is_fused_);
  is_fused_ = is_fused_ || fuses;
  steps_.push_back(std::move(step));
}

void Decoder::add_step(const Json& json, const std::string& source, const std::string& name) {
  const JsonSection section(json, source, name);
  const std::string type = section.type();
  if (type == "ByteLevel") return add(each_token(from_alphabet));
  if (type == "ByteFallback") return add(each_token(from_byte_fallback));
  if (type == "Fuse") return add(std::make_unique<Fuse>(), true);
  if (type == "Metaspace") return add(make_metaspace(section));
  if (type == "Replace") return add(make_replace(section));
  if (type == "Strip") {
    return add(std::make_unique<StripDecoder>(single_char(section, "content"), section.integer("start", 0, INT32_MAX),
                                              section.integer("stop", 0, INT32_MAX), is_fused_));
  }
  if (type == "BPEDecoder") {
    const std::string suffix = short_text(section, "suffix");
    check(!suffix.empty(), ErrorKind::corrupt_file, "{}: {} is empty", source, section.path_of("suffix"));
    return add(std::make_unique<SuffixDecoder>(suffix));
  }
  section.refuse("type");
}

std::string Decoder::decode_one(std::string_view token) const {
  std::vector<std::string> tokens{std::string(token)};
  for (const auto& step : steps_) step->decode(tokens, false);
  return tokens.empty() ? std::string() : tokens[0];
}

std::string Decoder::decode(std::vector<std::string> tokens) const {
  if (tokens.empty()) return {};
  for (const auto& step : steps_) step->decode(tokens, true);
  join(tokens, "");
  return tokens[0];
}

}  // namespace owlet
