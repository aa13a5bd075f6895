// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cluster as an engine knows it: what it was opened with, and the changes that it was told since.

#include <tsl/robin_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/cluster_change.h"
#include "host/cluster/namespace_objects.h"
#include "host/cluster/pod_journal.h"
#include "host/cluster/undo_steps.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// A pod that came to a node, left it, or changed there.
struct PodChange {
  std::string node;  ///< may be a ghost
  PodPtr before;     ///< null: it was not there
  PodPtr after;      ///< null: it is not there any more
  friend bool operator==(const PodChange&, const PodChange&) = default;
};

/// A Service or a workload came, changed or went: whose default selectors may be other ones now.
struct SelectorChange {
  std::string name_space;
  std::vector<LabelMap> service_selectors;  ///< pods that one of these selects: that from before, and that of now
  std::string workload_kind;                ///< pods that the workload controls; empty: a Service changed
  std::string workload_name;
};

/// What a change did to the cluster.
struct ClusterEffect {
  enum class Node : std::uint8_t { kNone, kAdded, kChanged, kRemoved };
  Node node = Node::kNone;
  std::string node_name;  ///< of `node`; empty for a heartbeat
  NodeParts parts;        ///< of kChanged; empty: a heartbeat
  std::vector<PodChange> pods;
  bool namespaces_changed = false;
  bool selectors_changed = false;  ///< of a Service or a workload: `selectors`
  SelectorChange selectors;
  bool storage_changed = false;
  StorageReach storage;          ///< of that change
  std::string name_space;        ///< that changed
  PodPtr nomination;             ///< non-null: this pod's nomination is now `nominated_node`
  std::string nominated_node;    ///< empty: it has none any more
  std::string nomination_ended;  ///< uid of a pod whose nomination ended because it was bound or deleted

  /// Of a heartbeat, and of what was not there.
  bool is_nothing() const {
    return (node == Node::kNone || (node == Node::kChanged && parts.empty())) && pods.empty() && !namespaces_changed &&
           !selectors_changed && !storage_changed && nomination == nullptr && nomination_ended.empty();
  }
};

/// What an engine keeps of ClusterObjects.
struct EngineObjects {
  std::vector<Namespace> namespaces;
  ObjectsByNamespace selecting;
  /// As lists.
  ClusterObjects listed() const;
};

/// Owns what it holds: the caller's objects are not read after the constructor.
///
/// Changes between begin() and keep() happen as a whole or not at all: take_back() restores what was before, and needs
/// no memory for it. A change outside of the two is final; when it throws, nothing has changed, except by
/// apply().
class EngineCluster {
 public:
  /// @param cache  shared until the first change, which copies it where somebody else has it then; nobody may change
  /// it, and it is no const object
  EngineCluster(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects);

  const ClusterCache& cache() const { return own_ != nullptr ? *own_ : before_ != nullptr ? *before_ : *shared_; }
  const EngineObjects& objects() const { return objects_; }

  void begin() noexcept;
  /// After begin(), for a call that changes much of the cluster: copies the cache, so that no change of it is noted.
  /// @throws std::bad_alloc, and has no effect
  void begin_load();
  void keep() noexcept;
  /// @return what the call made of a cache, if that is given up: freeing it takes its time
  std::shared_ptr<ClusterCache> take_back() noexcept;

  ClusterEffect apply(const ClusterChange& change);

  /// A placement of the engine. @param node_name  of a node that is known
  /// @param decisions  about the pod's unbound claims; null: none
  void assume(PodPtr pod, std::string_view node_name, VolumeDecisionsPtr decisions);
  /// Takes it back. @return nullopt when the pod is not there, or the placement was confirmed since
  std::optional<PodChange> forget(std::string_view uid);

  /// The upsert says nothing new that rules read: a heartbeat.
  bool is_heartbeat(const NodeUpsert& change) const;

  /// What pods were before the changes of this cluster.
  const std::shared_ptr<PodJournal>& journal() const { return journal_; }
  /// From now on changes are noted in this journal.
  void begin_journal(std::shared_ptr<PodJournal> journal) noexcept { journal_ = std::move(journal); }

  /// For those who outlive this cluster, which nobody changes or copies any more.
  std::shared_ptr<const ClusterCache> leave_cache() const noexcept { return own_ != nullptr ? own_ : shared_; }
  EngineObjects leave_objects() noexcept { return std::move(objects_); }

 private:
  /// Each heartbeat looks a node up, so that cache misses count; the hash is kept beside the key.
  using Fingerprints = tsl::robin_map<std::string, NodeFingerprint, std::hash<std::string>, std::equal_to<std::string>,
                                      std::allocator<std::pair<std::string, NodeFingerprint>>, /*StoreHash=*/true>;
  class Fingerprinted;
  template <class Object>
  class ListChanged;
  template <class Object, class IsSame>
  void upsert(std::vector<Object>& list, const Object& object, IsSame is_same);
  template <class Object, class IsSame>
  bool remove(std::vector<Object>& list, IsSame is_same);
  NamespaceObjects& write_objects(const std::string& name_space);
  void drop_empty_lists() noexcept;
  void keep_before() noexcept;
  void end_call() noexcept;
  void set_fingerprint(const std::string& name, const NodeFingerprint* fingerprint);

  void note_before(std::string_view uid, std::string_view going_to = {});
  ClusterCache& own();
  void apply(const NodeUpsert& change, ClusterEffect& effect);
  void apply(const NodeRemoval& change, ClusterEffect& effect);
  void apply(const PodUpsert& change, ClusterEffect& effect);
  void apply(const PodRemoval& change, ClusterEffect& effect);
  void apply(const NominationUpsert& change, ClusterEffect& effect);
  void apply(const NamespaceUpsert& change, ClusterEffect& effect);
  void apply(const NamespaceRemoval& change, ClusterEffect& effect);
  void apply(const ServiceUpsert& change, ClusterEffect& effect);
  void apply(const ServiceRemoval& change, ClusterEffect& effect);
  void apply(const WorkloadUpsert& change, ClusterEffect& effect);
  void apply(const WorkloadRemoval& change, ClusterEffect& effect);
  void apply(const StorageUpsert& change, ClusterEffect& effect);
  void apply(const StorageRemoval& change, ClusterEffect& effect);
  void stand_on_node(const PodPtr& pod, ClusterEffect& effect);
  void leave_node(std::string_view uid, ClusterEffect& effect);

  std::shared_ptr<const ClusterCache> shared_;  ///< null once something changed and was kept
  std::shared_ptr<ClusterCache> own_;           ///< once something changed
  EngineObjects objects_;
  std::vector<std::string> written_namespaces_;  ///< of `objects_.selecting`, which may be empty now
  std::shared_ptr<PodJournal> journal_ = std::make_shared<PodJournal>();
  Fingerprints fingerprints_;  ///< by node; of those that were updated before
  UndoSteps steps_;
  bool is_noting_ = false;  ///< between begin() and keep()
  /// take_back() goes back to what was before the call as it is, so that the cache notes no steps.
  bool keeps_before_ = false;
  std::shared_ptr<ClusterCache> before_;  ///< `own_` then; null: there was none, or it is not kept
};

}  // namespace berth
