// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// Text of others as a log may hold it: in quotes, as JSON in ASCII, cut after 200 bytes.
std::string foreign_text(std::string_view text);

}  // namespace berth
