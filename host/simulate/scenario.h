// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a simulation runs: a cluster, and what happens to it when. Times of actions count from the start of the
// simulation. All objects have gone through admission, and workloads are expanded into pods.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/errors.h"
#include "host/objects/object_pools.h"

namespace berth {

/// Limits of one scenario; docs/simulate.md states them.
inline constexpr std::size_t kScenarioBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kScenarioActionsMax = 100'000;  ///< entries of actions, and entries of arrivals
inline constexpr std::int64_t kScenarioPodsMax = 1'000'000;  ///< pods that actions and arrivals make together
/// Bytes of JSON of an arrival's template, times the pods that it makes: what copies do not share has to fit into
/// memory.
inline constexpr std::int64_t kArrivalBytesMax = std::int64_t{4} << 30;
inline constexpr std::int64_t kLongestHours = 876'000;  ///< of any duration: 100 years
inline constexpr std::int64_t kLongestUs = kLongestHours * 3'600 * 1'000'000;

/// Where the clock of a simulation begins when nothing in the input has a time: 2026-01-01T00:00:00Z.
inline constexpr std::int64_t kDefaultStartUs = std::int64_t{1'767'225'600} * 1'000'000;

/// Names an object of the store.
struct ObjectReference {
  std::string kind;        ///< "Pod", "Node", "Deployment", ...
  std::string namespace_;  ///< empty for kinds without
  std::string name;
};

struct ObjectDeletion {
  ObjectReference object;
  std::optional<std::int64_t> grace_period_s;  ///< of pods; absent: terminationGracePeriodSeconds
};

/// What changes of a node; what is absent stays.
struct NodePatch {
  std::string name;
  std::vector<std::pair<std::string, std::optional<std::string>>> labels;  ///< nullopt removes the label
  std::optional<bool> unschedulable;
  std::optional<std::vector<Taint>> taints;  ///< replaces all
};

/// From now on, volumes of the classes of a provisioner cannot be made, or can be made again.
struct ProvisionerChange {
  std::string name;
  bool fails = false;
};

/// Happens once: provisioners change, then objects are created, then nodes changed, then storage objects replaced, then
/// objects deleted, each in the order of the file.
struct ScenarioAction {
  std::string location;  ///< in its file, for messages: "actions[3]"
  std::int64_t at_us = 0;
  std::vector<ProvisionerChange> provisioners = {};
  ClusterObjects create;
  std::vector<NodePatch> update;
  StorageObjects replace;
  std::vector<ObjectDeletion> remove;
};

/// The same pod or workload, again and again. Copy k of "web" is called "web-k", k from 0.
struct Arrivals {
  std::string location;
  std::int64_t at_us = 0;  ///< of the first
  std::int64_t every_us = 0;
  std::int64_t count = 1;
  std::variant<PodPtr, DecodedWorkload> model;
  std::shared_ptr<ObjectPools> pools;

  /// The objects of copy `k`. Times and uids are left to the store.
  /// @param problems  a workload with too many pods, which makes none, is added
  ClusterObjects copy(std::int64_t k, std::vector<InputProblem>& problems) const;
};

struct Scenario {
  std::int64_t start_us = kDefaultStartUs;  ///< microseconds since the epoch
  std::optional<std::int64_t> until_us;     ///< from the start; absent: until nothing can happen any more
  std::int64_t start_delay_us = 0;          ///< from a pod's binding until it runs
  /// How long pods run that do not say it themselves; absent: until they are deleted.
  std::optional<std::int64_t> run_duration_us;
  /// What is there at the start. Pending pods with a later creationTimestamp arrive then.
  ClusterObjects cluster;
  std::vector<ScenarioAction> actions;
  std::vector<Arrivals> arrivals;
};

/// Which instant of the input a simulation starts at.
enum class StartRule : std::uint8_t {
  kLatest,    ///< the latest creation or start of a pod: a dump of a cluster goes on from when it was taken
  kEarliest,  ///< the earliest creation of a pending pod: a trace is run from its beginning
};

/// kDefaultStartUs when no pod has the time that is asked for.
std::int64_t start_of(const ClusterObjects& cluster, StartRule rule);

/// The same pod with that run duration, unless it has one.
PodPtr with_run_duration(PodPtr pod, std::int64_t run_duration_us);

}  // namespace berth
