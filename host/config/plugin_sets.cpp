// SPDX-License-Identifier: Apache-2.0
#include "host/config/plugin_sets.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>

#include "host/config/node_score.h"
#include "host/config/plugin_catalog.h"

namespace berth {
namespace {

constexpr std::string_view kAll = "*";

// kube-scheduler also refuses weights whose sum, times the highest score, leaves int64. Weights have 32 bits and a list
// names each plugin once, so no configuration gets there.
constexpr std::int64_t kCatalogSizeMax = 1024;
static_assert(std::numeric_limits<std::int64_t>::max() / kMaxNodeScore / kCatalogSizeMax >
              std::numeric_limits<std::int32_t>::max());

bool names(const std::vector<PluginEntry>& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(), [name](const PluginEntry& entry) { return entry.name == name; });
}

// ---- decoding

/// Why a configuration cannot enable this plugin; empty when it can.
std::string refusal(std::string_view name, const ConfigContext& context) {
  const FeatureGates& gates = context.gates;
  if (find_plugin(context.loaded, name) != nullptr) return {};
  if (const std::string_view replacement = replacement_of_removed_plugin(name); !replacement.empty())
    return "plugin " + quoted_for_message(name) + " was removed from kube-scheduler: use " + std::string(replacement);
  const CatalogPlugin* plugin = find_catalog_plugin(name);
  if (plugin == nullptr) return out_of_tree_problem(name);
  if (is_available(*plugin, gates)) return {};
  return "plugin " + quoted_for_message(name) + " needs the feature gate " + std::string(plugin->gate) +
         ", which is off";
}

std::vector<PluginEntry> decode_entries(const JsonValue& list) {
  std::vector<PluginEntry> entries;
  list.for_each_element([&](const JsonValue& element) {
    PluginEntry entry;
    entry.path = element.path();
    element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
      if (key == "name") {
        value.read(entry.name);
      } else if (key == "weight") {
        read_in_range<std::int32_t>(value, entry.weight, 0);
      } else {
        return false;
      }
      return true;
    });
    entries.push_back(std::move(entry));
  });
  return entries;
}

PluginSet decode_set(std::string_view point, const JsonValue& set, const ConfigContext& context,
                     std::vector<OutOfTreePlugin>& out_of_tree) {
  PluginSet decoded;
  set.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "enabled") {
      decoded.enabled = decode_entries(value);
    } else if (key == "disabled") {
      decoded.disabled = decode_entries(value);  // unknown names are harmless here, and kube-scheduler allows them
    } else {
      return false;
    }
    return true;
  });
  std::erase_if(decoded.enabled, [&](const PluginEntry& entry) {
    const bool is_loaded = find_plugin(context.loaded, entry.name) != nullptr;
    if (context.leaves_out_of_tree_out && is_out_of_tree(entry.name) && !is_loaded) {
      out_of_tree.push_back({entry.name, std::string(point), entry.weight, entry.path});
      return true;
    }
    std::string why = refusal(entry.name, context);
    if (why.empty()) return false;
    context.sink.add(entry.path, std::move(why));
    return true;
  });
  return decoded;
}

/// The points that 1.36 added; Berth does not run them, so it says so rather than dropping what is asked for.
bool refuse_placement_point(std::string_view key, const JsonValue& value, const FeatureGates& gates) {
  if (gates.release() < Release::k1_36 || (key != "placementGenerate" && key != "placementScore")) return false;
  if (value.present()) value.problem("extension point " + std::string(key) + " is not supported");
  return true;
}

// ---- expanding

using Weights = std::vector<std::pair<std::string_view, std::int32_t>>;

/// Score weights by plugin. An entry of the score list wins over one of multiPoint, also when it names no weight.
Weights score_weights(const PluginSets& merged) {
  Weights weights;
  for (const auto* list : {&merged.at(ExtensionPoint::kScore).enabled, &merged.multi_point.enabled}) {
    for (const PluginEntry& entry : *list) weights.emplace_back(entry.name, entry.weight == 0 ? 1 : entry.weight);
  }
  return weights;
}

std::int32_t weight_of(const Weights& weights, std::string_view name) {
  return std::find_if(weights.begin(), weights.end(), [name](const auto& weight) { return weight.first == name; })
      ->second;
}

