// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_name/compile.h"

namespace berth {

CompiledNodeName CompiledNodeName::compile(const NodeSidePod& pod, const Options& /*options*/, Snapshot& snapshot) {
  CompiledNodeName compiled;
  if (pod.node_name.empty()) return compiled;
  compiled.is_named = true;
  const std::int32_t node = snapshot.find_node(pod.node_name);
  compiled.params = {node < 0 ? NodeName::kUnknownNode : node};
  return compiled;
}

}  // namespace berth
