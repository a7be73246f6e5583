// Normalizers: what a tokenizer changes in a text before it is cut into words (the `normalizer` of tokenizer.json).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace owlet {

/// Const methods may be called from several threads at once.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// `text` is valid UTF-8, and so is the result.
  virtual std::string normalize(std::string_view text) const = 0;
};

/// The normalizer that a section of a tokenizer.json describes; null for null. Known: NFC, NFD, NFKC, NFKD, Lowercase,
/// Replace, Prepend, Strip, StripAccents, ByteLevel, Sequence. `source` and `name` say in errors where it stands.
/// Throws Error corrupt_file, or unsupported naming the field.
std::unique_ptr<Normalizer> make_normalizer(const Json& json, const std::string& source, const std::string& name);

}  // namespace owlet
