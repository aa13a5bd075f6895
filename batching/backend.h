// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface of every engine: reference, cpu, cuda.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend_stats.h"
#include "batching/batch.h"
#include "batching/copies_answer.h"
#include "host/cluster/cluster_change.h"
#include "host/framework/plugin_names.h"
#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

/// Position in the commit log that a backend can return to.
struct CommitMark {
  std::uint64_t position = 0;
};

struct PluginScore {
  std::string_view plugin;
  std::int64_t raw = 0;
  std::int64_t normalized = 0;
  std::int32_t weight = 0;
};

/// One pod on one node.
struct NodeEvaluation {
  NodeIndex node;
  bool feasible = false;
  Status status;                    ///< of the first plugin that refused; plugin "PreFilter" when no node was evaluated
  std::vector<PluginScore> scores;  ///< of the plugins that were not skipped; only on feasible nodes
  std::int64_t total = 0;
};

/// One pod on every node of the current cluster; nothing is committed: docs/behaviour/plugins-node.md 2.
struct Evaluation {
  std::vector<NodeEvaluation> nodes;  ///< in node order
  std::vector<NodeIndex> best;        ///< all nodes of the highest total
  std::string message;                ///< FitError text when no node is feasible
  std::string error;                  ///< non-empty: the cycle ended with this error
  PluginNames rejectors;              ///< Diagnosis::rejectors, of nodes that refuse beside feasible ones too
};

/// The verdict of the Filter plugins on one node, pods nominated to it included; or of PreFilter, which refuses all
/// nodes, or those outside a node set.
struct NodeVerdict {
  StatusCode code = StatusCode::kSuccess;
  /// The plugin that refuses first; empty when none does. Valid for the lifetime of the backend.
  std::string_view plugin = {};
  bool is_of_pre_filter = false;  ///< no Filter plugin ran: PreFilter refuses all nodes, or names others

  bool accepts() const { return code == StatusCode::kSuccess; }
  /// Preemption considers the node: upstream's nodesWherePreemptionMightHelp, docs/behaviour/scheduler-core.md 4.3.
  bool eviction_can_help() const { return code == StatusCode::kUnschedulable; }
  friend bool operator==(const NodeVerdict&, const NodeVerdict&) = default;
};

/// What PreFilter, and the Filter plugins on one node, say of a pod. Pods nominated to the node do not count.
struct NodeProbe {
  bool passes_pre_filter = false;  ///< and there are nodes; where it does not, the rest is false
  bool node_exists = false;
  bool node_refuses = false;  ///< a plugin rejects; an error is no rejection
  friend bool operator==(const NodeProbe&, const NodeProbe&) = default;
};

/// Of a slot without a node.
inline constexpr NodeVerdict kNoNodeVerdict{StatusCode::kUnschedulableAndUnresolvable, {}};

/// One pod on every node, without reasons and scores: what preemption starts from.
struct PodVerdicts {
  std::vector<NodeVerdict> nodes;  ///< [NodeIndex::value]; kNoNodeVerdict of a free slot; empty when `error` is not
  PluginNames rejectors;           ///< Diagnosis::rejectors, of nodes that refuse beside feasible ones too
  std::string error;               ///< non-empty: the cycle ends with this error
};

