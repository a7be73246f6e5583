// Properties and decompositions come from utf8proc; sorting is done here, because utf8proc_decompose() takes quadratic
// time for long runs of marks.
#include "text/normal_form.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

constexpr char32_t kTableSize = 0x30000;  // no character beyond the first three planes changes or combines

bool composes(NormalForm form) { return form == NormalForm::nfc || form == NormalForm::nfkc; }
bool is_compatible(NormalForm form) { return form == NormalForm::nfkc || form == NormalForm::nfkd; }

int combining_class(char32_t c) { return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class; }

void decompose_char(char32_t c, NormalForm form, std::vector<utf8proc_int32_t>& out) {
  std::array<utf8proc_int32_t, 32> parts{};
  const int options = UTF8PROC_DECOMPOSE | (is_compatible(form) ? UTF8PROC_COMPAT : 0);
  int boundary = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                                         static_cast<utf8proc_ssize_t>(parts.size()),
                                                         static_cast<utf8proc_option_t>(options), &boundary);
  check(count >= 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()), ErrorKind::internal,
        "U+{:04X} cannot be decomposed", uint32_t{c});
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

// Marks that follow one another stand in the order of their classes; equal ones keep theirs.
void sort_marks(std::vector<utf8proc_int32_t>& chars) {
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(static_cast<char32_t>(c)) != 0; };
  for (auto begin = chars.begin(); begin != chars.end();) {
    begin = std::find_if(begin, chars.end(), is_mark);
    const auto end = std::find_if_not(begin, chars.end(), is_mark);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(static_cast<char32_t>(a)) < combining_class(static_cast<char32_t>(b));
    });
    begin = end;
  }
}

// Characters that no normalisation changes and that do not combine with the one before them.
class InertChars {
 public:
  explicit InertChars(NormalForm form) : is_active_(std::make_unique<std::bitset<kTableSize>>()) {
    std::vector<utf8proc_int32_t> parts, composed;
    for (char32_t c = 0; c < kTableSize; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      parts.clear();
      decompose_char(c, form, parts);
      if (composes(form)) {
        mark_second(c);
        composed = parts;
        const auto size = utf8proc_normalize_utf32(composed.data(), static_cast<utf8proc_ssize_t>(composed.size()),
                                                   static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
        composed.resize(static_cast<size_t>(std::max<utf8proc_ssize_t>(size, 0)));
        std::swap(parts, composed);
      }
      const bool is_changed = parts.size() != 1 || parts[0] != static_cast<utf8proc_int32_t>(c);
      if (is_changed || combining_class(c) != 0) is_active_->set(c);
    }
  }

  bool operator()(char32_t c) const { return c < 0x80 || c >= kTableSize || !is_active_->test(c); }

 private:
  // The last part of a canonical decomposition is what combines with something before it.
  void mark_second(char32_t c) {
    std::vector<utf8proc_int32_t> canonical;
    decompose_char(c, NormalForm::nfd, canonical);
    if (canonical.size() > 1 && static_cast<char32_t>(canonical.back()) < kTableSize)
      is_active_->set(static_cast<size_t>(canonical.back()));
  }

  std::unique_ptr<std::bitset<kTableSize>> is_active_;
};

const InertChars& inert_chars(NormalForm form) {
  switch (form) {
    case NormalForm::nfc: {
      static const InertChars chars(NormalForm::nfc);
      return chars;
    }
    case NormalForm::nfd: {
      static const InertChars chars(NormalForm::nfd);
      return chars;
    }
    case NormalForm::nfkc: {
      static const InertChars chars(NormalForm::nfkc);
      return chars;
    }
    default: {
      static const InertChars chars(NormalForm::nfkd);
      return chars;
    }
  }
}

void append_normalized(std::string_view text, NormalForm form, std::string& out) {
  std::vector<utf8proc_int32_t> chars;
  for (size_t position = 0; position < text.size();) {
    const Utf8Char c = decode_utf8(text, position);
    decompose_char(c.code_point, form, chars);
    position += c.num_bytes;
  }
  sort_marks(chars);
  if (composes(form)) {
    const auto size = utf8proc_normalize_utf32(chars.data(), static_cast<utf8proc_ssize_t>(chars.size()),
                                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    check(size >= 0, ErrorKind::internal, "a text of {} characters cannot be composed", chars.size());
    chars.resize(static_cast<size_t>(size));
  }
  for (const utf8proc_int32_t c : chars) append_utf8(static_cast<char32_t>(c), out);
}

}  // namespace

std::string to_normal_form(std::string_view text, NormalForm form) {
  const InertChars& is_inert = inert_chars(form);
  std::string out;
  out.reserve(text.size());
  // `last` is where the inert character before `position` begins: a mark after it may combine with it.
  size_t copied = 0, last = 0;
  for (size_t position = 0; position < text.size();) {
    if (static_cast<uint8_t>(text[position]) < 0x80) {
      last = position++;
      continue;
    }
    const Utf8Char c = decode_utf8(text, position);
    if (is_inert(c.code_point)) {
      last = position;
      position += c.num_bytes;
      continue;
    }
    out.append(text, copied, last - copied);
    size_t end = position;
    while (end < text.size()) {
      const Utf8Char next = decode_utf8(text, end);
      if (is_inert(next.code_point)) break;
      end += next.num_bytes;
    }
    append_normalized(text.substr(last, end - last), form, out);
    copied = last = position = end;
  }
  out.append(text, copied, text.size() - copied);
  return out;
}

}  // namespace owlet
