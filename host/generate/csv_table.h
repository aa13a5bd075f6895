// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

/// A CSV text with a header line. Fields may be quoted ("" is a quote within quotes, and line ends are allowed
/// there); lines end with LF or CRLF; a UTF-8 byte order mark and empty lines are skipped. Immutable.
class CsvTable {
 public:
  static constexpr std::size_t kMaxRows = 1'000'000;

  /// @param source  file name for messages
  /// @throws InputError with the line: a quote that does not close, text after a closing quote, a row with more or
  /// fewer
  ///         fields than the header, a repeated column name, no header
  CsvTable(std::string_view text, std::string source);

  std::size_t row_count() const { return lines_.size(); }
  bool has_column(std::string_view name) const { return find_column(name) != kAbsent; }

  /// The field of `column`; empty when the table has no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// The field as an integer of 0 or more.
  /// @throws InputError with line, column and value
  std::int64_t number(std::size_t row, std::string_view column) const;

  /// @throws InputError naming the columns of `names` that the header lacks
  void require_columns(const std::vector<std::string_view>& names) const;
  /// @throws InputError at the line of `row`
  [[noreturn]] void fail(std::size_t row, const std::string& message) const;

  const std::string& source() const { return source_; }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  std::size_t find_column(std::string_view name) const;
  void check_header(std::size_t line) const;

  std::string source_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;  ///< row-major, header_.size() a row
  std::vector<std::size_t> lines_;   ///< on which each row begins
};

}  // namespace berth
