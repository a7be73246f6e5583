#include "data/dataset.hpp"

#include <charconv>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "data/token_sequence.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr int kFormatVersion = 1;
constexpr uint64_t kMaxInfoBytes = uint64_t{64} << 20;

OrderedJson split_to_json(const SplitInfo& split) {
  OrderedJson shards = OrderedJson::array();
  for (const ShardInfo& shard : split.shards) {
    shards.push_back(
        {{"file", shard.file}, {"tokens", shard.tokens}, {"documents", shard.documents}, {"bytes", shard.bytes}});
  }
  return {{"tokens", split.tokens}, {"documents", split.documents}, {"bytes", split.bytes}, {"shards", shards}};
}

SplitInfo split_from_json(const Json& json, const std::string& source) {
  SplitInfo split;
  split.tokens = json_get<uint64_t>(json, "tokens", source);
  split.documents = json_get<uint64_t>(json, "documents", source);
  split.bytes = json_get<uint64_t>(json, "bytes", source);
  for (const Json& shard : json_get<std::vector<Json>>(json, "shards", source)) {
    split.shards.push_back({json_get<std::string>(shard, "file", source), json_get<uint64_t>(shard, "tokens", source),
                            json_get<uint64_t>(shard, "documents", source),
                            json_get<uint64_t>(shard, "bytes", source)});
  }
  return split;
}

/// The keys of `object` as numbers; a key that is no number is corrupt.
template <typename Key, typename Value>
std::map<Key, Value> number_map(const Json& object, const std::string& name, const std::string& source) {
  check(object.is_object(), ErrorKind::corrupt_file, "{}: '{}' is no object", source, name);
  std::map<Key, Value> map;
  for (const auto& [text, value] : object.items()) {
    Key key = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), key);
    check(result.ec == std::errc() && result.ptr == text.data() + text.size(), ErrorKind::corrupt_file,
          "{}: '{}' has the key '{}', expected a number", source, name, text);
    map[key] = json_to<Value>(value, text, source);
  }
  return map;
}

std::map<std::string, uint64_t> number_of_files(const Json& object, const std::string& source) {
  check(object.is_object(), ErrorKind::corrupt_file, "{}: 'files_passed_over' is no object", source);
  std::map<std::string, uint64_t> counts;
  for (const auto& [extension, count] : object.items()) counts[extension] = json_to<uint64_t>(count, extension, source);
  return counts;
}

OrderedJson duplicates_to_json(const DuplicateInfo& duplicates) {
  return {{"within_train", duplicates.within_train},
          {"within_validation", duplicates.within_validation},
          {"across", duplicates.across},
          {"dropped", duplicates.are_dropped}};
}

DuplicateInfo duplicates_from_json(const Json& json, const std::string& source) {
  if (json.is_null()) return {};
  return {json_get<uint64_t>(json, "within_train", source), json_get<uint64_t>(json, "within_validation", source),
          json_get<uint64_t>(json, "across", source), json_get<bool>(json, "dropped", source)};
}

std::shared_ptr<const TokenSequence> open_split(const fs::path& folder, const SplitInfo& split,
                                                const DatasetInfo& info) {
  std::vector<ShardReader> shards;
  uint64_t tokens = 0, documents = 0;
  for (const ShardInfo& shard : split.shards) {
    const std::string where = (folder / "data.json").string();
    check(!shard.file.empty() && shard.file.find('/') == std::string::npos, ErrorKind::corrupt_file,
          "{}: the shard '{}' is no plain file name", where, shard.file);
    const ShardReader& reader = shards.emplace_back(folder / shard.file);
    const ShardHeader& header = reader.header();
    check(header.num_tokens == shard.tokens && header.num_documents == shard.documents, ErrorKind::corrupt_file,
          "{} has {} tokens in {} documents, data.json says {} in {}", reader.path().string(), header.num_tokens,
          header.num_documents, shard.tokens, shard.documents);
    check(fmt::format("{:016x}", header.tokenizer_fingerprint) == info.tokenizer_fingerprint &&
              header.vocab_size == static_cast<uint64_t>(info.vocab_size) &&
              header.end_of_text_id == info.end_of_text_id,
          ErrorKind::corrupt_file, "{} was made with tokenizer {:016x} ({} tokens), data.json says {} ({})",
          reader.path().string(), header.tokenizer_fingerprint, header.vocab_size, info.tokenizer_fingerprint,
          info.vocab_size);
    tokens += header.num_tokens;
    documents += header.num_documents;
  }
  check(tokens == split.tokens && documents == split.documents, ErrorKind::corrupt_file,
        "{}: the shards have {} tokens in {} documents, data.json says {} in {}", folder.string(), tokens, documents,
        split.tokens, split.documents);
  return std::make_shared<const TokenSequence>(std::move(shards));
}

