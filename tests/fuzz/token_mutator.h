// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mutations of JSON-like text that keep it valid more often than byte mutations.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::fuzz {

/// Changes one token or one line of `text`.
/// @param words  replacements for tokens, in addition to other tokens of the text
/// @return `text` unchanged when it has no token
std::string mutate_tokens(std::string_view text, const std::vector<std::string_view>& words, std::uint32_t seed);

}  // namespace berth::fuzz
