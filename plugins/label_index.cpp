// SPDX-License-Identifier: Apache-2.0
#include "plugins/label_index.h"

#include <algorithm>
#include <cstddef>

namespace berth {
namespace {

/// A false friend (a key with a line end) costs a look, no more.
std::string text_of(const LabelMap::Entry& label) {
  return std::string(label.first).append(1, '\n').append(label.second);
}

}  // namespace

void LabelIndex::add(const std::vector<LabelMap::Entry>& demanded) {
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
  (demanded.empty() ? others_ : by_label_[rarest]).push_back(size_++);
}

std::vector<std::int32_t> LabelIndex::candidates(const LabelMap& labels, std::int32_t first) const {
  std::vector<std::int32_t> found;
  const auto append = [&](const std::vector<std::int32_t>& numbers) {
    found.insert(found.end(), std::lower_bound(numbers.begin(), numbers.end(), first), numbers.end());
  };
  append(others_);
  for (const LabelMap::Entry& label : labels)
    if (const auto at = by_label_.find(text_of(label)); at != by_label_.end()) append(at->second);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace berth
