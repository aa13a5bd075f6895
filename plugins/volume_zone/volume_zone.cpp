// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_zone/volume_zone.h"

#include <algorithm>
#include <array>
#include <set>

#include "host/framework/plugin_calls.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::array kLabels = {kBetaZone, kBetaRegion, kZone, kRegion};

/// What a label of a volume demands of nodes.
struct Demand {
  std::string_view key;
  std::set<std::string, std::less<>> values;
  friend bool operator==(const Demand&, const Demand&) = default;
};

/// PreFilter's answer, and what it demands where it is Success.
struct ZoneState {
  HostPreFilter answer;
  std::vector<Demand> demands;
};

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// "a__b" as a and b; empty where a piece is.
std::set<std::string, std::less<>> values_of(std::string_view label) {
  constexpr std::string_view kDelimiter = "__";
  std::set<std::string, std::less<>> values;
  for (;;) {
    const std::size_t end = label.find(kDelimiter);
    const std::string_view piece = trim(label.substr(0, end));
    if (piece.empty()) return {};
    values.emplace(piece);
    if (end == std::string_view::npos) return values;
    label.remove_prefix(end + kDelimiter.size());
  }
}

void add_demands(const PersistentVolume& volume, std::vector<Demand>& demands) {
  for (const std::string_view key : kLabels)
    if (const auto label = volume.labels.find(key))
      if (auto values = values_of(*label); !values.empty()) demands.push_back({key, std::move(values)});
}

/// @return the refusal; empty: the claim is ignored
std::string without_volume(const VolumeClaim& claim, const ClusterStorage& storage) {
  if (claim.class_name.empty()) return "PersistentVolumeClaim had no pv name and storageClass name";
  const StorageClass* storage_class = storage.storage_class(claim.class_name);
  if (storage_class == nullptr) return not_found("storageclass.storage.k8s.io", claim.class_name);
  if (storage_class->binding_mode == StorageClass::BindingMode::kUnset)
    return "VolumeBindingMode not set for StorageClass " + quoted(claim.class_name);
  const bool waits = storage_class->binding_mode == StorageClass::BindingMode::kWaitForFirstConsumer;
  return waits ? "" : "PersistentVolume had no name";
}

ZoneState find_demands(const HostQuery& query) {
  ZoneState state;
  const ClusterStorage& storage = query.cluster.storage();
  if (query.claims != nullptr) {
    for (const ClaimCopy& copy : *query.claims)
      if (!copy.is_ephemeral && copy.volume) add_demands(*copy.volume, state.demands);
    return state;
  }
  std::string refusal;
  for (const PodVolume& volume : query.pod.rare().volumes) {
    if (volume.kind != PodVolume::Kind::kClaim) continue;
    const VolumeClaim* claim = storage.claim(query.pod.namespace_, volume.name);
    const PersistentVolume* bound = nullptr;
    if (volume.name.empty()) {
      refusal = "PersistentVolumeClaim had no name";
    } else if (claim == nullptr) {
      refusal = not_found("persistentvolumeclaim", volume.name);
    } else if (claim->volume_name.empty()) {
      refusal = without_volume(*claim, storage);
    } else if (bound = storage.volume(claim->volume_name); bound == nullptr) {
      refusal = not_found("persistentvolume", claim->volume_name);
    }
    if (!refusal.empty()) {
      state.answer = {StatusCode::kUnschedulableAndUnresolvable, {std::move(refusal)}};
      return state;
    }
    if (bound != nullptr) add_demands(*bound, state.demands);
  }
  if (state.demands.empty()) state.answer.code = StatusCode::kSkip;
  return state;
}

std::optional<std::string_view> value_on(const Node& node, std::string_view key) {
  if (const auto value = node.labels.find(key)) return value;
  if (key == kBetaZone) return node.labels.find(kZone);
  if (key == kBetaRegion) return node.labels.find(kRegion);
  return std::nullopt;
}

Status filter_zone(const ZoneState& state, const Node& node) {
  if (state.answer.code == StatusCode::kUnschedulableAndUnresolvable)
    return {state.answer.code, "", state.answer.reasons};
  const bool has_place =
      std::any_of(kLabels.begin(), kLabels.end(), [&](std::string_view key) { return node.labels.contains(key); });
  const auto is_met = [&](const Demand& demand) {
    const auto value = value_on(node, demand.key);
    return value && demand.values.contains(*value);
  };
  if (!has_place || std::all_of(state.demands.begin(), state.demands.end(), is_met)) return {};
  return {StatusCode::kUnschedulableAndUnresolvable, "", {"node(s) had no available volume zone"}};
}

bool is_claim(const PodVolume& volume) { return volume.kind == PodVolume::Kind::kClaim; }

}  // namespace

bool demands_other_zones(const PersistentVolume& before, const PersistentVolume& after) {
  std::vector<Demand> old_demands;
  std::vector<Demand> new_demands;
  add_demands(before, old_demands);
  add_demands(after, new_demands);
  return old_demands != new_demands;
}

bool VolumeZone::concerns(const Pod& pod) const { return has_volume(pod, is_claim); }

std::optional<std::string> VolumeZone::sign(const Pod& pod) const { return volumes_signature(pod, is_claim); }

std::optional<std::string> VolumeZone::sign_claims(std::span<const OwnClaim> claims,
                                                   const ClusterStorage& /*storage*/) const {
  std::vector<Demand> demands;
  for (const OwnClaim& own : claims)
    if (!own.is_ephemeral && own.volume != nullptr) add_demands(*own.volume, demands);
  std::string text;
  for (const Demand& demand : demands) {
    append_texts(text, {demand.key});
    for (const std::string& value : demand.values) append_texts(text, {value});
    append_texts(text, {""});
  }
  return text;
}

HostReach VolumeZone::reach(const HostQuery& /*query*/, const Node& /*node*/) const {
  return {HostReach::Kind::kNothing};
}

HostPreFilter VolumeZone::pre_filter(const HostQuery& query) const { return find_demands(query).answer; }

void VolumeZone::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const {
  const ZoneState state = find_demands(query);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Status status = filter_zone(state, *nodes[i]->node);
    if (!status.ok()) answers.refuse(i, status.code, std::move(status.reasons));
  }
}

Status VolumeZone::filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> /*added*/,
                                  std::span<const Pod* const> /*removed*/) const {
  return filter_zone(find_demands(query), *node.node);
}

}  // namespace berth
