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
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "batching/excluded_nodes.h"
#include "host/cluster/engine_cluster.h"
#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"
#include "host/framework/plugin_names.h"
#include "plugins/claim_users.h"

namespace berth {

/// What one plugin answers about the pods that it signs alike. Written by HostColumns alone.
struct HostColumn {
  std::size_t plugin_index = 0;
  const HostPlugin* plugin = nullptr;
  PodPtr pod;                         ///< one of them
  std::optional<ClaimCopies> claims;  ///< HostQuery::claims, of pods that are signed by sign_claims()
  bool shares_handles = false;        ///< some volume of these shares its handle

  bool ignores_skips = false;  ///< some profile runs Filter without PreFilter, or Score without PreScore
  bool is_scored = false;      ///< some profile runs Score
  bool is_filled = false;
  Status pre_filter;                                ///< kSkip: Filter does not run
  std::optional<std::set<std::string>> node_names;  ///< PreFilter's node set
  Status pre_score;                                 ///< kSkip: Score does not run
  std::vector<Status> refusals;                     ///< [0] is success
  std::vector<std::uint32_t> refusal_of;            ///< [slot] index into `refusals`
  std::vector<std::int64_t> raw_of;                 ///< [slot] raw scores
  ExcludedNodes refusing;                           ///< slots whose refusal is not success
  std::uint64_t refusing_version = 0;               ///< changes with `refusing`; no two columns have the same

  // The state of plugin and cluster for which the column was filled:
  std::uint64_t version = 0;     ///< HostPlugin::version()
  std::uint64_t generation = 0;  ///< HostColumns::Changes::generation
  std::uint64_t taken = 0;       ///< HostColumns::Changes::taken
  std::uint64_t names = 0;       ///< HostColumns::names_, of pods that are known by the names of their claims
  std::uint64_t position = 0;    ///< in the plugin's list of stale slots
  std::uint64_t node_events = 0;

  /// The plugin neither filters nor scores the pods, so that no node is asked, and ends no cycle.
  bool is_idle() const {
    return !ignores_skips && pre_filter.code == StatusCode::kSkip && pre_score.code != StatusCode::kError &&
           (!is_scored || pre_score.code == StatusCode::kSkip);
  }
  bool has_errors() const;  ///< of Filter, on some node
  /// PreFilter and PreScore let the pods pass, and Filter refuses nodes without an error: but for scores, refusing
  /// nodes is all that the plugin does.
  bool only_refuses() const;
  const Status& refusal(std::int32_t slot) const { return refusals[refusal_of[static_cast<std::size_t>(slot)]]; }
};

/// A column with more different refusals than slots, and some, is filled again, which drops those that are not used.
inline constexpr std::size_t kUnusedRefusals = 64;

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

/// Nodes that plugins on the host refuse.
struct HostRefusing {
  const ExcludedNodes& nodes;
  std::uint64_t version;  ///< changes with `nodes`; no two lists have the same, except 0: none
};

/// The first refusal by plugins on the host, in the profile's order.
struct HostRefusal {
  std::int32_t rank;
  std::string_view plugin = {};
  Status status = {};
  friend bool operator==(const HostRefusal&, const HostRefusal&) = default;
};

class HostColumns;

/// The plugins on the host that concern a class.
class HostSide {
 public:
  std::vector<HostPart> parts;      ///< in the order of registration
  std::vector<std::size_t> unread;  ///< plugins whose sign_claims() was empty, of those that the profile runs
  const EngineCluster* cluster = nullptr;
  const HostColumns* columns = nullptr;