bool joins(std::string_view name, ExtensionPoint point, OutsidePlugins loaded) {
  if (const OutsidePlugin* plugin = find_plugin(loaded, name)) return plugin->implements(point);
  const CatalogPlugin* plugin = find_catalog_plugin(name);
  return plugin != nullptr && plugin->implements(point);
}

/// The list of one point as written: each plugin once, and only plugins that join the point.
std::vector<std::string> specific_names(ExtensionPoint point, const PluginSet& set, OutsidePlugins loaded,
                                        ProblemSink& sink) {
  std::vector<std::string> result;
  for (const PluginEntry& entry : set.enabled) {
    if (!joins(entry.name, point, loaded)) {
      sink.add(entry.path,
               "plugin " + quoted_for_message(entry.name) + " has no extension point " + std::string(to_string(point)));
    } else if (std::find(result.begin(), result.end(), entry.name) != result.end()) {
      sink.add(entry.path, "plugin " + quoted_for_message(entry.name) + " is enabled twice at this extension point");
    } else {
      result.push_back(entry.name);
    }
  }
  return result;
}

/// Entries of multiPoint that repeat an earlier one where a point takes both; each is one problem, whatever the points.
using Repeated = std::set<const PluginEntry*>;

/// Names at one point, in running order: docs/behaviour/scheduler-core.md 3.13, steps 3 to 5.
std::vector<std::string> expand_point(ExtensionPoint point, const PluginSet& set, const PluginSet& multi_point,
                                      OutsidePlugins loaded, Repeated& repeated, ProblemSink& sink) {
  std::vector<std::string> specific = specific_names(point, set, loaded, sink);
  if (names(set.disabled, kAll)) return specific;
  std::set<std::string_view> overridden;
  std::vector<std::string> expansion;
  for (const PluginEntry& entry : multi_point.enabled) {
    if (!joins(entry.name, point, loaded) || names(set.disabled, entry.name)) continue;
    if (std::find(specific.begin(), specific.end(), entry.name) != specific.end()) {
      overridden.insert(entry.name);
    } else if (std::find(expansion.begin(), expansion.end(), entry.name) != expansion.end()) {
      repeated.insert(&entry);
    } else {
      expansion.push_back(entry.name);
    }
  }
  std::vector<std::string> order;
  std::copy_if(specific.begin(), specific.end(), std::back_inserter(order),
               [&](const std::string& name) { return overridden.contains(name); });
  order.insert(order.end(), expansion.begin(), expansion.end());
  std::copy_if(specific.begin(), specific.end(), std::back_inserter(order),
               [&](const std::string& name) { return !overridden.contains(name); });
  return order;
}

/// Puts the default plugin back at a point where only plugins that are not in-tree were enabled.
void stand_in(ExtensionPoint point, const char* plugin, Profile& profile) {
  std::vector<EnabledPlugin>& enabled = profile.plugins[static_cast<std::size_t>(point)];
  if (!enabled.empty() || profile.out_of_tree.empty()) return;
  enabled.push_back({plugin, 0});
  profile.stand_ins.emplace_back(plugin);
}

}  // namespace

std::string out_of_tree_problem(std::string_view name) {
  return "unknown plugin " + quoted_for_message(name) + ", expected one of kube-scheduler's in-tree plugins";
}

PluginSets default_plugin_sets(const FeatureGates& gates) {
  PluginSets sets;
  for (const CatalogPlugin& plugin : plugin_catalog()) {
    if (is_available(plugin, gates)) {
      sets.multi_point.enabled.push_back({std::string(plugin.name), plugin.default_weight, ""});
    }
  }
  return sets;
}

PluginSets decode_plugin_sets(const JsonValue& value, const ConfigContext& context) {
  PluginSets sets;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& set) {
    if (key == "multiPoint") {
      sets.multi_point = decode_set(key, set, context, sets.out_of_tree);
      return true;
    }
    for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
      if (key != to_string(static_cast<ExtensionPoint>(i))) continue;
      sets.points[i] = decode_set(key, set, context, sets.out_of_tree);
      return true;
    }
    return refuse_placement_point(key, set, context.gates);
  });
  return sets;
}

