// SPDX-License-Identifier: Apache-2.0
#include "host/capi/node_table.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace berth::capi {

std::uint32_t NodeTable::number_of(std::string_view name) {
  if (const std::optional<std::uint32_t> known = find(name)) return *known;
  const std::unique_lock alone(mutex_);
  const auto at = numbers_.find(name);
  if (at != numbers_.end()) return at->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  try {
    numbers_.emplace(names_.back(), number);
  } catch (...) {
    names_.pop_back();
    throw;
  }
  return number;
}

std::optional<std::uint32_t> NodeTable::find(std::string_view name) const {
  const std::shared_lock shared(mutex_);
  const auto at = numbers_.find(name);
  if (at == numbers_.end()) return std::nullopt;
  return at->second;
}

const std::string* NodeTable::name_of(std::uint32_t number) const {
  const std::shared_lock shared(mutex_);
  return number < names_.size() ? &names_[number] : nullptr;
}

std::shared_ptr<const NodeIndexes> NodeTable::kept_indexes() const {
  const std::shared_lock shared(mutex_);
  return kept_indexes_;
}

void NodeTable::keep(std::shared_ptr<const NodeIndexes> indexes) {
  found_alone_.store(0, std::memory_order_relaxed);
  const std::unique_lock alone(mutex_);
  kept_indexes_.swap(indexes);  // what was kept goes without the lock
}

const Roster::Entry* Roster::find(std::uint32_t number) const {
  if (number < entries_.size() && entries_[number].number == number) return &entries_[number];  // no node ever went
  const auto at = std::ranges::lower_bound(entries_, number, {}, &Entry::number);
  return at != entries_.end() && at->number == number ? &*at : nullptr;
}

std::shared_ptr<const Roster> Roster::changed(const std::shared_ptr<const Roster>& before,
                                              std::span<const Change> changes) {
  std::map<std::uint32_t, Change> latest;
  for (const Change& change : changes) latest[change.number] = change;
  std::erase_if(latest, [&](const auto& change) {
    const Entry* const known = before->find(change.first);
    return known == nullptr ? !change.second.is_there
                            : change.second.is_there && known->is_cordoned == change.second.is_cordoned &&
                                  known->labels == change.second.labels;
  });
  if (latest.empty()) return before;
  auto after = std::make_shared<Roster>();
  after->entries_.reserve(before->entries_.size() + latest.size());
  auto next = latest.begin();
  const auto take_up_to = [&](std::uint64_t limit) {
    for (; next != latest.end() && next->first < limit; ++next)
      if (next->second.is_there) {
        const Change& change = next->second;
        after->entries_.push_back({change.number, change.is_cordoned, change.labels});
      }
  };
  for (const Entry& entry : before->entries_) {
    take_up_to(std::uint64_t{entry.number} + 1);
    if (!latest.contains(entry.number)) after->entries_.push_back(entry);
  }
  take_up_to(std::uint64_t{1} << 32);
  return after;
}

NodeNumbers::NodeNumbers(std::span<const std::uint32_t> numbers) {
  if (numbers.empty()) return;
  words_.resize(std::size_t{*std::ranges::max_element(numbers)} / 64 + 1);
  for (const std::uint32_t number : numbers) words_[number / 64] |= std::uint64_t{1} << (number % 64);
}

}  // namespace berth::capi
