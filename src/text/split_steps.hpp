// The steps that pre-tokenizers of a tokenizer.json are made of.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "text/json_section.hpp"

namespace owlet {

/// A stretch of text between two steps; `is_at_start` where it begins the whole text.
struct TextPart {
  std::string_view text;
  bool is_at_start;
};
using TextPartSink = FunctionRef<void(TextPart part)>;

/// Cuts a part into parts, and may change them. Parts are valid during the call of the sink.
class SplitStep {
 public:
  virtual ~SplitStep() = default;
  virtual void split(TextPart part, TextPartSink sink) const = 0;
};

/// The steps of ByteLevel; with `spells` the text comes out in the byte-level alphabet.
void append_byte_level_steps(const JsonSection& section, bool spells, std::vector<std::unique_ptr<SplitStep>>& steps);

/// The steps of any other section that cuts text. `known_splitter` names the splitter that equals a Split, if any.
/// Throws Error corrupt_file, or unsupported naming the field.
void append_split_steps(const JsonSection& section, std::string_view known_splitter,
                        std::vector<std::unique_ptr<SplitStep>>& steps);

}  // namespace owlet
