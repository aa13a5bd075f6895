// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/capi/engine.h"
#include "host/capi/guard.h"
#include "host/capi/known_objects.h"
#include "host/capi/node_table.h"
#include "host/capi/object_intake.h"
#include "host/cluster/namespace_objects.h"
#include "host/objects/object_pools.h"
#include "host/objects/work_arena.h"
#include "host/preemption/default_preemption.h"

namespace berth::capi {

/// What is known of a cluster at one version, apart from its engine.
struct ClusterFacts {
  std::uint64_t version = 0;
  std::shared_ptr<const Roster> roster = std::make_shared<Roster>();
  std::shared_ptr<const SideObjects> side = std::make_shared<SideObjects>();
  std::shared_ptr<const NominatedPods> nominated = std::make_shared<NominatedPods>();
};

class PodsMaking;  // host/capi/saved_pods.h
struct SavedSnapshot;

/// Why Berth cannot judge a pod.
struct NotJudged {
  std::string plugin;  ///< empty: no profile takes the pod
  std::string text;
};

/// A pod as calls use it, prepared in its cluster where it can be judged.
struct ReadPod {
  PodPtr given;         ///< as it was read, less what is to be ignored
  PodToPlace to_place;  ///< not prepared where the pod is not judged
  PodToPlace as_moved;  ///< the same without spec.nodeName; equal where it has none
  std::optional<NotJudged> not_judged;
  bool ignores = false;
  std::string uid;
  std::uint64_t own_number = 0;           ///< of this pod among those of the cluster
  std::unique_ptr<ReadPod> next_waiting;  ///< of those that were freed

  const PodToPlace& placeable(bool moved) const { return moved ? as_moved : to_place; }
};

/// Pods that keep room: by owner, then by number, with the uid reservation/<owner>/<number>.
using Reservations = std::map<std::string, std::map<std::uint64_t, PodPtr>, std::less<>>;
std::string uid_of_reservation(const std::string& owner, std::uint64_t number);

/// The one handle that changes. Any thread; calls that change something wait for each other.
class Cluster {
 public:
  /// @throws InputError, DeviceError as open_backend()
  explicit Cluster(std::shared_ptr<const Engine> engine);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const Engine& engine() const { return *engine_; }
  NodeTable& nodes() { return nodes_; }
  const NodeTable& nodes() const { return nodes_; }
  const char* backend_name() const { return backend_name_.c_str(); }
  const char* release() const { return release_.c_str(); }
  std::uint64_t version() const;

  /// A new cluster becomes the one that was saved. When this throws, the cluster is of no use.
  /// @param pods  [out] empty before; its pods, also when this throws
  void restore(const SavedSnapshot& saved, CallLog& log, std::vector<PodPtr>& pods);
  void upsert(std::string_view text, CallLog& log);
  berth_status upsert(const berth_bulk& bulk, berth_status* statuses, CallLog& log, berth_error* error);
  void replace(const std::string& kind, std::string_view text, CallLog& log);
  void remove(const ObjectKey& key);
  /// @param uid  empty: the pod is found by name
  void remove_pod(const std::string& name_space, const std::string& name, std::string uid);
  void assume(const ReadPod& pod, const std::string& node_name);
  void forget(const ReadPod& pod);

  /// Exactly one Pod. @throws InputError, ApiError
  std::unique_ptr<ReadPod> read_pod(std::string_view text, std::uint32_t ignore, CallLog& log);
  /// One Pod each.
  std::vector<std::unique_ptr<ReadPod>> read_pods(const berth_bulk& bulk, std::uint32_t ignore, CallLog& log);
  /// Pods of the spec, labels and owner of `pod`, which is judged: with other names and uids, and not nominated.
  /// @param as_moved  spec.nodeName is ignored
  /// @param uids  that no other pod has, and the names; null: new ones
  std::vector<std::unique_ptr<ReadPod>> copies_of(const ReadPod& pod, bool as_moved, std::size_t count,
                                                  const std::string* uids = nullptr);
  /// One copy of each, at the cost of one call.
  std::vector<std::unique_ptr<ReadPod>> copy_of_each(std::span<const ReadPod* const> pods, bool as_moved);
  /// Exactly one Node. @throws InputError, ApiError
  NodePtr read_node(std::string_view text, CallLog& log);
  /// Running pods as they are to be placed, without their nodes.
  std::vector<std::unique_ptr<ReadPod>> prepare_moved(std::span<const PodPtr> pods);
  /// Never fails: the engine is told with the next call that changes something.
  void release(std::unique_ptr<ReadPod> pod) noexcept;
  std::uint64_t class_of(const ReadPod& pod);
  /// Backend::is_node_local(); false of a pod that is not judged.
  bool is_node_local(const ReadPod& pod);
  /// Numbers that are equal for pods that no rule can tell apart in the cluster at `version`, as far as the engine can
  /// tell: if the cluster is at another version now, each pod has its own.
  std::vector<std::uint64_t> kinds_of(std::span<const PodToPlace> pods, std::uint64_t version);
  /// Pods may be nominated to nodes, here or in a snapshot.
  bool has_nominations() const { return ever_nominated_.load(std::memory_order_relaxed); }
  /// In which calls on handles of the engine work.
  WorkArena& arena() const { return *engine_->engine.arena; }

  /// Those of an owner, or of all. @param owner  null: all
  Reservations reservations(const std::string* owner);
  /// Adds reserving pods with their nodes, which are the next ones of the owner.
  /// @return false: the version is another one now, and nothing has changed
  bool add_reservations(const std::string& owner, std::map<std::uint64_t, PodPtr> pods, std::uint64_t opened_at);
  /// Removes those of the numbers that are there still. @return how many
  std::size_t remove_reservations(const std::string& owner, std::span<const std::uint64_t> numbers);
  /// Held by calls that reserve or give back, so that the numbers of an owner stay as they were read.
  std::mutex& reserving() { return reserving_; }

