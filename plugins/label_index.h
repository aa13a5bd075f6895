// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds, among many things that demand labels (selectors of services, queries about pods), the few that a given set
// of labels might satisfy.

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/label_map.h"

namespace berth {

class LabelIndex {
 public:
  /// Notes a thing under its number. @param demanded  labels that it cannot do without; empty: any labels might satisfy
  /// it
  void add(std::int32_t number, const std::vector<LabelMap::Entry>& demanded);
  /// @param demanded  as in add()
  void remove(std::int32_t number, const std::vector<LabelMap::Entry>& demanded);
  /// Numbers of the things that the labels might satisfy, ascending.
  std::vector<std::int32_t> candidates(const LabelMap& labels) const;

 private:
  using Label = std::pair<std::string, std::string>;
  // Labels are looked up as they stand in their map, without a copy.
  struct Hash {
    using is_transparent = void;
    template <class AnyLabel>
    std::size_t operator()(const AnyLabel& label) const {
      const std::hash<std::string_view> hash;
      return hash(label.first) * 31 + hash(label.second);
    }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.first == b.first && a.second == b.second;
    }
  };

  /// Each is filed under one of its labels: the one with the fewest so far, since many may share all but one.
  tsl::robin_map<Label, std::vector<std::int32_t>, Hash, Equal,
                 std::allocator<std::pair<Label, std::vector<std::int32_t>>>, true>
      by_label_;
  std::vector<std::int32_t> others_;
};

/// Finds, among many sets of labels, those that have all labels of a given list. Only keys that somebody asks for are
/// indexed: labels such as a pod's own name, which differ from set to set, would take more memory than the sets.
class LabelSetIndex {
 public:
  /// From now on the keys of these labels are indexed, until release() was called as often.
  /// @param for_each_set  calls its argument with (number, labels) of every set, where a key is new
  template <class ForEachSet>
  void demand(const std::vector<LabelMap::Entry>& labels, ForEachSet for_each_set) {
    for (const LabelMap::Entry& label : labels) {
      const auto [at, is_new] = keys_.try_emplace(std::string(label.first));
      ++at->second.users;
      if (!is_new) continue;
      for_each_set([&](std::int32_t number, const LabelMap& set) {
        if (const auto value = set.find(label.first)) at->second.by_value[std::string(*value)].push_back(number);
      });
    }
  }
  void release(const std::vector<LabelMap::Entry>& labels);
  void add(std::int32_t number, const LabelMap& labels);
  void remove(std::int32_t number, const LabelMap& labels);
  /// Numbers of the sets that might have the labels, in no order. @param demanded  at least one, each of a demanded key
  const std::vector<std::int32_t>& candidates(const std::vector<LabelMap::Entry>& demanded) const;

 private:
  struct Key {
    std::int32_t users = 0;
    std::unordered_map<std::string, std::vector<std::int32_t>> by_value;
  };
  std::unordered_map<std::string, Key> keys_;
};

}  // namespace berth
