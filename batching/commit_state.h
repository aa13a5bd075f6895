// SPDX-License-Identifier: Apache-2.0
#pragma once

// The committed state of a fast backend, and the steps of placing a pod that do not depend on how its node is found:
// the nominated node, lists of nodes where rows are not enough, reasons, the log, rollback. The cpu backend and the
// device backend each own one and add their rows.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "batching/class_in_batch.h"
#include "batching/commit_log.h"
#include "batching/copies_on_nodes.h"
#include "batching/deadline.h"
#include "batching/dry_run.h"
#include "batching/feasible_list.h"
#include "batching/fork_source.h"
#include "batching/guest_sides.h"
#include "batching/kept_pods.h"
#include "batching/nomination_answers.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "batching/reasons.h"
#include "batching/selection.h"
#include "host/cluster/engine_cluster.h"
#include "host/cluster/snapshot.h"
#include "host/objects/cluster_objects.h"
#include "host/objects/interruption.h"

namespace berth {

class CommitState {
  // Before what refers to them; null in a fork, which refers to those of the engine.
  std::shared_ptr<EngineCluster> own_cluster_;
  std::unique_ptr<ClassTable> own_table_;

 public:
  /// `scheduler_config` must outlive this object. @param objects  namespaces, services and workloads, and the pods that
  /// are nominated; copied
  /// @param backend_name  for the text of the error
  /// @throws InputError when a profile's weights exceed what node-side rows hold (kMaxTotal)
  CommitState(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
              const SchedulerConfig& scheduler_config, const EngineConfig& engine_config,
              std::string_view backend_name);
  /// The state of a fork of an engine, or of a fork, as it is now. Reads the cluster, the classes and what only node
  /// events change from the engine, while OverlayFork allows it; the engine's placements must be folded.
  struct ForFork {};
  CommitState(const CommitState& from, ForFork);
  /// The state of the same engine with everything compiled and counted again: `from` has a void state, and was closed.
  /// It stays as it is; take_over() ends it.
  struct Reopened {};
  CommitState(const CommitState& from, Reopened);
  virtual ~CommitState();

  // A call as a whole. What the engine knows for itself can be taken back: its cluster, the outcomes of pods, which
  // pods are nominated, compiled and prepared, and the slots of nodes. Everything else follows from that, and is void
  // when memory ran out while it changed. The next call compiles and counts it again: reopened(), close(), take_over().

  /// What follows from the model may be wrong: nothing else than mark(), node_name() and slot_count() may be called.
  bool is_void() const noexcept { return is_void_.load(std::memory_order_acquire); }
  void set_void() noexcept { is_void_.store(true, std::memory_order_release); }
  /// Runs the body of a call. When it throws, nothing of the call has happened. Calls may be nested.
  template <class Body>
  void all_or_nothing(Body body);
  void begin_call() noexcept;
  void begin_calls() noexcept;  ///< that happen as one: they are not interrupted, since none is taken back alone
  void keep_call() noexcept;
  void take_back_call(bool ran_out) noexcept;  ///< @param ran_out  of memory
  bool is_in_call() const noexcept { return depth_ > 0; }
  /// Call with exclusive() before reopening. @throws std::bad_alloc, and changes nothing that can be seen
  void close();
  /// Becomes the state of the engine: marks, handles and slots are those of `from`.
  void take_over(CommitState& from) noexcept;
  std::string_view node_name(std::int32_t slot) const;  ///< of the node there, also of a void state

  const SchedulerConfig& config;
  EngineCluster& cluster;
  EngineConfig engine;
  Snapshot snapshot;
  ClassTable& table;
  GuestSides guests;
  /// Node sides of classes as this state reads them.
  NodeSides sides;
  Nominations nominations;
  CommitLog log;
  NominationAnswers nomination_answers;
  Reasons reasons;
  std::vector<AnsweredPod> answered;  ///< pods with an outcome, newest last
  /// Those of `answered` that are not in the cluster yet: placed after the latest apply(), undo() or settle().
  std::span<const AnsweredPod> not_folded() const { return std::span(answered).subspan(folded_); }
  std::int64_t list_evaluations = 0;  ///< nodes evaluated for lists
  std::int64_t host_pods = 0;         ///< BackendStats::host_pods
  std::int64_t host_stops = 0;        ///< BackendStats::host_stops
  BatchResult* result = nullptr;      ///< of the current batch

  bool scores_anything(std::int32_t pod_class) const { return table.profile_of(pod_class).scores_anything; }
  /// Rows alone decide: no compatibility mode, and no scores that might leave their range.
  bool plain_mode() const {
    return engine.node_sampling == NodeSampling::kAll && engine.tie_break != TieBreak::kKube &&
           !snapshot.scores_may_wrap();
  }

