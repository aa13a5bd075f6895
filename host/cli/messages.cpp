// SPDX-License-Identifier: Apache-2.0
#include "host/cli/messages.h"

#include <unistd.h>

#include <string>

#include "host/report/output.h"
#include "host/report/terminal.h"

namespace berth {
namespace {

/// printable(text), cut between two characters where it is too long.
std::string shortened(std::string_view text) {
  if (text.size() <= kMessageBytesMax) {
    std::string whole = printable(text);
    if (whole.size() <= kMessageBytesMax) return whole;
  }
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = first_glyph(text).bytes;
    const std::string next = printable(text.substr(0, bytes));
    if (shown.size() + next.size() > kMessageBytesMax) break;
    shown += next;
    text.remove_prefix(bytes);
  }
  return shown + "...";
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
