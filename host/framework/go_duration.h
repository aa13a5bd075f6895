// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace berth {

/// As Go prints a time.Duration: "0s", "250µs", "1.5s", "15m0s", "1h0m0.25s".
std::string go_duration_text(std::int64_t duration_us);

}  // namespace berth
