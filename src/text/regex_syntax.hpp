// Rewrites the regular expressions of tokenizers for PCRE2.
//
// tokenizer.json files are written for Oniguruma with Ruby's syntax, tiktoken's splitters for Rust's fancy-regex. Most
// of both is spelled alike in PCRE2; what has another meaning there is rewritten here, and what has no equal is refused
// rather than guessed.
#pragma once

#include <string>
#include <string_view>

namespace owlet {

enum class RegexDialect {
  oniguruma,  ///< Ruby's syntax: ^ and $ are those of lines, (?m) lets the dot match newlines
  rust,       ///< the crates regex and fancy-regex: $ is the end of the text
};

/// An expression as PCRE2 is to compile it, with the options UTF, UCP, NEWLINE_LF, DOLLAR_ENDONLY and, for Oniguruma,
/// MULTILINE.
///
/// Rewritten: \s \w \d \h \b and POSIX classes (their Unicode properties), {n,m}+ of Oniguruma (repeated, not
/// possessive), {,n}, [a&&[^b]], (?m). Throws Error unsupported, naming the construct and its place, for nested sets
/// otherwise, options in mid-expression, callouts, conditions, recursion, \G, \K, \y and other escapes, and for
/// case-insensitive expressions where Oniguruma would fold several characters into one (ss and ß).
std::string to_pcre2_syntax(std::string_view pattern, RegexDialect dialect);

}  // namespace owlet
