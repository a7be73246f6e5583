// Which files hold rows, and what reads them: the visible list of record formats.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/record_source.hpp"

namespace owlet {

/// A kind of file with rows, told by its extension.
struct RecordFormat {
  std::string extension;  ///< for example ".jsonl"
  bool may_be_packed;     ///< whether .gz and .zst may follow it
  std::unique_ptr<RecordSource> (*open)(const std::filesystem::path& file, const RecordOptions& options);
};

/// All kinds, in the order in which messages name them. A new one is one line in open_records.cpp.
const std::vector<RecordFormat>& record_formats();

/// The kind of this file by its name, or null.
const RecordFormat* record_format_of(const std::filesystem::path& file);

/// The rows of all `files`, one file after the other; each is opened when its turn comes, so a missing one is told
/// before reading begins and a damaged one when it is reached. Throws invalid_argument for no files, unsupported for an
/// extension without a format (naming those there are), not_found.
std::unique_ptr<RecordSource> open_records(const std::vector<std::filesystem::path>& files,
                                           const RecordOptions& options = {});

}  // namespace owlet
