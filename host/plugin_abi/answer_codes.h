// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "host/framework/status.h"

namespace berth {

/// The code of an answer. @throws std::runtime_error for a number that is none
inline StatusCode code_of(std::int64_t code, const char* function) {
  if (code < 0 || code > static_cast<std::int64_t>(StatusCode::kPending))
    throw std::runtime_error(std::string(function) + "() answered the unknown code " + std::to_string(code));
  return static_cast<StatusCode>(code);
}

}  // namespace berth
