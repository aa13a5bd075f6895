// SPDX-License-Identifier: Apache-2.0
#pragma once

// The combined answer of the PreFilter plugins, and the diagnosis of a pod that PreFilter or Filter rejected:
// docs/behaviour/scheduler-core.md 3.2 and 3.3.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/framework/status.h"
#include "host/framework/verdicts.h"

namespace berth {

/// Answer of all PreFilter plugins together.
struct PreFilterOutcome {
  Status status;
  std::optional<std::set<std::string>> node_names;  ///< what is left of the nodes; nullopt: all
  std::set<std::string> narrowing_plugins;          ///< returned a node set; rejectors even when another plugin refuses

  /// Leaves only the nodes that `plugin` names, too.
  /// @return false when no node is left; `status` then says so
  bool narrow(std::string_view plugin, std::set<std::string> names);
  /// The status of nodes outside `node_names`: docs/behaviour/scheduler-core.md 3.3. Without reasons when nothing was
  /// narrowed.
  Status absent_node_status() const;
};

/// Of a pod that PreFilter rejected: its message is the whole text.
Diagnosis diagnose(const PreFilterOutcome& rejection, std::int64_t node_count);
/// Counts the reasons of a pod that no node took.
/// @param node_count all nodes of the snapshot; those without a refusal count with the reasons of `absent`
Diagnosis diagnose(const Verdicts& verdicts, std::int64_t node_count, const Status& absent);

}  // namespace berth
