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
  Label rarest;
  std::size_t filed = SIZE_MAX;
  for (std::size_t i = 0; i < demanded.size() && filed > 0; ++i) {
    const auto at = by_label_.find(demanded[i]);
    const std::size_t here = at == by_label_.end() ? 0 : at->second.size();
    if (here >= filed) continue;
    rarest = Label(demanded[i]);
    filed = here;
  }
  (demanded.empty() ? others_ : by_label_[std::move(rarest)]).push_back(number);
}

void LabelIndex::remove(std::int32_t number, const std::vector<LabelMap::Entry>& demanded) {
  if (demanded.empty()) take_off(others_, number);
  for (const LabelMap::Entry& label : demanded) {
    const auto at = by_label_.find(label);
    if (at == by_label_.end() || !take_off(at.value(), number)) continue;
    if (at->second.empty()) by_label_.erase(at);
    return;
  }
}

std::vector<std::int32_t> LabelIndex::candidates(const LabelMap& labels) const {
  std::vector<std::int32_t> found = others_;
  for (const LabelMap::Entry& label : labels)
    if (const auto at = by_label_.find(label); at != by_label_.end())
      found.insert(found.end(), at->second.begin(), at->second.end());
  std::sort(found.begin(), found.end());
  return found;
}

void LabelSetIndex::release(const std::vector<LabelMap::Entry>& labels) {
  for (const LabelMap::Entry& label : labels) {
    const auto at = keys_.find(std::string(label.first));
    if (--at->second.users == 0) keys_.erase(at);
  }
}

void LabelSetIndex::add(std::int32_t number, const LabelMap& labels) {
  for (const LabelMap::Entry& label : labels)
    if (const auto key = keys_.find(std::string(label.first)); key != keys_.end())
      key->second.by_value[std::string(label.second)].push_back(number);
}

void LabelSetIndex::remove(std::int32_t number, const LabelMap& labels) {
  for (const LabelMap::Entry& label : labels) {
    const auto key = keys_.find(std::string(label.first));
    if (key == keys_.end()) continue;
    auto& by_value = key->second.by_value;
    const auto at = by_value.find(std::string(label.second));
    if (at != by_value.end() && take_off(at->second, number) && at->second.empty()) by_value.erase(at);
  }
}

const std::vector<std::int32_t>& LabelSetIndex::candidates(const std::vector<LabelMap::Entry>& demanded) const {
  static const std::vector<std::int32_t> kNone;
  const std::vector<std::int32_t>* fewest = nullptr;
  for (const LabelMap::Entry& label : demanded) {
    const auto& by_value = keys_.at(std::string(label.first)).by_value;
    const auto at = by_value.find(std::string(label.second));
    if (at == by_value.end()) return kNone;
    if (fewest == nullptr || at->second.size() < fewest->size()) fewest = &at->second;
  }
  return *fewest;
}

}  // namespace berth