  /// What forks read of this state.
  const std::shared_ptr<ForkSource>& fork_source() const { return fork_source_; }
  /// Keeps forks from reading while the state changes.
  ExclusiveWriter exclusive() { return ExclusiveWriter(mutex_); }
  /// For calls that change nothing: forks read too, but do not ask the engine to compile.
  std::shared_lock<ReadersAndWriter> shared() const { return std::shared_lock(*mutex_); }
  /// Calls may run in parallel with each other and with reading ones. @return null where the state is void
  std::unique_ptr<Fork> open_fork(const std::shared_ptr<const ForkParent>& parent);
  /// Gives forks a copy of what they read, and they read this state no more. Call while no fork reads.
  /// @throws std::bad_alloc, and changes nothing
  void leave_forks();
  /// Gives it to them for good: call before anything of the state is destroyed.
  void end() noexcept;
  /// Hands placements over to the cluster, as assumed pods: from then on they are known by their uid, whatever happens
  /// to the nodes.
  void fold();
  /// Brings up to date what the following calls for forks read for the pods, which are prepared.
  virtual void make_ready_for_forks(std::span<const PodToPlace> /*pods*/) {}
  virtual bool is_ready_for_forks(std::span<const PodToPlace> /*pods*/) const { return true; }
  /// The node for a pod of a fork, from what this engine keeps for its own pods. Forks call it in parallel.
  /// @param touched  nodes whose load may differ between the engine and the fork; others are equal
  /// @return nullopt: it cannot tell, and the nodes must be filtered one by one
  virtual std::optional<Selection> select_for_fork(const PodToPlace& /*pod*/, const CommitState& /*fork*/,
                                                   const ExcludedNodes& /*touched*/) const {
    return std::nullopt;
  }
  /// Which nodes take a pod of a fork, likewise; not what pods nominated in the fork change.
  /// @param accepts  [slots of the fork]: written for nodes outside `touched` that are no guests, others are as before
  virtual bool mark_accepting_for_fork(const PodToPlace& /*pod*/, const CommitState& /*fork*/,
                                       std::span<std::uint8_t> /*accepts*/) const {
    return false;
  }
  /// Answers pods at the front of the rest of a fork's batch, several at once. Forks call it in parallel.
  /// @param touched  as for select_for_fork()
  /// @return how many are answered, at most `pods_max`; 0: this engine has nothing for the first one
  virtual std::size_t commit_for_fork(std::span<const PodToPlace> /*pods*/, std::size_t /*pods_max*/,
                                      bool /*stops_at_failure*/, CommitState& /*fork*/,
                                      const ExcludedNodes& /*touched*/) {
    return 0;
  }
  /// evaluate_for_fork() may answer. It reads what make_ready_for_forks() brings up to date.
  virtual bool evaluates_for_forks() const { return false; }
  /// The pod on every node of a fork. Forks call it in parallel.
  /// @param touched  as for select_for_fork()
  /// @return nullopt: the fork evaluates it for itself
  virtual std::optional<Evaluation> evaluate_for_fork(const PodToPlace& /*pod*/, CommitState& /*fork*/,
                                                      const ExcludedNodes& /*touched*/) {
    return std::nullopt;
  }
  /// The pod as it was compiled last, here or by a sweep. Where nothing came since that concerns it, it is not stale.
  PodToPlace current(const PodToPlace& pod) const;
  /// Of prepared pods: more pods of these will come.
  std::vector<std::int32_t> prepared_classes() const { return kept_pods_.prepared_classes(); }
  /// Call when guests of this state, which is a fork's, came, changed or went.
  void note_guests();
  /// Where the next search begins with --node-sampling kube.
  std::size_t next_start() const { return next_start_; }
  void set_next_start(std::size_t next_start) { next_start_ = next_start; }