/// The shards of conversations carry loss masks that together train what data.json says.
void check_trained_tokens(const TokenSequence& train, const TokenSequence& validation, const DatasetInfo& info) {
  uint64_t trained_tokens = 0;
  for (const TokenSequence* split : {&train, &validation}) {
    for (const ShardReader& shard : split->shards()) {
      check(shard.header().has_loss_mask(), ErrorKind::corrupt_file, "{} has no loss mask, but data.json says chat",
            shard.path().string());
      trained_tokens += shard.header().num_trained_tokens;
    }
  }
  check(trained_tokens == info.chat->trained_tokens, ErrorKind::corrupt_file,
        "the shards train {} tokens, data.json says {}", trained_tokens, info.chat->trained_tokens);
}

}  // namespace

std::string dataset_info_to_json(const DatasetInfo& info) {
  OrderedJson json;
  json["format"] = "owlet-data";
  json["version"] = kFormatVersion;
  json["documents"] = info.documents;
  json["empty"] = info.empty;
  json["skipped"] = info.skipped;
  json["skipped_places"] = OrderedJson::array();
  for (const SkippedRecord& skipped : info.skipped_places) {
    json["skipped_places"].push_back({{"place", skipped.place}, {"reason", skipped.reason}});
  }
  json["duplicates"] = duplicates_to_json(info.duplicates);
  json["files_passed_over"] = OrderedJson::object();
  for (const auto& [extension, count] : info.passed_over) json["files_passed_over"][extension] = count;
  json["tokens"] = info.tokens;
  json["bytes"] = info.bytes;
  json["bytes_per_token"] = info.bytes_per_token;
  json["length_percentiles"] = OrderedJson::object();
  for (const auto& [percent, length] : info.length_percentiles) {
    json["length_percentiles"][std::to_string(percent)] = length;
  }
  json["fits"] = OrderedJson::object();
  for (const auto& [context, share] : info.fits) json["fits"][std::to_string(context)] = share;
  json["tokenizer"] = {{"fingerprint", info.tokenizer_fingerprint},
                       {"vocab_size", info.vocab_size},
                       {"end_of_text_id", info.end_of_text_id}};
  json["separator"] = info.separator;
  json["column"] = info.column;
  json["split"] = info.split;
  json["validation_share"] = info.validation_share;
  json["seed"] = info.seed;
  json["sources"] = OrderedJson::array();
  for (const SourceFile& file : info.sources) json["sources"].push_back({{"path", file.path}, {"bytes", file.bytes}});
  if (info.chat) json["chat"] = chat_info_to_json(*info.chat);
  json["train"] = split_to_json(info.train);
  json["validation"] = split_to_json(info.validation);
  return dump_json(json, 2) + "\n";
}

