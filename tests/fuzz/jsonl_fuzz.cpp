// Any bytes as a file of rows or texts, plain or packed: documents or an Error, and the same documents however the file
// is cut into chunks and wherever reading begins anew.
#include <cstdlib>

#include "base/error.hpp"
#include "data/document_chunks.hpp"
#include "fuzz_file.hpp"

namespace {

using Documents = std::vector<std::string>;

constexpr const char* kExtensions[] = {".jsonl", ".json", ".txt", ".jsonl.gz", ".jsonl.zst", ".txt.gz", ".json.zst"};

owlet::DocumentOptions make_options(uint8_t choice) {
  owlet::DocumentOptions options;
  options.separator = (choice & 1) != 0 ? "blank-lines" : "--";
  options.skips_bad_records = (choice & 2) != 0;
  options.max_document_bytes = 4096;
  return options;
}

Documents read_all(const std::filesystem::path& path, const owlet::DocumentOptions& options) {
  const auto source = owlet::open_documents({path}, options);
  Documents documents;
  for (std::string document; source->next(document);) documents.push_back(document);
  return documents;
}

/// The same with a new reader for each chunk.
Documents read_in_chunks(const std::filesystem::path& path, const owlet::DocumentOptions& options, uint64_t bytes) {
  Documents documents;
  owlet::SourcePosition position;
  while (true) {
    owlet::ChunkReader reader({path}, options, bytes);
    reader.seek(position);
    owlet::DocumentChunk chunk;
    if (!reader.next(chunk)) return documents;
    owlet::parse_lines(chunk, options);
    documents.insert(documents.end(), chunk.documents.begin(), chunk.documents.end());
    position = chunk.end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
  if (count < 2) return 0;
  const auto path =
      owlet::fuzz_file(bytes + 2, count - 2, kExtensions[(bytes[0] - unsigned{'0'}) % std::size(kExtensions)]);
  const owlet::DocumentOptions options = make_options(static_cast<uint8_t>(bytes[1] - '0'));
  Documents whole;
  bool is_readable = false;
  try {
    whole = read_all(path, options);
    is_readable = true;
  } catch (const owlet::Error&) {
  }
  try {
    const Documents chunks = read_in_chunks(path, options, 1 + count / 16);
    if (is_readable && chunks != whole) std::abort();
  } catch (const owlet::Error&) {
    if (is_readable) std::abort();
  }
  return 0;
}
