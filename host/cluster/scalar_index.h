// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/objects/resources.h"

namespace berth {

/// Which nodes offer a scalar resource or have a pod that requests it, for resources of few nodes: each Deployment may
/// have one of its own, and a column for it must not cost a look at every node.
/// @tparam NodeEntry  of the cache
template <class NodeEntry>
class ScalarIndex {
 public:
  /// The node offers these, or a pod that requests them came to it. All are noted, or none when it throws.
  void add(NodeEntry& node, const ResourceAmounts& amounts) {
    std::size_t done = 0;
    try {
      for (; done < amounts.scalars.size(); ++done) add(node, amounts.scalars[done]);
    } catch (...) {
      while (done-- > 0) drop(node, amounts.scalars[done]);
      throw;
    }
  }
  /// No longer. Of what add() noted; allocates nothing.
  void drop(NodeEntry& node, const ResourceAmounts& amounts) noexcept {
    for (const auto& scalar : amounts.scalars) drop(node, scalar);
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

  using Scalar = std::pair<std::string, std::int64_t>;

  void add(NodeEntry& node, const Scalar& scalar) {
    if (scalar.second == 0) return;
    const auto [of_name, is_new] = users_of_.try_emplace(scalar.first);
    Users& users = of_name->second;
    if (!users.has_many) {
      try {
        ++users.few.try_emplace(&node, 0).first.value();
      } catch (...) {
        if (is_new) users_of_.erase(of_name);
        throw;
      }
    }
    ++users.uses;
    if (users.few.size() <= kFew) return;
    users.has_many = true;
    users.few = {};
  }
  void drop(NodeEntry& node, const Scalar& scalar) noexcept {
    if (scalar.second == 0) return;
    const auto of_name = users_of_.find(scalar.first);
    if (of_name == users_of_.end()) return;
    Users& users = of_name->second;
    if (--users.uses == 0) {
      users_of_.erase(of_name);
    } else if (!users.has_many) {
      const auto at = users.few.find(&node);
      if (at != users.few.end() && --at.value() == 0) users.few.erase(at);
    }
  }

  std::unordered_map<std::string, Users> users_of_;
};

}  // namespace berth
