// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/backend.h"
#include "batching/commit_log.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// What answers are made from.
struct AnswerSources {
  const ClassTable& table;
  const Nominations& nominations;
  const Snapshot& snapshot;
  const CommitLog& log;
  std::uint64_t opened;  ///< AnswerBasis::opened
};

/// Backend::answer_changes(). What verdicts() and dry_run() say of a pod on a node, given a list of victims, follows
/// from nothing else than:
///   the class, which never changes what it is compiled to under its number   opened, sweeps, recompiles, resources
///   its node side, the node set and the answer of PreFilter                  node_sides_version()
///   topology counts: of any node, since a domain and a minimum have many     TopologyCounts::version() of its tables
///   the object, amounts, ports and pods of the node, and where it lies       an entry of the log for the node
///   pods nominated to the node that count against its priority               Nominations::changed_nodes()
///   the victims: their amounts, terms and labels                             the list
/// What changes for all nodes at once makes all answers void. Answers are not kept where more decides: plugins on the
/// host, and the nomination of the pod itself, which makes its node another one for it alone.
/// @throws std::logic_error naming the pod when it is not prepared
AnswerChanges answer_changes(const PodToPlace& pod, AnswerBasis& basis, const AnswerSources& sources);
/// The same of a pod whose class is known.
AnswerChanges answer_changes(const Pod& pod, std::int32_t class_index, AnswerBasis& basis,
                             const AnswerSources& sources);

}  // namespace berth
