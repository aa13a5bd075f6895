// SPDX-License-Identifier: Apache-2.0
#include "host/report/table.h"

#include <algorithm>

namespace berth {
namespace {

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

}  // namespace

void Table::add_row(std::vector<TableCell> cells) {
  cells.resize(columns_.size(), TableCell(""));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = printable(cells[i].text);
    if (columns_[i].width_max > 0) cells[i].text = cut_to_width(cells[i].text, columns_[i].width_max);
  }
  rows_.push_back(std::move(cells));
}

std::vector<int> Table::widths() const {
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::line(const std::vector<TableCell>& cells, const std::vector<int>& widths, const Terminal& terminal,
                        int indent) const {
  std::string text = spaces(indent);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding = spaces(widths[i] - display_width(cells[i].text));
    const std::string shown = terminal.paint(cells[i].text, cells[i].emphasis);
    text += columns_[i].align == Align::kRight ? padding + shown : shown + padding;
    if (i + 1 < cells.size()) text += "  ";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string Table::render(const Terminal& terminal, int indent) const {
  const std::vector<int> column_widths = widths();
  std::vector<TableCell> titles;
  titles.reserve(columns_.size());
  for (const TableColumn& column : columns_) titles.emplace_back(column.title, Emphasis::kDim);
  const bool titled = std::any_of(columns_.begin(), columns_.end(), [](const auto& c) { return !c.title.empty(); });
  std::string text = titled ? line(titles, column_widths, terminal, indent) : std::string();
  for (const auto& row : rows_) text += line(row, column_widths, terminal, indent);
  return text;
}

}  // namespace berth
