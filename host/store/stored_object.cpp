// SPDX-License-Identifier: Apache-2.0
#include "host/store/stored_object.h"

namespace berth {

const RareMeta& ObjectMeta::rare() const {
  static const RareMeta defaults;
  return rare_fields == nullptr ? defaults : *rare_fields;
}

const PodConditions& Stored<Pod>::conditions() const {
  static const PodConditions none;
  return shared_conditions == nullptr ? none : *shared_conditions;
}

const PodCondition* Stored<Pod>::find_condition(std::string_view type) const {
  for (const PodCondition& condition : conditions())
    if (condition.type == type) return &condition;
  return nullptr;
}

}  // namespace berth
