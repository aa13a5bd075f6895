// SPDX-License-Identifier: Apache-2.0
#include "host/queue/hint_classes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "host/queue/reserve_more.h"

namespace berth {
namespace {

constexpr std::size_t kEmptyClassesMin = 1024;  ///< are kept in any case: their pods are being tried
/// Prepared functions, about 10 MiB of them: beyond that a pod that is alone in its class pays with time, not with
/// memory.
constexpr std::size_t kPreparedMax = 16'384;

bool contains(PluginSet set, std::uint8_t plugin) { return (set >> plugin & 1u) != 0; }

const Pod* pod_of(const RaisedEvent& raised) {
  return raised.objects.new_pod != nullptr ? raised.objects.new_pod.get() : raised.objects.old_pod.get();
}

bool is_about(const RaisedEvent& raised, const Pod& pod) {
  const Pod* other = pod_of(raised);
  return other != nullptr && same_uid(*other, pod);
}

}  // namespace

std::uint32_t HintClasses::group_of(const PodRecord& record) {
  reserve_more(groups_, groups_.size() + 1);
  const auto [at, is_new] =
      group_index_.try_emplace({record.unschedulable, record.pending, record.profile, record.gating_plugin},
                               static_cast<std::uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({record.unschedulable, record.pending, record.profile, record.gating_plugin, {}});
  return at->second;
}

std::uint32_t HintClasses::class_of(const PodRecord& record) {
  const std::uint32_t group = group_of(record);
  const Pod& pod = *record.info.pod;
  std::string bytes = table_.key_of(pod, record.profile, record.rejectors());
  bytes.append(reinterpret_cast<const char*>(&group), sizeof group);
  bytes.append(reinterpret_cast<const char*>(&pod.priority), sizeof pod.priority);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  const Key key{hash.low64, hash.high64};
  const std::uint32_t known =
      by_key_.find(hash_of(key), [&](std::uint32_t index) { return classes_[index].key == key; });
  return known != SlotIndex::kNone ? known : add_class(record, group, key);
}

std::uint32_t HintClasses::add_class(const PodRecord& record, std::uint32_t group, const Key& key) {
  by_key_.reserve_one();
  classes_.reserve_one();
  reserve_more(groups_[group].classes, groups_[group].classes.size() + 1);
  const std::uint32_t index = classes_.take();
  Class& added = classes_[index];
  added.is_free = false;
  added.key = key;
  added.group = group;
  added.priority = record.info.pod->priority;
  groups_[group].classes.push_back(index);
  by_key_.insert(hash_of(key), index);
  ++empty_classes_;
  return index;
}

void HintClasses::sweep() {
  if (empty_classes_ <= kEmptyClassesMin || empty_classes_ <= by_key_.size() / 2) return;
  for (Group& group : groups_)
    std::erase_if(group.classes, [this](std::uint32_t index) { return classes_[index].count == 0; });
  for (std::uint32_t index = 0; index < classes_.end(); ++index) {
    const Class& hint_class = classes_[index];
    if (hint_class.count > 0 || hint_class.is_free) continue;
    by_key_.erase(hash_of(hint_class.key), index);
    prepared_count_ -= hint_class.prepared.size();
    classes_.give_back(index);
  }
  empty_classes_ = 0;
}

void HintClasses::insert(std::uint32_t slot, std::uint32_t hint_class) {
  PodRecord& record = records_[slot];
  record.hint_class = hint_class;
  Class& joined = classes_[record.hint_class];
  if (joined.count++ == 0) --empty_classes_;
  joined.oldest_us = std::min(joined.oldest_us, record.info.timestamp_us);
  record.previous = PodRecord::kNone;
  record.next = std::exchange(joined.first, slot);
  if (record.next != PodRecord::kNone) records_[record.next].previous = slot;
  ++size_;
}

void HintClasses::erase(std::uint32_t slot) {
  PodRecord& record = records_[slot];
  Class& left = classes_[record.hint_class];
  (record.previous == PodRecord::kNone ? left.first : records_[record.previous].next) = record.next;
  if (record.next != PodRecord::kNone) records_[record.next].previous = record.previous;
  if (--left.count == 0) {
    ++empty_classes_;
    left.oldest_us = INT64_MAX;
  }
  record.next = record.previous = record.hint_class = PodRecord::kNone;
  --size_;
}

Requeue HintClasses::decide(const PodRecord& record, const RaisedEvent& raised) {
  if (record.rejectors() == 0) return Requeue::kAfterBackoff;
  const bool is_own = is_about(raised, *record.info.pod);
  if (raised.event == kWildcardEvent) return raised.is_for_one_pod && !is_own ? Requeue::kSkip : Requeue::kAfterBackoff;
  if (record.profile == HintTable::kUnknownProfile) return Requeue::kAfterBackoff;
  const Matches matches = table_.matches(record.profile, raised.event);
  const bool asks = std::any_of(matches.begin(), matches.end(), [&](const HintTable::Match& match) {
    return contains(record.rejectors(), match.plugin);
  });
  if (!asks) return Requeue::kSkip;
  return decide(record.hint_class == PodRecord::kNone ? class_of(record) : record.hint_class, matches, raised,
                record.info.pod.get());
}

Requeue HintClasses::decide(std::uint32_t class_index, const Matches& matches, const RaisedEvent& raised,
                            const Pod* waiting) {
  Class& hint_class = classes_[class_index];
  const Group& group = groups_[hint_class.group];
  Requeue requeue = Requeue::kSkip;
  for (const HintTable::Match& match : matches) {
    if (!contains(group.unschedulable | group.pending, match.plugin)) continue;
    const QueueingHint hint = ask(hint_class, match, raised, waiting);
    if (hint == QueueingHint::kAskEach) return Requeue::kAskEach;
    if (hint == QueueingHint::kSkip) continue;
    if (contains(group.pending, match.plugin)) return Requeue::kImmediately;
    if (group.pending == 0) return Requeue::kAfterBackoff;
    requeue = Requeue::kAfterBackoff;
  }
  return requeue;
}

QueueingHint HintClasses::ask(Class& hint_class, const HintTable::Match& match, const RaisedEvent& raised,
                              const Pod* waiting) {
  const MeterWatch watch(meter_);
  const QueueingHint hint = match.has_function ? call(hint_class, match.plugin, raised, waiting) : QueueingHint::kQueue;
  if (meter_ != nullptr && hint != QueueingHint::kAskEach)
    meter_->on_hint(table_.name_of(match.plugin), raised.event, hint == QueueingHint::kQueue, watch.seconds());
  return hint;
}

QueueingHint HintClasses::call(Class& hint_class, std::uint8_t plugin, const RaisedEvent& raised, const Pod* waiting) {
  const bool is_own = waiting != nullptr && is_about(raised, *waiting);
  const auto answer = [&](const PreparedHints& hints) {
    const EventObjects& objects = raised.objects;
    if (objects.old_pod != nullptr || objects.new_pod != nullptr)
      return hints.after_pod_change({objects.old_pod.get(), objects.new_pod.get(), is_own, waiting});
    if (objects.old_node != nullptr || objects.new_node != nullptr)
      return hints.after_node_change({objects.old_node.get(), objects.new_node.get()});
    if (objects.old_storage != nullptr || objects.new_storage != nullptr)
      return hints.after_storage_change({objects.old_storage.get(), objects.new_storage.get()});
    return QueueingHint::kQueue;
  };
  const auto at = std::find_if(hint_class.prepared.begin(), hint_class.prepared.end(),
                               [plugin](const Prepared& prepared) { return prepared.plugin == plugin; });
  if (at != hint_class.prepared.end()) return answer(*at->hints);
  const Pod& like = waiting != nullptr ? *waiting : *records_[hint_class.first].info.pod;
  auto prepared = table_.prepare(like, groups_[hint_class.group].profile, plugin);
  const QueueingHint hint = answer(*prepared);
  if (hint_class.count > 1 || prepared_count_ < kPreparedMax) {
    hint_class.prepared.push_back({plugin, std::move(prepared)});
    ++prepared_count_;
  }
  return hint;
}

bool HintClasses::concerns(const Group& group, const Matches& matches, ClusterEvent event) const {
  if (group.gating_plugin != PodRecord::kNotGated && !table_.is_registered_by(group.gating_plugin, event)) return false;
  return group.profile == HintTable::kUnknownProfile ||
         std::any_of(matches.begin(), matches.end(), [&group](const HintTable::Match& match) {
           return contains(group.unschedulable | group.pending, match.plugin);
         });
}

std::uint32_t HintClasses::own_slot(const RaisedEvent& raised) const {
  const Pod* pod = pod_of(raised);
  const std::uint32_t slot = pod == nullptr ? PodRecords::kNone : records_.find(*pod);
  const bool waits = slot != PodRecords::kNone && records_[slot].place == PodRecord::Place::kUnschedulable &&
                     same_uid(*records_[slot].info.pod, *pod);
  return waits ? slot : PodRecords::kNone;
}

void HintClasses::take(std::uint32_t class_index, Requeue requeue, const RaisedEvent& raised, std::uint32_t own,
                       const EventScope& scope, std::vector<Decision>& decisions) {
  for (std::uint32_t slot = classes_[class_index].first; slot != PodRecord::kNone; slot = records_[slot].next) {
    const bool is_left_out = scope.except != nullptr && same_uid(*scope.except, *records_[slot].info.pod);
    if (slot == own || is_left_out) continue;
    const Requeue decided = requeue == Requeue::kAskEach ? decide(records_[slot], raised) : requeue;
    if (decided != Requeue::kSkip) decisions.push_back({slot, decided});
  }
}

std::vector<HintClasses::Decision> HintClasses::decide_all(const RaisedEvent& raised, const EventScope& scope) {
  std::vector<Decision> decisions;
  const std::uint32_t own = own_slot(raised);
  for (Group& group : groups_) {
    const Matches matches = table_.matches(group.profile, raised.event);
    if (!concerns(group, matches, raised.event)) continue;
    for (const std::uint32_t index : group.classes) {
      const Class& hint_class = classes_[index];
      if (hint_class.count == 0 || hint_class.priority > scope.priority_max) continue;
      const bool only_own = own != PodRecords::kNone && hint_class.count == 1 && records_[own].hint_class == index;
      if (only_own) continue;
      const Requeue requeue = group.profile == HintTable::kUnknownProfile ? Requeue::kAfterBackoff
                                                                          : decide(index, matches, raised, nullptr);
      if (requeue != Requeue::kSkip) take(index, requeue, raised, own, scope, decisions);
    }
  }
  if (own == PodRecords::kNone) return decisions;
  const PodRecord& record = records_[own];
  const bool is_left_out = record.info.pod->priority > scope.priority_max ||
                           (scope.except != nullptr && same_uid(*scope.except, *record.info.pod)) ||
                           (record.is_gated() && !table_.is_registered_by(record.gating_plugin, raised.event));
  const Requeue requeue = is_left_out ? Requeue::kSkip : decide(record, raised);
  if (requeue != Requeue::kSkip) decisions.push_back({own, requeue});
  return decisions;
}

std::vector<std::uint32_t> HintClasses::older_than(std::int64_t time_us, bool& any) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t index = 0; index < classes_.end(); ++index) {
    Class& hint_class = classes_[index];
    if (hint_class.oldest_us >= time_us) continue;
    const std::uint8_t gating_plugin = groups_[hint_class.group].gating_plugin;
    const bool stays = gating_plugin != PodRecord::kNotGated && !table_.is_registered_by(gating_plugin, kWildcardEvent);
    hint_class.oldest_us = INT64_MAX;
    for (std::uint32_t slot = hint_class.first; slot != PodRecord::kNone; slot = records_[slot].next) {
      const std::int64_t timestamp_us = records_[slot].info.timestamp_us;
      hint_class.oldest_us = std::min(hint_class.oldest_us, timestamp_us);
      if (timestamp_us < time_us && !stays) found.push_back(slot);
    }
    any = any || hint_class.oldest_us < time_us;
  }
  return found;
}

void HintClasses::forget_prepared() {
  for (std::uint32_t index = 0; index < classes_.end(); ++index) classes_[index].prepared.clear();
  prepared_count_ = 0;
}

}  // namespace berth
