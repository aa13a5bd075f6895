// SPDX-License-Identifier: Apache-2.0
#pragma once

// The file that a command writes its result into.

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

namespace berth {

/// How long a named pipe may have no reader.
inline constexpr std::chrono::milliseconds kReaderWait{10'000};

/// Writes the content of `path`: standard output for "-", compressed for a name that ends in ".gz". A file that is
/// there keeps its old content until the new one is complete, and when writing fails: the new one is written beside it
/// and renamed. A device or a pipe is written as it stands, and so is a file in a folder where none can be made.
///
/// @param write  called with the open file; returns false with errno when not all could be written; called again where
///               the new file cannot take the place of the old one
/// @throws InputError naming the file
void write_output_file(const std::string& path, const std::function<bool(std::FILE*)>& write,
                       std::chrono::milliseconds reader_wait = kReaderWait);

}  // namespace berth
