// From documents to a data folder:
//   DIR/train-00000.owl …, DIR/validation-00000.owl …   shards (data/shard.hpp)
//   DIR/data.json                                       what is in them (data/dataset.hpp)
//   DIR/tokenizer/                                      the tokenizer they were made with
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "data/document_source.hpp"

namespace owlet {

enum class SplitKind {
  automatic,  ///< documents, or tail where there are fewer than 20 distinct documents
  documents,  ///< each document goes wholly to one side, chosen by a hash of its content: equal documents stay together
  tail,       ///< the last share of the text's bytes is for validation (nanoGPT's split of tinyshakespeare)
};

struct PrepareProgress {
  uint64_t bytes = 0, total_bytes = 0;  ///< text read and expected (file sizes)
  uint64_t documents = 0, tokens = 0;
};

struct PrepareOptions {
  std::string tokenizer;      ///< a tokenizer folder or file, or "bytes"
  std::filesystem::path out;  ///< the data folder
  SplitKind split = SplitKind::automatic;
  double validation_share = -1;  ///< in [0, 1); negative: 0.05 for documents, 0.1 for tail
  uint64_t seed = 0;             ///< of the split
  uint64_t tokens_per_shard = uint64_t{1} << 28;
  bool force = false;                                       ///< replace an existing data folder
  std::function<void(const PrepareProgress&)> on_progress;  ///< called between chunks; may throw to cancel
};

/// Throws invalid_argument where `out` is there and may not be replaced: nothing is without force, and with force
/// nothing but an earlier data folder or an empty folder.
void check_data_folder_target(const std::filesystem::path& out, bool force);

/// Tokenises all documents of `source` in parallel, with bounded memory, and writes the data folder at once at the end
/// (AtomicFolder). The shards are the same bytes whatever the number of threads. Returns what data.json says.
/// Throws invalid_argument (no document, bad share, folder exists without force), io (disk space, with numbers).
DatasetInfo prepare_dataset(DocumentSource& source, const PrepareOptions& options);

/// The same for text files parted by `separator` (data/sources/text_file.hpp).
DatasetInfo prepare_text_files(const std::vector<std::filesystem::path>& files, const std::string& separator,
                               const PrepareOptions& options);

}  // namespace owlet
