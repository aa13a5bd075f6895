// SPDX-License-Identifier: Apache-2.0
#pragma once

// The answers of plugins that decide on the host (host/framework/host_plugin.h), for all nodes, and what makes them
// stale. docs/architecture.md "Host columns".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cluster/engine_cluster.h"
#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"
#include "host/framework/plugin_names.h"

namespace berth {

/// What one plugin answers about the pods that it signs alike. Written by HostColumns alone.
struct HostColumn {
  std::size_t plugin_index = 0;
  const HostPlugin* plugin = nullptr;
  PodPtr pod;  ///< one of them

  bool ignores_skips = false;  ///< some profile runs Filter without PreFilter, or Score without PreScore
  bool is_scored = false;      ///< some profile runs Score
  bool is_filled = false;
  Status pre_filter;                                ///< kSkip: Filter does not run
  std::optional<std::set<std::string>> node_names;  ///< PreFilter's node set
  Status pre_score;                                 ///< kSkip: Score does not run
  std::vector<Status> refusals;                     ///< [0] is success
  std::vector<std::uint32_t> refusal_of;            ///< [slot] index into `refusals`
  std::vector<std::int64_t> raw_of;                 ///< [slot] raw scores

  // The state of plugin and cluster for which the column was filled:
  std::uint64_t version = 0;     ///< HostPlugin::version()
  std::uint64_t generation = 0;  ///< HostColumns::Changes::generation
  std::uint64_t position = 0;    ///< in the plugin's list of stale slots
  std::uint64_t node_events = 0;

  /// The plugin neither filters nor scores the pods, so that no node is asked, and ends no cycle.
  bool is_idle() const {
    return !ignores_skips && pre_filter.code == StatusCode::kSkip && pre_score.code != StatusCode::kError &&
           (!is_scored || pre_score.code == StatusCode::kSkip);
  }
  bool has_errors() const;  ///< of Filter, on some node
  const Status& refusal(std::int32_t slot) const { return refusals[refusal_of[static_cast<std::size_t>(slot)]]; }
};

/// Counters for BackendStats.
struct HostColumnStats {
  std::int64_t columns_filled = 0;  ///< all nodes were asked
  std::int64_t nodes_asked = 0;     ///< in columns, these included
};

/// One plugin of a class as the class's profile runs it.
struct HostPart {
  std::shared_ptr<HostColumn> column;
  std::int32_t filter_rank = 0;  ///< kNotEnabled: its Filter does not run in the profile
  std::int32_t weight = 0;       ///< of Score; 0: it does not score in the profile
  bool runs_pre_filter = false;
  bool runs_pre_score = false;

  bool filters() const;
  bool scores() const;
  bool is_idle() const {
    return !filters() && !scores() && !(runs_pre_filter && refuses_all()) && !(runs_pre_score && fails_to_score());
  }
  /// PreScore ends the cycle, also where Score does not run.
  bool fails_to_score() const { return column->pre_score.code == StatusCode::kError; }
  /// PreFilter ends the cycle.
  bool refuses_all() const;
  bool narrows() const { return runs_pre_filter && column->node_names.has_value(); }
};

/// The first refusal by plugins on the host, in the profile's order.
struct HostRefusal {
  std::int32_t rank;
  std::string_view plugin = {};
  Status status = {};
  friend bool operator==(const HostRefusal&, const HostRefusal&) = default;
};

/// The plugins on the host that concern a class.
class HostSide {
 public:
  std::vector<HostPart> parts;  ///< in the order of registration
  const EngineCluster* cluster = nullptr;

  bool empty() const { return parts.empty(); }
  /// No plugin refuses or scores: what the class's rules say is all. Of current columns.
  bool is_idle() const;
  /// The same of what plugins may say once other pods came or went, too.
  bool stays_idle() const;
  /// On a slot with a node, whatever node sets say.
  HostRefusal refusal(std::int32_t slot) const;
  /// The same with pods added and removed.
  HostRefusal refusal_with(std::string_view node_name, std::span<const Pod* const> added,
                           std::span<const Pod* const> removed) const;
  /// Some plugin's PreFilter names nodes, and this one is not among them.
  bool is_outside_node_set(std::string_view node_name) const;
  /// The first such plugin in the profile's PreFilter order that leaves the node out; empty: none.
  std::string_view narrowing_plugin(const Profile& profile, std::string_view node_name) const;
  /// Some plugin says of some node that its Filter fails.
  bool has_errors() const;
  const HostPart* find(std::string_view plugin) const;
};

/// The normalised scores of a class's plugins on the host, for feasible nodes.
class HostScores {
 public:
  /// @param nodes  feasible slots
  HostScores(const HostSide& side, const Profile& profile, const std::vector<std::int32_t>& nodes);

