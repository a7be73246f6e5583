// Tables for the terminal: columns aligned with spaces, no lines around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace owlet {

/// Collects rows and prints them with every column as wide as its widest cell. Widths count Unicode code points, so
/// wide East Asian characters and combining marks shift a row.
class TextTable {
 public:
  enum class Align { left, right };

  /// Adds a column; call before add_row. An empty header in all columns leaves the header line out.
  void add_column(std::string header, Align align = Align::left);
  /// Adds a row of as many cells as there are columns; throws Error invalid_argument otherwise.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// The lines, each ended by a newline, two spaces between columns, `indent` spaces in front, none behind.
  std::string to_string(int indent = 0) const;

 private:
  std::string format_row(const std::vector<std::string>& cells, const std::vector<size_t>& widths, int indent) const;

  std::vector<std::string> headers_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

/// The number of Unicode code points in `text` (bytes that do not continue a UTF-8 sequence).
size_t count_code_points(std::string_view text);

}  // namespace owlet
