// SPDX-License-Identifier: Apache-2.0
// Forks of CommitState: how one is opened, and what forks read once the engine changes or is destroyed.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "batching/commit_state.h"
#include "batching/overlay_fork.h"

namespace berth {
namespace {

/// So that forks of a small cluster are not detached every few changes: about 1 MiB.
constexpr std::size_t kJournalEntriesMin = 4096;

}  // namespace

std::unique_ptr<Fork> CommitState::open_fork(const std::shared_ptr<const ForkParent>& parent) {
  while (true) {
    {
      const auto reading = shared();
      if (is_void()) return nullptr;
      if (not_folded().empty()) return std::make_unique<OverlayFork>(fork_source_, parent);
    }
    const ExclusiveWriter alone = exclusive();
    fold();
  }
}

void CommitState::note_guests() {
  guests.clear();
  reasons.clear();
  nomination_answers.forget_all();
}

void CommitState::leave_forks() {
  ForkSource& left = *fork_source_;
  if (left.live == nullptr) return;
  auto cache = std::make_shared<const ClusterCache>(cluster.cache());
  EngineObjects objects = cluster.objects();
  const std::span<const NodePtr> by_slot = snapshot.nodes_by_slot();
  std::vector<NodePtr> nodes(by_slot.begin(), by_slot.end());
  // Nothing below allocates.
  left.cache = std::move(cache);
  left.objects = std::move(objects);
  left.nodes = std::move(nodes);
  left.live = nullptr;
}

/// The forks that are open need as many entries of the journal as a copy of the cluster has pods: detach them. Call
/// with exclusive(), before a pod changes.
bool CommitState::is_journal_full() {
  PodJournal& journal = *cluster.journal();
  const std::size_t entries_max = std::max(kJournalEntriesMin, cluster.cache().pod_count());
  if (journal.size() < entries_max) return false;
  journal.trim();
  return journal.size() >= entries_max;
}

/// Call before anything changes that forks read of this state. @throws std::bad_alloc, and changes nothing
void CommitState::detach_forks() {
  if (!cluster.journal()->has_readers()) return;
  auto journal = std::make_shared<PodJournal>();
  auto next = std::make_shared<ForkSource>();
  next->mutex = mutex_;
  next->open_engine = fork_source_->open_engine;
  next->own_engines = fork_source_->own_engines;
  next->is_of_fork = fork_source_->is_of_fork;
  next->journal = journal;
  next->live = this;
  leave_forks();
  cluster.begin_journal(std::move(journal));
  fork_source_ = std::move(next);
}

CommitState::~CommitState() { end(); }

void CommitState::end() noexcept {
  if (fork_source_ == nullptr) return;
  const ExclusiveWriter alone = exclusive();
  if (fork_source_->live == nullptr) return;
  // Instead of a copy.
  fork_source_->cache = cluster.leave_cache();
  fork_source_->objects = cluster.leave_objects();
  fork_source_->nodes = snapshot.leave_nodes();
  fork_source_->live = nullptr;
}

}  // namespace berth
