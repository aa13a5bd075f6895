// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace berth {

/// ASCII letters in lower case, any other byte unchanged.
char ascii_lower(char c);

/// Number of bytes to change, insert, remove or swap with their neighbour to make `b` of `a` (optimal string
/// alignment). Time and memory grow with the product of the lengths, unless they differ by more than `most`.
/// @return any number above `most` when the distance is above it
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace berth
