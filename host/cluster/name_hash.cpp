// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/name_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace berth {

std::uint64_t node_name_hash(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

}  // namespace berth
