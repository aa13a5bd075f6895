// SPDX-License-Identifier: Apache-2.0
#include "host/config/feature_gates.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "host/objects/errors.h"

namespace berth {
namespace {

enum class Stage : std::uint8_t { kAlpha, kBeta, kGa };

struct GateState {
  Stage stage;
  bool on;
  bool locked = false;
};

struct GateSpec {
  std::string_view name;
  std::optional<GateState> v1_35;  ///< nullopt: the release does not have the gate
  std::optional<GateState> v1_36;
  std::array<std::string_view, 3> needs = {};  ///< gates that must be on when this one is

  const std::optional<GateState>& in(Release release) const { return release == Release::k1_35 ? v1_35 : v1_36; }
};

constexpr GateState kAlphaOff{Stage::kAlpha, false};
constexpr GateState kBetaOff{Stage::kBeta, false};
constexpr GateState kBetaOn{Stage::kBeta, true};
constexpr GateState kGaOn{Stage::kGa, true};
constexpr GateState kGaLocked{Stage::kGa, true, true};
constexpr std::optional<GateState> kAbsent = std::nullopt;

constexpr std::string_view kDra = "DynamicResourceAllocation";

/// Gates that the scheduler reads: docs/behaviour/scheduler-core.md 0.2, docs/behaviour/plugins-node.md 0.2,
/// docs/behaviour/plugins-topology.md 4, docs/behaviour/plugins-storage-devices.md 0.2. By name.
constexpr auto kGates = std::to_array<GateSpec>({
    {"ClearingNominatedNodeNameAfterBinding", kBetaOn, kBetaOn},
    {"CoordinatedLeaderElection", kBetaOff, kBetaOff},
    {"DRAAdminAccess", kBetaOn, kGaLocked, {kDra}},
    {"DRAConsumableCapacity", kAlphaOff, kBetaOn, {kDra}},
    {"DRADeviceBindingConditions", kAlphaOff, kBetaOn, {kDra, "DRAResourceClaimDeviceStatus"}},
    {"DRADeviceTaintRules", kAlphaOff, kBetaOff, {"DRADeviceTaints"}},
    {"DRADeviceTaints", kAlphaOff, kBetaOn, {kDra}},
    {"DRAExtendedResource", kAlphaOff, kBetaOn, {kDra}},
    {"DRAPartitionableDevices", kAlphaOff, kBetaOn, {kDra}},
    {"DRAPrioritizedList", kBetaOn, kGaOn, {kDra}},
    {"DRAResourceClaimDeviceStatus", kBetaOn, kBetaOn},
    {"DRASchedulerFilterTimeout", kBetaOn, kBetaOn, {kDra}},
    {"DRAWorkloadResourceClaims", kAbsent, kAlphaOff, {kDra, "GenericWorkload"}},
    {"DynamicResourceAllocation", kGaLocked, kGaLocked},
    {"GangScheduling", kAlphaOff, kAlphaOff, {"GenericWorkload"}},
    {"GenericWorkload", kAlphaOff, kAlphaOff},
    {"InPlacePodLevelResourcesVerticalScaling",
     kAlphaOff,
     kBetaOn,
     {"InPlacePodVerticalScaling", "PodLevelResources", "NodeDeclaredFeatures"}},
    {"InPlacePodVerticalScaling", kGaLocked, kGaLocked},
    {"MatchLabelKeysInPodAffinity", kGaLocked, kGaLocked},
    {"MatchLabelKeysInPodTopologySpread", kBetaOn, kBetaOn},
    {"MatchLabelKeysInPodTopologySpreadSelectorMerge", kBetaOn, kBetaOn, {"MatchLabelKeysInPodTopologySpread"}},
    {"MutableCSINodeAllocatableCount", kBetaOn, kBetaOn},
    {"NodeDeclaredFeatures", kAlphaOff, kBetaOn},
    {"NodeInclusionPolicyInPodTopologySpread", kGaLocked, kGaLocked},
    {"NominatedNodeNameForExpectation", kBetaOn, kBetaOn},
    {"OpportunisticBatching", kBetaOn, kBetaOn},
    {"PodLevelResources", kBetaOn, kBetaOn},
    {"SchedulerAsyncAPICalls", kBetaOff, kBetaOff},
    {"SchedulerAsyncPreemption", kBetaOn, kBetaOn},
    {"SchedulerPopFromBackoffQ", kBetaOn, kBetaOn},
    {"SchedulerQueueingHints", kGaLocked, kGaLocked},
    {"SidecarContainers", kGaLocked, kGaLocked},
    {"StorageCapacityScoring", kAlphaOff, kAlphaOff},
    {"TaintTolerationComparisonOperators", kAlphaOff, kAlphaOff},
    {"TopologyAwareWorkloadScheduling", kAbsent, kAlphaOff, {"GenericWorkload"}},
    {"VolumeAttributesClass", kGaOn, kGaLocked},
    {"VolumeLimitScaling", kAlphaOff, kAlphaOff},
    {"WatchListClient", kBetaOn, kBetaOn},
    {"WorkloadAwarePreemption", kAbsent, kAlphaOff, {"GangScheduling"}},
    {"WorkloadWithJob", kAbsent, kAlphaOff, {"GenericWorkload"}},
});

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";
constexpr const char* kFlag = "--feature-gates";

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::kAlpha:
      return "Alpha";
    case Stage::kBeta:
      return "Beta";
    case Stage::kGa:
      return "GA";
  }
  return "";
}

