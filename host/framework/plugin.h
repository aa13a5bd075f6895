// SPDX-License-Identifier: Apache-2.0
#pragma once

// The in-process plugin interface of the points before and behind the choice of a node:
// docs/behaviour/scheduler-core.md
// 3. A plugin derives from the interface of every extension point it joins. PreFilter, Filter, PreScore and Score run
// inside the backends; plugins from outside join them as HostPlugin (host_plugin.h).
//
// A status that a plugin returns needs a code and reasons; the framework adds the plugin's name. A plugin that throws
// answers Error with the text of the exception. Plugins outlive every cycle and may be called from one thread at a
// time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/cluster/cache.h"
#include "host/framework/cycle_state.h"
#include "host/framework/queueing_hints.h"
#include "host/framework/status.h"
#include "host/objects/pod.h"

namespace berth {

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;
};

class PreEnqueuePlugin : public virtual Plugin {
 public:
  /// Every code but Success keeps the pod out of the active queue.
  virtual Status pre_enqueue(const Pod& pod) = 0;
};

/// What the order of the queue reads.
struct QueuedPod {
  const Pod* pod = nullptr;
  std::int64_t timestamp_us = 0;  ///< when the pod was last added to the queue
};

/// What the plugin says about events. One that is none has default_queueing_hints().
class EventPlugin : public virtual Plugin {
 public:
  virtual std::unique_ptr<QueueingHints> make_queueing_hints() const = 0;
};

class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;  ///< a strict weak order
};

/// A pod that no node accepted.
struct RefusedPod {
  const Pod& pod;
  std::span<const NodeInfo* const> nodes;  ///< all, in node order
  std::span<const Status> statuses;        ///< parallel to `nodes`: the first refusal; Success where Filter accepts
};

/// What PostFilter wants of the pod's nomination. Absent: leave it as it is.
struct PostFilterAnswer {
  Status status;
  std::optional<std::string> nominated_node_name;  ///< empty text: clear it
};

class PostFilterPlugin : public virtual Plugin {
 public:
  virtual PostFilterAnswer post_filter(const RefusedPod& refused) = 0;
};

/// A pod on the way to its node. The pod object may not name the node itself.
struct PodOnNode {
  const Pod* pod = nullptr;
  std::string_view node_name;
  CycleState* state = nullptr;
};

class ReservePlugin : public virtual Plugin {
 public:
  virtual Status reserve(const PodOnNode& pod) = 0;
  /// Also called when reserve() failed or never ran.
  virtual void unreserve(const PodOnNode& pod) noexcept = 0;
};

struct PermitAnswer {
  Status status;                ///< Success, Wait, a rejection or an Error
  std::int64_t timeout_us = 0;  ///< for Wait; 15 minutes at most
};

class PermitPlugin : public virtual Plugin {
 public:
  virtual PermitAnswer permit(const PodOnNode& pod) = 0;
};

class PreBindPlugin : public virtual Plugin {
 public:
  /// Success: pre_bind() has work to do. Skip: it has none and is not called.
  virtual Status pre_bind_pre_flight(const PodOnNode& pod);
  /// From 1.36 on: pre_bind() of the pod may go on beside those of its neighbours in the profile that allow it, too.
  virtual bool allows_parallel(const PodOnNode& /*pod*/) const { return false; }
  /// Wait: not done yet; asked again after WaitingPods::wake(). A pod that waits here holds memory and nothing else.
  virtual Status pre_bind(const PodOnNode& pod) = 0;
};

class BindPlugin : public virtual Plugin {
 public:
  /// Skip: the next plugin binds. Wait: the binding is under way, and BindingCycle::finish() brings the answer.
  virtual Status bind(const PodOnNode& pod) = 0;
};

class PostBindPlugin : public virtual Plugin {
 public:
  virtual void post_bind(const PodOnNode& pod) noexcept = 0;
};

}  // namespace berth