/// A verdict with its reasons, in upstream's words.
struct NodeStatus {
  Status status;
  bool is_of_pre_filter = false;  ///< as NodeVerdict::is_of_pre_filter
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

struct PodStatuses {
  std::vector<NodeStatus> nodes;  ///< in the order of the nodes; empty when `error` is not
  std::string error;              ///< as PodVerdicts::error
};

/// The total of each node of a list that is scored as if no other node were feasible.
struct PodTotals {
  std::vector<std::int64_t> nodes;  ///< in the order of the nodes; empty when `error` is not
  std::string error;                ///< non-empty: scoring ends the cycle with this error
};

/// What verdicts and dry runs of pods of one class and priority were answered from, for callers who keep the answers.
/// Only the engine reads it.
struct AnswerBasis {
  bool is_set = false;
  std::int32_t pod_class = -1;
  std::uint64_t opened = 0;       ///< how often the engine was opened: what it numbers begins again with that
  std::uint64_t sweeps = 0;       ///< of the class table, which give numbers again
  std::uint64_t recompiled = 0;   ///< how often columns got other numbers
  std::uint64_t resources = 0;    ///< Snapshot::resources_built()
  std::uint64_t node_sides = 0;   ///< ClassTable::node_sides_version()
  std::uint64_t tables = 0;       ///< the highest version of the topology tables that Filter reads for the class
  std::uint64_t nominations = 0;  ///< Nominations::generation()
  std::size_t nominations_seen = 0;
  std::uint64_t log_seen = 0;
};

/// What pods that are nominated to a node, and count against a pod, will take of it.
struct NodeReservation {
  NodeIndex node;
  std::int64_t milli_cpu = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pods = 0;
};

/// Which answers from an AnswerBasis may be other ones now.
struct AnswerChanges {
  bool may_keep = false;         ///< answers from now on may be kept: what they depend on will be told
  bool may_fail = true;          ///< verdicts() may end with an error of a node
  bool all = true;               ///< of every node
  std::vector<NodeIndex> nodes;  ///< otherwise of these; one may be there several times, and need not exist any more
  /// On those nodes, each once or several times. A node that is not there may have some as well.
  std::vector<NodeReservation> reservations;
};

/// A pod that a preemptor may evict. It stands on the node of its list: bound, assumed or placed by this engine.
struct Victim {
  const Pod* pod = nullptr;
  bool violates_budget = false;  ///< its eviction violates a PodDisruptionBudget: docs/behaviour/scheduler-core.md 4.6
};

/// The potential victims of one node in the order in which they are reprieved. Preemptors that may evict the same pods,
/// usually those of one priority, share a list.
struct VictimList {
  NodeIndex node;
  std::span<const Victim> victims;
  /// Not 0: the engine keeps what it finds out about the list, and uses it again for a list of this series, node and
  /// version, which is equal. Of a series it keeps the latest list of each node, side by side.
  /// next_victim_list_version() gives a new series, or version.
  std::uint64_t series = 0;
  std::uint64_t version = 0;
};
/// A number that no list and no series in this process has had.
std::uint64_t next_victim_list_version();

/// One dry run: a preemptor on the node of a list.
struct DryRun {
  std::uint32_t preemptor = 0;  ///< index into DryRunRequest::preemptors
  std::uint32_t list = 0;       ///< index into DryRunRequest::lists
};

/// What is read during the call only. Each pod and each list is prepared once, however many dry runs refer to it.
struct DryRunRequest {
  std::span<const PodToPlace> preemptors;  ///< prepared
  std::span<const VictimList> lists;
  std::span<const DryRun> runs;
};

/// The result of one dry run: docs/behaviour/scheduler-core.md 4.5, steps 1, 2 and 5.
struct DryRunAnswer {
  NodeVerdict without_victims;   ///< with every victim of the list gone; unless it accepts, no victim is kept
  std::int32_t violations = 0;   ///< victims that stay evicted and violate a budget
  std::uint32_t kept_count = 0;  ///< victims that may stay
  std::uint64_t first_kept = 0;  ///< DryRunResult::kept: where the mask begins
  friend bool operator==(const DryRunAnswer&, const DryRunAnswer&) = default;
};

struct DryRunResult {
  std::vector<DryRunAnswer> answers;  ///< [DryRunRequest::runs]
  /// The masks, 64 victims a word: victim i of a list may stay when bit i % 64 of word first_kept + i / 64 is set. Bits
  /// behind the last victim are 0.
  std::vector<std::uint64_t> kept;

  bool keeps(const DryRunAnswer& answer, std::size_t victim) const {
    return (kept[answer.first_kept + victim / 64] >> (victim % 64) & 1) != 0;
  }
};

class Backend;
class EngineCluster;
/// A what-if: a copy of the state that an engine, or another fork, had when the fork was opened; later changes of the
/// parent do not affect it. What is done to a fork changes nothing else until promote(). A fork may outlive its parent
/// and the engine; the configuration must outlive both.
///
/// One call at a time on each fork, its fork() and its destruction included. promote() is a call of the parent too, and
/// excludes every other one there, const ones as well. Other calls on different forks, and on the engine, may run at
/// once: a call that changes the engine waits until no fork reads it, and forks wait until it is done.
class Fork {
 public:
  virtual ~Fork() = default;

