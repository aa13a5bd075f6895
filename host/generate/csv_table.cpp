// SPDX-License-Identifier: Apache-2.0
#include "host/generate/csv_table.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "host/objects/errors.h"

namespace berth {
namespace {

constexpr std::size_t kShownBytes = 80;

[[noreturn]] void fail_at(const std::string& source, std::size_t line, const std::string& message) {
  throw InputError(InputProblem{source, "line " + std::to_string(line), message});
}

/// Splits a text into records, one at a time.
class RecordReader {
 public:
  RecordReader(std::string_view text, const std::string& source) : text_(text), source_(source) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  /// @return false at the end of the text. Empty lines are not records.
  bool next(std::vector<std::string>& fields, std::size_t& first_line) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n")) end_line();
    if (at_ >= text_.size()) return false;
    fields.clear();
    first_line = line_;
    read_field(fields.emplace_back());
    while (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
      read_field(fields.emplace_back());
    }
    end_line();
    return true;
  }

 private:
  bool at_line_end() const {
    return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n" ||
           (text_[at_] == '\r' && at_ + 1 == text_.size());
  }

  void end_line() {
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    ++line_;
  }

  void read_field(std::string& field) {
    if (at_ < text_.size() && text_[at_] == '"') {
      read_quoted(field);
      if (!at_line_end() && text_[at_] != ',') fail_at(source_, line_, "text behind a closing quote, expected a comma");
      return;
    }
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == ',' || ((c == '\n' || c == '\r') && at_line_end())) break;
    }
    field.assign(text_.substr(begin, at_ - begin));
  }

  void read_quoted(std::string& field) {
    const std::size_t first_line = line_;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') return;
      }
      if (text_[at_] == '\n') ++line_;
      field += text_[at_];
    }
    fail_at(source_, first_line, "a quote that does not close");
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string source) : source_(std::move(source)) {
  RecordReader reader(text, source_);
  std::size_t line = 1;
  if (!reader.next(header_, line)) fail_at(source_, line, "no header line");
  check_header(line);
  std::vector<std::string> record;
  while (reader.next(record, line)) {
    if (record.size() != header_.size()) {
      fail_at(source_, line,
              "got " + std::to_string(record.size()) + " fields, expected " + std::to_string(header_.size()) +
                  " as in the header");
    }
    if (lines_.size() == kMaxRows) fail_at(source_, line, "expected at most " + std::to_string(kMaxRows) + " rows");
    std::move(record.begin(), record.end(), std::back_inserter(fields_));
    lines_.push_back(line);
  }
}

void CsvTable::check_header(std::size_t line) const {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : header_) {
    if (!seen.insert(name).second)
      fail_at(source_, line, "column \"" + name.substr(0, kShownBytes) + "\" stands here twice");
  }
}

std::size_t CsvTable::find_column(std::string_view name) const {
  const auto at = std::find(header_.begin(), header_.end(), name);
  return at == header_.end() ? kAbsent : static_cast<std::size_t>(at - header_.begin());
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  static const std::string kNothing;
  const std::size_t at = find_column(column);
  return at == kAbsent ? kNothing : fields_[row * header_.size() + at];
}

std::int64_t CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  std::int64_t value = -1;
  const auto end = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end.ec != std::errc() || end.ptr != field.data() + field.size() || value < 0) {
    fail(row,
         std::string(column) + ": got \"" + field.substr(0, kShownBytes) + "\", expected an integer of at least 0");
  }
  return value;
}

void CsvTable::require_columns(const std::vector<std::string_view>& names) const {
  std::string missing;
  for (const std::string_view name : names) {
    if (!has_column(name)) missing.append(missing.empty() ? "" : ", ").append(name);
  }
  if (!missing.empty()) fail_at(source_, 1, "missing columns: " + missing);
}

void CsvTable::fail(std::size_t row, const std::string& message) const { fail_at(source_, lines_[row], message); }

}  // namespace berth
