// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// For a query or a part of a path: all but letters, digits and "-._~" is percent-encoded.
std::string url_escaped(std::string_view text);

}  // namespace berth