  /// As Backend::commit_batch(), in the fork. @throws std::logic_error naming the first pod that is not prepared
  virtual BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) = 0;
  /// As Backend::place(). @throws std::logic_error naming the pod when it is not prepared
  virtual void place(const PodToPlace& pod, std::string_view node_name) = 0;
  /// As Backend::evaluate(). @throws std::logic_error naming the pod when it is not prepared
  virtual Evaluation evaluate(const PodToPlace& pod) = 0;
  /// As Backend::verdicts_on(), in the fork. @throws std::logic_error naming the pod when it is not prepared
  virtual PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) = 0;
  virtual PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) = 0;
  virtual PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) = 0;
  /// Which nodes verdicts_on() accepts, for pods of few classes that are asked about again and again.
  /// @param accepts  [nodes]: 1 or 0; 0 for all of them where the cycle ends with an error. Untouched when it throws
  virtual void accepts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::span<std::uint8_t> accepts);
  /// What the pods on nodes request, and what these offer, as NodeResourcesFit counts it: of "pods", how many.
  /// @param nodes  which exist
  /// @param requested, allocatable  [resources x nodes], resource by resource; empty: not wanted. Untouched when it
  /// throws
  virtual void amounts_on(std::span<const std::string> resources, std::span<const NodeIndex> nodes,
                          std::span<std::int64_t> requested, std::span<std::int64_t> allocatable);
  /// As Backend::copies_that_fit(), in the fork.
  virtual CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) = 0;
  /// As Backend::dry_run(), in the fork. @param request  with nodes of the fork, and victims that stand there in it
  virtual DryRunResult dry_run(const DryRunRequest& request) = 0;
  /// As Backend::statuses_without_victims(), likewise.
  virtual std::vector<Status> statuses_without_victims(const DryRunRequest& request) = 0;
  /// Nodes and pods that come, change or go in the fork: NodeUpsert, NodeRemoval, PodUpsert of a pod on a node,
  /// PodRemoval, which evicts a pod wherever it stands, and NominationUpsert.
  /// @throws std::invalid_argument naming any other change, and applies none
  virtual void apply(std::span<const ClusterChange> changes) = 0;
  /// What the pods count in topology tables, where they stand on nodes, becomes known to the engine at once: whenever a
  /// later call has to ask for more of that, prepared pods are to be brought up to date. Changes no answer.
  virtual void know(std::span<const PodPtr> /*pods*/) {}
  /// A fork of the fork.
  virtual std::unique_ptr<Fork> fork() = 0;
  /// As Backend::as_one(), of calls of this fork.
  virtual void as_one(const std::function<void()>& calls) = 0;
  /// Does to the parent what was done to the fork, in that order: placements become placements of the parent, so that
  /// their pods must not be released before. The fork is spent afterwards. No other call of the parent may run
  /// meanwhile.
  /// @return false, with nothing changed, when something was done to the parent since the fork was opened. Calls that
  ///     change nothing do not count: heartbeats, try_forks(), batches in which no pod was answered.
  /// @throws std::logic_error when the parent is gone, the fork was promoted before, or naming a pod that was released
  virtual bool promote() = 0;

  /// As Backend::node_name(). A NodeIndex of a fork is valid there only, as long as no node comes or goes.
  virtual std::string_view node_name(NodeIndex index) const = 0;
  virtual NodeIndex find_node(std::string_view name) = 0;
  /// A NodeIndex is valid while its node exists, and in forks of this one that say the same.
  bool keeps_indices() const { return numbering() != nullptr; }
  /// Of forks that say the same, other than null, a node that none of them added has the same NodeIndex in all.
  virtual std::shared_ptr<const void> numbering() const { return nullptr; }
  /// The engine has changed in more than pods and nominations since the fork was opened, or is gone: the fork goes on
  /// with an engine of its own, if it does not yet.
  virtual bool is_left_behind() const { return false; }
  /// Name of the node that the pod stands on in the fork, which need not exist; empty: none.
  virtual std::string node_of_pod(const std::string& uid) = 0;
  /// Which of the pods is the first that stands on a node; `uids.size()`: none does.
  virtual std::size_t first_standing(std::span<const std::string* const> uids);
  /// null: no node has the name
  virtual NodePtr node_object(const std::string& name) = 0;
  /// Those that the fork placed included, in no order. The node need not exist.
  virtual std::vector<PodPtr> pods_on(const std::string& node_name) = 0;
  virtual std::vector<NodeIndex> nodes_in_order() = 0;
  /// The pods on a node, which exists, with a priority below `priority`, in the order of the cache of an engine to
  /// which the same was done. Those that changed in the engine since the fork was opened come behind the others it had
  /// then.
  virtual std::vector<PodPtr> pods_below(NodeIndex node, std::int32_t priority) = 0;
  /// An engine in the state of the fork, for const calls that forks do not have: prepare pods there, and change nothing
  /// else. It costs a copy of the cluster, and the fork answers from it from now on. Valid until its next call.
  virtual Backend& as_engine() = 0;
  /// Memory that goes with the fork: what it shares with its engine and other forks is not counted, nor are objects.
  virtual std::uint64_t own_bytes() const = 0;
};

