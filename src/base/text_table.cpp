#include "base/text_table.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace owlet {

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void TextTable::add_column(std::string header, Align align) {
  headers_.push_back(std::move(header));
  aligns_.push_back(align);
}

void TextTable::add_row(std::vector<std::string> cells) {
  check(cells.size() == headers_.size(), ErrorKind::invalid_argument, "a row of {} cells in a table of {} columns",
        cells.size(), headers_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::format_row(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                                  int indent) const {
  std::string line(static_cast<size_t>(indent), ' ');
  for (size_t column = 0; column < cells.size(); ++column) {
    const std::string padding(widths[column] - count_code_points(cells[column]), ' ');
    if (column > 0) line += "  ";
    line += aligns_[column] == Align::left ? cells[column] + padding : padding + cells[column];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string TextTable::to_string(int indent) const {
  std::vector<size_t> widths;
  for (const std::string& header : headers_) widths.push_back(count_code_points(header));
  for (const auto& row : rows_) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], count_code_points(row[column]));
    }
  }
  std::string text;
  const bool has_header = std::any_of(headers_.begin(), headers_.end(), [](const auto& h) { return !h.empty(); });
  if (has_header) text += format_row(headers_, widths, indent);
  for (const auto& row : rows_) text += format_row(row, widths, indent);
  return text;
}

}  // namespace owlet
