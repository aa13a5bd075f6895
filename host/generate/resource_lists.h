// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "host/objects/resources.h"

namespace berth {

Quantity whole(std::int64_t amount);
Quantity thousandths(std::int64_t amount);
/// Sets `name` to `amount`, keeping the list sorted and its names unique.
void set_resource(ResourceList& list, std::string_view name, Quantity amount);

}  // namespace berth
