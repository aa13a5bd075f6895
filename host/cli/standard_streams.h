// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth {

/// Makes descriptors 0, 1 and 2 safe to use; main() calls it first, before any file is opened.
///
/// A descriptor that the caller closed would be given to the next file that the program opens, and messages would be
/// written into that file. It is reserved here with something that gives an error where the closed descriptor would:
/// reading from descriptor 0, writing to 1 or 2, and writing to a file that is named /dev/stdout or /dev/stderr.
///
/// Writing to a pipe without a reader, or beyond the file size limit, becomes an error of that write instead of a
/// signal that ends the process.
///
/// @return false when a closed descriptor could not be reserved; the program must not go on then
bool prepare_standard_streams() noexcept;

}  // namespace berth
