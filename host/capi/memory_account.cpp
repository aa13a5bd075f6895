// SPDX-License-Identifier: Apache-2.0
#include "host/capi/memory_account.h"

#include <string>

#include "host/capi/api_error.h"

namespace berth::capi {

void MemoryAccount::check(std::uint64_t more) const {
  if (!is_counted()) return;
  const std::uint64_t now = total();
  if (now < cap_ && more <= cap_ - now) return;
  throw ApiError(BERTH_E_MEMORY, "max_memory_bytes",
                 "the handles of the engine hold " + std::to_string(now) + " bytes of " + std::to_string(cap_) +
                     (more == 0 ? std::string() : ", and the call needs " + std::to_string(more) + " more"));
}

}  // namespace berth::capi
