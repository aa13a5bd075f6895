// SPDX-License-Identifier: Apache-2.0
#include "host/framework/cycle_state.h"

namespace berth {

void CycleState::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

}  // namespace berth
