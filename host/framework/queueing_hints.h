// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a plugin says about events: which of them may help a pod that it rejected (docs/behaviour/scheduler-core.md 1.8,
// 1.13). Pods that are equal in everything that the functions of their rejectors read share one answer.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/framework/cluster_event.h"
#include "host/objects/pod.h"

namespace berth {

/// kAskEach: pods of one key differ in this; ask again for each.
enum class QueueingHint : std::uint8_t { kSkip, kQueue, kAskEach };

constexpr QueueingHint queue_if(bool helps) { return helps ? QueueingHint::kQueue : QueueingHint::kSkip; }

struct EventRegistration {
  ClusterEvent event;
  bool has_function = true;  ///< false: such an event always queues
};

/// What the functions of a plugin read of a pod that waits, besides whether an event is about that very pod.
struct HintKey {
  bool node_side = false;   ///< node_side_signature() of its spec
  bool spec = false;        ///< pod_signature() of its spec
  bool namespace_ = false;  ///< its namespace
  bool volumes = false;     ///< its volumes that a storage plugin looks at, and the names of their claims
  std::string more;         ///< anything else; what is appended has to tell its own length
};

struct PodObjectChange {
  const Pod* before = nullptr;   ///< null: added
  const Pod* after = nullptr;    ///< null: deleted
  bool is_waiting_pod = false;   ///< the pod that waits itself
  const Pod* waiting = nullptr;  ///< asked for this pod alone; null: for all of the key, and the answer may be kAskEach
};

struct NodeChange {
  const Node* before = nullptr;  ///< null: added
  const Node* after = nullptr;   ///< null: deleted
};

struct StorageChange {
  const StorageObject* before = nullptr;  ///< null: added
  const StorageObject* after = nullptr;   ///< null: deleted
};

/// The functions of one plugin for pods of one key. What upstream returns as an error is kQueue here.
class PreparedHints {
 public:
  virtual ~PreparedHints() = default;
  virtual QueueingHint after_pod_change(const PodObjectChange& /*change*/) const { return QueueingHint::kQueue; }
  virtual QueueingHint after_node_change(const NodeChange& /*change*/) const { return QueueingHint::kQueue; }
  virtual QueueingHint after_storage_change(const StorageChange& /*change*/) const { return QueueingHint::kQueue; }
};

/// The registrations of one plugin in one profile. Constant; may be read by several threads.
class QueueingHints {
 public:
  virtual ~QueueingHints() = default;
  virtual std::string_view plugin() const = 0;
  virtual std::span<const EventRegistration> registrations() const = 0;
  /// Adds to `key` what the functions read of `pod`.
  virtual void read(const Pod& /*pod*/, HintKey& /*key*/) const {}
  /// The functions for pods like `pod`, which need not outlive the result. Null: no registration has a function.
  virtual std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const { return nullptr; }
};

/// Of a plugin that takes part in PreEnqueue, PreFilter, Filter, Reserve or Permit and says nothing about events.
std::unique_ptr<QueueingHints> default_queueing_hints(std::string plugin);

}  // namespace berth