bool is_group(std::string_view name) { return name == kAllAlpha || name == kAllBeta; }

const GateSpec* find_gate(std::string_view name) {
  const auto* at = std::lower_bound(kGates.begin(), kGates.end(), name,
                                    [](const GateSpec& gate, std::string_view wanted) { return gate.name < wanted; });
  return at != kGates.end() && at->name == name ? at : nullptr;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The spellings of Go's strconv.ParseBool, as in upstream's flag.
std::optional<bool> parse_bool(std::string_view text) {
  constexpr auto kTrue = std::to_array<std::string_view>({"1", "t", "T", "true", "TRUE", "True"});
  constexpr auto kFalse = std::to_array<std::string_view>({"0", "f", "F", "false", "FALSE", "False"});
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

struct Setting {
  std::string_view name;
  bool on;
};

/// The "Name=bool" items of a flag text, in order; malformed items are problems.
std::vector<Setting> split_settings(std::string_view text, std::vector<InputProblem>& problems) {
  std::vector<Setting> settings;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const auto equals = item.find('=');
    const std::string_view name = trim(item.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : trim(item.substr(equals + 1));
    if (const auto on = parse_bool(value)) {
      settings.push_back({name, *on});
    } else {
      problems.push_back({kFlag, std::string(name), "got \"" + std::string(value) + "\", expected true or false"});
    }
  }
  return settings;
}

bool is_of_other_component(std::string_view name) {
  return !name.empty() && !is_group(name) && find_gate(name) == nullptr;
}

/// Why a gate cannot have this value in this release; empty when it can.
std::string refusal(const Setting& setting, Release release) {
  if (is_group(setting.name)) return {};
  const GateSpec* gate = find_gate(setting.name);
  if (gate == nullptr) return "no feature gate of the scheduler has this name";
  const auto& state = gate->in(release);
  if (!state) return "Kubernetes " + std::string(to_string(release)) + " does not have this feature gate";
  if (state->locked && setting.on != state->on) {
    return std::string("is locked to ") + (state->on ? "true" : "false") + " in Kubernetes " +
           std::string(to_string(release));
  }
  return {};
}

}  // namespace

Release parse_release(std::string_view text) {
  if (text == "1.35" || text == "v1.35") return Release::k1_35;
  if (text == "1.36" || text == "v1.36") return Release::k1_36;
  throw InputError(
      InputProblem{"--emulate-version", "", "got \"" + std::string(text) + "\", expected \"1.35\" or \"1.36\""});
}

std::string_view to_string(Release release) { return release == Release::k1_35 ? "1.35" : "1.36"; }

FeatureGates::FeatureGates(Release release) : release_(release) {
  for (const GateSpec& gate : kGates) {
    const auto& state = gate.in(release);
    enabled_.emplace(gate.name, state && state->on);
  }
}

void FeatureGates::apply(std::string_view flag_text, std::vector<std::string>* left_out) {
  std::vector<InputProblem> problems;
  FeatureGates changed = *this;
  std::vector<Setting> groups;
  for (const Setting& setting : split_settings(flag_text, problems)) {
    if (left_out != nullptr && is_of_other_component(setting.name)) {
      left_out->emplace_back(setting.name);
    } else if (std::string why = refusal(setting, release_); !why.empty()) {
      problems.push_back({kFlag, std::string(setting.name), std::move(why)});
    } else if (is_group(setting.name)) {
      groups.push_back(setting);
    } else {
      changed.enabled_.find(setting.name)->second = setting.on;
      changed.named_.emplace(setting.name);
    }
  }
  // After the names: as in upstream's flag, the position of AllAlpha in the text makes no difference.
  for (const Setting& group : groups) changed.set_unnamed(group.name == kAllAlpha ? "Alpha" : "Beta", group.on);
  for (const GateSpec& gate : kGates) {
    if (!changed.enabled(gate.name)) continue;
    for (const std::string_view needed : gate.needs) {
      if (needed.empty() || changed.enabled(needed)) continue;
      problems.push_back(
          {kFlag, std::string(gate.name), "is on, but it needs " + std::string(needed) + ", which is off"});
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  *this = std::move(changed);
}

void FeatureGates::set_unnamed(std::string_view stage, bool on) {
  for (const GateSpec& gate : kGates) {
    const auto& state = gate.in(release_);
    if (!state || to_string(state->stage) != stage || named_.contains(gate.name)) continue;
    enabled_.find(gate.name)->second = on;
  }
}

bool FeatureGates::enabled(std::string_view name) const {
  const auto at = enabled_.find(name);
  if (at == enabled_.end()) throw std::out_of_range("no feature gate is named " + std::string(name));
  return at->second;
}

std::vector<FeatureGates::Row> FeatureGates::table() const {
  std::vector<Row> rows;
  for (const GateSpec& gate : kGates) {
    if (const auto& state = gate.in(release_)) {
      rows.push_back(
          {std::string(gate.name), enabled(gate.name), state->on, std::string(to_string(state->stage)), state->locked});
    }
  }
  return rows;
}

}  // namespace berth
