// tiktoken's vocabulary files: one token a line, its bytes in Base64, a space, its rank. The rank is the token's id,
// and neighbours whose bytes together are a token may be merged, the pair with the lowest rank first. Such a file has
// no splitter and no special tokens: they come with the known vocabularies, or from whoever imports the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_definition.hpp"

namespace owlet {

/// What a rank file does not say.
struct TiktokenOptions {
  std::string splitter;                     ///< a name from pre_tokenizer_names(); empty: by the known vocabularies
  std::vector<std::string> special_tokens;  ///< they take the ids behind the largest rank; empty: the known ones
};

/// Whether the first line of `text` is one of a rank file.
bool is_tiktoken_ranks(std::string_view text);

/// The tokenizer of a rank file: ids as tiktoken gives them. Known by their number of ranks are r50k (GPT-2), p50k,
/// cl100k, o200k, Llama 3 and Qwen. Throws Error corrupt_file naming the line, and invalid_argument where the
/// vocabulary is not known and `options` names no splitter. `source` names the file in errors.
TokenizerDefinition parse_tiktoken_ranks(std::string_view text, const std::string& source,
                                         const TiktokenOptions& options);

}  // namespace owlet
