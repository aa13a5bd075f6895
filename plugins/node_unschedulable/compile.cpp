// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_unschedulable/compile.h"

namespace berth {

NodeUnschedulable::Params compile_node_unschedulable(std::span<const Toleration> tolerations,
                                                     bool comparison_operators) {
  const Taint cordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
  return {tolerates_any(tolerations, cordon, comparison_operators)};
}

CompiledNodeUnschedulable CompiledNodeUnschedulable::compile(const NodeSidePod& pod, const Options& options,
                                                             Snapshot& /*snapshot*/) {
  CompiledNodeUnschedulable compiled;
  compiled.params = compile_node_unschedulable(pod.spec.tolerations, options.comparison_operators);
  return compiled;
}

}  // namespace berth
