// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "host/objects/pod.h"
#include "plugins/node_unschedulable/rule.h"

namespace berth {

NodeUnschedulable::Params compile_node_unschedulable(std::span<const Toleration> tolerations,
                                                     bool comparison_operators);

}  // namespace berth
