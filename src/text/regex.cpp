#include "text/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "text/utf8.hpp"

namespace owlet {

namespace {

// Longest expression, in bytes; those of real tokenizers have a few hundred.
constexpr size_t kMaxPatternBytes = 20'000;
// What a match may cost without question: the bytes it may look at and its backtracking steps. What goes beyond that is
// paid from the budget of the text, which grows with its length.
constexpr size_t kFirstWindowBytes = 256;
constexpr uint64_t kFirstSteps = 1024;
constexpr uint64_t kBudgetPerByte = 64;
constexpr uint64_t kLeastBudget = 1'000'000;
constexpr uint32_t kMaxHeapKilobytes = 512 << 10;

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Code = std::unique_ptr<pcre2_code, Freer<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Freer<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freer<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Freer<pcre2_compile_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freer<pcre2_jit_stack_free>>;

// What a thread needs for matching.
struct Workspace {
  JitStack stack{pcre2_jit_stack_create(32 << 10, 8 << 20, nullptr)};
  MatchContext context{pcre2_match_context_create(nullptr)};
  MatchData data{pcre2_match_data_create(1, nullptr)};

  Workspace() {
    check(stack && context && data, ErrorKind::out_of_memory, "no memory for matching expressions");
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    pcre2_set_heap_limit(context.get(), kMaxHeapKilobytes);
  }
};

Workspace& workspace_of_this_thread() {
  thread_local Workspace workspace;
  return workspace;
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct Regex::Compiled {
  std::string pattern;
  Code code;
  bool has_jit = false;
};

namespace {

// Finds matches of one text, one after another. They are looked for in a small window of the text first; where one
// comes to the window's end it could go on, and the window grows for this one place alone. So the work is in proportion
// to what matches look at, and a budget bounds the sum of what lies beyond the first windows.
class MatchSearch {
 public:
  MatchSearch(const pcre2_code* code, bool has_jit, std::string_view text, const std::string& pattern)
      : code_(code),
        has_jit_(has_jit),
        text_(text),
        pattern_(pattern),
        budget_(kLeastBudget + kBudgetPerByte * text.size()) {}

  /// The next match that begins at or after `from`.
  bool find(size_t from, size_t& begin, size_t& end) {
    size_t window_bytes = kFirstWindowBytes;
    uint64_t steps = kFirstSteps;
    bool with_jit = has_jit_;
    const auto start_again = [&](size_t place) {
      from = place;
      window_bytes = kFirstWindowBytes;
      steps = kFirstSteps;
    };
    while (true) {
      const size_t window_end = char_end(from, window_bytes);
      const bool is_whole = window_end == text_.size(), is_grown = window_bytes > kFirstWindowBytes;
      const int result = match(from, window_end, is_grown, steps, with_jit);
      const size_t* offsets = pcre2_get_ovector_pointer(workspace_.data.get());
      if (result == PCRE2_ERROR_PARTIAL || (result >= 0 && !is_whole && offsets[1] >= window_end)) {
        from = offsets[0];
        pay(from, window_bytes *= 4);
      } else if (result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT) {
        with_jit = with_jit && result != PCRE2_ERROR_JIT_STACKLIMIT;
        pay(from, steps *= 4);
      } else if (result == PCRE2_ERROR_NOMATCH) {
        if (is_grown && from < text_.size()) {
          start_again(from + decode_utf8(text_, from).num_bytes);
        } else if (!is_whole) {
          start_again(window_end);
        } else {
          return false;
        }
      } else {
        if (result < 0) give_up(from, message_of(result));
        begin = offsets[0];
        end = std::max(offsets[0], offsets[1]);
        return true;
      }
    }
  }

 private:
  // With `only_here` the match must begin at `from`.
  int match(size_t from, size_t end, bool only_here, uint64_t steps, bool with_jit) {
    pcre2_set_offset_limit(workspace_.context.get(), only_here ? from : PCRE2_UNSET);
    pcre2_set_match_limit(workspace_.context.get(), static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));
    const uint32_t options =
        PCRE2_NO_UTF_CHECK | (with_jit ? 0 : PCRE2_NO_JIT) | (end < text_.size() ? uint32_t{PCRE2_PARTIAL_HARD} : 0);
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), end, from, options, workspace_.data.get(),
                       workspace_.context.get());
  }

