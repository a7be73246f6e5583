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
#include "data/sources/open_documents.hpp"

namespace owlet {

enum class SplitKind {
  automatic,  ///< documents, or tail where there are fewer than 20 distinct documents
  documents,  ///< each document goes wholly to one side, chosen by a hash of its content: equal documents stay together
  tail,       ///< the last share of the text's bytes is for validation (nanoGPT's split of tinyshakespeare)
};

struct PrepareProgress {
  uint64_t bytes = 0, total_bytes = 0;  ///< of the files as they lie on the disk, read and expected
  uint64_t documents = 0, tokens = 0;
};

struct PrepareOptions {
  std::string tokenizer;      ///< a tokenizer folder or file, or "bytes"
  std::filesystem::path out;  ///< the data folder
  SplitKind split = SplitKind::automatic;
  double validation_share = -1;   ///< in [0, 1); negative: 0.05 for documents, 0.1 for tail
  uint64_t seed = 0;              ///< of the split
  DocumentOptions documents;      ///< how files become documents; max_document_bytes follows from the memory
  bool drops_duplicates = false;  ///< keep the first of equal documents only, else they are counted
  uint64_t tokens_per_shard = uint64_t{1} << 28;
  /// What the preparation may use beside the tokenizer; 0: a quarter of this machine's, at most 4 GiB. Decides nothing
  /// but the longest document that can be read (a sixth of it) and the speed.
  uint64_t memory_bytes = 0;
  uint64_t chunk_bytes = 0;  ///< text that a thread takes at once; 0: by the memory
  bool force = false;        ///< replace an existing data folder
  bool restarts = false;     ///< throw an unfinished preparation away instead of going on with it
  double keep_seconds = 5;   ///< between places from which an interrupted preparation goes on
  /// Called between chunks, by any thread but one at a time; may throw to cancel.
  std::function<void(const PrepareProgress&)> on_progress;
};

/// Throws invalid_argument where `out` is there and may not be replaced: nothing is without force, and with force
/// nothing but an earlier data folder or an empty folder.
void check_data_folder_target(const std::filesystem::path& out, bool force);

/// Tokenises the documents of files and folders (data/sources/input_files.hpp) on num_threads() threads in bounded
/// memory and writes the data folder. The same bytes come out whatever the number of threads and the memory, and
/// however often it was interrupted: work under way is kept in OUT.owlet-prepare (data/prepare_folder.hpp), and the
/// same request goes on with it. Returns what data.json says. Throws invalid_argument (no document, bad share, folder
/// exists without force, unfinished work of another request), corrupt_file naming file and place, io (disk space, with
/// numbers), and what on_progress throws.
DatasetInfo prepare_files(const std::vector<std::filesystem::path>& paths, const PrepareOptions& options);

/// The same with documents parted by `separator`.
DatasetInfo prepare_text_files(const std::vector<std::filesystem::path>& files, const std::string& separator,
                               PrepareOptions options);

}  // namespace owlet
