// SPDX-License-Identifier: Apache-2.0
// Calls of an engine as a whole: what happens to its state when one fails, and when it is opened again.

#include <algorithm>
#include <utility>

#include "batching/commit_state.h"
#include "host/objects/work_arena.h"

namespace berth {
namespace {

/// Epochs of a reopened state begin above all from before, so that every pod is stale.
constexpr int kEpochBits = 40;

}  // namespace

void CommitState::begin_call() noexcept {
  if (depth_++ > 0) return;
  before_ = {answered.size(), folded_, next_start_};
  kept_pods_.begin_call();
  derives_ = false;
  if (own_cluster_ != nullptr) cluster.begin();
  nominations.begin();
}

void CommitState::begin_calls() noexcept {
  if (depth_ == 0) runs_calls_ = true;
  begin_call();
}

void CommitState::keep_call() noexcept {
  if (--depth_ > 0) return;
  runs_calls_ = false;
  if (own_cluster_ != nullptr) cluster.keep();
  nominations.keep();
  for (const auto& [uid, end] : renominated_)
    std::erase_if(nomination_lost_, [&](const auto& lost) { return lost.first < end && lost.second.uid == uid; });
  renominated_.clear();
  slots_before_.clear();
  // Of one batch alone, with an entry for each class: more than all else that an open fork with a few pods holds.
  if (fork_source_ == nullptr) std::vector<ClassInBatch>().swap(classes_in_batch_);
}

void CommitState::take_back_call(bool ran_out) noexcept {
  result = nullptr;
  if (--depth_ > 0) return;
  runs_calls_ = false;
  if (ran_out || derives_ || answered.size() != before_.answered) set_void();
  if (own_cluster_ != nullptr) {
    std::shared_ptr<ClusterCache> given_up = cluster.take_back();
    if (engine.arena != nullptr) engine.arena->free_later(std::move(given_up));
  }
  nominations.take_back();
  for (; !slots_before_.empty(); slots_before_.pop_back())
    snapshot.set_node_of_slot(slots_before_.back().first, std::move(slots_before_.back().second));
  renominated_.clear();
  answered.resize(before_.answered);
  folded_ = before_.folded;
  next_start_ = before_.next_start;
  nomination_lost_.erase(nomination_lost_.lower_bound(answered.size()), nomination_lost_.end());
  start_before_.erase(start_before_.lower_bound(answered.size()), start_before_.end());
  kept_pods_.take_back_call();
}

/// Notes which node has the slot, which another one gets or loses.
void CommitState::note_slot(std::int32_t slot) {
  slots_before_.emplace_back(slot, snapshot.nodes_by_slot()[static_cast<std::size_t>(slot)]);
}

std::string_view CommitState::node_name(std::int32_t slot) const {
  if (!is_void()) return snapshot.node_name(slot);
  const std::span<const NodePtr> nodes = snapshot.nodes_by_slot();
  if (slot < 0 || static_cast<std::size_t>(slot) >= nodes.size()) return {};
  const NodePtr& node = nodes[static_cast<std::size_t>(slot)];
  const NodeInfo* const known = node != nullptr ? cluster.cache().find_node(node->name) : nullptr;
  return known != nullptr && known->node != nullptr ? std::string_view(known->node->name) : std::string_view();
}

// The state is opened again

void CommitState::close() {
  assume_placed();
  detach_forks();
}

CommitState::CommitState(const CommitState& from, Reopened)
    : own_cluster_(from.own_cluster_),
      config(from.config),
      cluster(from.cluster),
      engine(from.engine),
      snapshot(cluster.cache(), from.snapshot.nodes_by_slot()),
      table(*(own_table_ =
                  std::make_unique<ClassTable>(cluster, config, engine, snapshot, (from.reopened_ + 1) << kEpochBits))),
      guests(table, config.gates, snapshot),
      sides(table),
      nominations(from.nominations.all(), config, snapshot, table),
      nomination_answers(sides, nominations, snapshot, log),
      reasons(sides, nominations, snapshot, log),
      reopened_(from.reopened_ + 1) {
  keep_log(from.log_entries_min_);
  know_nominated();
}

void CommitState::take_over(CommitState& from) noexcept {
  answered = std::move(from.answered);
  for (AnsweredPod& pod : answered) pod.pod_class = -1;  // the cluster knows the placement
  folded_ = from.folded_;
  settled_ = from.settled_;
  nomination_lost_ = std::move(from.nomination_lost_);
  start_before_ = std::move(from.start_before_);
  next_start_ = from.next_start_;
  kept_pods_ = std::move(from.kept_pods_);
  kept_pods_.forget_classes();
  list_evaluations = from.list_evaluations;
  host_pods = from.host_pods;
  host_stops = from.host_stops;
  dry_runs_ = from.dry_runs();
  earlier.host_columns = from.earlier.host_columns + from.table.hosts().stats().columns_filled;
  earlier.host_nodes = from.earlier.host_nodes + from.table.hosts().stats().nodes_asked;
  fork_source_ = std::move(from.fork_source_);
  mutex_ = fork_source_->mutex;
  fork_source_->live = this;
  fork_source_->cache.reset();  // that forks got which are gone
  fork_source_->nodes.clear();
}

}  // namespace berth
