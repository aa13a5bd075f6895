// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_topology.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

namespace berth {
namespace {

constexpr std::uint64_t kStream = 0x8CB92BA72F3D8DD7ULL;
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kRack = "example.com/rack";

/// The last one has no object.
const std::array<std::string, 6> kNamespaces = {"default", "team-a", "team-b", "tools", "empty", "no-object"};
const std::array<std::string, 3> kWorkloadNames = {"set-0", "set-1", "set-2"};
const std::array<std::string, 3> kWorkloadKinds = {"ReplicaSet", "StatefulSet", "ReplicationController"};

/// Keys that matchLabelKeys may name, one that no pod has among them.
std::vector<std::string> random_keys(Random& random) {
  static const std::array<const char*, 4> kKeys = {"app", "tier", "version", "absent-key"};
  std::vector<std::string> keys = {random.pick(kKeys)};
  if (random.chance(20)) keys.emplace_back(random.pick(kKeys));
  return keys;
}

std::string usual_api_version(const std::string& kind) {
  if (kind == "ReplicationController") return "v1";
  return kind == "Job" ? "batch/v1" : "apps/v1";
}

}  // namespace

RandomTopology::RandomTopology(std::uint64_t seed, const RandomClusterOptions& options)
    : random_(seed ^ kStream), is_drawn_(random_.chance(options.topology_percent)) {
  static constexpr std::array<std::int32_t, 5> kRates = {0, 10, 30, 60, 90};
  static constexpr std::array<std::int32_t, 5> kRareRates = {0, 0, 3, 8, 20};
  is_calm_ = random_.chance(75);
  for (std::int32_t* rate :
       {&spread_, &affinity_, &anti_affinity_, &foreign_namespaces_, &label_keys_, &policies_, &selected_by_others_}) {
    *rate = random_.pick(kRates);
  }
  for (std::int32_t* rate : {&selectors_.unset, &partial_labels_, &relabelled_, &nominated_, &odd_}) {
    *rate = random_.pick(kRareRates);
  }
  // One malformed selector ends the whole cycle of a pod.
  const bool malformed = random_.chance(20) && options.malformed_affinity;
  if (malformed) selectors_.malformed = 6;
  if (!options.nominated_pods) nominated_ = 0;
}

void RandomTopology::calm(RandomMoods& moods) const {
  moods.nominated = std::max(moods.nominated, nominated_);
  if (!is_calm_) return;
  for (std::int32_t* rate :
       {&moods.taints, &moods.node_selector, &moods.required_affinity, &moods.ports, &moods.unschedulable,
        &moods.declared_features, &moods.malformed, &moods.init_containers, &moods.scalars, &moods.pod_level}) {
    *rate /= 10;
  }
  moods.scarce_pod_slots = 0;
}

void RandomTopology::enlarge(Node& node) const {
  constexpr std::int64_t kFactor = 32;
  if (!is_calm_) return;
  node.allocatable.milli_cpu *= kFactor;
  node.allocatable.memory_bytes *= kFactor;
  node.allocatable.ephemeral_storage_bytes *= kFactor;
}

std::vector<Namespace> RandomTopology::namespaces() {
  std::vector<Namespace> all;
  for (std::size_t i = 0; i + 1 < kNamespaces.size(); ++i) {
    std::vector<std::pair<std::string, std::string>> entries;
    const LabelMap drawn = random_labels(random_, LabelsOf::kNamespace);
    for (const auto& [key, value] : drawn) entries.emplace_back(key, value);
    // What the API server adds; a cluster of files may lack it.
    if (!random_.chance(10)) entries.emplace_back("kubernetes.io/metadata.name", kNamespaces[i]);
    all.push_back({kNamespaces[i], LabelMap(std::move(entries))});
  }
  return all;
}

const std::string& RandomTopology::pick_namespace() {
  static constexpr std::array<std::size_t, 10> kMostly = {0, 0, 0, 0, 0, 1, 1, 2, 3, 5};
  return kNamespaces[random_.pick(kMostly)];
}

void RandomTopology::label_node(Node& node, const std::vector<std::string>& names) {
  static constexpr std::array<const char*, 4> kZones = {"zone-a", "zone-b", "zone-c", "zone-d"};
  static constexpr std::array<const char*, 2> kRegions = {"north", "south"};
  static constexpr std::array<const char*, 3> kRacks = {"r1", "r2", "r3"};
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [key, value] : node.labels) {
    if (key != kZone && key != kRegion && key != kHostname) entries.emplace_back(key, value);
  }
  const auto add = [&](std::string_view key, const std::string& value) {
    if (random_.chance(partial_labels_)) return;
    entries.emplace_back(key, random_.chance(partial_labels_ / 2) ? "" : value);
  };
  add(kZone, random_.pick(kZones));
  add(kRegion, random_.pick(kRegions));
  add(kRack, random_.pick(kRacks));
  // A hostname that two nodes share is one domain to filters and two to scores.
  const bool is_shared = random_.chance(partial_labels_);
  add(kHostname, is_shared ? random_.pick(names) : names.back());
  node.labels = LabelMap(std::move(entries));
}

