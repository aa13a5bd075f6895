// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pending pods between their attempts: docs/behaviour/scheduler-core.md 1. Pops the pod that is to be tried next, and
// knows when a pod that failed is worth another try. Starts no thread and never waits: who drives it calls flush() when
// next_flush_us() has come, and pop() when something may have become ready. One call at a time. A call that throws has
// changed nothing; flush() and activate() are several.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/queue/backoff.h"
#include "host/queue/hint_classes.h"
#include "host/queue/hint_table.h"
#include "host/queue/in_flight.h"
#include "host/queue/nominator.h"
#include "host/queue/pod_records.h"
#include "host/queue/queue_counts.h"
#include "host/queue/rejected_pods.h"
#include "host/queue/slot_heap.h"

namespace berth {

struct QueueOptions {
  std::int64_t initial_backoff_us = 1'000'000;
  std::int64_t max_backoff_us = 10'000'000;
  std::int64_t max_unschedulable_us = std::int64_t{300} * 1'000'000;  ///< then the leftover flush takes a pod
  bool pops_from_backoff = true;                                      ///< gate SchedulerPopFromBackoffQ
  Release release = Release::k1_35;
  PodLister lister = nullptr;  ///< for the nominator
};

/// What a configuration says. @throws InputError that names the gate, for gang scheduling
QueueOptions queue_options(const SchedulerConfig& config);

class SchedulingQueue {
 public:
  static constexpr std::int64_t kLeftoverIntervalUs = std::int64_t{30} * 1'000'000;

  /// @param profiles  at least one; the QueueSort plugin of the first one sorts. @param clock  must outlive the queue
  SchedulingQueue(std::vector<QueueProfile> profiles, const QueueOptions& options, const Clock& clock);
  ~SchedulingQueue();
  SchedulingQueue(const SchedulingQueue&) = delete;
  SchedulingQueue& operator=(const SchedulingQueue&) = delete;

  /// @param meter  is told how long hint functions take; null: nobody. Outlives the queue
  void set_meter(SchedulingMeter* meter) { classes_.set_meter(meter); }

  /// Whether pods with this schedulerName are ours.
  bool has_profile(std::string_view scheduler_name) const;

  /// A new pod. One whose name is in the queue already takes its place.
  void add(const PodPtr& pod);
  /// A pending pod changed: 1.10.
  void update(const PodPtr& before, const PodPtr& after);
  /// A pending pod is gone. An attempt that is under way continues.
  void remove(const Pod& pod);
  /// Each pod by itself.
  void activate(std::span<const PodPtr> pods);

  /// The pods that pop() would give next, in order, at most `count` of them, while nothing else happens to the queue.
  std::vector<PodPtr> head(std::size_t count) const;
  /// The next pod to try; nullopt when none is ready. It is in flight until done().
  std::optional<QueuedPodInfo> pop();
  /// Takes back a pod whose attempt failed; `info.pod` is its newest version. done() is implied. One that is held is
  /// not moved by events, activate() and flush(), until it asks for something else, or is gone.
  /// @return false, and nothing is kept, when the queue has a pod of the name already
  bool add_failed(QueuedPodInfo info, const Rejectors& rejectors);
  /// The attempt is over, or can no longer be rejected. A second call has no effect.
  void done(std::string_view uid) { in_flight_.remove_pod(uid); }

  /// Something happened outside: 1.9.
  void move_on_event(ClusterEvent event, const EventObjects& objects, const EventScope& scope = {}) {
    move_on_events({&event, 1}, objects, scope);
  }
  /// The events of one change, one after another.
  void move_on_events(std::span<const ClusterEvent> events, const EventObjects& objects, const EventScope& scope = {});

  /// When flush() has something to look at next.
  std::int64_t next_flush_us() const;
  /// The same, where a pod waits for it; INT64_MAX when none does.
  std::int64_t next_wake_us() const;
  /// What is due by the clock: backoffs that ended, every whole second, and leftovers, every 30 s. Two calls.
  void flush();
  void flush_backoff();
  void flush_leftovers();

  /// The pod's status has a condition already: QueuedPodInfo::told_condition, where nothing else was told.
  void note_told_condition(const Pod& pod, std::uint64_t told);
  /// QueuedPodInfo::told_condition did not reach the pod, wherever it waits. A held pod is tried again, after its
  /// backoff, to tell it.
  void forget_told_condition(const Pod& pod);

  /// Services or workloads changed: what hints know of default spreading is void.
  void forget_prepared_hints() { classes_.forget_prepared(); }

  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }
  /// The newest versions of the pods nominated for a node; one that is in no container is a stub of its names.
  std::vector<PodPtr> nominated_pods(const std::string& node) const;

