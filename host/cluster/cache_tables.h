// SPDX-License-Identifier: Apache-2.0
#pragma once

// The hash sets of the cache: nodes by name, pods by uid. Neither stores its key twice: a node's name is in its entry,
// a pod's uid is in the pod that the entry of its node holds.

#include <tsl/robin_set.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "host/cluster/node_tree.h"

namespace berth {

inline std::size_t hash_text(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// The uid of a pod, without a copy where the pod carries one.
class PodUid {
 public:
  explicit PodUid(const Pod& pod)
      : joined_(pod.stored_uid.empty() ? pod.full_name() : std::string()),
        view_(pod.stored_uid.empty() ? std::string_view(joined_) : std::string_view(pod.stored_uid)) {}
  PodUid(const PodUid&) = delete;
  PodUid& operator=(const PodUid&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string joined_;
  std::string_view view_;
};

enum class PodStage : std::uint8_t { kAssumed, kAssumedAndBound, kAdded };

/// Where a pod is. The pod itself, and with it the key, is pods[position] of its node: 16 bytes instead of 48.
struct PodState {
  NodeEntry* node;
  mutable std::uint32_t position;  ///< changes when another pod of the node leaves; the key does not
  mutable PodStage stage;
  const PodPtr& pod() const { return node->pods[position]; }
  bool is_assumed() const { return stage != PodStage::kAdded; }
};

struct PodHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view uid) const { return hash_text(uid); }
  std::size_t operator()(const PodState& state) const { return hash_text(PodUid(*state.pod()).view()); }
};

struct PodEqual {
  using is_transparent = void;
  bool operator()(const PodState& state, std::string_view uid) const { return PodUid(*state.pod()).view() == uid; }
  bool operator()(std::string_view uid, const PodState& state) const { return (*this)(state, uid); }
  bool operator()(const PodState& a, const PodState& b) const { return (*this)(a, PodUid(*b.pod()).view()); }
};

struct NodeHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return hash_text(name); }
  std::size_t operator()(const std::unique_ptr<NodeEntry>& entry) const { return hash_text(entry->name); }
};

struct NodeEqual {
  using is_transparent = void;
  using Owner = std::unique_ptr<NodeEntry>;
  bool operator()(const Owner& entry, std::string_view name) const { return entry->name == name; }
  bool operator()(std::string_view name, const Owner& entry) const { return entry->name == name; }
  bool operator()(const Owner& a, const Owner& b) const { return a->name == b->name; }
};

/// The truncated hash is stored: a probe compares it before it follows a pointer, and growing follows none.
template <class Key, class Hash, class Equal>
using HashSet = tsl::robin_set<Key, Hash, Equal, std::allocator<Key>, true>;

using NodeEntrySet = HashSet<std::unique_ptr<NodeEntry>, NodeHash, NodeEqual>;
using PodStateSet = HashSet<PodState, PodHash, PodEqual>;

}  // namespace berth
