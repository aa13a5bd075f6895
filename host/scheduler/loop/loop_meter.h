// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/framework/scheduling_meter.h"
#include "host/queue/queued_pod.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {

/// What the engine was asked at once.
struct EngineBatch {
  std::size_t answered = 0;  ///< pods, at least one
  std::size_t used = 0;      ///< of these answers; the others were rolled back
  double seconds = 0;
};

/// How often a node hint of opportunistic batching was of use.
enum class BatchAttempt : std::uint8_t { kNoHint, kHintUsed, kHintNotUsed };
std::string_view to_string(BatchAttempt attempt);  ///< as upstream labels it: "no_hint"
/// Why what opportunistic batching keeps is of no use.
enum class BatchFlush : std::uint8_t {
  kPodSkipped,
  kPodIncompatible,
  kExpired,
  kNodeMissing,
  kNodeNotFull,
  kEmptyList,
  kPodNotBatchable,
};
std::string_view to_string(BatchFlush reason);  ///< as upstream labels it: "pod_skipped"

/// Is told what metrics of a SchedulingLoop count, in order. Calls must not call the loop. The time of an attempt is
/// its share of the engine's time for the batch, with PostFilter, and then the time on the scheduler's clock until the
/// pod is bound or given up.
class LoopMeter : public SchedulingMeter {
 public:
  virtual void on_batch(const EngineBatch& batch) = 0;
  /// The engine, and PostFilter where it found no node, have decided on a pod.
  virtual void on_decision(double seconds) = 0;
  /// An attempt ended without a binding, the result being kUnschedulable or kError.
  virtual void on_failed(const QueuedPodInfo& info, AttemptResult result, double seconds) = 0;
  virtual void on_bound(const QueuedPodInfo& info, double seconds) = 0;
  /// The binding of a pod's first attempt leaves, so long after the pod came.
  virtual void on_first_binding(double seconds) = 0;
  /// 1.36: a pod was bound that the leftover flush had moved last.
  virtual void on_bound_after_flush() = 0;
  /// DefaultPreemption was run for a pod.
  virtual void on_preemption_attempt() = 0;
  /// A preemption chose so many victims; without gate SchedulerAsyncPreemption: evicted them.
  virtual void on_victims(std::size_t count) = 0;
  /// Gate SchedulerAsyncPreemption: the calls of one preemption are answered.
  virtual void on_evicted(bool is_success, double seconds) = 0;
  /// Gate SchedulerAsyncAPICalls: a call was answered. @param type  as kube-scheduler labels it
  virtual void on_api_call(std::string_view type, bool is_success, double seconds) = 0;
  // Of LoopOptions::engine.batching kube-1.35, by profile:
  virtual void on_batch_attempt(std::string_view profile, BatchAttempt attempt) = 0;
  virtual void on_batch_flush(std::string_view profile, BatchFlush reason) = 0;
  /// A pod was signed, and a node to try first was looked for.
  virtual void on_node_hint(std::string_view profile, bool is_hint, double seconds) = 0;
  /// What is kept of a pod that got a node was stored.
  virtual void on_batch_stored(std::string_view profile, double seconds) = 0;
};

}  // namespace berth
