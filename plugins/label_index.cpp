// SPDX-License-Identifier: Apache-2.0
#include "plugins/label_index.h"

#include <algorithm>
#include <cstddef>

namespace berth {
namespace {

/// @return whether it was there
bool take_off(std::vector<std::int32_t>& numbers, std::int32_t number) {
  const auto at = std::find(numbers.begin(), numbers.end(), number);
  if (at == numbers.end()) return false;
  *at = numbers.back();
  numbers.pop_back();
  return true;
}

}  // namespace

void LabelIndex::add(std::int32_t number, const std::vector<LabelMap::Entry>& demanded) {
  std::string rarest;
  std::size_t filed = SIZE_MAX;
  for (std::size_t i = 0; i < demanded.size() && filed > 0; ++i) {
    std::string label = text_of(demanded[i]);
    const auto at = by_label_.find(label);
    const std::size_t here = at == by_label_.end() ? 0 : at->second.size();
    if (here >= filed) continue;
    rarest = std::move(label);
    filed = here;
  }
  (demanded.empty() ? others_ : by_label_[rarest]).push_back(number);
}

void LabelIndex::remove(std::int32_t number, const std::vector<LabelMap::Entry>& demanded) {
  if (demanded.empty()) take_off(others_, number);
  for (const LabelMap::Entry& label : demanded) {
    const auto at = by_label_.find(text_of(label));
    if (at == by_label_.end() || !take_off(at->second, number)) continue;
    if (at->second.empty()) by_label_.erase(at);
    return;
  }
}

std::vector<std::int32_t> LabelIndex::candidates(const LabelMap& labels) const {
  std::vector<std::int32_t> found = others_;
  for (const LabelMap::Entry& label : labels)
    if (const auto at = by_label_.find(text_of(label)); at != by_label_.end())
      found.insert(found.end(), at->second.begin(), at->second.end());
  std::sort(found.begin(), found.end());
  return found;
}

void LabelSetIndex::add(std::int32_t number, const LabelMap& labels) {
  for (const LabelMap::Entry& label : labels) by_label_[LabelIndex::text_of(label)].push_back(number);
}

void LabelSetIndex::remove(std::int32_t number, const LabelMap& labels) {
  for (const LabelMap::Entry& label : labels) {
    const auto at = by_label_.find(LabelIndex::text_of(label));
    if (at != by_label_.end() && take_off(at->second, number) && at->second.empty()) by_label_.erase(at);
  }
}

const std::vector<std::int32_t>& LabelSetIndex::candidates(const std::vector<LabelMap::Entry>& demanded) const {
  static const std::vector<std::int32_t> kNone;
  const std::vector<std::int32_t>* fewest = nullptr;
  for (const LabelMap::Entry& label : demanded) {
    const auto at = by_label_.find(LabelIndex::text_of(label));
    if (at == by_label_.end()) return kNone;
    if (fewest == nullptr || at->second.size() < fewest->size()) fewest = &at->second;
  }
  return *fewest;
}

}  // namespace berth