std::string RandomTopology::topology_key() {
  static constexpr std::array<std::string_view, 7> kKeys = {kZone, kZone, kZone, kHostname, kHostname, kRegion, kRack};
  return std::string(random_.chance(2) ? "absent-key" : random_.pick(kKeys));
}

TopologySpreadConstraint RandomTopology::constraint(const LabelMap& labels) {
  static constexpr std::array<std::int32_t, 6> kSkews = {1, 1, 1, 2, 3, 5};
  static constexpr std::array<std::int32_t, 5> kMinDomains = {1, 2, 3, 4, 10};
  TopologySpreadConstraint made;
  made.schedule_anyway = random_.chance(50);
  made.topology_key = topology_key();
  made.max_skew = random_.pick(kSkews);
  made.label_selector = random_optional_selector(random_, LabelsOf::kPod, labels, selectors_);
  const bool may_have_domains = !made.schedule_anyway || random_.chance(odd_);
  if (may_have_domains && random_.chance(policies_ / 2)) made.min_domains = random_.pick(kMinDomains);
  if (random_.chance(policies_)) made.honor_node_affinity = random_.chance(40);
  if (random_.chance(policies_)) made.honor_node_taints = random_.chance(60);
  const bool may_have_keys = made.label_selector || random_.chance(odd_);
  if (may_have_keys && random_.chance(label_keys_ / 2)) made.match_label_keys = random_keys(random_);
  if (!made.schedule_anyway && random_.chance(odd_ / 2)) made.max_skew = 0;
  return made;
}

void RandomTopology::add_constraints(PodSpec& spec, const LabelMap& labels) {
  const std::int64_t count = random_.between(1, 3);
  std::set<std::pair<std::string, bool>> seen;
  for (std::int64_t i = 0; i < count; ++i) {
    TopologySpreadConstraint made = constraint(labels);
    // An API server lets one constraint of a key and an action in.
    const bool is_new = seen.emplace(made.topology_key, made.schedule_anyway).second;
    if (is_new || random_.chance(odd_)) spec.topology_spread_constraints.push_back(std::move(made));
  }
}

void RandomTopology::restrict_namespaces(PodAffinityTerm& term) {
  if (!random_.chance(foreign_namespaces_)) return;
  const std::uint64_t kind = random_.below(10);
  if (kind < 5) {
    const std::int64_t count = random_.between(1, 3);
    for (std::int64_t i = 0; i < count; ++i) term.namespaces.push_back(random_.pick(kNamespaces));
  }
  if (kind < 4) return;
  if (random_.chance(15))
    term.namespace_selector.emplace();
  else if (random_.chance(35))
    term.namespace_selector = random_negative_selector(random_, LabelsOf::kNamespace);
  else
    term.namespace_selector = random_selector(random_, LabelsOf::kNamespace, LabelMap());
  if (random_.chance(selectors_.malformed)) make_malformed(random_, *term.namespace_selector);
}

PodAffinityTerm RandomTopology::term(const LabelMap& labels) {
  PodAffinityTerm made;
  made.topology_key = topology_key();
  made.label_selector = random_optional_selector(random_, LabelsOf::kPod, labels, selectors_);
  restrict_namespaces(made);
  const bool may_have_keys = made.label_selector || random_.chance(odd_);
  if (may_have_keys && random_.chance(label_keys_ / 3)) made.match_label_keys = random_keys(random_);
  if (may_have_keys && random_.chance(label_keys_ / 3)) made.mismatch_label_keys = random_keys(random_);
  return made;
}