  /// Tells the engine of pods that were released, without waiting for the next call that changes something.
  void forget_released();
  /// The same, where they are so many that a what-if would not leave them to the next call.
  void forget_released_if_many();
  /// How often the engine was told of freed pods, after which it may have numbered its classes again.
  std::uint64_t releases() const { return releases_.load(std::memory_order_relaxed); }
  /// Runs blocks in arena(), each of some of `count`.
  ForBlocks in_blocks() const {
    return [this](std::size_t count, const auto& body) { arena().for_ranges(count, body); };
  }
  std::size_t threads() const { return static_cast<std::size_t>(arena().threads()); }

  /// Calls ask(engine, preemption) with the engine itself, which stays as it is meanwhile.
  /// @return false, without a call: the version is another one now
  using AskEngine = std::function<void(const Backend&, DefaultPreemption&)>;
  bool ask_engine(std::uint64_t version, const AskEngine& ask);

  /// An estimate of what the cluster holds: its objects, the engine's columns and rows. Looks at every pod.
  std::uint64_t bytes();
  /// Call after a change: tells the engine's account, where there is a cap, whenever an eighth of the pods came or
  /// went.
  void note_memory() noexcept;

  ClusterFacts facts() const;
  /// Services and workloads, as they are now.
  ObjectsByNamespace selecting();
  /// A fork of the engine, and what is known of that state.
  struct Opened {
    std::unique_ptr<Fork> fork;
    ClusterFacts facts;
  };
  Opened open() const;
  /// A fork that may be committed. null: the version is another one now
  std::unique_ptr<Fork> open_at(std::uint64_t version) const;
  /// Commits a fork of the engine. @return false: the version is another one now, and nothing has changed
  bool commit(Fork& fork, std::shared_ptr<const Roster> roster, std::uint64_t opened_at, std::uint64_t& version);

 private:
  void take(const TakenObjects& taken, const ObjectKeys& gone, std::vector<ClusterChange> removals);
  std::vector<std::unique_ptr<ReadPod>> prepare(const TakenObjects& taken, std::uint32_t ignore);
  void prepare(std::span<const std::unique_ptr<ReadPod>> pods, std::size_t waiting_max);
  std::unique_ptr<ReadPod> copy_of_pod(const ReadPod& pod, const Pod& pending, bool as_moved, const std::string* uid);
  std::unique_ptr<ReadPod> pod_of(const PodPtr& pod, std::uint32_t ignore);
  /// Freed pods that what-ifs leave to other calls.
  static constexpr std::size_t kWaitingMax = 100000;
  /// Freed pods that all calls leave to later ones.
  static constexpr std::size_t kWaitingFew = 4096;
  void release_waiting(std::size_t waiting_max) noexcept;
  void forget_gone_reservations();
  /// @param input  text or a berth_bulk
  template <class Input>
  FreedLater<TakenObjects> read(CallLog& log, const Input& input);
  struct Restored;
  template <class Use>
  void read_parts(const SavedSnapshot& saved, std::uint64_t begin, std::uint64_t end, CallLog& log, const Use& use);
  void restore_others(const SavedSnapshot& saved, CallLog& log, Restored& restored);
  void note_others(const Restored& restored, ClusterFacts& facts);
  void begin_pods(const SavedSnapshot& saved, CallLog& log, PodsMaking& making);
  void restore_facts(const SavedSnapshot& saved, CallLog& log);
  std::shared_ptr<ObjectPools> pools(std::size_t objects);
  std::shared_ptr<const SideObjects> side() const;

  static constexpr std::size_t kCountedAgain = 8;
  static constexpr std::size_t kFewPods = 1000;

  std::shared_ptr<const Engine> engine_;
  MemoryShare share_{engine_->memory};
  std::atomic<std::size_t> pods_counted_ = 0;  ///< when the share was set, and one more; 0: it was not
  NodeTable nodes_;
  std::string backend_name_;
  std::string release_;

  mutable std::shared_mutex mutex_;  ///< of all below; shared by those who open forks
  std::unique_ptr<Backend> backend_;
  ClusterFacts facts_;
  ObjectKeys known_;  ///< objects that were upserted, apart from pods
  /// Whom pods may evict, which is kept from question to question. With what it was made of.
  struct Preempting {
    Preempting(const Backend& engine, const ClusterCache& of, std::shared_ptr<const SideObjects> with)
        : cache(&of), side(std::move(with)), preemption(engine, of, side->budgets) {}
    const ClusterCache* cache;
    std::shared_ptr<const SideObjects> side;
    DefaultPreemption preemption;
  };
  std::unique_ptr<Preempting> preempting_;

  Reservations reservations_;  ///< some may be gone: forget_gone_reservations()
  std::mutex reserving_;
  std::atomic<bool> ever_nominated_ = false;
  std::atomic<std::uint64_t> pods_read_ = 0;
  std::mutex pools_mutex_;
  std::shared_ptr<ObjectPools> pools_;
  std::size_t objects_in_pools_ = 0;

  std::mutex waiting_mutex_;
  std::unique_ptr<ReadPod> first_waiting_;  ///< pods that were freed, linked by ReadPod::next_waiting
  std::atomic<std::size_t> waiting_count_ = 0;
  std::atomic<std::uint64_t> releases_ = 0;
};

}  // namespace berth::capi