  struct Score {
    std::int64_t raw;
    std::int64_t normalized;
  };
  /// nullopt: the plugin is none of these, or does not score.
  std::optional<Score> score(std::string_view plugin, std::size_t in_list) const;
  /// Weighted sum. @param in_list  position in `nodes`
  std::int64_t total(std::size_t in_list) const;
  /// Non-empty: normalising ends in this error.
  const std::string& error() const { return error_; }

 private:
  struct OfPlugin {
    const HostPart* part;
    std::vector<std::int64_t> raw;
    std::vector<std::int64_t> normalized;
  };
  std::vector<OfPlugin> of_plugin_;
  std::string error_;
};

/// All columns of an engine.
class HostColumns {
 public:
  /// The arguments must outlive this object. @throws std::invalid_argument for plugins that cannot be registered
  HostColumns(HostPlugins plugins, const EngineCluster& cluster, const Snapshot& snapshot);

  /// Some plugin may have to say something about the pod.
  bool concern(const Pod& pod) const;
  /// Those that were registered.
  const HostPlugins& registered() const { return registered_; }

  /// What the placement of a pod decides about its claims. The cluster is without the pod. Reads nothing that may be
  /// void. @param node_name  of a node of the cluster
  VolumeDecisionsPtr reserve(const Pod& pod, const Profile& profile, std::string_view node_name) const;

  /// What the plugins that the profile runs read of the pod: pods of different texts are of different classes. Empty:
  /// nothing.
  std::string signature(const Pod& pod, const Profile& profile) const;
  /// The plugins of a class. Their columns may be stale, or not be filled. @param pod  any of the class
  HostSide side(const PodPtr& pod, const Profile& profile);

  bool is_current(const HostSide& side) const;
  /// Asks the plugins what is stale in the columns of a class. The cluster must contain all placements.
  void refill(const HostSide& side);
  const HostColumnStats& stats() const { return stats_; }

  // What makes columns stale.

  /// A pod came to a slot, or left it.
  void note_pod(const Pod& pod, std::int32_t slot);
  /// The object of the slot's node changed, or it came or went.
  /// @param moves_pods  it has pods, which other nodes may see in another domain, or not at all
  void note_node(std::int32_t slot, bool came_or_went, bool moves_pods);
  /// Every column: something changed that every plugin may read, or slots were numbered again.
  void note_all();

  /// Drops columns that no class refers to.
  void drop_unused();

 private:
  /// What made the answers of one plugin stale.
  struct Changes {
    std::uint64_t generation = 1;  ///< changes with what concerns every answer
    std::uint64_t node_events = 0;
    std::uint64_t begin = 0;          ///< slots before those in `slots`
    std::vector<std::int32_t> slots;  ///< oldest first
    std::uint64_t end() const { return begin + slots.size(); }
  };
  std::shared_ptr<HostColumn> find(std::size_t plugin, const PodPtr& pod);
  std::string key(std::size_t plugin, const Pod& pod) const;
  bool is_current(const HostColumn& column) const;
  void refill(HostColumn& column);
  void fill_all(HostColumn& column);
  void ask(HostColumn& column, std::span<const std::int32_t> slots);
  static void note_everything(Changes& changes);
  void note_slot(Changes& changes, std::int32_t slot) const;
  void note_domain(Changes& changes, std::int32_t slot, const std::string& topology_key) const;

  HostPlugins registered_;
  HostPlugins plugins_;  ///< these, and the built-in ones that none of them replaces
  const EngineCluster& cluster_;
  const Snapshot& snapshot_;
  std::vector<Changes> changes_;  ///< [plugin]
  std::map<std::pair<std::size_t, std::string>, std::shared_ptr<HostColumn>> columns_;
  HostColumnStats stats_;
};

}  // namespace berth
