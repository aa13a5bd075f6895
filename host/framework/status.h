// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/plugin_names.h"

namespace berth {

/// Numeric values as in kube-scheduler: docs/behaviour/plugins-node.md 16.1.
enum class StatusCode : std::uint8_t {
  kSuccess = 0,
  kError = 1,
  kUnschedulable = 2,
  kUnschedulableAndUnresolvable = 3,
  kWait = 4,
  kSkip = 5,
  kPending = 6,
};
std::string_view to_string(StatusCode code);
constexpr bool is_rejected(StatusCode code) {
  return code == StatusCode::kUnschedulable || code == StatusCode::kUnschedulableAndUnresolvable ||
         code == StatusCode::kPending;
}

struct Status {
  StatusCode code = StatusCode::kSuccess;
  std::string plugin;  ///< empty on success
  std::vector<std::string> reasons;

  bool ok() const { return code == StatusCode::kSuccess; }
  std::string message() const;  ///< reasons joined with ", "
  friend bool operator==(const Status&, const Status&) = default;
};

/// Why a pod has no feasible node: the input of the FitError text, and the plugins whose events may help.
struct Diagnosis {
  std::int64_t node_count = 0;                        ///< all nodes of the snapshot
  std::map<std::string, std::int64_t> reason_counts;  ///< per reason, absent nodes included
  std::string pre_filter_message;                     ///< non-empty: PreFilter rejected, reason_counts is empty
  /// Upstream's UnschedulablePlugins: the plugin whose PreFilter rejected, or those whose PreFilter named a node set
  /// and the first that rejected each node. docs/behaviour/scheduler-core.md 1.2.
  PluginNames rejectors = {};
  std::int64_t resolvable_count = 0;  ///< nodes that answered Unschedulable: the eviction of pods may help there
  PluginNames pending = {};           ///< upstream's PendingPlugins: those of `rejectors` that answered Pending

  /// Of the first plugin that rejected some nodes, or of one that names none of them. Reasons are not counted.
  void add_rejection(const Status& status, std::int64_t nodes) {
    if (status.code == StatusCode::kUnschedulable) resolvable_count += nodes;
    if (is_rejected(status.code)) rejectors.insert(status.plugin);
    if (status.code == StatusCode::kPending) pending.insert(status.plugin);
  }
};

/// "0/7 nodes are available: 1 Insufficient memory, 3 Insufficient cpu.": docs/behaviour/plugins-node.md 16.2, without
/// PostFilter.
std::string fit_error_text(const Diagnosis& diagnosis);
/// "node(s) didn't satisfy plugin(s) [A B]": the reason of nodes outside the node sets of these PreFilter plugins.
std::string node_set_text(const PluginNames& plugins);
inline constexpr std::string_view kNoNodesText = "no nodes available to schedule pods";

}  // namespace berth
