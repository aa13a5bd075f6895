// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds, among many things that demand labels (selectors of services, queries about pods), the few that a given set
// of labels might satisfy.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/label_map.h"

namespace berth {

class LabelIndex {
 public:
  /// Notes one thing; they are numbered as they come.
  /// @param demanded  labels that it cannot do without; empty: any labels might satisfy it
  void add(const std::vector<LabelMap::Entry>& demanded);
  std::int32_t size() const { return size_; }
  /// Numbers from `first` on that the labels might satisfy, ascending.
  std::vector<std::int32_t> candidates(const LabelMap& labels, std::int32_t first = 0) const;

 private:
  /// Each is filed under one of its labels: the one with the fewest so far, since many may share all but one.
  std::unordered_map<std::string, std::vector<std::int32_t>> by_label_;
  std::vector<std::int32_t> others_;
  std::int32_t size_ = 0;
};

}  // namespace berth
