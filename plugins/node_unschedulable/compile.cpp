// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_unschedulable/compile.h"

#include "plugins/taint_toleration/compile.h"

namespace berth {

NodeUnschedulable::Params compile_node_unschedulable(std::span<const Toleration> tolerations,
                                                     bool comparison_operators) {
  const Taint cordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
  return {tolerates_any(tolerations, cordon, comparison_operators)};
}

}  // namespace berth