struct ForkParent;  // batching/engine_fork.h

/// Backend::commit_batch(), with refill() wherever it stops for it: never stops with kHostPlugin.
/// @throws std::runtime_error when answers of plugins on the host are stale at once after refill()
BatchResult commit_with_refills(std::span<const PodToPlace> pods, const BatchLimits& limits, Backend& backend);
/// The same with what stands for these two calls.
using CommitCall = std::function<BatchResult(std::span<const PodToPlace> pods, const BatchLimits& limits)>;
using RefillCall = std::function<void(std::span<const PodToPlace> pods)>;
BatchResult commit_with_refills(std::span<const PodToPlace> pods, const BatchLimits& limits, const CommitCall& commit,
                                const RefillCall& refill);

/// An engine over one cluster, which it owns: it is opened with a state of the cluster, and apply() passes later
/// changes to it. One call at a time, except that const calls, fork() among them, may run in parallel with each other;
/// implementations use threads inside. Calls of forks, other than promote(), may run beside every call.
///
/// Every call, of an engine and of a fork, happens as a whole or not at all. A call that throws has changed
/// nothing, whatever it throws and wherever memory ran out or a device failed: placements, marks, nominations, draws
/// and answers are as before the call, and engine, forks and prepared pods remain usable. A call may also succeed
/// although an allocation failed, when its effect was complete before. What an engine derives from its cluster and its
/// placements may be lost in both cases: the next call derives it again, and throws std::bad_alloc with nothing changed
/// while there is no memory for that. BackendStats count work, also of calls that failed. The destructors of engines
/// and forks need no memory.
///
/// Which calls compile. Only compile(), prepare() and apply() meet pods, terms and objects that were never seen. What
/// is compiled follows changes when it is next read, so that an event costs what it changed, however many pods are
/// prepared: the first call that reads a pod which a change concerned brings that pod up to date. A change of a node
/// object concerns every prepared pod; others concern the pods that they match, select, control or contain.
///   - commit_batch(), place(), refill() and try_forks() do so for compiled pods. No other call runs beside them.
///   - const calls about pods do so for prepared ones: evaluate(), probe(), verdicts(), verdicts_on(), totals_on(),
///     answer_changes(), dry_run(), statuses_without_victims(). The call then waits until other const calls and forks
///     have read, and they wait for it; otherwise all of them run beside each other.
///   - calls of forks do so for prepared pods in the same way.
/// No such call fails because of what happened before: it gets the answer of the state that it finds, or
/// std::bad_alloc. On a device two evaluations run one after another.
class Backend {
 public:
  Backend();
  virtual ~Backend();
  virtual std::string_view name() const = 0;

