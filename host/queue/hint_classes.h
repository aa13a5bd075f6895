// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that wait as unschedulable, by what can be told of them: those whose rejectors, priority and hint functions
// cannot tell apart form a class, and an event asks once for each class. Classes of equal rejectors form a group, so
// that an event which none of them registered passes over the group. docs/behaviour/scheduler-core.md 1.8, 1.9.

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "host/framework/scheduling_meter.h"
#include "host/queue/hint_table.h"
#include "host/queue/pod_records.h"
#include "host/queue/slot_index.h"
#include "host/queue/slot_table.h"

namespace berth {

/// What an event means for a pod; for a class it may mean that each of its pods has to be asked.
enum class Requeue : std::uint8_t { kSkip, kAfterBackoff, kImmediately, kAskEach };

struct RaisedEvent {
  ClusterEvent event;
  EventObjects objects;
  bool is_for_one_pod = false;  ///< a wildcard event for objects.new_pod only
};

/// Which pods an event is offered to.
struct EventScope {
  std::int32_t priority_max = INT32_MAX;
  PodPtr except = nullptr;  ///< this pod is left out, by uid
};

class HintClasses {
 public:
  /// Both must outlive the object.
  HintClasses(const HintTable& table, PodRecords& records) : table_(table), records_(records) {}

  /// @param meter  is told how long hint functions take; null: nobody. Outlives the object
  void set_meter(SchedulingMeter* meter) { meter_ = meter; }

  /// The class of a pod that may be inserted; it stays until sweep().
  std::uint32_t class_of(const PodRecord& record);
  /// Puts the pod into the list of its class, class_of() it. Needs no memory.
  void insert(std::uint32_t slot, std::uint32_t hint_class);
  void erase(std::uint32_t slot);
  std::size_t size() const { return size_; }
  std::size_t class_count() const { return by_key_.size(); }

  /// Forgets classes without pods, if they are many. Call when no class_of() is to be used any more.
  void sweep();

  /// One pod and one event, the pod waiting here or not.
  Requeue decide(const PodRecord& record, const RaisedEvent& raised);

  struct Decision {
    std::uint32_t slot;
    Requeue requeue;
  };
  /// The pods of the set that the event may help, in no order. Time follows the classes, and the pods that it returns.
  std::vector<Decision> decide_all(const RaisedEvent& raised, const EventScope& scope);
  /// Pods whose timestamp is below `time_us`. @param any  set when there is one, also where a gate keeps it from being
  /// moved by a wildcard event, so that it is not among the result
  std::vector<std::uint32_t> older_than(std::int64_t time_us, bool& any);
  /// What was prepared is void.
  void forget_prepared();

  /// Calls visit(slot) for each pod.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint32_t index = 0; index < classes_.end(); ++index)
      for (std::uint32_t slot = classes_[index].first; slot != PodRecord::kNone; slot = records_[slot].next)
        visit(slot);
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  static std::uint32_t hash_of(const Key& key) { return static_cast<std::uint32_t>(key.first); }
  struct Prepared {
    std::uint8_t plugin;
    std::unique_ptr<const PreparedHints> hints;
  };
  struct Class {
    Key key{};
    std::int64_t oldest_us = INT64_MAX;  ///< no pod of the class has an earlier timestamp
    std::vector<Prepared> prepared;
    std::uint32_t group = 0;
    std::uint32_t first = PodRecord::kNone;
    std::uint32_t count = 0;
    std::int32_t priority = 0;
    bool is_free = true;  ///< the slot has no class
  };
  struct Group {
    PluginSet unschedulable = 0;
    PluginSet pending = 0;
    std::uint16_t profile = 0;
    std::uint8_t gating_plugin = PodRecord::kNotGated;
    std::vector<std::uint32_t> classes;
  };
  using Matches = std::vector<HintTable::Match>;

  std::uint32_t group_of(const PodRecord& record);
  std::uint32_t add_class(const PodRecord& record, std::uint32_t group, const Key& key);
  bool concerns(const Group& group, const Matches& matches, ClusterEvent event) const;
  /// @param waiting  the one pod that is meant; null: all of the class but the one that the event is about
  Requeue decide(std::uint32_t class_index, const Matches& matches, const RaisedEvent& raised, const Pod* waiting);
  QueueingHint ask(Class& hint_class, const HintTable::Match& match, const RaisedEvent& raised, const Pod* waiting);
  QueueingHint call(Class& hint_class, std::uint8_t plugin, const RaisedEvent& raised, const Pod* waiting);
  std::uint32_t own_slot(const RaisedEvent& raised) const;
  void take(std::uint32_t class_index, Requeue requeue, const RaisedEvent& raised, std::uint32_t own,
            const EventScope& scope, std::vector<Decision>& decisions);

  const HintTable& table_;
  PodRecords& records_;
  SchedulingMeter* meter_ = nullptr;
  std::vector<Group> groups_;
  std::map<std::tuple<PluginSet, PluginSet, std::uint16_t, std::uint8_t>, std::uint32_t> group_index_;
  SlotTable<Class> classes_;
  SlotIndex by_key_;
  std::size_t empty_classes_ = 0;
  std::size_t prepared_count_ = 0;  ///< of all classes
  std::size_t size_ = 0;
};

}  // namespace berth