DatasetInfo dataset_info_from_json(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  const std::string format = json_get<std::string>(json, "format", source);
  check(format == "owlet-data", ErrorKind::corrupt_file, "{}: format '{}', expected 'owlet-data'", source, format);
  const int version = json_get<int>(json, "version", source);
  check(version == kFormatVersion, ErrorKind::unsupported, "{}: version {}, this program reads {}", source, version,
        kFormatVersion);
  DatasetInfo info;
  info.documents = json_get<uint64_t>(json, "documents", source);
  info.empty = json_get<uint64_t>(json, "empty", source);
  info.skipped = json_get<uint64_t>(json, "skipped", source);
  for (const Json& skipped : json_get_or<std::vector<Json>>(json, "skipped_places", {}, source)) {
    info.skipped_places.push_back(
        {json_get<std::string>(skipped, "place", source), json_get<std::string>(skipped, "reason", source)});
  }
  info.duplicates = duplicates_from_json(json_get_or<Json>(json, "duplicates", Json(), source), source);
  info.passed_over = number_of_files(json_get_or<Json>(json, "files_passed_over", Json::object(), source), source);
  info.column = json_get_or<std::string>(json, "column", "", source);
  info.tokens = json_get<uint64_t>(json, "tokens", source);
  info.bytes = json_get<uint64_t>(json, "bytes", source);
  info.bytes_per_token = json_get<double>(json, "bytes_per_token", source);
  info.length_percentiles =
      number_map<int, uint64_t>(json_get<Json>(json, "length_percentiles", source), "length_percentiles", source);
  info.fits = number_map<uint64_t, double>(json_get<Json>(json, "fits", source), "fits", source);
  const Json tokenizer = json_get<Json>(json, "tokenizer", source);
  info.tokenizer_fingerprint = json_get<std::string>(tokenizer, "fingerprint", source);
  info.vocab_size = json_get<int64_t>(tokenizer, "vocab_size", source);
  info.end_of_text_id = json_get<int64_t>(tokenizer, "end_of_text_id", source);
  info.separator = json_get<std::string>(json, "separator", source);
  info.split = json_get<std::string>(json, "split", source);
  info.validation_share = json_get<double>(json, "validation_share", source);
  info.seed = json_get<uint64_t>(json, "seed", source);
  for (const Json& file : json_get<std::vector<Json>>(json, "sources", source)) {
    info.sources.push_back({json_get<std::string>(file, "path", source), json_get<uint64_t>(file, "bytes", source)});
  }
  if (json.contains("chat")) info.chat = chat_info_from_json(json["chat"], source + ": chat");
  info.train = split_from_json(json_get<Json>(json, "train", source), source);
  info.validation = split_from_json(json_get<Json>(json, "validation", source), source);
  return info;
}

Dataset::Dataset(fs::path folder, DatasetInfo info, std::shared_ptr<const TokenSequence> train,
                 std::shared_ptr<const TokenSequence> validation)
    : folder_(std::move(folder)),
      info_(std::move(info)),
      train_(std::move(train)),
      validation_(std::move(validation)) {}

std::vector<int32_t> Dataset::token_byte_lengths() const {
  const Tokenizer tokenizer = load_tokenizer(tokenizer_path().string());
  const std::string fingerprint = fmt::format("{:016x}", tokenizer.fingerprint());
  check(fingerprint == info_.tokenizer_fingerprint, ErrorKind::corrupt_file,
        "{} has the fingerprint {}, but the data were made with {}", tokenizer_path().string(), fingerprint,
        info_.tokenizer_fingerprint);
  std::vector<int32_t> lengths(static_cast<size_t>(tokenizer.vocab_size()));
  for (size_t id = 0; id < lengths.size(); ++id) {
    lengths[id] = static_cast<int32_t>(tokenizer.token_bytes(static_cast<int32_t>(id)).size());
  }
  return lengths;
}

void Dataset::verify() const {
  for (const auto& split : {train_, validation_}) {
    for (const ShardReader& shard : split->shards()) shard.verify();
  }
}

Dataset load_dataset(const fs::path& folder) {
  const fs::path info_path = folder / "data.json";
  std::error_code ignored;
  if (!fs::exists(info_path, ignored)) {
    throw Error(ErrorKind::not_found, fmt::format("'{}' is no data folder: it has no data.json", folder.string()),
                "make one with `owlet data prepare FILE --tokenizer T --out DIR`");
  }
  DatasetInfo info = dataset_info_from_json(read_file(info_path, kMaxInfoBytes), info_path.string());
  auto train = open_split(folder, info.train, info);
  auto validation = open_split(folder, info.validation, info);
  if (info.chat) check_trained_tokens(*train, *validation, info);
  return Dataset(folder, std::move(info), std::move(train), std::move(validation));
}

}  // namespace owlet
