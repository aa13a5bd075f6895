// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_keys.h"

#include <xxhash.h>

#include <string>
#include <string_view>
#include <utility>

namespace berth {
namespace {

void append(std::string& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes += text;
}

void append(std::string& bytes, const ObjectReference& reference) {
  for (const std::string* text : {&reference.kind, &reference.namespace_, &reference.name, &reference.uid,
                                  &reference.api_version, &reference.resource_version}) {
    append(bytes, *text);
  }
}

}  // namespace

EventKey key_of(const EventObject& event) {
  std::string bytes;
  bytes += event.is_warning ? 'W' : 'N';
  for (const std::string* text :
       {&event.action, &event.reason, &event.reporting_controller, &event.reporting_instance}) {
    append(bytes, *text);
  }
  append(bytes, event.regarding);
  if (event.related) append(bytes, *event.related);
  // Where the failure of a pod changes its words, its condition is patched and its version is another one.
  if (event.regarding.resource_version.empty()) append(bytes, event.note);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::optional<std::int64_t> EventKeys::take_single(const EventKey& key) {
  for (Singles* singles : {&young_, &old_}) {
    const auto found = singles->find(key);
    if (found == singles->end()) continue;
    const std::int64_t time_ns = found->second;
    singles->erase(found);
    return time_ns;
  }
  return std::nullopt;
}

EventKeys::Seen EventKeys::add(const EventKey& key, EventObject& event, std::int64_t time_ns, std::int64_t now_us) {
  if (const auto found = series_.find(key); found != series_.end()) {
    Series& series = found->second;
    ++series.event.series->count;
    series.event.series->last_observed_us = event.time_us;
    series.last_us = now_us;
    series.is_finishing = false;
    return Seen::kFurther;
  }
  if (series_.size() < limits_.series_max) {
    if (const auto first_ns = take_single(key)) {
      event.series = EventSeries{2, event.time_us};
      event.time_us = *first_ns / 1000;
      event.name = event_name(event.regarding.name, *first_ns);
      series_.emplace(key, Series{event, now_us, false});
      return Seen::kSecond;
    }
  }
  // A name that is not made of the number could not be made again.
  const bool can_be_repeated = event.name == event_name(event.regarding.name, time_ns);
  if (can_be_repeated && young_.size() < limits_.singles_max) young_.insert_or_assign(key, time_ns);
  return Seen::kFirst;
}

void EventKeys::forget_old_singles() {
  old_ = std::move(young_);
  young_ = Singles();
}

void EventKeys::for_each_series(const std::function<void(const EventKey&, Series&)>& visit) {
  for (auto& [key, series] : series_) visit(key, series);
}

void EventKeys::finish(const EventKey& key) {
  const auto found = series_.find(key);
  if (found != series_.end() && found->second.is_finishing) series_.erase(found);
}

void EventKeys::keep(const EventKey& key) {
  const auto found = series_.find(key);
  if (found != series_.end()) found->second.is_finishing = false;
}

}  // namespace berth
