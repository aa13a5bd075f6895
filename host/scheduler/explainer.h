// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one pod means to every node, for `berth explain`.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/default_preemption.h"
#include "host/scheduler/scheduler.h"
#include "plugins/volume_binding/claim_verdicts.h"

namespace berth {

using NodeNames = std::function<std::string_view(NodeIndex)>;

/// State of a pod before any node is evaluated.
enum class PodState : std::uint8_t {
  kPending,         ///< in the queue
  kGated,           ///< kept out of the queue by its scheduling gates
  kRunning,         ///< on a node
  kFinished,        ///< phase Succeeded or Failed: takes no part
  kDeleting,        ///< pending, but being deleted: never scheduled
  kOtherScheduler,  ///< pending, but no profile has its schedulerName
};
std::string_view to_string(PodState state);  ///< "Pending", "Gated", ...

struct PodStanding {
  PodState state = PodState::kPending;
  std::string message;  ///< "waiting for scheduling gates: [wait]"; empty where the state says all
};

/// Whom the pod would evict is worth a look: nodes were evaluated without an error, and none accepts it.
bool fits_nowhere(const Evaluation& evaluation);
/// There is a nearest miss to look for.
bool any_refuses(const Evaluation& evaluation);

/// The configuration with a profile more for each, behind them and in their order, of which the topology plugins alone
/// filter: what they say of a node that another plugin refuses first.
SchedulerConfig with_topology_profiles(SchedulerConfig config);
/// Of a profile of the configuration before. @param config  of with_topology_profiles()
std::int32_t topology_profile_of(std::int32_t profile, const SchedulerConfig& config);

/// What VolumeBinding says of each claim of the pod on each node of the evaluation, in its order. Empty for a pod
/// without claims, where PreFilter names one of them itself, and without VolumeBinding's Filter in the profile.
std::vector<std::vector<ClaimVerdict>> claims_of(const Pod& pod, const Profile& profile, const FeatureGates& gates,
                                                 const ClusterCache& cluster, const Evaluation& evaluation,
                                                 const NodeNames& node_name);

/// One pod at a time against the cluster as loaded; nothing is placed, and no device is opened.
class Explainer {
 public:
  /// `objects` must outlive this.
  /// @throws InputError when the chosen backend cannot serve the configuration
  Explainer(const ClusterObjects& objects, const ScheduleOptions& options);
  ~Explainer();

  std::span<const PodPtr> pending() const;  ///< queue order; gated ones included, skipped ones not
  const std::vector<Skipped>& skipped() const;

  /// @param pod  of the objects, or a finished one
  PodStanding standing_of(const Pod& pod) const;

  /// Gates are not looked at. A running pod is taken out of its node first, and explained as if it were pending: that
  /// rebuilds the cluster without it, which is kept until another one is asked for. So is a finished one, which is on
  /// no node.
  /// @param pod  of the objects, or a finished one
  /// @throws InputError when no profile has its schedulerName
  Evaluation explain(const PodPtr& pod);

  /// Whom the pod would evict, from the same state as explain(). Of a pod that fits nowhere.
  /// @param evaluation  of the pod
  /// @return nullopt: a node accepts the pod, there is no node, the evaluation ended with an error, or the profile has
  ///     no DefaultPreemption
  std::optional<PreemptionResult> preempt(const PodPtr& pod, const Evaluation& evaluation);

  /// The same as explain(), where the topology plugins alone filter.
  Evaluation explain_topology(const PodPtr& pod);

  /// claims_of() of a pod that explain() evaluates.
  std::vector<std::vector<ClaimVerdict>> claims(const Pod& pod, const Evaluation& evaluation) const;

  /// Nodes, and the pods on them.
  const ClusterCache& cluster() const;

  std::string_view node_name(NodeIndex node) const;
  std::string_view served_by() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
