// SPDX-License-Identifier: Apache-2.0
#include "host/report/terminal.h"

#include <fmt/format.h>
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

bool is_plain(char byte) { return byte >= 0x20 && byte < 0x7f; }

/// Categories that a terminal may act on or that it does not show. What an unassigned code point does is not known.
bool is_shown_raw(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

int width_of(const Glyph& glyph) { return glyph.printable ? utf8proc_charwidth(glyph.code) : 1; }

std::string escaped(std::string_view bytes, std::int32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (code < 0x80) return fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(bytes.front())));
  return code <= 0xffff ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
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
  if (!color || emphasis == Emphasis::kPlain) return printable(text);
  return std::string(color_code(emphasis)).append(printable(text)).append("\x1b[0m");
}

Glyph first_glyph(std::string_view text) {
  if (is_plain(text.front())) return {1, text.front(), true};
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (bytes <= 0) return {};
  return {static_cast<std::size_t>(bytes), code, is_shown_raw(utf8proc_category(code))};
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    width += width_of(glyph);
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
    if (width + width_of(glyph) > columns - 1) break;
    width += width_of(glyph);
    kept.append(text.substr(0, glyph.bytes));
    text.remove_prefix(glyph.bytes);
  }
  return kept + "~";
}

std::string printable(std::string_view text) {
  const auto first_special = std::find_if_not(text.begin(), text.end(), is_plain);
  std::string shown(text.begin(), first_special);
  text.remove_prefix(shown.size());
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    const std::string_view bytes = text.substr(0, glyph.bytes);
    if (glyph.printable) {
      shown.append(bytes);
    } else {
      shown += escaped(bytes, glyph.code);
    }
    text.remove_prefix(glyph.bytes);
  }
  return shown;
}

}  // namespace berth