PodAffinity RandomTopology::affinity(const LabelMap& labels, std::int32_t required_percent) {
  // 29, 57 and 58 of 100 are the shares that lose a point to floating division
  // (docs/behaviour/plugins-topology.md 3.10).
  static constexpr std::array<std::int32_t, 9> kWeights = {1, 1, 5, 10, 29, 57, 58, 71, 100};
  PodAffinity made;
  if (random_.chance(6)) return made;  // present and empty
  const bool is_required = random_.chance(required_percent);
  const std::int64_t required = is_required ? random_.between(1, 2) : 0;
  const std::int64_t preferred = is_required ? random_.between(-1, 2) : random_.between(1, 3);
  for (std::int64_t i = 0; i < required; ++i) made.required.push_back(term(labels));
  for (std::int64_t i = 0; i < preferred; ++i) {
    WeightedPodAffinityTerm weighted;
    weighted.weight = random_.chance(odd_ / 2) ? 0 : random_.pick(kWeights);
    weighted.term = term(labels);
    made.preferred.push_back(std::move(weighted));
  }
  return made;
}

void RandomTopology::add_rules(PodSpec& spec, const LabelMap& labels) {
  if (random_.chance(spread_)) add_constraints(spec, labels);
  if (random_.chance(affinity_)) spec.pod_affinity = affinity(labels, 35);
  if (random_.chance(anti_affinity_)) spec.pod_anti_affinity = affinity(labels, 50);
  if (!spec.pod_affinity || !spec.pod_anti_affinity) return;
  // The same term for and against: a sum of 0 that is not the same as no sum.
  const bool cancels = random_.chance(15) && !spec.pod_affinity->preferred.empty();
  if (cancels) spec.pod_anti_affinity->preferred.push_back(spec.pod_affinity->preferred.front());
}

std::vector<Service> RandomTopology::services() {
  std::vector<Service> all;
  for (const std::string& ns : kNamespaces) {
    for (std::int64_t i = 0; i < 3; ++i) {
      if (!random_.chance(selected_by_others_ / 2)) continue;
      all.push_back({"service-" + std::to_string(i), ns, random_pairs(random_, LabelsOf::kPod)});
    }
  }
  return all;
}

std::vector<Workload> RandomTopology::workloads() {
  std::vector<Workload> all;
  for (const std::string& ns : kNamespaces) {
    for (const std::string& name : kWorkloadNames) {
      for (const std::string& kind : kWorkloadKinds) {
        if (!random_.chance(selected_by_others_ / 2)) continue;
        Workload workload;
        workload.kind = kind;
        workload.name = name;
        workload.namespace_ = ns;
        LabelSelector& selector = workload.selector.emplace();
        if (kind == "ReplicationController") {
          selector.match_labels = random_pairs(random_, LabelsOf::kPod);
        } else if (!random_.chance(10)) {
          selector = random_selector(random_, LabelsOf::kPod, LabelMap());
          if (random_.chance(selectors_.malformed)) make_malformed(random_, selector);
        }
        all.push_back(std::move(workload));
      }
    }
  }
  return all;
}

OwnerReference RandomTopology::owner() {
  static constexpr std::array<const char*, 5> kOtherKinds = {"Job", "DaemonSet", "Deployment", "replicaset", "Node"};
  static constexpr std::array<const char*, 6> kOtherVersions = {"v1",       "apps/v1", "extensions/v1beta1",
                                                                "batch/v1", "a/b/c",   ""};
  OwnerReference made;
  made.kind = random_.chance(88) ? random_.pick(kWorkloadKinds) : random_.pick(kOtherKinds);
  made.name = random_.chance(90) ? random_.pick(kWorkloadNames) : "gone";
  made.uid = random_.chance(50) ? "uid-" + made.name : "";
  made.controller = random_.chance(88);
  made.api_version = random_.chance(88) ? usual_api_version(made.kind) : random_.pick(kOtherVersions);
  return made;
}

OwnersPtr RandomTopology::owners() {
  if (!random_.chance(selected_by_others_)) return nullptr;
  std::vector<OwnerReference> all = {owner()};
  if (random_.chance(10)) all.push_back(owner());
  return std::make_shared<const std::vector<OwnerReference>>(std::move(all));
}

}  // namespace berth
