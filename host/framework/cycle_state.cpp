// SPDX-License-Identifier: Apache-2.0
#include "host/framework/cycle_state.h"

namespace berth {

CycleState::CycleState() : skips_(std::make_shared<Skips>()) {}

CycleState CycleState::clone() const {
  CycleState clone;
  for (const auto& [name, value] : values_) {
    clone.values_.emplace(name, Value{value.clone(value.data), value.type, value.clone});
  }
  clone.skips_ = skips_;
  return clone;
}

void CycleState::erase(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

}  // namespace berth