  /// Compiles the classes of `pods` and writes PodToPlace::class_index; evaluates no node. commit_batch() takes no
  /// other pods; they stay compiled across apply(). The backend keeps each pod until release(). When it throws, pods
  /// that the backend did not keep before have no handle, and are to be compiled again.
  virtual void compile(std::span<PodToPlace> pods) = 0;
  /// Removes the pods from the backend, which will not place them again, and discards all marks. Placements stay.
  virtual void release(std::span<PodToPlace> pods) = 0;

  /// Applies changes of the cluster, in order. Placements of this backend are assumed there: a PodUpsert on
  /// the same node confirms one, on another node overrules it, and a PodRemoval ends it. A NodeIndex from before is
  /// valid while its node exists.
  virtual void apply(std::span<const ClusterChange> changes) = 0;

  /// Places `pods` in order, each as the serial algorithm would after all before it, and appends to the log.
  /// Calling again with the rest of a batch continues where the last call stopped; after kHostPlugin refill() comes
  /// first.
  /// @throws std::logic_error naming the first pod that is not compiled
  virtual BatchResult commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) = 0;

  /// Calls the plugins on the host for every answer that commit_batch() needs for these pods and that is missing or
  /// stale. Call it when a batch stops with kHostPlugin. An answer that became stale for one node only is requested for
  /// that node only. The answers are kept; a plugin that throws counts as answering Error.
  virtual void refill(std::span<const PodToPlace> pods) = 0;

  /// Places each list of pods from the current state, independently of the others, and commits none of them.
  /// @return one result per fork, equal to what commit_batch() would return
  /// @throws std::logic_error naming the first pod that is not compiled
  virtual std::vector<BatchResult> try_forks(std::span<const std::span<const PodToPlace>> forks,
                                             const BatchLimits& limits);

  /// Places the pod on a node as if commit_batch() had chosen it; no plugin is asked. An empty name: as if it had found
  /// no node.
  /// @throws std::logic_error naming the pod when it is not compiled, or has no class because no backend may place it
  /// @throws std::invalid_argument when no node has the name
  virtual void place(const PodToPlace& pod, std::string_view node_name) = 0;

  /// Opens a fork of the engine as it is now. Its calls need pods that prepare() has seen. Like every const call, it
  /// may run in several threads at once.
  std::unique_ptr<Fork> fork() const { return open_fork(as_parent_); }
  /// The same, with another parent for Fork::promote().
  virtual std::unique_ptr<Fork> open_fork(std::shared_ptr<const ForkParent> parent) const = 0;

  virtual CommitMark mark() const = 0;
  /// Undoes every placement after `mark`, newest first, that still stands and that no PodUpsert has confirmed.
  /// Nominations that ended with them, and the rotating start of sampling, are as at the mark. Changes made by
  /// apply() stay.
  /// @throws std::out_of_range for a mark that does not exist, or is from before settle()
  virtual void rollback(CommitMark mark) = 0;
  /// Discards all marks so far and frees their memory.
  virtual void settle() = 0;
  /// Undoes one placement of this backend, wherever it stands among the others: amounts, ports and counts. Later
  /// decisions were made with it in place, and stay.
  /// @param nomination  of the pod, if it was undone; null: none
  /// @return false when the pod is not placed, or was confirmed
  virtual bool undo(const Pod& pod, const NominationUpsert* nomination) = 0;
  bool undo(const Pod& pod) { return undo(pod, nullptr); }
  /// What the placement of the pod decided about its claims. null: nothing, or the placement was undone or confirmed.
  virtual VolumeDecisionsPtr volume_decisions(const Pod& pod) = 0;

  /// Compiles `pods` like compile(), and everything that const calls and forks read of them. A pod stays prepared until
  /// release(), whatever happens to the cluster.
  virtual void prepare(std::span<PodToPlace> pods) = 0;
  /// The pod on every node, with statuses and scores. @throws std::logic_error naming the pod when it is not prepared
  virtual Evaluation evaluate(const PodToPlace& pod) const = 0;
  /// What kube-scheduler's opportunistic batching asks before it searches: docs/behaviour/scheduler-core.md 6.4.
  /// @throws std::logic_error naming the pod when it is not prepared
  virtual NodeProbe probe(const PodToPlace& pod, std::string_view node_name) const = 0;
  /// The verdict of every node on the pod in the current state.
  /// @throws std::logic_error naming the pod when it is not prepared
  virtual PodVerdicts verdicts(const PodToPlace& pod) const = 0;
  /// The same of some nodes, which exist. An error is that of the first of these nodes that ends the cycle.
  /// @return PodVerdicts::nodes in the order of `nodes`; without rejectors
  virtual PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const;
  /// The same with reasons. A node outside PreFilter's node set has the reason that it gets in messages.
  virtual PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const = 0;
  /// PreScore and Score of nodes that accept the pod, each once: normalised over exactly these, one node alone too.
  /// @throws std::logic_error naming the pod when it is not prepared
  virtual PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const = 0;
  /// How many copies of each pod commit_batch() would place before the first that finds no node, each pod apart from
  /// the others. An engine that has to place them to know says so: always, unless it overrides this.
  /// @throws std::logic_error naming the pod when it is not prepared
  virtual CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const;
  /// A placed copy of the pod changes the verdict and the total of no other node for the next one, as of now. An engine
  /// that cannot tell says false. @throws std::logic_error naming the pod when it is not prepared
  virtual bool is_node_local(const PodToPlace& /*pod*/) const { return false; }
  /// Which answers of verdicts() and dry_run() a caller has to ask for again who kept those for the pods of this class
  /// and priority, given equal lists of victims. An engine that cannot tell says: all, always.
  /// @param basis  of the answers; becomes that of the engine as it is now
  /// @throws std::logic_error naming the pod when it is not prepared
  virtual AnswerChanges answer_changes(const PodToPlace& pod, AnswerBasis& basis) const;
  /// Whether preemptors fit on nodes when victims are evicted, and which victims may stay: upstream's
  /// SelectVictimsOnNode for many (preemptor, node) at once, independently of each other. On a node outside PreFilter's
  /// node set no Filter plugin runs, except on the node that the preemptor is nominated to. A list without victims is
  /// filtered as the node is.
  /// @throws std::logic_error naming the pod when a preemptor is not prepared, or when the terms of
  ///     a victim are not compiled
  virtual DryRunResult dry_run(const DryRunRequest& request) const = 0;
  /// The same with every victim of each list gone, as statuses with their reasons, none where no Filter plugin runs:
  /// for messages, since it is slower. @return [DryRunRequest::runs]
  virtual std::vector<Status> statuses_without_victims(const DryRunRequest& request) const = 0;

  /// Runs calls of this engine as one call: when `calls` throws, none of them has happened. settle() and release() must
  /// not be among them. A fork that was opened among them is of no use then: promote() refuses it.
  virtual void as_one(const std::function<void()>& calls) = 0;

  /// Moves with every change of the cluster's state, and returns when the changes since are undone: equal numbers mean
  /// equal states. Heartbeats do not move it.
  std::uint64_t change_version() const noexcept;

  virtual BackendStats stats() const = 0;

  /// Name of the node at `index`, valid until the next apply(); empty where there is none, and for kNoNode.
  virtual std::string_view node_name(NodeIndex index) const = 0;
  /// kNoNode: no node has the name.
  virtual NodeIndex find_node(std::string_view name) const = 0;
  /// Every NodeIndex is below this.
  virtual std::int32_t slot_count() const = 0;
  /// The cluster, placements as assumed pods. Valid, and unchanged, until the next call that is not const.
  virtual const EngineCluster& cluster() = 0;

 protected:
  /// Call after every change of the cluster's state: forks from before cannot be promoted any more.
  void note_change() noexcept;
  /// Call after the changes since `version` were undone. @param version  an earlier change_version()
  void forget_changes_since(std::uint64_t version) noexcept;

 private:
  std::shared_ptr<ForkParent> as_parent_;
};

}  // namespace berth
