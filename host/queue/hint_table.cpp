// SPDX-License-Identifier: Apache-2.0
#include "host/queue/hint_table.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "host/framework/pod_signature.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

constexpr std::size_t kPluginsMax = 64;

void append_text(std::string_view text, std::string& out) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

}  // namespace

HintTable::HintTable(std::vector<QueueProfile> profiles) : profiles_(std::move(profiles)) {
  for (const QueueProfile& profile : profiles_) {
    ProfileTable& table = tables_.emplace_back();
    for (const auto& hints : profile.hints) add_registrations(*hints, table);
  }
}

void HintTable::add_registrations(const QueueingHints& hints, ProfileTable& table) {
  const std::uint8_t plugin = number_of(hints.plugin());
  table.hints.resize(std::max<std::size_t>(table.hints.size(), plugin + 1u));
  table.hints[plugin] = &hints;
  bool adds_node = false;
  bool watches_taints = false;
  for (const EventRegistration& registration : hints.registrations()) {
    table.registrations.push_back({plugin, registration});
    if (registration.event.resource != EventResource::kNode) continue;
    adds_node = adds_node || (registration.event.actions & EventAction::kAdd) != 0;
    watches_taints = watches_taints || (registration.event.actions & EventAction::kUpdateNodeTaint) != 0;
  }
  if (adds_node && !watches_taints)
    table.registrations.push_back({plugin, {{EventResource::kNode, EventAction::kUpdateNodeTaint}, false}});
}

std::uint16_t HintTable::profile_of(std::string_view scheduler_name) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i].framework->profile_name() == scheduler_name) return static_cast<std::uint16_t>(i);
  return kUnknownProfile;
}

std::uint8_t HintTable::number_of(std::string_view plugin) {
  const auto at = std::find(names_.begin(), names_.end(), plugin);
  if (at != names_.end()) return static_cast<std::uint8_t>(at - names_.begin());
  if (names_.size() == kPluginsMax)
    throw std::length_error("plugin \"" + std::string(plugin) + "\": the queue can tell 64 plugins apart, not more");
  names_.emplace_back(plugin);
  return static_cast<std::uint8_t>(names_.size() - 1);
}

PluginSet HintTable::set_of(const PluginNames& names) {
  PluginSet set = 0;
  for (const std::string& name : names.names()) set |= PluginSet{1} << number_of(name);
  return set;
}

bool HintTable::is_of_interest(ClusterEvent event) const {
  if (event == kWildcardEvent) return true;
  return std::any_of(tables_.begin(), tables_.end(), [event](const ProfileTable& table) {
    return std::any_of(table.registrations.begin(), table.registrations.end(),
                       [event](const Registration& r) { return berth::matches(r.event.event, event); });
  });
}

bool HintTable::is_registered_by(std::uint8_t plugin, ClusterEvent event) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const ProfileTable& table) {
    return std::any_of(table.registrations.begin(), table.registrations.end(), [&](const Registration& r) {
      return r.plugin == plugin && berth::matches(r.event.event, event);
    });
  });
}

std::vector<HintTable::Match> HintTable::matches(std::uint16_t profile, ClusterEvent event) const {
  std::vector<Match> found;
  if (profile == kUnknownProfile) return found;
  for (const Registration& r : tables_[profile].registrations)
    if (berth::matches(r.event.event, event)) found.push_back({r.plugin, r.event.has_function});
  return found;
}

std::string HintTable::key_of(const Pod& pod, std::uint16_t profile, PluginSet plugins) const {
  std::string bytes;
  if (profile == kUnknownProfile) return bytes;
  HintKey key;
  const std::vector<const QueueingHints*>& hints = tables_[profile].hints;
  for (std::size_t plugin = 0; plugin < hints.size(); ++plugin)
    if (hints[plugin] != nullptr && (plugins >> plugin & 1u) != 0) hints[plugin]->read(pod, key);
  if (key.spec) {
    append_text(pod_signature(*pod.spec), bytes);
  } else if (key.node_side) {
    append_text(node_side_signature(*pod.spec), bytes);
  }
  if (key.namespace_) append_text(pod.namespace_, bytes);
  if (key.volumes) append_text(volumes_signature(pod, [](const PodVolume&) { return true; }), bytes);
  return bytes + key.more;
}

std::unique_ptr<const PreparedHints> HintTable::prepare(const Pod& pod, std::uint16_t profile,
                                                        std::uint8_t plugin) const {
  return tables_[profile].hints[plugin]->prepare(pod);
}

}  // namespace berth
