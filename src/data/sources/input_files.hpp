// What people name on the command line, files and folders mixed, as a list of files to read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace owlet {

/// Files in the order in which they are read.
struct InputFiles {
  std::vector<std::filesystem::path> files;
  /// Files inside folders that are of no known kind, counted by extension ("" for none).
  std::map<std::string, uint64_t> passed_over;
};

/// Named files stay in the order given, whatever their extension; a folder gives all files below it that are text or
/// rows (see input_kind), sorted by path. Hidden files and folders, links to folders and source.json are not entered;
/// the same file reached twice is taken once. Throws not_found, invalid_argument where nothing is left.
InputFiles find_input_files(const std::vector<std::filesystem::path>& paths);

enum class InputKind { text, rows, unknown };

/// By the extension under a .gz or .zst: rows where open_records() has a format, text for .txt, .text and .md, else
/// unknown (read as text where it was named by itself).
InputKind input_kind(const std::filesystem::path& file);

/// "3 .png, 1 without extension" for a message.
std::string describe_passed_over(const std::map<std::string, uint64_t>& passed_over);

}  // namespace owlet
