// Post-processors: the special tokens that a tokenizer sets around a text where asked (the `post_processor` of
// tokenizer.json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace owlet {

/// Tokens before and after a text, for example begin-of-sequence.
struct TokenFrame {
  std::vector<int32_t> before, after;
};

/// The frame that a section of a tokenizer.json sets around a single text; empty for null and ByteLevel (which concerns
/// offsets only). Known: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence. `source` and
/// `name` say in errors where it stands. Throws Error corrupt_file, or unsupported naming the field.
TokenFrame parse_post_processor(const Json& json, const std::string& source, const std::string& name);

}  // namespace owlet