std::vector<NamedPlugin> enabled_by_name(const PluginSets& sets) {
  std::vector<NamedPlugin> result;
  std::set<std::string_view> seen;
  const auto add = [&](const PluginSet& set) {
    for (const PluginEntry& entry : set.enabled)
      if (seen.insert(entry.name).second) result.push_back({entry.name, entry.path});
  };
  for (const PluginSet& set : sets.points) add(set);
  add(sets.multi_point);
  return result;
}

PluginSet merge(const PluginSet& defaults, const PluginSet& user) {
  PluginSet merged;
  merged.disabled = user.disabled;
  merged.disabled.insert(merged.disabled.end(), defaults.disabled.begin(), defaults.disabled.end());
  std::set<const PluginEntry*> placed;
  if (!names(merged.disabled, kAll)) {
    for (const PluginEntry& entry : defaults.enabled) {
      if (names(merged.disabled, entry.name)) continue;
      // Of equal names the last one replaces the default; the others stay behind and are found to be repeated.
      const auto user_entry = std::find_if(user.enabled.rbegin(), user.enabled.rend(),
                                           [&](const PluginEntry& other) { return other.name == entry.name; });
      if (user_entry != user.enabled.rend()) placed.insert(&*user_entry);
      merged.enabled.push_back(user_entry == user.enabled.rend() ? entry : *user_entry);
    }
  }
  for (const PluginEntry& entry : user.enabled) {
    if (!placed.contains(&entry)) merged.enabled.push_back(entry);
  }
  return merged;
}

PluginSets merge(const PluginSets& defaults, const PluginSets& user) {
  PluginSets merged;
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) merged.points[i] = merge(defaults.points[i], user.points[i]);
  merged.multi_point = merge(defaults.multi_point, user.multi_point);
  return merged;
}

void expand(const PluginSets& merged, const std::string& path, Profile& profile, ProblemSink& sink,
            OutsidePlugins loaded) {
  const Weights weights = score_weights(merged);
  Repeated repeated;
  for (std::size_t i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    profile.plugins[i].clear();
    for (std::string& name : expand_point(point, merged.points[i], merged.multi_point, loaded, repeated, sink)) {
      const std::int32_t weight = point == ExtensionPoint::kScore ? weight_of(weights, name) : 0;
      profile.plugins[i].push_back({std::move(name), weight});
    }
  }
  for (const PluginEntry& entry : merged.multi_point.enabled) {
    if (repeated.contains(&entry)) {
      sink.add(entry.path, "plugin " + quoted_for_message(entry.name) + " is enabled twice in multiPoint");
    }
    const CatalogPlugin* plugin = find_catalog_plugin(entry.name);
    if (plugin != nullptr && plugin->points == 0) profile.placement_plugins.push_back(entry.name);
  }
  stand_in(ExtensionPoint::kQueueSort, "PrioritySort", profile);
  stand_in(ExtensionPoint::kBind, "DefaultBinder", profile);
  const std::size_t sort_count = profile.at(ExtensionPoint::kQueueSort).size();
  if (sort_count != 1) {
    sink.add(path + ".plugins.queueSort",
             "got " + std::to_string(sort_count) + " plugins, expected exactly one queue sort plugin");
  }
  if (profile.at(ExtensionPoint::kBind).empty()) {
    sink.add(path + ".plugins.bind", "got no plugin, expected at least one bind plugin");
  }
}

void check_common_queue_sort(std::span<const PluginSets> profiles, ProblemSink& sink) {
  const auto place = [](std::size_t i) { return "profiles[" + std::to_string(i) + "].plugins.queueSort"; };
  const auto same_entries = [](const std::vector<PluginEntry>& a, const std::vector<PluginEntry>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PluginEntry& x, const PluginEntry& y) {
      return x.name == y.name && x.weight == y.weight;
    });
  };
  if (profiles.empty()) return;
  const PluginSet& first = profiles.front().at(ExtensionPoint::kQueueSort);
  if (first.enabled.size() > 1) sink.add(place(0), "got several plugins, expected at most one queue sort plugin");
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const PluginSet& set = profiles[i].at(ExtensionPoint::kQueueSort);
    if (same_entries(first.enabled, set.enabled) && same_entries(first.disabled, set.disabled)) continue;
    sink.add(place(i), "differs from the first profile's, expected the same in all profiles");
  }
}

}  // namespace berth