  // About `length` bytes after `from`, but no part of a character.
  size_t char_end(size_t from, size_t length) const {
    if (length >= text_.size() - from) return text_.size();
    size_t end = from + length;
    while ((static_cast<uint8_t>(text_[end]) & 0xC0) == 0x80) --end;
    return end;
  }

  void pay(size_t from, uint64_t cost) {
    if (cost > budget_) give_up(from, "it backtracks too far");
    budget_ -= cost;
  }

  [[noreturn]] void give_up(size_t from, std::string_view reason) const {
    fail(ErrorKind::unsupported, "the expression {} cannot be matched at byte {} of a text of {} bytes: {}", pattern_,
         from, text_.size(), reason);
  }

  Workspace& workspace_ = workspace_of_this_thread();
  const pcre2_code* code_;
  bool has_jit_;
  std::string_view text_;
  const std::string& pattern_;
  uint64_t budget_;
};

}  // namespace

Regex::Regex(const std::string& pattern, RegexDialect dialect) {
  check(pattern.size() <= kMaxPatternBytes, ErrorKind::unsupported,
        "an expression has {} bytes, the most supported is {}", pattern.size(), kMaxPatternBytes);
  check(is_valid_utf8(pattern), ErrorKind::corrupt_file, "the expression {} is not valid UTF-8",
        replace_invalid_utf8(pattern));
  const std::string rewritten = to_pcre2_syntax(pattern, dialect);
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE |
                     PCRE2_USE_OFFSET_LIMIT;
  if (dialect == RegexDialect::oniguruma) options |= PCRE2_MULTILINE;
  const bool has_references = rewritten.find_first_of("123456789", rewritten.find('\\')) != std::string::npos;
  if (has_references) options &= ~uint32_t{PCRE2_NO_AUTO_CAPTURE};
  const CompileContext context(pcre2_compile_context_create(nullptr));
  check(context != nullptr, ErrorKind::out_of_memory, "no memory for the expression {}", pattern);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 100);
  auto compiled = std::make_shared<Compiled>();
  int code = 0;
  size_t place = 0;
  compiled->pattern = pattern;
  compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(), options, &code,
                                     &place, context.get()));
  check(compiled->code != nullptr, ErrorKind::unsupported, "the expression {} is not supported: {}", pattern,
        message_of(code));
  compiled->has_jit = pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
  compiled_ = std::move(compiled);
}

Regex Regex::of_text(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          static_cast<uint8_t>(c) >= 0x80 || c == '\n' || c == '\r' || c == '\t' || c == '\0';
    if (!is_plain) pattern += '\\';
    pattern += c;
  }
  return Regex(pattern);
}

const std::string& Regex::pattern() const { return compiled_->pattern; }

void Regex::for_each_match(std::string_view text, MatchSink sink) const {
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = begin;
    Utf8Char c{};
    while (end < text.size() && (c = decode_utf8(text, end)).is_valid) end += c.num_bytes;
    if (end > begin || text.empty()) match_valid(text.substr(begin, end - begin), begin, sink);
    begin = end + std::max<size_t>(c.num_bytes, 1);
  }
}

void Regex::match_valid(std::string_view text, size_t offset, MatchSink sink) const {
  MatchSearch search(compiled_->code.get(), compiled_->has_jit, text, compiled_->pattern);
  constexpr size_t kNone = ~size_t{0};
  size_t from = 0, last_end = kNone;
  while (from <= text.size()) {
    size_t begin = 0, end = 0;
    if (!search.find(from, begin, end)) return;
    if (begin == end && end == last_end) {
      // Right after a match an empty one does not count: on by a character.
      from += from < text.size() ? decode_utf8(text, from).num_bytes : 1;
      continue;
    }
    from = last_end = end;
    sink(offset + begin, offset + end);
  }
}

}  // namespace owlet