  bool empty() const { return parts.empty(); }
  /// No plugin refuses or scores: what the class's rules say is all. Of current columns.
  bool is_idle() const;
  /// The plugins refuse nodes and do not score. Of current columns.
  bool only_refuses() const;
  /// The same of what plugins may say once other pods came or went, too.
  bool stays_idle() const;
  /// On a slot with a node, whatever node sets say.
  HostRefusal refusal(std::int32_t slot) const;
  /// The same with pods added and removed.
  HostRefusal refusal_with(std::string_view node_name, std::span<const Pod* const> added,
                           std::span<const Pod* const> removed) const;
  /// Some plugin's PreFilter names nodes, and this one is not among them.
  bool is_outside_node_set(std::string_view node_name) const;
  /// HostQuery::claims of a pod of the class.
  const ClaimCopies* claims_of(std::size_t plugin_index) const;
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
  /// The arguments must outlive this object. @param knows_claims  pods may be known by what their claims say
  /// @throws std::invalid_argument for plugins that cannot be registered
  HostColumns(HostPlugins plugins, const EngineCluster& cluster, const Snapshot& snapshot, bool knows_claims);

  /// Some plugin may have to say something about the pod.
  bool concern(const Pod& pod) const;
  /// Those that were registered.
  const HostPlugins& registered() const { return registered_; }

  /// What the placement of a pod decides about its claims. The cluster is without the pod. Reads nothing that may be
  /// void. @param side  of the pod's class  @param node_name  of a node of the cluster
  VolumeDecisionsPtr reserve(const Pod& pod, const Profile& profile, const HostSide& side,
                             std::string_view node_name) const;

  /// What the plugins that the profile runs read of the pod: pods of different texts are of different classes. Empty:
  /// nothing. Depends on storage objects and on who uses a claim: signatures_version() changes when it may be another.
  std::string signature(const Pod& pod, const Profile& profile);
  std::uint64_t signatures_version() const { return signatures_version_; }
  /// The plugins of a class. Their columns may be stale, or not be filled. @param pod  any of the class
  HostSide side(const PodPtr& pod, const Profile& profile);

  bool is_current(const HostSide& side) const;
  /// Asks the plugins what is stale in the columns of a class. The cluster must contain all placements.
  void refill(const HostSide& side);
  /// The same in the middle of a batch, whose placements are not in the cluster: they are known from note_placed().
  /// @return false where that is not possible: refill() is needed
  bool follow(const HostSide& side);
  /// The nodes that the plugins of a class refuse, which only_refuses(). Of current columns; valid until the next call.
  HostRefusing refusing(const HostSide& side);
  const HostColumnStats& stats() const { return stats_; }

  // What makes columns stale.

  /// No plugin reads of the one pod on a node what it does not read of the other.
  bool are_alike(const Pod& a, const Pod& b) const;
  /// A pod came to a slot, or left it.
  void note_pod(const Pod& pod, std::int32_t slot);
  /// The same of a pod that a batch placed; the cluster is without it until forget_placed().
  /// @param side  of its class  @return its signature is another one now
  bool note_placed(const Pod& pod, const HostSide& side, std::int32_t slot);
  /// The cluster has the placement of a pod, which assumes this.
  void note_reserved(const VolumeDecisions& decisions);
  /// Those on a node, oldest first.
  std::span<const Pod* const> placed_on(std::int32_t slot) const {
    const auto placed = placed_on_.find(slot);
    return placed == placed_on_.end() ? std::span<const Pod* const>() : std::span<const Pod* const>(placed->second);
  }
  std::span<const Pod* const> placed_on(std::string_view node_name) const {
    return placed_on_.empty() ? std::span<const Pod* const>() : placed_on(snapshot_.find_node(node_name));
  }
  void forget_placed();
  /// @return note_placed() said that its signature changed
  bool forget_placed(const Pod& pod, std::int32_t slot);
  /// A pod with volumes has a node, whose volumes they are then.
  bool is_placed(const Pod& pod) const;
  /// Pods whose volumes share a handle are known by the names of their claims from now on.
  void distrust_shared_handles() {
    if (std::exchange(handles_may_be_shared_, false)) ++signatures_version_;
  }
  /// The pod is one of the engine's, and the first one brings those of the cluster.
  void know_user(const Pod& pod);
  /// A pod of the cluster came or went.
  void note_user(const Pod& pod);
  void forget_user(const Pod& pod);
  /// The object of the slot's node changed, or it came or went.
  /// @param moves_pods  it has pods, which other nodes may see in another domain, or not at all
  void note_node(std::int32_t slot, bool came_or_went, bool moves_pods);
  /// Every column: something changed that every plugin may read, or slots were numbered again.
  void note_all();
  /// An object of the storage changed.
  void note_storage(const StorageReach& reach);

