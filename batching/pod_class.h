// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods whose scheduling-relevant fields are equal form one class: rules are evaluated per (class, node), never per
// (pod, node).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "batching/backend.h"
#include "batching/compiled_profile.h"
#include "batching/copies_answer.h"
#include "batching/host_columns.h"
#include "batching/node_side_view.h"
#include "batching/numbered.h"
#include "batching/topology_index.h"
#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"

namespace berth {

/// One class, compiled against a snapshot.
struct PodClass {
  std::int32_t profile = 0;
  std::shared_ptr<const PodSpec> spec;
  std::string node_name;        ///< spec.nodeName; empty for pending pods
  PodPtr host_pod;              ///< one of its pods, where plugins on the host run; they may read what the spec lacks
  PodPtr status_pod;            ///< one of its pods, where these have resources in their status
  std::string host_signature;   ///< HostColumns::signature()
  std::uint32_t draw_seed = 0;  ///< class_draw_seed() of the run's seed and the spec's hash, for draws by class

  ResourceAmounts filter_amounts;                ///< counted by the filter
  std::vector<RequestedResource> requested;      ///< checked by the filter
  std::vector<ScoredRequest> fit_requests;       ///< parallel to FitStrategy::resources
  std::vector<ScoredRequest> balanced_requests;  ///< parallel to CompiledProfile::balanced_resources
  bool balanced_skips = false;                   ///< the pod requests none of the balanced resources
  std::vector<HostPort> ports;
  ResourceDelta delta;  ///< what one placed pod adds to a node
  /// The topology terms that affect the class; null: none.
  std::shared_ptr<const TopologyProgram> topology;
  std::vector<CountMove> moves;  ///< what one placed pod changes in the topology tables
  HostSide host;                 ///< the plugins on the host that its profile runs
  /// Amounts of kExactBelow and above, or a pod that takes other amounts of a node than it requests: evaluated in
  /// integers, pod by pod.
  bool needs_int64 = false;
  // What may bring a score of it out of its range:
  bool requests_may_wrap = false;       ///< sums with its amounts, Snapshot::may_wrap()
  bool spread_may_be_negative = false;  ///< a maxSkew below 1, which the API server rejects: costs may be negative

  std::uint64_t found_at = 0;              ///< sweep of the table before which it was found last
  const std::string* signature = nullptr;  ///< the key by which the table finds it; null: it does not any more
  std::int32_t node_side = -1;             ///< index among the node sides of the table, once one was compiled
  std::int32_t open_node_side = -1;        ///< the same with NodeSet::kIgnored
};

/// PreFilter leaves the node out, so that no Filter plugin runs on it. @param row  of the class
bool is_outside_node_set(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot,
                         std::int32_t node);
/// The plugins whose PreFilter names a node set. @param side  of the class
PluginNames plugins_with_node_set(const PodClass& pod_class, const CompiledNodeSide& side);

/// The result of PreFilter, which may end the cycle before any node is evaluated.
struct PreFilterAnswer {
  std::string_view plugin;  ///< that ends it; empty when it passes, and when node sets have no node in common
  /// Of `message`: with kUnschedulable preemption may help, and Filter says where.
  StatusCode code = StatusCode::kUnschedulableAndUnresolvable;
  PluginNames narrowing = {};  ///< the plugins of those node sets
  std::string message = {};    ///< non-empty: the pod is unschedulable with this reason
  std::string error = {};      ///< non-empty: the cycle ends with this error
  bool passes() const { return message.empty() && error.empty(); }
};

/// The plugins that PreFilter adds to Diagnosis::rejectors. @param side  of the class
PluginNames pre_filter_rejectors(const PreFilterAnswer& answer, const PodClass& pod_class,
                                 const CompiledNodeSide& side);

/// Finds the class of every pod and owns classes, profiles and node-side rows. What no pod needs any more goes with
/// sweep(), and its number is given again.
class ClassTable {
 public:
  /// `cluster`, `config` and `snapshot` must outlive the table. @param first_epoch  of TopologyIndex: above all of a
  /// table that this one stands for
  ClassTable(const EngineCluster& cluster, const SchedulerConfig& config, const EngineConfig& engine,
             Snapshot& snapshot, std::uint64_t first_epoch = 0);

