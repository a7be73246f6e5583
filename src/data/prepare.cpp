#include "data/prepare.hpp"

#include <algorithm>
#include <memory>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "base/parallel_for.hpp"
#include "data/corpus_split.hpp"
#include "data/document_lengths.hpp"
#include "data/shard.hpp"
#include "data/sources/text_file.hpp"
#include "data/split_writer.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kChunkBytes = uint64_t{4} << 20;
constexpr size_t kChunkDocuments = 8192;
constexpr int64_t kDocumentsPerRange = 16;

struct PlacedDocument {
  std::string text;
  CorpusSplit::Side side;
};

/// One preparation under way: placed documents gather in a chunk, which is encoded in parallel and written in order.
class Preparation {
 public:
  Preparation(const fs::path& folder, const Tokenizer& tokenizer, const PrepareOptions& options, uint64_t total_bytes)
      : tokenizer_(tokenizer),
        options_(options),
        train_(folder, "train", document_shards(tokenizer), options.tokens_per_shard),
        validation_(folder, "validation", document_shards(tokenizer), options.tokens_per_shard) {
    progress_.total_bytes = total_bytes;
  }

  void add(std::string document, CorpusSplit::Side side) {
    chunk_bytes_ += document.size();
    chunk_.push_back({std::move(document), side});
    if (chunk_bytes_ >= kChunkBytes || chunk_.size() >= kChunkDocuments) write_chunk();
  }

  /// Fills in splits, totals and lengths.
  void finish(DatasetInfo& info) {
    write_chunk();
    info.train = train_.finish();
    info.validation = validation_.finish();
    info.tokens = info.train.tokens + info.validation.tokens;
    info.bytes = info.train.bytes + info.validation.bytes;
    info.bytes_per_token = text_tokens_ == 0 ? 0 : static_cast<double>(info.bytes) / static_cast<double>(text_tokens_);
    lengths_.fill(info);
  }

 private:
  void write_chunk() {
    std::vector<std::vector<int32_t>> encoded(chunk_.size());
    parallel_for(static_cast<int64_t>(chunk_.size()), kDocumentsPerRange, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        encoded[i] = tokenizer_.encode(chunk_[i].text);
      }
    });
    const uint64_t mark_tokens = tokenizer_.end_of_text_id() ? 1 : 0;
    for (size_t i = 0; i < chunk_.size(); ++i) {
      (chunk_[i].side == CorpusSplit::Side::train ? train_ : validation_).add(encoded[i], {}, chunk_[i].text.size());
      lengths_.add(encoded[i].size() + mark_tokens);
      text_tokens_ += encoded[i].size();
      progress_.tokens += encoded[i].size() + mark_tokens;
    }
    progress_.bytes += chunk_bytes_;
    progress_.documents += chunk_.size();
    chunk_.clear();
    chunk_bytes_ = 0;
    if (options_.on_progress) options_.on_progress(progress_);
  }

  const Tokenizer& tokenizer_;
  const PrepareOptions& options_;
  SplitWriter train_, validation_;
  std::vector<PlacedDocument> chunk_;
  uint64_t chunk_bytes_ = 0, text_tokens_ = 0;
  DocumentLengths lengths_;
  PrepareProgress progress_;
};

uint64_t total_file_bytes(const DocumentSource& source) {
  uint64_t bytes = 0;
  for (const SourceFile& file : source.files()) bytes += file.bytes;
  return bytes;
}

/// Estimates the shards' size from the tokens per byte of the first text, with a tenth to spare.
void check_space(const DocumentSource& source, const CorpusSplit& split, const Tokenizer& tokenizer,
                 const fs::path& out) {
  const CorpusSurvey& survey = split.survey();
  const double tokens_per_byte =
      static_cast<double>(tokenizer.encode(survey.sample).size()) / static_cast<double>(survey.sample.size());
  const double text_bytes = static_cast<double>(survey.is_whole ? survey.bytes : total_file_bytes(source));
  const double documents_per_byte = static_cast<double>(survey.documents) / static_cast<double>(survey.bytes);
  const double width = token_width_bytes(static_cast<uint64_t>(tokenizer.vocab_size()));
  const double needed = 1.1 * text_bytes * (tokens_per_byte * width + documents_per_byte * (8 + width));
  const uint64_t free = free_disk_bytes(out);
  check(needed < static_cast<double>(free), ErrorKind::io,
        "'{}' would need about {} for the tokens, but {} are free there", out.string(),
        format_bytes(static_cast<uint64_t>(needed)), format_bytes(free));
}

}  // namespace

void check_data_folder_target(const fs::path& out, bool force) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(out, ignored))) return;
  const bool is_empty_folder = fs::is_directory(out, ignored) && fs::is_empty(out, ignored);
  if (is_empty_folder) return;
  check(fs::exists(out / "data.json", ignored), ErrorKind::invalid_argument,
        "'{}' exists and is no data folder; it is not replaced", out.string());
  if (!force) {
    throw Error(ErrorKind::invalid_argument, fmt::format("the data folder '{}' exists already", out.string()),
                "--force replaces it");
  }
}

DatasetInfo prepare_dataset(DocumentSource& source, const PrepareOptions& options) {
  check(!options.out.empty(), ErrorKind::invalid_argument, "no data folder given");
  check(options.tokens_per_shard > 0, ErrorKind::invalid_argument, "0 tokens per shard, expected at least 1");
  check_data_folder_target(options.out, options.force);
  const Tokenizer tokenizer = load_tokenizer(options.tokenizer);
  CorpusSplit split(source, options.split, options.validation_share, options.seed);
  check_space(source, split, tokenizer, options.out);

  const fs::path parent = fs::absolute(options.out).lexically_normal().parent_path();
  std::error_code error;
  fs::create_directories(options.out.has_filename() ? parent : parent.parent_path(), error);
  check(!error, ErrorKind::io, "cannot create the folder of '{}': {}", options.out.string(), error.message());
  AtomicFolder folder(options.out);

  Preparation preparation(folder.working_path(), tokenizer, options,
                          split.survey().is_whole ? split.survey().bytes : total_file_bytes(source));
  std::string document;
  while (source.next(document)) {
    split.place(std::move(document),
                [&](std::string part, CorpusSplit::Side side) { preparation.add(std::move(part), side); });
  }

  DatasetInfo info;
  preparation.finish(info);
  info.documents = source.num_documents();
  info.empty = source.num_empty();
  info.skipped = source.num_skipped();
  info.tokenizer_fingerprint = fmt::format("{:016x}", tokenizer.fingerprint());
  info.vocab_size = tokenizer.vocab_size();
  info.end_of_text_id = tokenizer.end_of_text_id().value_or(-1);
  info.separator = source.separator();
  info.split = split.kind() == SplitKind::tail ? "tail" : "documents";
  info.validation_share = split.share();
  info.seed = options.seed;
  info.sources = source.files();
  tokenizer.save(folder.working_path() / "tokenizer");
  write_file_atomically(folder.working_path() / "data.json", dataset_info_to_json(info));
  folder.commit();
  return info;
}

DatasetInfo prepare_text_files(const std::vector<fs::path>& files, const std::string& separator,
                               const PrepareOptions& options) {
  TextFileSource source(files, separator);
  return prepare_dataset(source, options);
}

}  // namespace owlet
