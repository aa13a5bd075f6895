// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/report/terminal.h"

namespace berth {

enum class Align { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kLeft;
  int width_max = 0;  ///< longer cells are cut; 0: never
};

struct TableCell {
  std::string text;
  Emphasis emphasis = Emphasis::kPlain;
  TableCell(std::string cell_text, Emphasis cell_emphasis = Emphasis::kPlain)  // NOLINT: a text is a cell
      : text(std::move(cell_text)), emphasis(cell_emphasis) {}
  TableCell(const char* cell_text) : text(cell_text) {}  // NOLINT: a text is a cell
};

/// Aligned columns of text, measured in terminal columns. The last left-aligned column is not padded.
class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  /// Missing cells at the end stay empty.
  void add_row(std::vector<TableCell> cells);
  bool empty() const { return rows_.empty(); }
  /// All lines, each ending in a line end. Titles are left out when all are empty.
  std::string render(const Terminal& terminal, int indent) const;

 private:
  std::vector<int> widths() const;
  std::string line(const std::vector<TableCell>& cells, const std::vector<int>& widths, const Terminal& terminal,
                   int indent) const;

  std::vector<TableColumn> columns_;
  std::vector<std::vector<TableCell>> rows_;
};

}  // namespace berth