  /// Writes PodToPlace::class_index: a class, or is_error() for a pod that no backend may evaluate.
  /// @param placed  pods placed by the caller that are not in the cache
  void compile(std::span<PodToPlace> pods, std::span<const AnsweredPod> placed = {});
  /// Queries or terms were registered since the pod was compiled, and it may belong to another class: compile() again.
  bool is_stale(const PodToPlace& pod) const { return pod.compiled_at != topology_.epoch(); }
  /// The kinds of the pods of the latest compile(): TopologyIndex::kind_of().
  std::span<const std::int32_t> kinds() const { return kinds_; }
  /// HostColumns::signatures_version() for which each of them was signed.
  std::span<const std::uint64_t> signed_at() const { return signed_at_; }

  /// A pod that was of the one class is of the other one now: what it needs of node objects is the same, and need not
  /// be built again. @param before  below 0, or the number of a class that may be gone: nothing happens
  void take_over_node_sides(std::int32_t before, std::int32_t now);

  /// What the owner of the table still refers to. Numbers may repeat and be negative.
  struct InUse {
    TopologyIndex::InUse topology;
    std::vector<std::int32_t> classes;
  };
  /// Enough was added since the latest sweep() that much of it may be unused.
  bool is_sweep_due() const;
  /// So far.
  std::uint64_t sweeps() const { return sweeps_; }
  /// For tests: sweeps are due after fewer additions, or a smaller share of what there is.
  void sweep_after(std::int32_t additions_min, std::int32_t share) {
    sweep_min_ = additions_min;
    sweep_share_ = share;
  }
  /// Gives up classes, node sides, kinds, queries, terms, tables and resource columns that neither `in_use` nor a pod
  /// on a node needs, and of which no pod was compiled lately. All pods are stale afterwards.
  /// Cost: that of what is there, not of what there was. @return the classes that are gone
  std::vector<std::int32_t> sweep(const InUse& in_use);
  TopologyIndex& topology() { return topology_; }
  const TopologyIndex& topology() const { return topology_; }

  static bool is_error(std::int32_t class_index) { return class_index < -1; }
  const std::string& error(std::int32_t class_index) const {
    return errors_[static_cast<std::size_t>(-2 - class_index)];
  }

  /// Numbers of classes are below this.
  std::int32_t size() const { return classes_.end(); }
  /// Classes that sweep() has not given up.
  std::int32_t live_count() const { return classes_.size(); }
  const PodClass& operator[](std::int32_t c) const { return classes_[c]; }
  const CompiledProfile& profile(std::int32_t p) const { return profiles_[static_cast<std::size_t>(p)]; }
  std::int32_t profile_count() const { return static_cast<std::int32_t>(profiles_.size()); }
  const CompiledProfile& profile_of(std::int32_t c) const { return profile((*this)[c].profile); }

  /// The compiled node side of the class; evaluates no node.
  const CompiledNodeSide& compiled_node_side(std::int32_t c);
  /// The same for classes that share a node side. Another one after an image that the class has came to a node as the
  /// first of its name.
  std::int32_t node_side_number(std::int32_t c);
  /// Built on first use: evaluates the class's node side on every node. Keeps its address until recompile().
  /// @param node_set  kIgnored: for the node that a pod is nominated to
  const NodeSideRow& node_side(std::int32_t c, NodeSet node_set = NodeSet::kNarrows);
  /// Builds those of several classes at once, so that node_side() finds them.
  void build_node_sides(std::span<const std::int32_t> classes, const ForBlocks& for_blocks);
  /// null: node_side() was not called for the class since the latest node event, or since it was last outdated.
  const NodeSideRow* built_node_side(std::int32_t c, NodeSet node_set = NodeSet::kNarrows) const;
  /// Changes whenever node_side() has to be built again, which may concern any node. Takes in node events before.
  std::uint64_t node_side_version(std::int32_t c);
  /// While this is the same, so are all these versions, and no node side is behind the node events.
  std::uint64_t node_sides_version() const { return node_sides_version_; }
  std::uint64_t node_side_bytes() const;
  PreFilterAnswer pre_filter(std::int32_t c) { return pre_filter(c, compiled_node_side(c)); }
  /// No rule of the class has anything to say in PreFilter, as for most classes: pre_filter() passes.
  bool is_pre_filter_idle(std::int32_t c) { return is_pre_filter_idle(c, compiled_node_side(c)); }
  bool is_pre_filter_idle(std::int32_t c, const CompiledNodeSide& side) const;
  /// @param side  of the class
  PreFilterAnswer pre_filter(std::int32_t c, const CompiledNodeSide& side) const;
  /// Non-empty: scoring ends in this error.
  const std::string& score_error(std::int32_t c);

