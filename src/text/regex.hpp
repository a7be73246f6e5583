// Regular expressions of tokenizers, through PCRE2 with its just-in-time compiler.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/function_ref.hpp"
#include "text/regex_syntax.hpp"

namespace owlet {

/// A compiled expression. Const methods may be called from several threads at once; copies share it.
class Regex {
 public:
  /// Throws Error unsupported where the expression is not one, or means something that PCRE2 has not.
  explicit Regex(const std::string& pattern, RegexDialect dialect = RegexDialect::oniguruma);

  /// An expression that matches just this text.
  static Regex of_text(std::string_view text);

  using MatchSink = FunctionRef<void(size_t begin, size_t end)>;
  /// Calls `sink` for every match from left to right. An empty match is one too, except right after another match: the
  /// order of Oniguruma's iteration. Invalid UTF-8 never matches; the valid parts around it are texts of their own.
  ///
  /// Work is bounded in proportion to the text; throws Error unsupported, naming the place, where an expression
  /// backtracks beyond that.
  void for_each_match(std::string_view text, MatchSink sink) const;

  const std::string& pattern() const;

 private:
  struct Compiled;
  void match_valid(std::string_view text, size_t offset, MatchSink sink) const;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace owlet
