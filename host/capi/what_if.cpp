// SPDX-License-Identifier: Apache-2.0
#include "host/capi/what_if.h"

#include <algorithm>
#include <stdexcept>

#include "host/capi/api_error.h"
#include "host/objects/pod_copy.h"

namespace berth::capi {
namespace {

constexpr const char* kStale = "what it was opened on has changed since";

}  // namespace

Snapshot::Snapshot(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {
  cluster_->engine().memory.check();
  Cluster::Opened opened = cluster_->open();
  base_ = std::move(opened.fork);
  facts_ = std::move(opened.facts);
  note_memory();
}

std::unique_ptr<Fork> Snapshot::fork(bool* committable) const {
  std::unique_ptr<Fork> of_engine = cluster_->open_at(facts_.version);
  if (committable != nullptr) *committable = of_engine != nullptr;
  if (of_engine != nullptr) return of_engine;
  const std::lock_guard alone(mutex_);
  return base_->fork();
}

/// An engine that many pods left numbers its classes again, and readers are left behind. While the cluster has the
/// version of the snapshot, another one takes the place of such a reader, which would open an engine of its own.
Snapshot::Reader Snapshot::take_reader() const {
  cluster_->forget_released_if_many();  // before there is a reader
  const std::uint64_t releases = cluster_->releases();
  Reader reader;
  {
    const std::lock_guard alone(mutex_);
    if (!readers_.empty()) {
      reader = std::move(readers_.back());
      readers_.pop_back();
    }
  }
  if (reader.fork == nullptr) return {fork(), releases};
  if (reader.releases == releases) return reader;
  if (reader.fork->is_left_behind())
    if (std::unique_ptr<Fork> again = cluster_->open_at(facts_.version)) return {std::move(again), releases};
  reader.releases = releases;
  return reader;
}

void Snapshot::give_back(Reader reader) const noexcept {
  try {
    const std::lock_guard alone(mutex_);
    readers_.push_back(std::move(reader));
  } catch (...) {  // the next reader opens another one
    reader.fork.reset();
  }
  note_memory();
}

// What-ifs

WhatIf::WhatIf(std::shared_ptr<const Snapshot> snapshot)
    : snapshot_(std::move(snapshot)),
      fork_(snapshot_->fork(&committable_)),
      facts_(snapshot_->facts()),
      roster_at_opening_(facts_.roster) {
  cluster()->engine().memory.check();
  note_memory();
}

WhatIf::WhatIf(std::shared_ptr<WhatIf> parent, std::unique_ptr<Fork> fork)
    : snapshot_(parent->snapshot_),
      parent_(std::move(parent)),
      parent_changes_(parent_->changes_),
      fork_(std::move(fork)),
      facts_(parent_->facts_),
      roster_at_opening_(facts_.roster),
      opened_on_cluster_(parent_->is_of_cluster()) {
  cluster()->engine().memory.check();
  note_memory();
}

WhatIf::Use::Use(WhatIf& what_if, berth_status when_committed) : what_if_(what_if) {
  if (what_if.busy_.test_and_set(std::memory_order_acquire))
    throw ApiError(BERTH_E_BUSY, "fork", "another thread is in a call on the fork");
  if (what_if.fork_ != nullptr) return;
  what_if.busy_.clear(std::memory_order_release);
  throw ApiError(when_committed, "fork", "was committed");
}

std::shared_ptr<WhatIf> WhatIf::fork() { return std::make_shared<WhatIf>(shared_from_this(), fork_->fork()); }

void WhatIf::revert() {
  std::unique_ptr<Fork> again;
  bool committable = false;
  if (parent_ == nullptr) {
    again = snapshot_->fork(&committable);
  } else {
    const Use parent(*parent_, BERTH_E_STALE);
    if (parent_->changes_ != parent_changes_)
      throw ApiError(BERTH_E_STALE, "fork", "its parent has changed since it was opened");
    again = parent_->fork_->fork();
  }
  fork_ = std::move(again);
  committable_ = committable;
  facts_.roster = roster_at_opening_;
  used_pods_.clear();
  ++changes_;  // forks of it were opened on what is gone
}

std::optional<std::uint64_t> WhatIf::commit() {
  if (parent_ == nullptr) {
    std::uint64_t version = 0;
    if (!committable_ || !cluster()->commit(*fork_, facts_.roster, facts_.version, version))
      throw ApiError(BERTH_E_STALE, "fork", kStale);
    fork_.reset();
    cluster()->note_memory();
    return version;
  }
  const Use parent(*parent_, BERTH_E_STALE);
  parent_->take_in(*this);
  return std::nullopt;
}

void WhatIf::take_in(WhatIf& child) {
  used_pods_.reserve(used_pods_.size() + child.used_pods_.size());
  if (changes_ != child.parent_changes_ || !child.fork_->promote()) throw ApiError(BERTH_E_STALE, "fork", kStale);
  // Nothing below throws.
  std::move(child.used_pods_.begin(), child.used_pods_.end(), std::back_inserter(used_pods_));
  facts_.roster = child.facts_.roster;
  changes_ += child.changes_ > 0 ? 1 : 0;
  child.fork_.reset();
}

void WhatIf::apply(std::vector<ClusterChange> changes) {
  const std::vector<Roster::Change> of_roster = roster_changes(changes, cluster()->nodes());
  std::shared_ptr<const Roster> roster;  // null: it stays, and threads need not agree on one more owner
  if (!of_roster.empty()) roster = Roster::changed(facts_.roster, of_roster);
  fork_->apply(changes);
  if (roster != nullptr) facts_.roster = std::move(roster);
  ++changes_;
}

const std::string& WhatIf::node_name(std::uint32_t number) const {
  const std::string* const name = cluster()->nodes().name_of(number);
  if (name == nullptr || facts_.roster->find(number) == nullptr)
    throw ApiError(BERTH_E_NOT_FOUND, name != nullptr ? "Node " + *name : "node " + std::to_string(number),
                   "there is no such node here");
  return *name;
}

std::uint32_t WhatIf::add_node(const NodePtr& node) {
  cluster()->engine().memory.check();
  const std::uint32_t number = cluster()->nodes().number_of(node->name);
  if (facts_.roster->find(number) != nullptr) throw ApiError(BERTH_E_EXISTS, "Node " + node->name, "is there already");
  apply({NodeUpsert(node)});
  return number;
}

void WhatIf::update_node(const NodePtr& node) {
  node_name(cluster()->nodes().number_of(node->name));
  apply({NodeUpsert(node)});
}

void WhatIf::remove_node(std::uint32_t number) { apply({NodeRemoval{node_name(number)}}); }

void WhatIf::add_pod(const PodHandlePtr& pod, std::uint32_t node) {
  cluster()->engine().memory.check();
  auto standing = copy_of(*pod->pod->given);
  standing->node_name = node_name(node);
  apply({PodUpsert{std::move(standing)}});
}

void WhatIf::remove_pod(const std::string& uid) {
  const std::string* const one = &uid;
  if (fork_->first_standing({&one, 1}) != 0) throw ApiError(BERTH_E_NOT_FOUND, "Pod " + uid, "stands on no node here");
  apply({PodRemoval{uid}});
}

std::uint32_t WhatIf::node_of_pod(const std::string& uid) {
  const std::string name = fork_->node_of_pod(uid);
  return name.empty() ? BERTH_NO_NODE : cluster()->nodes().number_of(name);
}

BatchResult WhatIf::commit_batch(std::span<const PodHandlePtr> pods, std::span<const PodToPlace> to_place,
                                 const BatchLimits& limits) {
  used_pods_.reserve(used_pods_.size() + pods.size());
  BatchResult result = fork_->commit_batch(to_place, limits);
  used_pods_.insert(used_pods_.end(), pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(result.outcomes.size()));
  ++changes_;
  return result;
}

void WhatIf::place(const PodHandlePtr& pod, const PodToPlace& to_place, const std::string& node_name) {
  used_pods_.reserve(used_pods_.size() + 1);
  fork_->place(to_place, node_name);
  used_pods_.push_back(pod);
  ++changes_;
}

}  // namespace berth::capi
