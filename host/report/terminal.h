// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

enum class Emphasis { kPlain, kBold, kDim, kGood, kWarning, kBad };

/// What the reader's side of a descriptor can show.
struct Terminal {
  bool interactive = false;
  bool color = false;    ///< never when piped, nor with NO_COLOR set or TERM=dumb
  bool unicode = false;  ///< the locale says UTF-8
  int columns = 96;

  static Terminal of(int descriptor);

  /// printable(text) with colour codes around it where colour is shown.
  std::string paint(std::string_view text, Emphasis emphasis) const;
};

/// Columns that `text` takes on a terminal: wide characters count two, combining ones none.
int display_width(std::string_view text);
/// `text` cut to at most `columns`, the last one an ellipsis when something was cut.
std::string cut_to_width(std::string_view text, int columns);
/// `text` in one line that changes nothing on a terminal but the characters shown. Control characters, format
/// characters (bidirectional overrides, zero-width characters), line and paragraph separators, unassigned code points
/// and bytes that are not UTF-8 become visible escapes: \n, \x1b, \u202e, \U000e0001. printable(printable(t)) is
/// printable(t).
std::string printable(std::string_view text);

/// One code point at the front of a text.
struct Glyph {
  std::size_t bytes = 1;
  std::int32_t code = -1;  ///< -1: the byte is not UTF-8
  bool printable = false;  ///< may be shown as it is
};

/// @param text  not empty
Glyph first_glyph(std::string_view text);

}  // namespace berth
