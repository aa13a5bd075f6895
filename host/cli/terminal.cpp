// SPDX-License-Identifier: Apache-2.0
#include "host/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

namespace berth {
namespace {

constexpr int kColumnsMin = 60;
constexpr int kColumnsMax = 100;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // read once at start, before any thread
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("utf-8") != value.npos;
  }
  return false;
}

int columns_of(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return Terminal().columns;
  return std::clamp(static_cast<int>(size.ws_col), kColumnsMin, kColumnsMax);
}

std::string_view color_code(Emphasis emphasis) {
  switch (emphasis) {
    case Emphasis::kBold:
      return "\x1b[1m";
    case Emphasis::kDim:
      return "\x1b[2m";
    case Emphasis::kGood:
      return "\x1b[32m";
    case Emphasis::kWarning:
      return "\x1b[33m";
    case Emphasis::kBad:
      return "\x1b[31m";
    case Emphasis::kPlain:
      break;
  }
  return "";
}

/// One character at the front of `text`.
struct Glyph {
  std::size_t bytes = 1;
  int width = 1;
  bool control = false;
};

Glyph first_glyph(std::string_view text) {
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {1, 1, true};
  const utf8proc_category_t category = utf8proc_category(code);
  const bool control = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF;
  return {static_cast<std::size_t>(bytes), control ? 1 : utf8proc_charwidth(code), control};
}

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  terminal.interactive = isatty(descriptor) == 1;
  terminal.unicode = locale_is_utf8();
  if (!terminal.interactive) return terminal;
  terminal.columns = columns_of(descriptor);
  terminal.color = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  return terminal;
}

std::string Terminal::paint(std::string_view text, Emphasis emphasis) const {
  if (!color || emphasis == Emphasis::kPlain) return std::string(text);
  return std::string(color_code(emphasis)).append(text).append("\x1b[0m");
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += glyph.width;
    text.remove_prefix(glyph.bytes);
  }
  return width;
}

std::string cut_to_width(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::string kept;
  int width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    if (width + glyph.width > columns - 1) break;
    width += glyph.width;
    kept.append(text.substr(0, glyph.bytes));
    text.remove_prefix(glyph.bytes);
  }
  return kept + "~";
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    if (glyph.control) {
      shown.push_back('?');
    } else {
      shown.append(text.substr(0, glyph.bytes));
    }
    text.remove_prefix(glyph.bytes);
  }
  return shown;
}

}  // namespace berth