  /// Drops columns that no class refers to.
  void drop_unused();

 private:
  /// What made the answers of one plugin stale.
  struct Changes {
    std::uint64_t generation = 1;  ///< changes with what concerns every answer
    std::uint64_t taken = 0;       ///< placements that took volumes: they void columns of pods known by names
    bool awaits_taken = false;     ///< a placement may take volumes, and is not in the cluster
    std::uint64_t node_events = 0;
    std::uint64_t begin = 0;          ///< slots before those in `slots`
    std::vector<std::int32_t> slots;  ///< oldest first
    std::uint64_t end() const { return begin + slots.size(); }
  };
  /// What a plugin reads of a pod. An empty key: nothing, and no answer depends on where the pod is.
  struct Signed {
    std::size_t plugin;
    std::string key;
    bool by_claims;
  };
  /// Of the plugins that the profile runs and that have something to say of the pod.
  std::vector<Signed> sign(const Pod& pod, const Profile& profile);
  std::shared_ptr<HostColumn> find(const Signed& of, const PodPtr& pod);
  std::string key(std::size_t plugin, const Pod& pod) const;
  HostQuery query(const HostColumn& column);
  const ClaimUsers* users_of_claims() const { return knows_claims_ && registered_.empty() ? &users_ : nullptr; }
  bool is_current(const HostColumn& column) const;
  bool can_follow(const HostColumn& column) const;
  std::vector<std::int32_t> stale_slots(const HostColumn& column) const;
  void set_refusal(HostColumn& column, std::int32_t slot, std::uint32_t refusal);
  void refill(HostColumn& column);
  void fill_all(HostColumn& column);
  void ask(HostColumn& column, std::span<const std::int32_t> slots);
  static void note_everything(Changes& changes);
  void note_slot(Changes& changes, std::int32_t slot) const;
  void note_reach(std::size_t plugin, const HostQuery& query, std::int32_t slot, bool reserves_later);
  void note_domain(Changes& changes, std::int32_t slot, const std::string& topology_key) const;

  HostPlugins registered_;
  HostPlugins plugins_;  ///< these, and the built-in ones that none of them replaces
  const EngineCluster& cluster_;
  const Snapshot& snapshot_;
  std::vector<Changes> changes_;  ///< [plugin]
  std::map<std::pair<std::size_t, std::string>, std::shared_ptr<HostColumn>> columns_;
  std::vector<std::unique_ptr<HostMemory>> memories_;  ///< [plugin]
  bool several_wait_ = false;                          ///< of the claims that a column stands for
  ClaimUsers users_;
  bool knows_claims_;
  bool knows_users_ = false;           ///< those of the cluster's pods, too
  bool forgot_users_ = false;          ///< a pod that was signed may be missing there
  bool handles_may_be_shared_ = true;  ///< by claims that are known by what they say
  std::uint64_t signatures_version_ = 0;
  std::uint64_t names_ = 1;                                              ///< changes with what is known by a name
  std::unordered_map<std::int32_t, std::vector<const Pod*>> placed_on_;  ///< by slot, oldest first
  std::unordered_set<const Pod*> placed_;                                ///< those with volumes
  /// What several columns refuse together, by the columns.
  struct Union {
    std::vector<std::uint64_t> versions;
    ExcludedNodes nodes;
    std::uint64_t version = 0;
  };
  std::map<std::vector<const HostColumn*>, Union> unions_;
  std::uint64_t last_refusing_version_ = kRefusingVersionsBegin;
  /// Above those of NominationAnswers::Refused.
  static constexpr std::uint64_t kRefusingVersionsBegin = std::uint64_t{1} << 63;
  ExcludedNodes none_;
  HostColumnStats stats_;
};

}  // namespace berth
