// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/objects/resources.h"

namespace berth {

/// Which nodes offer a scalar resource or have a pod that requests it, for resources of few nodes: each Deployment may
/// have one of its own, and a column for it must not cost a look at every node.
/// @tparam NodeEntry  of the cache
template <class NodeEntry>
class ScalarIndex {
 public:
  /// @param sign  1: the node offers these, or a pod that requests them came to it; -1: no longer
  void note(NodeEntry& node, const ResourceAmounts& amounts, int sign) {
    for (const auto& [name, amount] : amounts.scalars)
      if (amount != 0) note(node, name, sign);
  }
  /// nullopt: too many to be kept.
  std::optional<std::vector<NodeEntry*>> nodes_with(std::string_view name) const {
    const auto at = users_of_.find(std::string(name));
    if (at == users_of_.end()) return std::vector<NodeEntry*>();
    if (at->second.has_many) return std::nullopt;
    std::vector<NodeEntry*> nodes;
    for (const auto& [node, uses] : at->second.few) nodes.push_back(node);
    return nodes;
  }
  /// For a copy of the cache. @param counterpart  counterpart(node) is the node of the copy
  template <class Counterpart>
  void copy(const ScalarIndex& other, Counterpart counterpart) {
    users_of_ = other.users_of_;
    for (auto& [name, users] : users_of_) users.few = counterparts(users.few, counterpart);
  }

 private:
  static constexpr std::size_t kFew = 1024;

  using UsesOfNode = tsl::robin_map<NodeEntry*, std::int64_t>;

  struct Users {
    std::int64_t uses = 0;
    bool has_many = false;  ///< until nobody uses the resource any more
    UsesOfNode few;
  };

  template <class Counterpart>
  static UsesOfNode counterparts(const UsesOfNode& nodes, Counterpart counterpart) {
    UsesOfNode found;
    for (const auto& [node, uses] : nodes) found.emplace(counterpart(*node), uses);
    return found;
  }

  void note(NodeEntry& node, const std::string& name, int sign) {
    const auto of_name = users_of_.try_emplace(name).first;
    Users& users = of_name->second;
    users.uses += sign;
    if (users.uses == 0) {
      users_of_.erase(of_name);
    } else if (!users.has_many) {
      note(node, sign, users);
    }
  }
  void note(NodeEntry& node, int sign, Users& users) {
    const auto at = users.few.try_emplace(&node, 0).first;
    at.value() += sign;
    if (at.value() == 0) users.few.erase(at);
    if (users.few.size() <= kFew) return;
    users.has_many = true;
    users.few = {};
  }

  std::unordered_map<std::string, Users> users_of_;
};

}  // namespace berth
