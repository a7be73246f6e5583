// Any bytes as a tokenizer.json or as a file of tiktoken ranks: a tokenizer or an Error. A tokenizer that is accepted
// encodes, decodes and is written such that it is read back as the same.
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "text/normal_form.hpp"
#include "text/tiktoken_ranks.hpp"
#include "text/tokenizer.hpp"
#include "text/tokenizer_files.hpp"

namespace {

constexpr std::string_view kTexts[] = {"", "a", "The quick  brown\tfox's 12345!?\r\n\n x",
                                       "n\u00e4ive \u732b\u304c \U0001F600 <s> <|endoftext|>", "\xff\xc3(\x80 ab"};

std::optional<owlet::Tokenizer> read_tokenizer(std::string_view text) {
  if (owlet::is_tiktoken_ranks(text)) return owlet::Tokenizer(owlet::parse_tiktoken_ranks(text, "ranks", {"gpt2", {}}));
  return owlet::Tokenizer(owlet::parse_tokenizer_json(text, "json"));
}

}  // namespace

/// The tables of the normal forms are made once, from a million characters: that is no input's time.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using owlet::NormalForm;
  for (const NormalForm form : {NormalForm::nfc, NormalForm::nfd, NormalForm::nfkc, NormalForm::nfkd}) {
    owlet::to_normal_form("\u00e9", form);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  std::optional<owlet::Tokenizer> tokenizer;
  try {
    tokenizer = read_tokenizer({reinterpret_cast<const char*>(bytes), count});
  } catch (const owlet::Error&) {
    return 0;
  }
  for (const std::string_view text : kTexts) {
    try {
      for (const int32_t id : tokenizer->encode(text, true)) {
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      }
      tokenizer->decode(tokenizer->encode(text), false);
    } catch (const owlet::Error& error) {
      // Expressions that backtrack without bound.
      if (error.kind() != owlet::ErrorKind::unsupported) std::abort();
    }
  }
  const owlet::Tokenizer again(
      owlet::parse_tokenizer_json(owlet::format_tokenizer_json(tokenizer->definition()), "own"));
  if (again.fingerprint() != tokenizer->fingerprint()) std::abort();
  return 0;
}
