// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <string_view>

namespace berth {

inline std::size_t hash_text(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// For tables by name that are asked with a view of one. Not noexcept, so that the standard library keeps the hash of
/// each name and does not compute it again for each name that it passes.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return hash_text(name); }
};

}  // namespace berth
