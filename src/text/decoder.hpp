// Decoders: from the spelling of tokens back to text (the `decoder` of tokenizer.json).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace owlet {

/// One step of decoding, applied to all tokens of a text in order.
class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  /// Changes the tokens in place. `is_whole` is false for a token from the middle of a text: then nothing that belongs
  /// to the text's ends is done.
  virtual void decode(std::vector<std::string>& tokens, bool is_whole) const = 0;
  /// Whether the ends of a text decode in another way than its middle, so that tokens cannot be decoded one by one.
  virtual bool depends_on_place(bool is_fused) const = 0;
};

/// What turns tokens into text. Const methods may be called from several threads at once.
class Decoder {
 public:
  /// The decoder that a section of a tokenizer.json describes; null joins tokens by spaces. Known: ByteLevel,
  /// ByteFallback, Fuse, Metaspace, Replace, Strip, BPEDecoder, Sequence. `source` and `name` say in errors where it
  /// stands. Throws Error corrupt_file, or unsupported naming the field.
  Decoder(const Json& json, const std::string& source, const std::string& name);

  /// Whether a text is its tokens' decode_one() joined.
  bool is_context_free() const { return is_context_free_; }
  /// A token in the middle of a text.
  std::string decode_one(std::string_view token) const;
  /// A whole text. Bytes that are not valid UTF-8 stay as they are.
  std::string decode(std::vector<std::string> tokens) const;

 private:
  void add_step(const Json& json, const std::string& source, const std::string& name);
  void add(std::unique_ptr<DecoderStep> step, bool fuses = false);

  std::vector<std::unique_ptr<DecoderStep>> steps_;
  bool is_context_free_ = true, is_fused_ = false;
};

}  // namespace owlet
