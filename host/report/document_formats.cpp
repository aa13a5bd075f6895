// SPDX-License-Identifier: Apache-2.0
#include "host/report/document_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>
#include <vector>

#include "host/report/terminal.h"

namespace berth {
namespace {

/// How a code point above 0xffff is escaped. YAML does not join the surrogates of JSON.
enum class WideEscape { kSurrogates, kEightDigits };

void write_escaped(Output& output, const Glyph& glyph, WideEscape wide) {
  switch (glyph.code) {
    case '"':
      output.write("\\\"");
      return;
    case '\\':
      output.write("\\\\");
      return;
    case '\n':
      output.write("\\n");
      return;
    case '\t':
      output.write("\\t");
      return;
    case '\r':
      output.write("\\r");
      return;
    case -1:  // not UTF-8, which neither JSON nor YAML can hold: the replacement character
      output.write("\\ufffd");
      return;
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(glyph.code);
  if (code <= 0xffff) {
    output.write(fmt::format("\\u{:04x}", code));
  } else if (wide == WideEscape::kEightDigits) {
    output.write(fmt::format("\\U{:08x}", code));
  } else {
    const std::uint32_t rest = code - 0x10000;
    output.write(fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff)));
  }
}

/// Escapes what printable() would not show, so that a document may be sent to a terminal and still holds the exact
/// text.
void write_quoted(Output& output, std::string_view text, WideEscape wide) {
  output.write('"');
  std::size_t plain_from = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Glyph glyph = first_glyph(text.substr(i));
    if (!glyph.printable || glyph.code == '"' || glyph.code == '\\') {
      output.write(text.substr(plain_from, i - plain_from));
      write_escaped(output, glyph, wide);
      plain_from = i + glyph.bytes;
    }
    i += glyph.bytes;
  }
  output.write(text.substr(plain_from));
  output.write('"');
}

/// JSON and YAML have no number for these.
void write_real(Output& output, double value) {
  output.write(std::isfinite(value) ? fmt::format("{}", value) : std::string("0.0"));
}

class JsonWriter final : public DocumentWriter {
 public:
  JsonWriter(Output& output, int spread_depth) : output_(output), spread_depth_(spread_depth) {}

  void begin_object() override { open('{'); }
  void end_object() override { close('}'); }
  void begin_array() override { open('['); }
  void end_array() override { close(']'); }
  void key(std::string_view name) override {
    separate();
    write_quoted(output_, name, WideEscape::kSurrogates);
    output_.write(spread_depth_ > 0 ? ": " : ":");
    after_key_ = true;
  }
  void string(std::string_view value) override {
    separate();
    write_quoted(output_, value, WideEscape::kSurrogates);
  }
  void integer(std::int64_t value) override {
    separate();
    output_.write(fmt::format_int(value).c_str());
  }
  void unsigned_integer(std::uint64_t value) override {
    separate();
    output_.write(fmt::format_int(value).c_str());
  }
  void real(double value) override {
    separate();
    write_real(output_, value);
  }
  void boolean(bool value) override {
    separate();
    output_.write(value ? "true" : "false");
  }
  void end_document() override { output_.write('\n'); }

 private:
  bool spread() const { return static_cast<int>(counts_.size()) <= spread_depth_; }

  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (counts_.empty()) return;
    if (counts_.back()++ > 0) output_.write(',');
    if (spread()) new_line();
  }
  void new_line() {
    output_.write('\n');
    for (std::size_t i = 0; i < counts_.size(); ++i) output_.write("  ");
  }
  void open(char bracket) {
    separate();
    output_.write(bracket);
    counts_.push_back(0);
  }
  void close(char bracket) {
    const bool break_line = spread() && counts_.back() > 0;
    counts_.pop_back();
    if (break_line) new_line();
    output_.write(bracket);
  }

  Output& output_;
  int spread_depth_;
  bool after_key_ = false;
  std::vector<std::size_t> counts_;  ///< entries so far of each open container
};

/// Words that YAML 1.1 readers take for booleans or null.
bool is_yaml_word(std::string_view text) {
  static constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                             "off",  "null",  "y",   "n"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

/// A text that starts with a letter and has no character of YAML's grammar is read back as itself.
bool is_plain_yaml(std::string_view text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0 || is_yaml_word(text)) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

class YamlWriter final : public DocumentWriter {
 public:
  explicit YamlWriter(Output& output) : output_(output) {}

  void begin_object() override { open(false); }
  void end_object() override { close("{}"); }
  void begin_array() override { open(true); }
  void end_array() override { close("[]"); }
  void key(std::string_view name) override {
    start_entry();
    write_text(name);
    output_.write(':');
  }
  void string(std::string_view value) override {
    before_scalar();
    write_text(value);
  }
  void integer(std::int64_t value) override {
    before_scalar();
    output_.write(fmt::format_int(value).c_str());
  }
  void unsigned_integer(std::uint64_t value) override {
    before_scalar();
    output_.write(fmt::format_int(value).c_str());
  }
  void real(double value) override {
    before_scalar();
    write_real(output_, value);
  }
  void boolean(bool value) override {
    before_scalar();
    output_.write(value ? "true" : "false");
  }
  void end_document() override { output_.write('\n'); }

 private:
  struct Level {
    bool array = false;
    std::size_t count = 0;
    std::size_t indent = 0;
  };

  void write_text(std::string_view text) {
    if (is_plain_yaml(text)) {
      output_.write(text);
    } else {
      write_quoted(output_, text, WideEscape::kEightDigits);
    }
  }
  /// Begins a line for the next entry, unless a dash just opened the line that the first entry goes on.
  void start_entry() {
    Level& level = levels_.back();
    const bool stays = level.count++ == 0 && at_line_start_;
    if (!stays) {
      output_.write('\n');
      for (std::size_t i = 0; i < level.indent; ++i) output_.write(' ');
    }
    at_line_start_ = false;
  }
  void start_element() {
    start_entry();
    output_.write("- ");
  }
  void before_scalar() {
    if (levels_.empty()) return;
    if (levels_.back().array) {
      start_element();
    } else {
      output_.write(' ');
    }
    at_line_start_ = false;
  }
  void open(bool array) {
    const bool top = levels_.empty();
    if (!top && levels_.back().array) {
      start_element();
      at_line_start_ = true;
    }
    levels_.push_back({array, 0, top ? 0 : levels_.back().indent + 2});
  }
  void close(std::string_view when_empty) {
    const bool empty = levels_.back().count == 0;
    levels_.pop_back();
    if (!empty) return;
    if (!levels_.empty() && !levels_.back().array) output_.write(' ');
    output_.write(when_empty);
    at_line_start_ = false;
  }

  Output& output_;
  bool at_line_start_ = true;
  std::vector<Level> levels_;
};

}  // namespace

std::unique_ptr<DocumentWriter> json_writer(Output& output, int spread_depth) {
  return std::make_unique<JsonWriter>(output, spread_depth);
}

std::unique_ptr<DocumentWriter> yaml_writer(Output& output) { return std::make_unique<YamlWriter>(output); }

}  // namespace berth
