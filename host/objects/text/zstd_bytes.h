// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace berth {

/// One frame of zstd data. @throws std::runtime_error naming zstd's error
std::string zstd_compressed(std::string_view bytes, int level);

}  // namespace berth
