// Where a tokenizer's files lie: load_tokenizer() and Tokenizer::save().
#include "text/tokenizer_files.hpp"

#include <array>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "text/tokenizer.hpp"

namespace owlet {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 28;
constexpr std::array<std::pair<const char*, const char*>, 3> kVocabAndMerges = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}, {"gpt2_encoder.json", "gpt2_vocab.bpe"}}};

// The content of a token in tokenizer_config.json: a string, or an object with "content".
std::string token_content(const Json& config, const std::string& key) {
  const auto found = config.find(key);
  if (found == config.end()) return {};
  const Json& token = found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  return token.is_string() ? token.get<std::string>() : std::string();
}

// What tokenizer_config.json and chat_template.jinja add: the tokens that begin and end text, and the chat template.
void read_config(const fs::path& folder, TokenizerDefinition& definition) {
  const auto known = [&](const std::string& content) {
    for (const AddedToken& token : definition.added_tokens) {
      if (token.content == content) return content;
    }
    return std::string();
  };
  const fs::path path = folder / "tokenizer_config.json";
  Json config = Json::object();
  if (fs::exists(path)) config = parse_json(read_file(path, kMaxFileBytes), path.string());
  check(config.is_object(), ErrorKind::corrupt_file, "{} is of type {}, expected an object", path.string(),
        config.type_name());
  const std::string bos = known(token_content(config, "bos_token")), eos = known(token_content(config, "eos_token"));
  // The document separator of a foreign tokenizer: one of the usual names, otherwise its end-of-sequence token.
  std::string& end_of_text = definition.end_of_text = known(token_content(config, kDocumentSeparatorKey));
  for (const auto& usual : {std::string(kEndOfText), std::string("<|end_of_text|>"), std::string("</s>")}) {
    if (end_of_text.empty()) end_of_text = known(usual);
  }
  if (config.contains("chat_template") && config["chat_template"].is_string()) {
    definition.chat_template = config["chat_template"].get<std::string>();
  }
  if (fs::exists(folder / "chat_template.jinja")) {
    definition.chat_template = read_file(folder / "chat_template.jinja", kMaxFileBytes);
  }
  if (end_of_text.empty()) end_of_text = eos;
  if (bos != end_of_text) definition.begin_of_text = bos;
  if (eos != end_of_text) definition.end_of_turn = eos;
}

/// `json`: the content of `path`.
Tokenizer make_tokenizer(const Json& json, const fs::path& path) {
  TokenizerDefinition definition = tokenizer_of_json(json, path.string());
  read_config(path.parent_path(), definition);
  return Tokenizer(std::move(definition));
}

Tokenizer load_tokenizer_json(const fs::path& path) {
  return make_tokenizer(parse_json(read_file(path, kMaxFileBytes), path.string()), path);
}

/// GPT-2's pair of files in `folder`, where one of the usual pairs is there.
std::optional<Tokenizer> load_pair(const fs::path& folder) {
  for (const auto& [vocab, merges] : kVocabAndMerges) {
    if (!fs::exists(folder / vocab) || !fs::exists(folder / merges)) continue;
    return Tokenizer(parse_gpt2_files(read_file(folder / vocab, kMaxFileBytes),
                                      read_file(folder / merges, kMaxFileBytes), (folder / vocab).string()));
  }
  return std::nullopt;
}

/// A vocabulary or merges whose partner is needed: the pair that `path` belongs to, by its name.
Tokenizer import_half_of_pair(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const auto& [vocab, merges] : kVocabAndMerges) {
    if (name != vocab && name != merges) continue;
    const fs::path other = path.parent_path() / (name == vocab ? merges : vocab);
    check(fs::exists(other), ErrorKind::not_found, "'{}' is one half of a tokenizer; the other, '{}', is not there",
          path.string(), other.string());
    return *load_pair(path.parent_path());
  }
  throw Error(ErrorKind::unsupported, fmt::format("'{}' is no tokenizer that Owlet knows", path.string()),
              "it takes tokenizer.json, vocab.json with merges.txt, encoder.json with vocab.bpe, and tiktoken's ranks");
}

Tokenizer import_file(const fs::path& path, const TiktokenOptions& options) {
  const std::string text = read_file(path, kMaxFileBytes);
  if (is_tiktoken_ranks(text)) return Tokenizer(parse_tiktoken_ranks(text, path.string(), options));
  if (path.extension() == ".model") {
    throw Error(ErrorKind::unsupported,
                fmt::format("'{}' is a SentencePiece model, or damaged: Owlet reads tiktoken's ranks of that name only",
                            path.string()),
                "import the tokenizer.json of the same model; transformers' save_pretrained() writes one");
  }
  // A tokenizer.json has sections; the values of a vocabulary are ids.
  const Json json = path.extension() == ".json" ? parse_json(text, path.string()) : Json();
  if (json.is_object() && json.contains("model") && json["model"].is_object()) return make_tokenizer(json, path);
  return import_half_of_pair(path);
}

/// The rank file of a folder without other tokenizers; empty where there is none.
fs::path rank_file_of(const fs::path& folder) {
  if (fs::exists(folder / "tokenizer.model")) return folder / "tokenizer.model";
  fs::path found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".tiktoken") continue;
    check(found.empty(), ErrorKind::invalid_argument, "'{}' holds several vocabularies, '{}' and '{}'; name one",
          folder.string(), found.filename().string(), entry.path().filename().string());
    found = entry.path();
  }
  return found;
}

}  // namespace

Tokenizer import_tokenizer(const fs::path& path, const TiktokenOptions& options) {
  if (fs::is_regular_file(path)) return import_file(path, options);
  if (fs::is_directory(path) && !fs::exists(path / "tokenizer.json")) {
    if (std::optional<Tokenizer> pair = load_pair(path)) return *std::move(pair);
    const fs::path ranks = rank_file_of(path);
    if (!ranks.empty()) return import_file(ranks, options);
  }
  return load_tokenizer(path.string());
}

Tokenizer load_tokenizer(const std::string& name_or_path) {
  if (name_or_path == "bytes") return byte_tokenizer();
  const fs::path path = name_or_path;
  if (fs::is_regular_file(path)) return load_tokenizer_json(path);
  if (fs::is_directory(path)) {
    if (fs::exists(path / "tokenizer.json")) return load_tokenizer_json(path / "tokenizer.json");
    if (std::optional<Tokenizer> pair = load_pair(path)) return *std::move(pair);
  }
  throw Error(ErrorKind::not_found,
              fmt::format("no tokenizer at '{}': {}", name_or_path,
                          fs::exists(path) ? "the folder holds neither tokenizer.json nor vocab.json with merges.txt"
                                           : "no such file or folder"),
              "give a folder with tokenizer.json, or the word bytes");
}

void Tokenizer::save(const fs::path& folder, int64_t model_max_length_tokens) const {
  std::error_code problem;
  fs::create_directories(folder, problem);
  check(!problem, ErrorKind::io, "cannot make the folder '{}': {}", folder.string(), problem.message());
  const auto end_of_text = end_of_text_id();
  std::string content;
  for (const AddedToken& token : added_tokens()) {
    if (end_of_text == token.id) content = token.content;
  }
  write_file_atomically(folder / "tokenizer.json", format_tokenizer_json(definition()));
  write_file_atomically(folder / "tokenizer_config.json",
                        format_tokenizer_config(definition(), content, model_max_length_tokens));
}

}  // namespace owlet
