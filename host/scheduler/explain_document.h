// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/objects/document_writer.h"
#include "host/objects/pod.h"
#include "host/scheduler/explainer.h"

namespace berth {

/// What is known of one pod.
struct Explanation {
  std::string name;  ///< "namespace/name"
  PodPtr pod;        ///< never null
  PodStanding standing;
  const Profile* profile = nullptr;                           ///< of the pod; null: nothing was evaluated
  Evaluation evaluation = {};                                 ///< without nodes where nothing was evaluated
  std::optional<PreemptionResult> preemption = std::nullopt;  ///< Explainer::preempt()
  std::vector<std::vector<ClaimVerdict>> claims = {};         ///< claims_of(); not part of the record
  Evaluation topology = {};  ///< Explainer::explain_topology(), where a node refuses; not part of the record
};

/// One record of docs/schemas/explain-record.schema.json, with a line end.
/// "message" and "error" are there only when they say something, "reasons" only when there are some.
/// @param nodes_max  lists so many of the nodes that accept the pod, best total first, and so many of those that refuse
///     it, and counts all by verdict: "verdicts", "nodesLeftOut". Absent: lists every node and counts none
void write_explain_record(const Explanation& explanation, const NodeNames& node_name, DocumentWriter& writer,
                          std::optional<std::size_t> nodes_max = std::nullopt);

}  // namespace berth
