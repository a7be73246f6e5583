// Any bytes as text for byte-level tokenizers with each of the named splitters: decoding gives the text back, and a cut
// at safe_cut() changes no id.
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe_trainer.hpp"
#include "text/pre_tokenizer.hpp"
#include "text/tokenizer.hpp"

namespace {

/// One small tokenizer for each splitter, half of them looking for whole words first.
std::vector<owlet::Tokenizer> make_tokenizers() {
  std::vector<owlet::Tokenizer> tokenizers;
  for (const std::string& splitter : owlet::pre_tokenizer_names()) {
    owlet::BpeTrainerOptions options;
    options.vocab_size = 400;
    options.min_frequency = 1;
    options.words.splitter = splitter;
    owlet::BpeTrainer trainer(options);
    trainer.add_document(
        "the owl sees the mouse, and it's 12 or 1234 o'clock; THE OWL'S mouse runs\n\n\tand  runs ...");
    trainer.add_document(
        "n\u00e4ive caf\u00e9 \u732b\u304c\u5bdd\u3066\u3044\u308b \U0001F600\U0001F600 aaaa aaaaaaa    bbbb\r\n");
    owlet::TokenizerDefinition definition = trainer.train().definition;
    definition.ignores_merges = tokenizers.size() % 2 == 1;
    tokenizers.emplace_back(std::move(definition));
  }
  return tokenizers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  static const std::vector<owlet::Tokenizer> tokenizers = make_tokenizers();
  if (count < 2) return 0;
  const owlet::Tokenizer& tokenizer = tokenizers[bytes[0] % tokenizers.size()];
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 2, count - 2);
  const std::vector<int32_t> ids = tokenizer.encode(text);
  if (tokenizer.decode(ids, false) != text) std::abort();
  const size_t cut = tokenizer.safe_cut(text, bytes[1] % (text.size() + 1));
  if (cut > text.size()) std::abort();
  std::vector<int32_t> parts = tokenizer.encode(text.substr(0, cut));
  tokenizer.encode_append(text.substr(cut), parts);
  if (parts != ids) std::abort();
  tokenizer.encode(text, true);
  return 0;
}
