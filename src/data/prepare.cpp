#include "data/prepare.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/human.hpp"
#include "base/log.hpp"
#include "base/ordered_pipeline.hpp"
#include "base/parallel_for.hpp"
#include "data/corpus_split.hpp"
#include "data/prepare_folder.hpp"
#include "data/prepare_work.hpp"
#include "data/prepare_writer.hpp"
#include "data/sources/input_files.hpp"
#include "text/tokenizer.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMinMemoryBytes = uint64_t{64} << 20, kMaxDefaultMemoryBytes = uint64_t{4} << 30;
constexpr uint64_t kMinChunkBytes = uint64_t{64} << 10, kMaxChunkBytes = uint64_t{4} << 20;
// A document is held as its row, as the parsed row, as itself, and its copies while buffers grow.
constexpr uint64_t kMemoryPerDocument = 6;
// Of a chunk there are lines, documents and tokens, three chunks for each thread; hashes take a quarter of the memory.
constexpr uint64_t kMemoryPerChunk = 40;
// Text unpacks to about so many times its size in a .gz, .zst or parquet file.
constexpr double kUnpackedShare = 4;

uint64_t default_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  const uint64_t machine = pages > 0 && page_bytes > 0
                               ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
                               : kMaxDefaultMemoryBytes;
  return std::clamp(machine / 4, kMinMemoryBytes, kMaxDefaultMemoryBytes);
}

