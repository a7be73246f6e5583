// Rows out of JSON files: one object on each line (.jsonl, .ndjson), or one array of objects (.json).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/record_source.hpp"

namespace owlet {

/// Parses one row into `record`. False, with why in `reason`, for what is no JSON object or nested too deeply.
bool parse_json_object(std::string_view text, Json& record, std::string& reason);

/// Streams the lines of a file; blank lines are passed over, bad rows are as in RecordSource, named by line. Also .gz
/// and .zst. Throws not_found, io.
std::unique_ptr<RecordSource> open_json_lines(const std::filesystem::path& file, const RecordOptions& options);

/// Streams a .json file: the elements of an array, else as open_json_lines(). An array that ends too soon or is
/// followed by more is corrupt; with bad rows skipped what follows such a place counts as one bad row.
std::unique_ptr<RecordSource> open_json(const std::filesystem::path& file, const RecordOptions& options);

}  // namespace owlet
