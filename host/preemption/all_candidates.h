// SPDX-License-Identifier: Apache-2.0
#pragma once

// All that preemption finds for pods in a state, and the steps of it: docs/behaviour/scheduler-core.md 4.2 to 4.5.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/preemption/candidate_rows.h"
#include "host/preemption/preempted_state.h"
#include "host/preemption/preemption_result.h"

namespace berth {

/// Looks at every node for each of the pods, each alone, as if the others did not preempt.
/// @param pods  prepared, and without a node that accepts them
/// @throws std::logic_error naming a pod that is not prepared
std::vector<PreemptionResult> all_candidates(std::span<const PodToPlace> pods, PreemptedState& state,
                                             const PreemptionLimits& limits);

/// Why the pod may not preempt now; empty when it may (4.2).
/// @param verdict_on_nominated  of the node that the pod is nominated to, if there is one
std::string_view ineligibility(const Pod& pod, PreemptedState& state,
                               const std::function<NodeVerdict(NodeIndex)>& verdict_on_nominated);
/// @param limits  of the preemptor
NodeFinding finding_of(const DryRunAnswer& answer, const VictimList& list, const PreemptionLimits& limits);
PreemptionCandidate candidate_of(const VictimList& list, const DryRunResult& result, const DryRunAnswer& answer);
/// What upstream calls an error where the preemptor fits with all victims back: what AddPod leaves is not always what
/// PreFilter finds (architecture.md, "One node with pods added").
std::string needs_nobody_text(std::string_view node_name);

/// Why there is no candidate.
struct NoCandidate {
  std::string message;
  std::string error;  ///< non-empty: the cycle ends with this error
};
/// @param errors  needs_nobody_text() of nodes, in node order
NoCandidate why_no_candidate(const PodToPlace& pod, const PodVerdicts& verdicts, std::vector<std::string> errors,
                             PreemptedState& state);

}  // namespace berth