  void compile(std::span<PodToPlace> pods);
  /// Backend::refill()
  void refill(std::span<const PodToPlace> pods);
  /// Plugins on the host must be asked before the pod can be answered.
  bool waits_for_host(const PodToPlace& pod) const {
    return own_table_ != nullptr && pod.class_index >= 0 && !table.host_is_current(pod.class_index) &&
           !table.follow_hosts(pod.class_index);
  }
  void write_host_stats(BackendStats& stats) const;
  EarlierStats earlier;
  /// @throws std::logic_error naming the first pod that is not compiled
  void check_compiled(std::span<const PodToPlace> pods) const;
  /// Compiles those of the pods again whose class may be another one now.
  void make_current(std::span<PodToPlace> pods);
  /// The same for copies. @return `pods`, or the copy of them in `renewed`
  /// @throws std::logic_error naming the first pod that is not compiled
  std::span<const PodToPlace> with_current_classes(std::span<const PodToPlace> pods, std::vector<PodToPlace>& renewed);
  /// @throws std::logic_error naming the pod when it is not prepared
  void check_prepared(const PodToPlace& pod) const;
  /// Backend::evaluate()
  Evaluation evaluate(const PodToPlace& pod) const;
  /// Backend::probe()
  NodeProbe probe(const PodToPlace& pod, std::string_view node_name) const;
  /// Backend::prepare()
  void prepare(std::span<PodToPlace> pods);
  /// The pod was prepared, and must be again: terms came which had never been seen, or the cluster changed.
  bool is_outdated(const PodToPlace& pod) const;
  bool any_outdated(std::span<const PodToPlace> pods) const;
  /// Prepares those pods again. Call with exclusive().
  void keep_prepared(std::span<const PodToPlace> pods);
  /// Backend::verdicts(), and so on
  PodVerdicts verdicts(const PodToPlace& pod) const;
  PodVerdicts verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const;
  PodStatuses statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const;
  PodTotals totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const;
  CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const;
  bool is_node_local(const PodToPlace& pod) const;
  /// Backend::answer_changes()
  AnswerChanges answer_changes(const PodToPlace& pod, AnswerBasis& basis) const;
  /// Backend::dry_run()
  DryRunResult dry_run(const DryRunRequest& request, const ForBlocks& for_blocks) const;
  /// Backend::statuses_without_victims()
  std::vector<Status> statuses_without_victims(const DryRunRequest& request, const ForBlocks& for_blocks) const;
  /// Answered so far.
  std::int64_t dry_runs() const { return dry_runs_.load(std::memory_order_relaxed); }

  /// How many changes the log keeps, at least; never fewer than there are slots.
  void keep_log(std::size_t entries_min);

  void make_room_for_answers(std::size_t pod_count);
  /// Call at the beginning of a batch. @return whether the node order has changed since the last one: with it
  /// what wins among equal keys, and with TieBreak::kFirst draws and keys
  bool begin_cycle(std::size_t pod_count);
  /// Calls `step` until the batch is done or a limit is reached. @param step(rest, pods_max) answers at least one pod
  /// at the front of `rest`, at most `pods_max`
  template <class Step>
  void run_batch(std::span<const PodToPlace> pods, const BatchLimits& limits, Step step);

  /// Answers pods that need no row: an error, PreFilter's refusal, the pod's own nominated node. @return whether it
  /// did; if not, `own_nomination` is the nominated node that refused it, or -1
  bool answer_without_row(const PodToPlace& pod, std::int32_t& own_nomination);
  /// The pod is nominated, or a nominated pod counts against it.
  bool concerned_by_nominations(const Pod& pod) const { return nominations.holds(pod) || nominations.any_against(pod); }
  void answer(const PodToPlace& pod, const Selection& selection, std::int32_t own_nomination);
  /// Filters the nodes one by one and chooses from the list of feasible ones.
  /// @param refused  because of nominations
  void answer_from_list(const PodToPlace& pod, const ClassOnNodes& nodes, const ExcludedNodes& refused,
                        std::int32_t own_nomination);
  /// The current batch is asked for what only answer_uncached() finds: BatchResult::others, nodes of a set, no rows.
  bool needs_list() const { return ranks_nodes_ || lists_nodes_ || among_ != nullptr; }
  /// The same for a class without a row: evaluates the rules on every node, in integers of any size.
  void answer_uncached(const PodToPlace& pod, std::int32_t own_nomination);

  /// Number of pods of one class at the front, at most `limit`, that are not nominated and that the same nominated pods
  /// count against; 0 where the first one is nominated. Each pod of a batch is visited once, however often the function
  /// is called during the batch. @param pods  rest of the current batch; at least one
  std::size_t equal_pods(std::span<const PodToPlace> pods, std::size_t limit);
  /// Fails the pod for the same reason as the last pod of its class, when nothing has changed since.
  /// @return false when the pod is not answered
  bool repeat_failure(const PodToPlace& pod);
  /// A pod of the class was answered in the batch whose PreFilter passes for all of them, and no score is an error.
  bool passes_in_batch(std::int32_t pod_class) const;

