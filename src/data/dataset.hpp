// A prepared data folder opened for reading: data.json and its shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/chat_info.hpp"
#include "data/document_source.hpp"

namespace owlet {

class TokenSequence;

struct ShardInfo {
  std::string file;  ///< name inside the data folder
  uint64_t tokens = 0, documents = 0, bytes = 0;
};

/// One side of the split. `bytes` counts text; the end-of-text tokens add none.
struct SplitInfo {
  uint64_t tokens = 0, documents = 0, bytes = 0;
  std::vector<ShardInfo> shards;
};

/// Documents that equal an earlier one byte for byte.
struct DuplicateInfo {
  uint64_t within_train = 0, within_validation = 0;
  uint64_t across = 0;  ///< the earlier one is on the other side
  bool are_dropped = false;
};

/// What data.json says.
struct DatasetInfo {
  uint64_t documents = 0;                     ///< stored, all of them with text
  uint64_t empty = 0;                         ///< without text: counted, not stored
  uint64_t skipped = 0;                       ///< unreadable
  std::vector<SkippedRecord> skipped_places;  ///< the first 20 of those
  DuplicateInfo duplicates;
  std::map<std::string, uint64_t> passed_over;  ///< files in folders that were of no known kind, by extension
  uint64_t tokens = 0;                          ///< all of them, end-of-text tokens included
  uint64_t bytes = 0;                           ///< of text
  double bytes_per_token = 0;
  std::map<int, uint64_t> length_percentiles;  ///< 50, 90, 99, 100 -> tokens of a document
  std::map<uint64_t, double> fits;             ///< context (128 … 8192) -> share of documents that are no longer
  std::string tokenizer_fingerprint;
  int64_t vocab_size = 0;
  int64_t end_of_text_id = -1;  ///< -1: the tokenizer has none
  std::string separator;
  std::string column;  ///< of rows
  std::string split;   ///< "documents" or "tail", as it was done
  double validation_share = 0;
  uint64_t seed = 0;
  std::vector<SourceFile> sources;
  SplitInfo train, validation;
  std::optional<ChatInfo> chat;  ///< of conversations only
};

/// data.json as text, and back. Reading throws corrupt_file naming `source` and the field.
std::string dataset_info_to_json(const DatasetInfo& info);
DatasetInfo dataset_info_from_json(const std::string& text, const std::string& source);

/// An open data folder. Cheap to copy; the shards stay mapped while any copy or stream lives. Safe to read from
/// several threads.
class Dataset {
 public:
  Dataset(std::filesystem::path folder, DatasetInfo info, std::shared_ptr<const TokenSequence> train,
          std::shared_ptr<const TokenSequence> validation);
  const std::filesystem::path& folder() const { return folder_; }
  const DatasetInfo& info() const { return info_; }
  const std::shared_ptr<const TokenSequence>& train() const { return train_; }
  const std::shared_ptr<const TokenSequence>& validation() const { return validation_; }
  /// What to give load_tokenizer() for this data.
  std::filesystem::path tokenizer_path() const { return folder_ / "tokenizer"; }
  /// Text bytes of each token id (0 for special tokens), for bits per byte. Reads the tokenizer.
  std::vector<int32_t> token_byte_lengths() const;
  /// Reads everything and checks all checksums and ids. Throws corrupt_file naming the shard.
  void verify() const;

 private:
  std::filesystem::path folder_;
  DatasetInfo info_;
  std::shared_ptr<const TokenSequence> train_, validation_;
};

/// Opens a data folder; checks that data.json and the shard headers agree (counts, width, fingerprint, end-of-text).
/// Throws not_found (no data.json, a shard missing), corrupt_file.
Dataset load_dataset(const std::filesystem::path& folder);

}  // namespace owlet