  struct Sizes {
    std::size_t active = 0;
    std::size_t backoff = 0;
    std::size_t unschedulable = 0;  ///< without the gated ones
    std::size_t gated = 0;
    std::size_t held = 0;  ///< Rejectors::until_changed
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  Sizes sizes() const;
  std::size_t hint_class_count() const { return classes_.class_count(); }
  const QueueCounts& counts() const { return counts_; }
  /// unschedulable_pods: pods by the plugin that rejects them, and by profile, those in flight left out.
  /// @param keeps_zeros  also where there were such pods only before
  std::map<std::pair<std::string, std::string>, std::uint64_t> unschedulable_by_plugin(bool keeps_zeros = false) const;
  const InFlight& in_flight() const { return in_flight_; }
  /// 1 for the first pod that was popped.
  std::uint64_t scheduling_cycle() const { return cycle_; }

  struct PendingPods {
    std::vector<PodPtr> active, backoff, unschedulable;  ///< in no order; gated and held ones among the last
  };
  PendingPods pending_pods() const;
  /// nullopt when no container has a pod of the name.
  std::optional<QueuedPodInfo> find(const Pod& pod) const;

 private:
  using Place = PodRecord::Place;
  /// activeQ: QueueSort. podBackoffQ: window, then QueueSort. podErrorBackoffQ: expiry. Equal ones: who came first.
  struct ActiveOrder {
    SchedulingQueue* queue;
    bool less(std::uint32_t a, std::uint32_t b) const { return queue->sorts_before(a, b); }
    std::uint32_t& position(std::uint32_t slot) const { return queue->records_[slot].position; }
  };
  struct BackoffOrder : ActiveOrder {
    bool less(std::uint32_t a, std::uint32_t b) const { return queue->ends_before(a, b, queue->backoff_.by_seconds); }
  };
  struct ErrorOrder : ActiveOrder {
    bool less(std::uint32_t a, std::uint32_t b) const { return queue->ends_before(a, b, false); }
  };

  /// A container that a pod is about to enter, and what PreEnqueue said of it: decided before anything changes, so that
  /// a call for which there is no memory has changed nothing.
  struct Entry {
    Place place = Place::kNone;
    QueueLabel label;
    bool is_counted = true;
    std::uint8_t gating_plugin = PodRecord::kNotGated;
    PluginSet unschedulable = 0;
    PluginSet pending = 0;
    std::uint32_t hint_class = PodRecord::kNone;  ///< of kUnschedulable
  };

  bool sorts_before(std::uint32_t a, std::uint32_t b) const;
  bool ends_before(std::uint32_t a, std::uint32_t b, bool then_sorted);
  std::int64_t expiry_us(const PodRecord& record) const;
  bool is_backing_off(const PodRecord& record) const {
    return backoff_.is_backing_off(expiry_us(record), clock_.now_us());
  }

  PodRecord new_record(QueuedPodInfo info) const;
  // What a pod enters; these change nothing.
  Entry to_active(const PodRecord& record, const QueueLabel& label, bool from_backoff);
  Entry to_backoff(const PodRecord& record, const QueueLabel& label);
  Entry to_unschedulable(const PodRecord& record, const QueueLabel& label);
  Entry to(const PodRecord& record, Requeue requeue, const QueueLabel& label);
  static Entry as_it_is(const PodRecord& record, Place place, const QueueLabel& label);
  void run_pre_enqueue(const PodRecord& record, Entry& entry);
  void find_class(const PodRecord& record, Entry& entry);
  Requeue replay(const PodRecord& record, const std::string& uid);
  /// Room for pods that enter(): nothing below needs memory.
  void make_room(std::span<const Entry> entries);
  std::uint32_t create(PodRecord record);
  void enter(std::uint32_t slot, const Entry& entry);
  void detach(std::uint32_t slot);
  void drop(std::uint32_t slot);
  void set_rejectors(std::uint32_t slot, PluginSet unschedulable, PluginSet pending);

  void add(const PodPtr& pod, const QueueLabel& label);
  void move(std::span<const std::uint32_t> slots, std::span<const Entry> entries);
  void update_waiting(std::uint32_t slot, const PodPtr& before, const PodPtr& after);
  void update_held(std::uint32_t slot, const PodPtr& before, const PodPtr& after, ClusterEvent event);
  void activate(const PodPtr& pod);
  void update_unschedulable(std::uint32_t slot, const PodPtr& before, const PodPtr& after,
                            std::span<const ClusterEvent> events);
  std::uint32_t next() const;

  Backoff backoff_;
  std::int64_t max_unschedulable_us_;
  bool pops_from_backoff_;
  Release release_;
  const Clock& clock_;
  std::int64_t next_backoff_flush_us_;
  std::int64_t next_leftover_flush_us_;

  HintTable table_;
  const QueueSortPlugin* sort_;
  PodRecords records_;
  HintClasses classes_{table_, records_};
  SlotHeap<ActiveOrder> active_{ActiveOrder{this}};
  SlotHeap<BackoffOrder> backoff_queue_{BackoffOrder{{this}}};
  SlotHeap<ErrorOrder> error_queue_{ErrorOrder{{this}}};
  std::vector<std::uint32_t> held_;  ///< each record knows its position
  InFlight in_flight_;
  Nominator nominator_;
  QueueCounts counts_;
  RejectedPods rejected_;
  std::size_t gated_ = 0;  ///< in the unschedulable set
  std::uint64_t cycle_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace berth
