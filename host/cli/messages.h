// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that the program says on standard error goes through this header.
//
// A message is one line and may hold text from the input: names, values, paths, option values. printable() is applied
// to the whole message here, so that no input can start a line, move the cursor or change colours, whichever code
// composed the message. A message that cannot be written is dropped: nothing here throws, and the exit code does not
// depend on it.

#include <string_view>

namespace berth {

/// Longest message, in bytes as written; the end of a longer one is left out.
inline constexpr std::size_t kMessageBytesMax = 8192;

/// "berth: <text>"
void print_message(std::string_view text) noexcept;
/// "berth: warning: <text>"
void print_warning(std::string_view text) noexcept;
/// "berth: note: <text>"
void print_note(std::string_view text) noexcept;
/// The bytes as they are, for the progress bar, whose text is all the program's own.
void print_control_sequence(std::string_view bytes) noexcept;

}  // namespace berth
