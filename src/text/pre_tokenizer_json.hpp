// The `pre_tokenizer` section of a tokenizer.json.
#pragma once

#include <memory>
#include <string>

#include "base/json.hpp"
#include "text/pre_tokenizer.hpp"

namespace owlet {

/// A pre-tokenizer made of steps: ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace,
/// CharDelimiterSplit, BertPreTokenizer, FixedLength, Sequence; null leaves the text whole. Steps after ByteLevel see
/// the text in the byte-level alphabet, but the words given out are bytes again. `source` and `name` say in errors
/// where it stands. Throws Error corrupt_file, or unsupported naming the field.
std::unique_ptr<PreTokenizer> make_pre_tokenizer_from_json(const Json& json, const std::string& source,
                                                           const std::string& name);

/// The name of the splitter that does the same as the section, empty where there is none.
std::string_view named_pre_tokenizer_of(const Json& json);

/// The section of a named splitter as `tokenizers` reads it.
OrderedJson json_of_named_pre_tokenizer(std::string_view name);

/// Whether ByteLevel is among the steps of a pre-tokenizer or normalizer.
bool has_byte_level(const Json& json);

}  // namespace owlet