  /// Plugins that decide on the host, and their answers.
  HostColumns& hosts() { return hosts_; }
  const HostColumns& hosts() const { return hosts_; }
  /// What plugins on the host answer about the class is known and current.
  bool host_is_current(std::int32_t c) const { return hosts_.is_current((*this)[c].host); }
  /// Some plugin on the host decides on the class, so that rows are not enough. Of current columns.
  bool host_decides(std::int32_t c) const { return !(*this)[c].host.is_idle(); }
  /// They do, and refusing nodes is all they do: rows are enough beside a list of nodes. Of current columns.
  bool host_only_refuses(std::int32_t c) const { return (*this)[c].host.only_refuses(); }
  /// HostColumns::follow() and refill() of the class.
  bool follow_hosts(std::int32_t c) {
    return after_signatures([&] { return hosts_.follow((*this)[c].host); });
  }
  void refill_hosts(std::int32_t c) {
    after_signatures([&] { hosts_.refill((*this)[c].host); });
  }
  HostRefusing host_refusing(std::int32_t c) { return hosts_.refusing((*this)[c].host); }
  /// What plugins on the host read of the pod is what they read at that HostColumns::signatures_version().
  bool is_signed_alike(const Pod& pod, std::uint64_t signed_at, bool as_placed) const {
    return !has_volumes(pod) || (signed_at == hosts_.signatures_version() && as_placed == hosts_.is_placed(pod));
  }
  /// Pods are nominated: what counts on a node with them may depend on which volumes they have.
  void distrust_shared_handles() {
    after_signatures([&] { hosts_.distrust_shared_handles(); });
  }
  /// A storage object changed.
  void note_storage(const StorageReach& reach) {
    after_signatures([&] { hosts_.note_storage(reach); });
  }
  /// A pod came from outside.
  void note_user(const Pod& pod) {
    after_signatures([&] { hosts_.note_user(pod); });
  }
  /// A pod is nominated.
  void know_user(const Pod& pod) {
    after_signatures([&] { hosts_.know_user(pod); });
  }
  /// The same, now or once other pods came or went.
  bool host_may_decide(std::int32_t c) const { return !(*this)[c].host.stays_idle(); }

  /// The delta of a pod that is in no class (a nominated one, or one that runs).
  ResourceDelta delta_of(const Pod& pod) const;
  /// Call after the object of the node changed, or it came or went. Node sides take that in when they are next needed,
  /// so that an event costs nothing for classes of which no pod comes.
  enum class NodeEvent : std::uint8_t { kChanged, kCameOrWent };
  void change_node(std::int32_t slot, NodeParts parts, NodeEvent event);
  /// How often recompile() ran: references to node sides and profiles from before are void.
  std::uint64_t recompile_count() const { return recompile_count_; }
  /// Call when the number of slots changed, or a resource that was asked for got its first node: recompiles everything
  /// that depends on columns. Class indexes stay.
  void recompile();

 private:
  std::int32_t class_of(const PodToPlace& pod, std::int32_t kind);
  /// Makes pods stale when signatures may be others after the change.
  template <class Change>
  std::invoke_result_t<Change> after_signatures(Change change) {
    struct Guard {
      ClassTable& table;
      std::uint64_t before = table.hosts_.signatures_version();
      ~Guard() {
        if (table.hosts_.signatures_version() != before) table.topology_.advance_epoch();
      }
    } guard{*this};
    return change();
  }
  std::int32_t find_by_spec(const PodToPlace& pod, std::int32_t kind);
  std::int32_t find_by_spec(const PodToPlace& pod, std::int32_t kind, const std::string& host);
  std::int32_t find_or_add(const PodToPlace& pod, std::int32_t kind, const std::string& host);
  /// What plugins on the host read of a pod.
  struct HostOfPod {
    const PodPtr& pod;
    const std::string& signature;
  };
  static std::string with_profile(std::string signature, std::int32_t profile, const std::string& node_name);
  std::int32_t find_or_add(const std::shared_ptr<const PodSpec>& spec, const std::string& node_name,
                           std::int32_t profile, std::int32_t kind, const HostOfPod& host, const PodPtr& status_pod);
  const std::string& score_error_with_hosts(std::int32_t c);
  std::int32_t add_error(std::string text);
  void fill(PodClass& pod_class);
  void refresh_deltas(std::uint64_t columns);
  void compile_profiles();
  ResourceDelta delta_of(const ResourceAmounts& amounts, const ResourceAmounts& non_zero) const;

  /// The class of a kind, and TopologyIndex::revision() that it was found for.
  struct Found {
    std::int32_t pod_class = 0;
    std::uint32_t revision = 0;
  };