  void place(const PodToPlace& pod, std::int32_t node, std::int64_t score);
  /// Backend::place()
  void place(const PodToPlace& pod, std::string_view node_name);
  /// Places a pod of a run, without ports and nominations, but for what apply_copies() brings to the nodes of all of
  /// them at once. @param feasible_count  feasible nodes before its placement
  void answer_copy(const PodToPlace& pod, std::int32_t node, std::int64_t total, std::int64_t feasible_count);
  void apply_copies(std::int32_t pod_class);
  void fail(const PodToPlace& pod, OutcomeKind kind, const Message& message);
  bool is_among(std::int32_t node) const;
  void fail_everywhere(const PodToPlace& pod, std::int32_t own_nomination);
  void fail_for(const PodToPlace& pod, const DiagnosisRow::Answer& answer);

  CommitMark mark() const { return {settled_ + answered.size()}; }
  /// @throws std::out_of_range when the mark does not exist, or is from before settle()
  void rollback(CommitMark mark);
  void settle();
  bool undo(const Pod& pod, const NominationUpsert* nomination = nullptr);
  /// Backend::volume_decisions()
  VolumeDecisionsPtr volume_decisions(const Pod& pod);

  /// What a backend has to do with its rows after apply(). The log tells of everything else.
  struct RowsAfter {
    bool any_change = false;    ///< of the cluster; heartbeats are none
    bool all_void = false;      ///< all rows refer to what is gone
    bool groups_void = false;   ///< rows that group nodes by their objects
    bool counts_moved = false;  ///< counts of topology domains changed, of which the log does not tell
    /// Classes that are gone; new ones may have their numbers. Rows that group nodes are void then, and what a device
    /// has of classes and tables is.
    std::vector<std::int32_t> dropped_classes;
    bool swept = false;                      ///< numbers of tables, node sides and resources may mean something else
    std::vector<ChangedNode> changed_nodes;  ///< in the order of the events; one may be there several times
  };
  RowsAfter apply(std::span<const ClusterChange> changes);
  RowsAfter release(std::span<PodToPlace> pods);

 protected:
  template <class Body>
  void derive(Body body);

 private:
  const PodPtr& kept_pod(const AnsweredPod& answered_pod) const { return kept_pods_[answered_pod.handle].pod; }
  /// Before the current call.
  struct Before {
    std::size_t answered = 0;
    std::size_t folded = 0;
    std::size_t next_start = 0;
  };
  /// Each as current(). @throws std::logic_error naming the first pod that is not prepared
  std::vector<PodToPlace> prepared(std::span<const PodToPlace> pods) const;
  void compile_now(std::span<PodToPlace> pods);
  void assume_placed();
  std::optional<PodChange> forget(const Pod& pod);
  void note_slot(std::int32_t slot);
  void apply_changes(std::span<const ClusterChange> changes, RowsAfter& rows);
  void detach_forks();
  bool is_journal_full();
  void sweep_if_due(RowsAfter& rows);
  void follow_pod(const PodChange& change);
  void note_node_for_hosts(std::int32_t slot, const std::string& name, NodeParts parts, bool came_or_went);
  /// Adds the amounts and counts of pods of the class to a node, but not their ports.
  void bring(std::int32_t node, std::int32_t pod_class, std::int32_t copies);
  void note_for_hosts(const Pod& pod, std::int32_t node);
  void note_placed(const PodToPlace& pod, std::int32_t node);
  void know_nominated();
  void follow(const ClusterEffect& effect, RowsAfter& rows);
  /// A nomination that ended, and one that began.
  struct NominationChange {
    std::optional<NominationHeld> ended;
    NominationHeld* began = nullptr;
  };
  NominationChange change_nomination(const ClusterEffect& effect);
  void follow(const NominationChange& change);
  void change_nodes(const ClusterEffect& effect, RowsAfter& rows);
  void add_node(const NodeInfo& info, RowsAfter& rows);
  void follow_node(std::int32_t slot, NodeParts parts, ClassTable::NodeEvent event, RowsAfter& rows);
  void recompile();
  std::int64_t count_among() const;
  void fail_among(const PodToPlace& pod, std::int32_t own_nomination);
  std::int32_t message_index(const Message& message);
  ClassInBatch& in_batch(std::int32_t pod_class);
  void fail_with(const PodToPlace& pod, OutcomeKind kind, std::int32_t message);
  bool try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own);
  FeasibleList list_feasible(const PodToPlace& pod, const ClassOnNodes& nodes, const ExcludedNodes& refused,
                             std::int32_t own_nomination, std::string& error);
  bool is_answered_alike(const PodToPlace& front, const PodToPlace& pod) const;
  void drop_nomination(const PodToPlace& pod);
  void take_back_answer(std::size_t position);
  void take_back(const AnsweredPod& last);

