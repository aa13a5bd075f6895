// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/cluster/engine_cluster.h"
#include "host/cluster/pod_journal.h"
#include "host/objects/cluster_objects.h"

namespace berth {

class CommitState;

/// Opens an engine over a cluster. @param next_start  where the next search begins with --node-sampling kube
using OpenEngine = std::function<std::unique_ptr<Backend>(std::shared_ptr<const ClusterCache> cache,
                                                          const ClusterObjects& objects, std::size_t next_start)>;

/// Shared by readers, or held by one writer. A writer does not wait for readers that come after it, so that forks in
/// many threads cannot keep their engine from changing.
class ReadersAndWriter {
 public:
  void lock() {
    const std::lock_guard next(entry_);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    const std::lock_guard next(entry_);
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::mutex entry_;  ///< of the one that waits for mutex_
  std::shared_mutex mutex_;
};

/// Holds it as its writer, and keeps it.
class ExclusiveWriter {
 public:
  explicit ExclusiveWriter(std::shared_ptr<ReadersAndWriter> mutex) : mutex_(std::move(mutex)), lock_(*mutex_) {}

 private:
  std::shared_ptr<ReadersAndWriter> mutex_;
  std::unique_lock<ReadersAndWriter> lock_;
};

/// What forks read of an engine: its classes, its node sides and its columns of node objects, for as long as nothing
/// but pods and nominations changes there. What placements change, forks have copies of.
struct ForkSource {
  /// Shared by forks while they read the engine; a change of the engine holds it alone. All sources of an engine have
  /// the same one: where a call goes on with another source, nobody else may begin to read that one before it ends.
  std::shared_ptr<ReadersAndWriter> mutex = std::make_shared<ReadersAndWriter>();
  /// null: something else has changed since, or the engine is gone. Then nothing in here changes any more.
  CommitState* live = nullptr;
  std::shared_ptr<PodJournal> journal;
  OpenEngine open_engine;
  /// Forks that opened an engine of their own; the engine's next source goes on counting.
  std::shared_ptr<std::atomic<std::int64_t>> own_engines = std::make_shared<std::atomic<std::int64_t>>(0);
  bool is_of_fork = false;  ///< the engine belongs to a fork: callers prepare pods elsewhere

  // The cluster when `live` became null.
  std::shared_ptr<const ClusterCache> cache;
  EngineObjects objects;
  std::vector<NodePtr> nodes;  ///< [slot] null: free

  std::size_t node_count() const;  ///< slots
  std::string node_name(std::int32_t slot) const;
};

}  // namespace berth