/// All that decides the output: a preparation goes on only with work of an equal request.
OrderedJson describe_request(const std::vector<fs::path>& files, const PrepareOptions& options,
                             const Tokenizer& tokenizer) {
  OrderedJson request;
  request["tokenizer"] = fmt::format("{:016x}", tokenizer.fingerprint());
  request["split"] = static_cast<int>(options.split);
  request["validation_share"] = options.validation_share;
  request["seed"] = options.seed;
  request["separator"] = options.documents.separator;
  request["column"] = options.documents.column;
  request["drop_duplicates"] = options.drops_duplicates;
  request["tokens_per_shard"] = options.tokens_per_shard;
  request["files"] = OrderedJson::array();
  for (const fs::path& file : files) {
    struct stat status {};
    check(stat(file.c_str(), &status) == 0, ErrorKind::io, "cannot look at '{}'", file.string());
    request["files"].push_back({{"path", fs::absolute(file).string()},
                                {"bytes", status.st_size},
                                {"modified", fmt::format("{}.{:09}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec)}});
  }
  return request;
}

uint64_t total_file_bytes(const std::vector<SourceFile>& files) {
  uint64_t bytes = 0;
  for (const SourceFile& file : files) bytes += file.bytes;
  return bytes;
}

double unpacked_bytes(const std::vector<SourceFile>& files) {
  double bytes = 0;
  for (const SourceFile& file : files) {
    const bool is_packed = is_compressed_name(file.path) || inner_extension(file.path) == ".parquet";
    bytes += static_cast<double>(file.bytes) * (is_packed ? kUnpackedShare : 1);
  }
  return bytes;
}

/// Estimates the shards' size from the tokens per byte of the first text, with a tenth to spare.
void check_space(const std::vector<SourceFile>& files, const CorpusSplit& split, const Tokenizer& tokenizer,
                 const fs::path& out) {
  const CorpusSurvey& survey = split.survey();
  const double tokens_per_byte =
      static_cast<double>(tokenizer.encode(survey.sample).size()) / static_cast<double>(survey.sample.size());
  const double text_bytes = survey.is_whole ? static_cast<double>(survey.bytes) : unpacked_bytes(files);
  const double documents_per_byte = static_cast<double>(survey.documents) / static_cast<double>(survey.bytes);
  const double width = token_width_bytes(static_cast<uint64_t>(tokenizer.vocab_size()));
  const double for_document = width + 8 + sizeof(DocumentHash);
  const double needed = 1.1 * text_bytes * (tokens_per_byte * width + documents_per_byte * for_document);
  const uint64_t free = free_disk_bytes(out);
  check(needed < static_cast<double>(free), ErrorKind::io,
        "'{}' would need about {} for the tokens, but {} are free there", out.string(),
        format_bytes(static_cast<uint64_t>(needed)), format_bytes(free));
}

/// Looks at the documents and decides how they are parted, or takes what was decided before the interruption.
CorpusSplit decide_split(const std::vector<fs::path>& files, const PrepareOptions& options, const Tokenizer& tokenizer,
                         PrepareFolder& folder) {
  if (folder.state()) {
    log_info("going on with the unfinished preparation in '{}'", folder.path().string());
    const std::string source = folder.journal_name();
    return CorpusSplit(json_get<Json>(*folder.state(), "split", source), source, options.seed);
  }
  try {
    const auto source = open_documents(files, options.documents);
    CorpusSplit split(*source, options.split, options.validation_share, options.seed);
    check_space(source->files(), split, tokenizer, options.out);
    return split;
  } catch (...) {
    folder.discard();
    throw;
  }
}

void run_pipeline(const std::vector<fs::path>& files, const PrepareOptions& options, const Tokenizer& tokenizer,
                  CorpusSplit& split, PrepareWriter& writer) {
  const auto threads = static_cast<uint64_t>(num_threads());
  const uint64_t by_memory =
      std::clamp(options.memory_bytes / (kMemoryPerChunk * threads), kMinChunkBytes, kMaxChunkBytes);
  const uint64_t chunk_bytes = options.chunk_bytes > 0 ? options.chunk_bytes : by_memory;
  WorkReader reader(files, options.documents, split, tokenizer, chunk_bytes);
  reader.seek(writer.position());
  OrderedPipeline<PrepareWork, EncodedWork> pipeline(
      num_threads(), [&](PrepareWork& work) { return reader.next(work); },
      [&](PrepareWork&& work) { return encode_work(std::move(work), options.documents, split, tokenizer); },
      [&](EncodedWork&& work) { writer.write(std::move(work)); });
  pipeline.run();
}

void check_options(const PrepareOptions& options) {
  check(!options.out.empty(), ErrorKind::invalid_argument, "no data folder given");
  check(options.tokens_per_shard > 0, ErrorKind::invalid_argument, "0 tokens per shard, expected at least 1");
  check(options.memory_bytes >= kMinMemoryBytes, ErrorKind::invalid_argument, "{} of memory, expected at least {}",
        format_bytes(options.memory_bytes), format_bytes(kMinMemoryBytes));
  check_data_folder_target(options.out, options.force);
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

DatasetInfo prepare_files(const std::vector<fs::path>& paths, const PrepareOptions& given) {
  PrepareOptions options = given;
  if (options.memory_bytes == 0) options.memory_bytes = default_memory_bytes();
  options.documents.max_document_bytes = options.memory_bytes / kMemoryPerDocument;
  check_options(options);
  const InputFiles input = find_input_files(paths);
  const std::vector<SourceFile> sources = source_files(input.files);
  const Tokenizer tokenizer = load_tokenizer(options.tokenizer);
  PrepareFolder folder(options.out, describe_request(input.files, options, tokenizer), options.restarts);
  CorpusSplit split = decide_split(input.files, options, tokenizer, folder);

  PrepareWriter writer(folder, tokenizer, split, options, total_file_bytes(sources));
  try {
    run_pipeline(input.files, options, tokenizer, split, writer);
  } catch (const Error& error) {
    // What is written before a bad row or a request to stop is whole; a full disk has no room to say so.
    if (error.kind() != ErrorKind::io) writer.keep();
    throw;
  }

  DatasetInfo info;
  writer.finish(info);
  info.passed_over = input.passed_over;
  info.tokenizer_fingerprint = fmt::format("{:016x}", tokenizer.fingerprint());
  info.vocab_size = tokenizer.vocab_size();
  info.end_of_text_id = tokenizer.end_of_text_id().value_or(-1);
  info.separator = options.documents.separator;
  info.column = options.documents.column;
  info.split = split.kind() == SplitKind::tail ? "tail" : "documents";
  info.validation_share = split.share();
  info.seed = options.seed;
  info.sources = sources;
  tokenizer.save(folder.data_path() / "tokenizer");
  write_file_atomically(folder.data_path() / "data.json", dataset_info_to_json(info));
  folder.commit();
  return info;
}

DatasetInfo prepare_text_files(const std::vector<fs::path>& files, const std::string& separator,
                               PrepareOptions options) {
  options.documents.separator = separator;
  return prepare_files(files, options);
}

}  // namespace owlet
