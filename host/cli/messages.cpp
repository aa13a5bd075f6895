// SPDX-License-Identifier: Apache-2.0
#include "host/cli/messages.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "host/cli/output.h"
#include "host/cli/terminal.h"

namespace berth {
namespace {

std::string shortened(std::string_view text) {
  std::string shown = printable(text.substr(0, kMessageBytesMax));
  if (text.size() <= kMessageBytesMax && shown.size() <= kMessageBytesMax) return shown;
  shown.resize(std::min(shown.size(), kMessageBytesMax));
  return printable(shown) + "...";  // the cut may have split a character
}

/// One write() a line, so that lines of several processes do not mix in one log.
void print_line(std::string_view label, std::string_view text) noexcept {
  try {
    write_all(STDERR_FILENO, std::string("berth: ").append(label).append(shortened(text)).append("\n"));
  } catch (...) {
    write_all(STDERR_FILENO, "berth: out of memory\n");
  }
}

}  // namespace

void print_message(std::string_view text) noexcept { print_line("", text); }

void print_warning(std::string_view text) noexcept { print_line("warning: ", text); }

void print_note(std::string_view text) noexcept { print_line("note: ", text); }

void print_control_sequence(std::string_view bytes) noexcept { write_all(STDERR_FILENO, bytes); }

}  // namespace berth
