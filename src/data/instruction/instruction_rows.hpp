// Opens the files of an instruction set as one source of rows.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "data/record_source.hpp"

namespace owlet {

/// Rows of all files, one file after the other: .json as an array of objects or one object a line, .txt as blocks
/// parted by <|endoftext|> (rows {"text": block}), everything else as open_records() reads it. Rows that cannot be read
/// are counted and passed over. Throws not_found, unsupported for another kind of file, invalid_argument for no files.
std::unique_ptr<RecordSource> open_instruction_rows(const std::vector<std::filesystem::path>& paths);

/// Several sources one behind the other.
std::unique_ptr<RecordSource> concatenate(std::vector<std::unique_ptr<RecordSource>> sources);

/// The documents of a text file as rows {"text": document}.
std::unique_ptr<RecordSource> text_block_rows(const std::filesystem::path& file);

/// Whether one of the first 100 rows is nothing but {"text": "<|endoftext|>"}: the lines of a text file as rows, as the
/// Hub makes them of TinyStories-Instruct. Rewinds the source.
bool holds_lines_of_text(RecordSource& rows);

/// Joins such lines to blocks {"text": block}.
std::unique_ptr<RecordSource> join_lines(std::unique_ptr<RecordSource> rows);

}  // namespace owlet
