#include "data/sources/input_files.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "data/source_note.hpp"
#include "data/sources/byte_stream.hpp"
#include "data/sources/open_records.hpp"

namespace owlet {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 3> kTextExtensions = {".txt", ".text", ".md"};

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// Files of known kinds below `folder`, sorted.
std::vector<fs::path> files_below(const fs::path& folder, std::map<std::string, uint64_t>& passed_over) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (is_hidden(it->path())) {
      if (it->is_directory(ignored)) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file(ignored) || it->path().filename() == kSourceNote) continue;
    if (input_kind(it->path()) == InputKind::unknown) {
      passed_over[inner_extension(it->path())] += 1;
    } else {
      files.push_back(it->path());
    }
  }
  check(!error, ErrorKind::io, "cannot read the folder '{}': {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

InputKind input_kind(const fs::path& file) {
  if (record_format_of(file) != nullptr) return InputKind::rows;
  const std::string extension = inner_extension(file);
  const bool is_text = std::find(kTextExtensions.begin(), kTextExtensions.end(), extension) != kTextExtensions.end();
  return is_text ? InputKind::text : InputKind::unknown;
}

InputFiles find_input_files(const std::vector<fs::path>& paths) {
  InputFiles input;
  std::set<std::string> seen;
  const auto add = [&](const fs::path& file) {
    std::error_code ignored;
    const fs::path whole = fs::weakly_canonical(file, ignored);
    if (seen.insert(whole.string()).second) input.files.push_back(file);
  };
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check(fs::exists(status), ErrorKind::not_found, "'{}' does not exist", path.string());
    if (fs::is_directory(status)) {
      for (const fs::path& file : files_below(path, input.passed_over)) add(file);
    } else {
      add(path);
    }
  }
  if (input.files.empty()) {
    const std::string others = describe_passed_over(input.passed_over);
    throw Error(ErrorKind::invalid_argument,
                fmt::format("no file to read in '{}'{}", paths.empty() ? std::string() : paths.front().string(),
                            others.empty() ? std::string() : fmt::format(" (of other kinds: {})", others)),
                "text (.txt, .md) and rows (.jsonl, .json, .parquet) are taken, also as .gz and .zst");
  }
  return input;
}

std::string describe_passed_over(const std::map<std::string, uint64_t>& passed_over) {
  std::string text;
  for (const auto& [extension, count] : passed_over) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                        extension.empty() ? std::string("without extension") : extension);
  }
  return text;
}

}  // namespace owlet
