// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_set.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "host/objects/object_pools.h"
#include "host/objects/pod.h"

namespace berth {

/// The names that pods of a load have, by namespace and name. Holds pointers only: the pods have to outlive it.
class PodNames {
 public:
  using Name = std::pair<std::string_view, std::string_view>;  ///< namespace, name

  static std::uint64_t hash(std::string_view namespace_name, std::string_view name) {
    return hash_bytes(name) + 31 * hash_bytes(namespace_name);
  }

  void reserve(std::size_t count) { pods_.reserve(count); }
  /// @return false when a pod of that name is there already.
  bool insert(const Pod& pod) { return pods_.insert(&pod).second; }
  bool contains(std::string_view namespace_name, std::string_view name) const {
    return pods_.contains(Name(namespace_name, name));
  }

 private:
  static Name name_of(const Pod* pod) { return {pod->namespace_, pod->name}; }
  static Name name_of(const Name& name) { return name; }
  struct Hash {
    using is_transparent = void;
    template <class T>
    std::size_t operator()(const T& pod_or_name) const {
      const auto [space, name] = name_of(pod_or_name);
      return hash(space, name);
    }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return name_of(a) == name_of(b);
    }
  };
  tsl::robin_set<const Pod*, Hash, Equal, std::allocator<const Pod*>, /*StoreHash=*/true> pods_;
};

}  // namespace berth
