// The files of a tokenizer: Hugging Face's tokenizer.json with tokenizer_config.json, and GPT-2's vocabulary and
// merges. What a file says and this program does not do is refused with the field's name, never ignored. Truncation and
// padding are the exception: they concern batches, and Owlet never cuts text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "text/tiktoken_ranks.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_definition.hpp"

namespace owlet {

/// The key in tokenizer_config.json for a document separator that is not the eos_token.
inline constexpr const char* kDocumentSeparatorKey = "document_separator";

/// Reads a tokenizer.json. `source` names it in errors. Throws Error corrupt_file or unsupported.
TokenizerDefinition parse_tokenizer_json(std::string_view text, const std::string& source);

/// The same of a document that is parsed already.
TokenizerDefinition tokenizer_of_json(const Json& json, const std::string& source);

/// Reads GPT-2's pair of files: a JSON object token → id, and one merge a line, best first. kEndOfText becomes a
/// special token where the vocabulary has it.
TokenizerDefinition parse_gpt2_files(std::string_view vocab_json, std::string_view merges, const std::string& source);

/// The text of a tokenizer.json for `definition`.
std::string format_tokenizer_json(const TokenizerDefinition& definition);

/// The text of a tokenizer_config.json; see Tokenizer::save().
std::string format_tokenizer_config(const TokenizerDefinition& definition, std::string_view end_of_text,
                                    int64_t model_max_length_tokens);

/// As load_tokenizer() for a folder or file that another program made; also one file of GPT-2's pair (the other stands
/// beside it), and tiktoken's ranks: a file of them, or a folder with tokenizer.model or one *.tiktoken. A
/// SentencePiece model is refused as unsupported.
Tokenizer import_tokenizer(const std::filesystem::path& path, const TiktokenOptions& options = {});

}  // namespace owlet
