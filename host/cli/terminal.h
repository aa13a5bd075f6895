// SPDX-License-Identifier: Apache-2.0
#pragma once

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

  /// `text` with colour codes around it where colour is shown.
  std::string paint(std::string_view text, Emphasis emphasis) const;
};

/// Columns that `text` takes on a terminal: wide characters count two, combining ones none.
int display_width(std::string_view text);
/// `text` cut to at most `columns`, the last one an ellipsis when something was cut.
std::string cut_to_width(std::string_view text, int columns);
/// Control characters become '?': names come from files and must not drive the terminal.
std::string printable(std::string_view text);

}  // namespace berth
