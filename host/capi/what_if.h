// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/capi/cluster.h"
#include "host/capi/node_indexes.h"
#include "host/capi/node_table.h"
#include "host/capi/stop_watch.h"

namespace berth::capi {

/// A pod of the C API. It keeps its cluster; the cluster's engine is told when it goes.
struct PodHandle {
  std::shared_ptr<Cluster> cluster;
  std::unique_ptr<ReadPod> pod;

  PodHandle(std::shared_ptr<Cluster> of, std::unique_ptr<ReadPod> read) : cluster(std::move(of)), pod(std::move(read)) {
    if (share_.is_counted()) share_.set(bytes());
  }
  /// Without what the engine keeps of the pod.
  std::uint64_t bytes() const;
  ~PodHandle() { cluster->release(std::move(pod)); }
  PodHandle(const PodHandle&) = delete;
  PodHandle& operator=(const PodHandle&) = delete;

 private:
  MemoryShare share_{cluster->engine().memory};
};
using PodHandlePtr = std::shared_ptr<const PodHandle>;

/// What an answer is about: a state that can be asked, and how its nodes are called.
struct State {
  Fork& fork;
  Cluster& cluster;
  const ClusterFacts& facts;                             ///< with the roster of the state
  const std::shared_ptr<const Roster>& snapshot_roster;  ///< of the snapshot at the root
  FoundIndexes& found;                                   ///< of the caller's calls on the state
  bool is_of_cluster = false;  ///< nothing was done to it: it is that of the cluster at the version of the facts
};

/// A cluster at one version. Any thread: each reader has a fork of its own for a call.
class Snapshot {
 public:
  explicit Snapshot(std::shared_ptr<Cluster> cluster);

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  const ClusterFacts& facts() const { return facts_; }
  std::uint64_t bytes() const;
  /// A fork in the state of the snapshot. @param committable  set to whether it may be promoted to the engine
  std::unique_ptr<Fork> fork(bool* committable = nullptr) const;
  /// Runs call(State) on a fork that it must leave as it is.
  template <class Call>
  auto read(Call call) const {
    Reader reader = take_reader();
    auto answer = call(state(*reader.fork, reader.found));
    give_back(std::move(reader));
    return answer;
  }
  /// The same for a call with a watch, at which an engine that has to be opened looks. call() must not ask the fork
  /// when the watch is over: it may be one that other threads open.
  /// @param heeds_deadline  of StopWatch
  template <class Call>
  auto read(const StopWatch& watch, bool heeds_deadline, Call call) const {
    std::optional<Reader> reader;
    if (!watch.is_over(heeds_deadline))
      reader = unless_interrupted(watch, heeds_deadline, [&] { return take_reader(); });
    if (!reader) {
      FoundIndexes none;
      return call(state(*base_, none));
    }
    auto answer = call(state(*reader->fork, reader->found));
    give_back(std::move(*reader));
    return answer;
  }

 private:
  struct Reader {
    std::unique_ptr<Fork> fork;
    std::uint64_t releases = 0;  ///< Cluster::releases() when it was known not to be left behind, if it could be
    FoundIndexes found = {};
  };
  State state(Fork& fork, FoundIndexes& found) const { return {fork, *cluster_, facts_, facts_.roster, found, true}; }
  Reader take_reader() const;
  void give_back(Reader reader) const noexcept;

  void note_memory() const noexcept;

  std::shared_ptr<Cluster> cluster_;
  mutable MemoryShare share_{cluster_->engine().memory};
  ClusterFacts facts_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Fork> base_;  ///< nothing is ever done to it
  mutable std::vector<Reader> readers_;
};

/// A what-if of the C API. One thread at a time, which Use checks.
class WhatIf : public std::enable_shared_from_this<WhatIf> {
 public:
  explicit WhatIf(std::shared_ptr<const Snapshot> snapshot);
  /// A what-if on `parent`, which the caller uses.
  WhatIf(std::shared_ptr<WhatIf> parent, std::unique_ptr<Fork> fork);

  /// Holds the what-if for a call. @throws ApiError BERTH_E_BUSY, or `when_committed`
  class Use {
   public:
    /// @param when_committed  the code of the failure where the what-if was committed
    explicit Use(WhatIf& what_if, berth_status when_committed = BERTH_E_STATE);
    ~Use() {
      what_if_.note_memory();
      what_if_.busy_.clear(std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    WhatIf& what_if_;
  };

  // Call these with a Use.
  const std::shared_ptr<Cluster>& cluster() const { return snapshot_->cluster(); }
  const ClusterFacts& facts() const { return facts_; }
  State state() { return {*fork_, *cluster(), facts_, snapshot_->facts().roster, found_, is_of_cluster()}; }
  std::uint64_t bytes() const;
  std::shared_ptr<WhatIf> fork();
  void revert();
  /// Does here what was done to `child`, a what-if on this one, which has not changed since; it is committed then.
  void take_in(WhatIf& child);
  /// @return the cluster's version, of a what-if on a snapshot
  std::optional<std::uint64_t> commit();
  std::uint32_t add_node(const NodePtr& node);
  void update_node(const NodePtr& node);
  void remove_node(std::uint32_t number);
  void add_pod(const PodHandlePtr& pod, std::uint32_t node);
  void remove_pod(const std::string& uid);
  std::uint32_t node_of_pod(const std::string& uid);
  /// Name of a node that is there. @throws ApiError BERTH_E_NOT_FOUND
  const std::string& node_name(std::uint32_t number) const;
  /// Places the pods as `fork.commit_batch()` would, or puts one on a node; what was done is noted.
  BatchResult commit_batch(std::span<const PodHandlePtr> pods, std::span<const PodToPlace> to_place,
                           const BatchLimits& limits);
  void place(const PodHandlePtr& pod, const PodToPlace& to_place, const std::string& node_name);
  void apply(std::vector<ClusterChange> changes);
  /// Runs calls of this what-if as one: when `calls` throws, none of them has happened.
  template <class Calls>
  void as_one(Calls calls) {
    const std::uint64_t changes = changes_;
    const std::size_t used = used_pods_.size();
    std::shared_ptr<const Roster> roster = facts_.roster;
    try {
      fork_->as_one(calls);
    } catch (...) {
      changes_ = changes;
      used_pods_.resize(used);
      facts_.roster = std::move(roster);
      throw;
    }
  }

 private:
  void note_memory() noexcept;
  /// Nothing was done to it, nor to what it was opened on.
  bool is_of_cluster() const { return changes_ == 0 && opened_on_cluster_; }

  std::shared_ptr<const Snapshot> snapshot_;  ///< at the root
  MemoryShare share_{snapshot_->cluster()->engine().memory};
  std::shared_ptr<WhatIf> parent_;    ///< null: the snapshot
  std::uint64_t parent_changes_ = 0;  ///< changes_ of the parent when this was opened
  bool committable_ = false;          ///< fork_ is one of the engine; before it, which sets this
  std::unique_ptr<Fork> fork_;        ///< null: it was committed
  ClusterFacts facts_;
  std::shared_ptr<const Roster> roster_at_opening_;
  FoundIndexes found_;
  bool opened_on_cluster_ = true;
  std::uint64_t changes_ = 0;
  std::vector<PodHandlePtr> used_pods_;  ///< that a commit brings to the parent: their handles must live until then
  std::atomic_flag busy_;
};

}  // namespace berth::capi
