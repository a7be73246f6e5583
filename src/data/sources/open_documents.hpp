// Documents of any files: text parted by a separator, or the text column of rows; plain or packed.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/document_source.hpp"
#include "data/record_source.hpp"
#include "data/sources/record_documents.hpp"
#include "data/sources/text_file.hpp"

namespace owlet {

struct DocumentOptions {
  std::string separator = std::string(kDefaultSeparator);  ///< of text files, as in TextFileSource
  std::string column = std::string(kDefaultColumn);        ///< of rows
  bool skips_bad_records = false;                          ///< count and pass over instead of throwing
  uint64_t max_document_bytes = uint64_t{1} << 28;
};

/// How to open the rows for these documents.
RecordOptions record_options_for(const DocumentOptions& options);

/// The documents of one file, by input_kind(); a file of unknown kind is text.
std::unique_ptr<DocumentSource> open_file_documents(const std::filesystem::path& file, const DocumentOptions& options);

/// The documents of all files in their order; each is opened when its turn comes. With bad records skipped, what is
/// lost of a damaged file counts as one. Throws invalid_argument for no files, not_found.
std::unique_ptr<DocumentSource> open_documents(const std::vector<std::filesystem::path>& files,
                                               const DocumentOptions& options = {});

/// Sizes of files on the disk (0 for pipes). Throws not_found, and invalid_argument for a folder.
std::vector<SourceFile> source_files(const std::vector<std::filesystem::path>& files);

}  // namespace owlet
