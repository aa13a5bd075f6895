// SPDX-License-Identifier: Apache-2.0
#pragma once

// The combined result of the PreFilter plugins, and the diagnosis of a pod that PreFilter or Filter rejected:
// docs/behaviour/scheduler-core.md 3.2 and 3.3.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/framework/status.h"
#include "host/framework/verdicts.h"

namespace berth {

/// The combined result of all PreFilter plugins.
struct PreFilterOutcome {
  Status status;
  std::optional<std::set<std::string>> node_names;  ///< what is left of the nodes; nullopt: all
  std::set<std::string> narrowing_plugins;          ///< returned a node set; rejectors even when another plugin refuses

  /// Restricts the nodes to those that `plugin` also names.
  /// @return false when no node is left; `status` is then the rejection
  bool narrow(std::string_view plugin, std::set<std::string> names);
  /// The status of nodes outside `node_names`: docs/behaviour/scheduler-core.md 3.3. Without reasons when nothing was
  /// narrowed.
  Status absent_node_status() const;
};

/// The diagnosis of a pod that PreFilter rejected: its message is the whole text.
Diagnosis diagnose(const PreFilterOutcome& rejection, std::int64_t node_count);
/// Counts the reasons of a pod without a feasible node. Its rejectors are those of Filter; the caller adds
/// PreFilterOutcome::narrowing_plugins.
/// @param node_count all nodes of the snapshot; those without a rejection count with the reasons of `absent`
Diagnosis diagnose(const Verdicts& verdicts, std::int64_t node_count, const Status& absent);

}  // namespace berth
