// SPDX-License-Identifier: Apache-2.0
// The declarative form of a cluster that `berth generate` reads. Every field, with its default: docs/generate.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/generate/random_cluster.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// Nodes, and pods, that one spec may ask for.
inline constexpr std::int64_t kMaxGeneratedObjects = 10'000'000;
inline constexpr std::uint64_t kMaxSpecBytes = std::uint64_t{8} << 20;

/// An amount: fixed, drawn from a list, drawn from a range, or counted up from variant to variant.
struct QuantityDraw {
  enum class Kind : std::uint8_t { kFixed, kChoice, kRange, kSequence };
  Kind kind = Kind::kFixed;
  std::vector<Quantity> values;       ///< one when fixed
  std::vector<std::int32_t> weights;  ///< as many as values, or empty: all equal
  Quantity start;                     ///< range: smallest value; sequence: value of variant 0
  Quantity step;                      ///< range, sequence: above 0
  Quantity modulo;                    ///< sequence: k * step is taken modulo this; 0: it never starts again
  std::int64_t step_count = 1;        ///< range: how many values there are to draw from
};

/// A text: fixed, drawn from a list, or numbered from variant to variant.
struct TextDraw {
  std::vector<std::string> values;    ///< never empty; the prefix of a sequence
  std::vector<std::int32_t> weights;  ///< as many as values, or empty: all equal
  std::int64_t sequence_count = 0;    ///< above 0: variant k gets the prefix and k modulo this
};

using ResourceDraws = std::vector<std::pair<std::string, QuantityDraw>>;  ///< sorted by name
using TextDraws = std::vector<std::pair<std::string, TextDraw>>;          ///< sorted by key

/// One namespace, or `count` of them with equal labels: <name>-0, <name>-1, ...
struct NamespaceSpec {
  std::string name;
  LabelMap labels;
  std::optional<std::int64_t> count;

  std::vector<std::string> members() const;
};

/// One service, or `count` of them: <name>-0, <name>-1, ...; selectors are drawn per service.
struct ServiceSpec {
  std::string name;
  std::string namespace_ = "default";
  std::optional<std::int64_t> count;
  TextDraws selector;
};

/// The workload that owns the pods of a group; there is one in each of the group's namespaces.
struct WorkloadOwnerSpec {
  std::string kind;  ///< ReplicaSet, StatefulSet or ReplicationController
  std::string name;
  LabelSelector selector;
};

struct PoolImage {
  NodeImage image;
  std::int32_t percent = 100;  ///< of the pool's nodes
};

struct NodePoolSpec {
  std::string name;  ///< nodes are <name>-0, <name>-1, ...
  std::int64_t count = 0;
  std::vector<std::string> zones;    ///< node i lies in zone i modulo their number; none: no zone label
  std::vector<std::string> regions;  ///< likewise
  bool hostname_label = true;
  TextDraws labels;  ///< drawn per node
  std::vector<Taint> taints;
  ResourceDraws allocatable;  ///< drawn per node
  std::vector<PoolImage> images;
  std::int32_t unschedulable_percent = 0;
  std::vector<std::string> declared_features;
};

struct ContainerSpec {
  std::string name;
  TextDraw image{{""}, {}};
  ResourceDraws requests;
  ResourceDraws limits;
  std::vector<ContainerPort> ports;
  bool restart_always = false;
};

enum class RunningPlacement : std::uint8_t { kRandom, kRoundRobin };

/// Pods of one origin. They come in `variants`: draws are made once per variant, and the pods of a variant share one
/// spec.
struct PodGroupSpec {
  std::string name;  ///< pods are <name>-0, <name>-1, ...: the running ones first
  /// Names of NamespaceSpecs; pod i lies in namespace i modulo the number of their members.
  std::vector<std::string> namespaces = {"default"};
  std::int64_t running = 0;
  std::int64_t pending = 0;
  std::int64_t variants = 1;
  bool variants_in_turn = false;        ///< pod i is of variant i modulo variants; otherwise a variant is drawn per pod
  std::vector<std::string> running_on;  ///< pools; none: all pools that repel no pod with a taint
  RunningPlacement placement = RunningPlacement::kRandom;

  TextDraws labels;  ///< drawn per variant, as everything below
  std::vector<ContainerSpec> containers;
  std::vector<ContainerSpec> init_containers;
  ResourceDraws overhead;
  ResourceDraws pod_level_requests;
  bool host_network = false;
  TextDraws node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::optional<PodAffinity> pod_affinity;  ///< matchLabelKeys not merged yet
  std::optional<PodAffinity> pod_anti_affinity;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<Toleration> tolerations;
  std::optional<WorkloadOwnerSpec> owned_by;
  std::optional<TextDraw> priority_class;
  std::optional<std::int32_t> priority;
  std::optional<PreemptionPolicy> preemption_policy;
  std::string scheduler_name = "default-scheduler";
  std::vector<std::string> scheduling_gates;  ///< of the pending pods
  std::int64_t created_at_us = 0;             ///< of pod 0, since the epoch; 0: pods carry no creation time
  std::int64_t created_every_s = 0;
};

/// Either pools and pods, or a random cluster.
struct ClusterSpec {
  std::vector<NamespaceSpec> namespaces;  ///< "default" is always among them
  std::vector<PriorityClass> priority_classes;
  std::vector<ServiceSpec> services;
  std::vector<NodePoolSpec> node_pools;
  std::vector<PodGroupSpec> pod_groups;
  std::optional<RandomClusterOptions> random;
};

/// Reads a spec from JSON text, strictly: unknown and duplicate fields are problems, and so is whatever can mean
/// nothing.
/// @param source  file name for messages
/// @throws InputError with every problem found
ClusterSpec parse_cluster_spec(std::string_view json, const std::string& source);

/// Reads a spec from a file, YAML or JSON.
/// @param path  "-" for standard input
/// @throws InputError
ClusterSpec load_cluster_spec(const std::string& path);

}  // namespace berth
