// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth {

/// nodeSelector and required node affinity of `spec`, as docs/behaviour/plugins-node.md 8.1 and 8.2. For controllers'
/// decisions at load; the plugin has its own, compiled form.
bool matches_required_node_affinity(const PodSpec& spec, const Node& node);

/// Node affinity of a volume: docs/behaviour/plugins-storage-devices.md 1.3. Field terms count as satisfied.
/// @param terms  nullopt: every node
bool accepts_labels(const std::optional<std::vector<NodeSelectorTerm>>& terms, const LabelMap& labels);

/// docs/behaviour/plugins-node.md 7.1 with comparison operators off.
bool tolerates(const Toleration& toleration, const Taint& taint);

/// Whether a taint of effect NoSchedule or NoExecute is left that no toleration of `spec` tolerates.
bool has_untolerated_taint(const PodSpec& spec, const Node& node);

}  // namespace berth