  const SchedulerConfig& config_;
  TieBreak tie_break_;
  std::uint64_t seed_;
  Snapshot& snapshot_;
  const EngineCluster& cluster_;
  TopologyIndex topology_;
  HostColumns hosts_;
  std::vector<Found> class_of_kind_;
  std::vector<std::int32_t> kinds_;       ///< of the pods that are being compiled
  std::vector<std::uint64_t> signed_at_;  ///< likewise
  std::vector<CompiledProfile> profiles_;
  Numbered<PodClass> classes_;
  std::unordered_map<std::string, std::int32_t> class_of_signature_;
  /// Per profile: PodSpec -> class, or an error. Loaded pods share specs, so this finds the class of most pods that no
  /// term concerns, and of most new kinds.
  struct FoundForSpec {
    std::shared_ptr<const PodSpec> spec;  ///< keeps the key alive
    std::shared_ptr<const TopologyIndex::Compiled> topology;
    std::optional<std::int32_t> pod_class;                       ///< nullopt: not asked for yet
    std::unordered_map<std::string, std::int32_t> by_host = {};  ///< HostOfPod::signature -> class
    std::uint64_t found_at = 0;                                  ///< sweeps_
  };
  void make_room(std::span<const PodToPlace> pods);
  FoundForSpec& find_for_spec(const PodToPlace& pod, std::int32_t kind);
  std::int32_t note_found(std::int32_t pod_class);
  std::vector<std::unordered_map<const PodSpec*, FoundForSpec>> class_of_spec_;
  std::unordered_map<std::string, std::int32_t> node_side_of_signature_;
  std::unordered_set<std::string> unknown_images_;  ///< that classes ask for, and no node has
  std::uint64_t node_sides_made_ = 0;
  struct NodeSide {
    const std::string* signature = nullptr;  ///< the key by which it is found
    std::int32_t profile;
    std::shared_ptr<const PodSpec> spec;
    std::string node_name;  ///< spec.nodeName
    NodeSet node_set = NodeSet::kNarrows;
    CompiledNodeSide compiled;         ///< until the row is built from it
    std::unique_ptr<NodeSideRow> row;  ///< null: not built yet
    bool is_outdated = false;          ///< the row is built again when it is needed
    std::uint64_t version = 0;
    std::uint64_t position = 0;  ///< up to which it has followed node_changes_

    NodeSidePod pod() const { return {*spec, node_name, node_set}; }
    CompiledNodeSide& current() { return row != nullptr ? *row : compiled; }
  };
  NodeSide& find_node_side(std::int32_t c, NodeSet node_set);
  void build_row(NodeSide& side) const;
  bool has_unknown_images_only(const PodSpec& spec, const std::vector<std::string>& images) const;
  void note_images(std::int32_t slot);
  void renew_unknown_images();
  /// An event of a node that rules of the node side may read.
  struct NodeChange {
    std::int32_t slot;
    NodeParts parts;
    NodeEvent event;
  };
  std::uint64_t node_changes_end() const { return node_changes_begin_ + node_changes_.size(); }
  void bring_up_to_date(NodeSide& side);
  void note_changes_since(std::uint64_t position);
  void compile_again(NodeSide& side);
  void mark_outdated(NodeSide& side);
  std::vector<NodeChange> node_changes_;    ///< the latest ones; a side that has missed older ones is compiled again
  std::uint64_t node_changes_begin_ = 0;    ///< changes before those
  std::vector<ChangedNode> changed_nodes_;  ///< of the changes from `noted_from_` to `noted_to_`, each node once
  bool nodes_came_or_went_ = false;         ///< in that range
  std::uint64_t noted_from_ = 0;
  std::uint64_t noted_to_ = 0;
  std::uint64_t node_sides_version_ = 0;
  std::uint64_t recompile_count_ = 0;
  Numbered<std::unique_ptr<NodeSide>> node_sides_;
  std::uint64_t sweeps_ = 0;
  std::uint64_t swept_at_ = 0;  ///< all_added() at the latest sweep
  std::uint64_t errors_added_ = 0;
  std::int32_t sweep_min_ = kSweepMin;
  std::int32_t sweep_share_ = kSweepShare;
  std::uint64_t all_added() const { return classes_.added() + errors_added_ + topology_.all_added(); }
  bool was_found_lately(std::uint64_t found_at) const { return is_lately(found_at, sweeps_); }
  void renew_classes_of_kinds();
  static void take_over_node_sides(const PodClass& before, PodClass& now);
  std::vector<std::int32_t> drop_classes(const std::vector<std::int32_t>& in_use);
  void drop_node_sides();
  void drop_resources();
  std::vector<std::string> errors_;
  std::unordered_map<std::string, std::int32_t> error_of_text_;
};

}  // namespace berth
