// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changes of JSON-like text that leave it readable more often than changes of single bytes do.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::fuzz {

/// Changes one token or one line of `text`.
/// @param words  what tokens are replaced by, beside other tokens of the text
/// @return `text` as it was when it has no token
std::string mutate_tokens(std::string_view text, const std::vector<std::string_view>& words, std::uint32_t seed);

}  // namespace berth::fuzz