  std::shared_ptr<ForkSource> fork_source_;         ///< null in a fork; another one takes its place with exclusive()
  std::shared_ptr<ReadersAndWriter> mutex_;         ///< of `fork_source_` and all that come after it
  mutable std::atomic<std::int64_t> dry_runs_ = 0;  ///< a statistic: const calls run in parallel
  VictimMemoryAtNeed victim_memory_;
  KeptPods kept_pods_;
  std::atomic<bool> is_void_ = false;
  std::uint64_t reopened_ = 0;  ///< how often
  int depth_ = 0;               ///< of nested calls
  bool runs_calls_ = false;     ///< the outermost began with begin_calls()
  bool derives_ = false;        ///< something that follows from the model began to change in the call
  Before before_;
  std::vector<std::pair<std::int32_t, NodePtr>> slots_before_;  ///< of nodes that came or went in it, oldest first
  /// Pods whose nomination changed from outside in the call, by uid, and how many had an outcome then.
  std::vector<std::pair<std::string, std::size_t>> renominated_;
  std::size_t log_entries_min_ = 0;
  std::size_t folded_ = 0;   ///< of `answered`, how many the cluster has as assumed pods: those up to the last fold()
  std::size_t settled_ = 0;  ///< pods answered before those in `answered`
  // Properties of few pods, by position in `answered`.
  struct LostNomination {
    PodPtr pod;
    std::string uid;
    std::string node_name;
  };
  std::map<std::size_t, LostNomination> nomination_lost_;
  std::map<std::size_t, std::size_t> start_before_;
  bool order_changed_ = false;  ///< since the latest begin_cycle() of a batch
  std::size_t next_start_ = 0;  ///< --node-sampling kube: where the next search begins
  // Of the current batch:
  std::uint64_t batch_ = 0;  ///< its number, from 1
  bool ranks_nodes_ = false;
  bool lists_nodes_ = false;
  const std::vector<bool>* among_ = nullptr;  ///< BatchLimits::among
  std::map<std::tuple<std::string, PluginNames, std::int64_t, PluginNames>, std::int32_t> message_index_;
  std::vector<ClassInBatch> classes_in_batch_;  ///< [class] those above the last one: nothing is known
  const PodToPlace* run_begin_ = nullptr;       ///< the pods from here to run_end_ are of one class
  const PodToPlace* run_end_ = nullptr;
  CopiesOnNodes copies_;  ///< between answer_copy() and apply_copies()
};

template <class Body>
void CommitState::all_or_nothing(Body body) {
  const InterruptionScope to_the_end(runs_calls_ ? nullptr : current_interruption());
  begin_call();
  try {
    body();
  } catch (const std::bad_alloc&) {
    take_back_call(true);
    throw;
  } catch (...) {
    take_back_call(false);
    throw;
  }
  keep_call();
}

/// Changes what follows from the model, of which it knows already. The call goes on where memory runs out here: the
/// model is right, and the next call derives from it again. A call that is a part of another one fails instead.
template <class Body>
void CommitState::derive(Body body) {
  if (is_void()) return;
  derives_ = true;
  try {
    body();
  } catch (const std::bad_alloc&) {
    set_void();
    if (depth_ > 1) throw;
  }
}

template <class Step>
void CommitState::run_batch(std::span<const PodToPlace> pods, const BatchLimits& limits, Step step) {
  const Deadline deadline(limits.deadline_us);
  ++batch_;
  ranks_nodes_ = limits.ranks_nodes;
  lists_nodes_ = limits.lists_nodes;
  among_ = limits.among;
  message_index_.clear();
  run_begin_ = run_end_ = nullptr;
  std::size_t next = 0;
  while (next < pods.size()) {
    if (next >= limits.pods_max) {
      result->stop = StopReason::kPodLimit;
      return;
    }
    // At least one pod per call, so that repeated calls make progress.
    if (next > 0 && deadline.passed()) {
      result->stop = StopReason::kDeadline;
      return;
    }
    if (waits_for_host(pods[next])) {
      result->stop = StopReason::kHostPlugin;
      ++host_stops;
      return;
    }
    step(pods.subspan(next), limits.pods_max - next);
    next = result->outcomes.size();
    if (limits.stop_at_failure && result->outcomes.back().kind != OutcomeKind::kPlaced) {
      result->stop = StopReason::kPodWithoutNode;
      return;
    }
  }
}

}  // namespace berth
