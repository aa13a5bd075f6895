// SPDX-License-Identifier: Apache-2.0
#pragma once

// What engines take and give when they place pods: batches, limits, outcomes.

#include <cstdint>
#include <string>
#include <vector>

#include "host/framework/plugin_names.h"
#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

/// The slot of a node in an engine. A node keeps it while it exists; later another node may get it. An engine to
/// which no node event was applied has its nodes in node order: zone-interleaved, as kube-scheduler lists them.
struct NodeIndex {
  std::int32_t value = -1;
  friend bool operator==(NodeIndex, NodeIndex) = default;
};
inline constexpr NodeIndex kNoNode{-1};

/// One pod of a batch.
struct PodToPlace {
  PodPtr pod;
  std::int32_t profile = 0;       ///< index into SchedulerConfig::profiles
  std::int32_t class_index = -1;  ///< written by Backend::compile(); a backend without classes leaves it alone
  std::uint64_t compiled_at = 0;  ///< likewise: TopologyIndex::epoch() at that time
  std::uint32_t handle = 0;       ///< likewise: number of the pod in the backend; 0: none. Backend::release() ends it
};

enum class OutcomeKind : std::uint8_t { kPlaced, kUnschedulable, kError };

/// The outcome of one pod. A pod without a node is a result with reasons, not an error.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kUnschedulable;
  NodeIndex node = kNoNode;
  std::int64_t score = 0;     ///< total of the chosen node; 0 when it was chosen without scoring
  std::int32_t message = -1;  ///< index into BatchResult::messages for kUnschedulable and kError
};

enum class StopReason : std::uint8_t {
  kDone,
  kPodWithoutNode,
  kHostPlugin,  ///< what plugins on the host answer about the next pod is stale: Backend::refill()
  kDeadline,
  kPodLimit,
};

struct BatchLimits {
  std::int64_t deadline_us = 0;     ///< 0: none; measured on the steady clock from the start of the call
  std::size_t pods_max = SIZE_MAX;  ///< stop after this many pods with kPodLimit
  bool stop_at_failure = false;     ///< stop after the first pod without a node (kPodWithoutNode)
  bool ranks_nodes = false;         ///< BatchResult::others is wanted; for batches of one pod
  /// Nodes are filtered and scored one by one, without rows: for few pods whose like is not expected again.
  bool lists_nodes = false;
  /// Not null: [NodeIndex::value] the nodes that pods may be placed on; one behind the end is none of them. Filters,
  /// scores and messages are as if the others did not exist; pods on them count as ever.
  const std::vector<bool>* among = nullptr;
};

/// Why pods have no node.
struct Message {
  std::string text;  ///< of the FitError, or of the error that ended the cycle
  /// Upstream's UnschedulablePlugins, which queueing hints ask about: Diagnosis::rejectors. Empty for an error, and for
  /// a cluster without nodes.
  PluginNames rejectors;
  std::int64_t resolvable_nodes = 0;  ///< Diagnosis::resolvable_count
  bool is_of_pre_filter = false;      ///< a PreFilter plugin refused the pod, the only one of `rejectors`
  PluginNames pending = {};           ///< Diagnosis::pending
  friend bool operator==(const Message&, const Message&) = default;
};

/// The FitError of a diagnosis.
Message message_of(const Diagnosis& diagnosis);

struct BatchResult {
  std::vector<Outcome> outcomes;  ///< one per committed pod, a prefix of the batch
  std::vector<Message> messages;  ///< each distinct one once
  StopReason stop = StopReason::kDone;
  /// With BatchLimits::ranks_nodes: the nodes that were scored with the chosen one, in the order in which they would be
  /// chosen next. Empty where no node was scored: one alone was feasible, or the pod was nominated to it.
  std::vector<NodeIndex> others;
};

}  // namespace berth
