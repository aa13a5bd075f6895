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
#include "host/cluster/text_hash.h"

namespace berth {

/// hash_text() of the pod's uid. Allocates nothing, so that a pod can be put back where memory has run out.
inline std::size_t hash_uid(const Pod& pod) {
  if (!pod.stored_uid.empty()) return hash_text(pod.stored_uid);
  constexpr std::size_t kShort = 384;  // more than Kubernetes allows a namespace and a name together
  char joined[kShort];
  const std::size_t length = pod.namespace_.size() + 1 + pod.name.size();
  if (length <= kShort) {
    pod.namespace_.copy(joined, pod.namespace_.size());
    joined[pod.namespace_.size()] = '/';
    pod.name.copy(joined + pod.namespace_.size() + 1, pod.name.size());
    return hash_text({joined, length});
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, pod.namespace_.data(), pod.namespace_.size());
  XXH3_64bits_update(&state, "/", 1);
  XXH3_64bits_update(&state, pod.name.data(), pod.name.size());
  return XXH3_64bits_digest(&state);
}

/// pod.uid() == uid, without making the text.
inline bool has_uid(const Pod& pod, std::string_view uid) {
  if (!pod.stored_uid.empty()) return pod.stored_uid == uid;
  const std::size_t slash = pod.namespace_.size();
  return uid.size() == slash + 1 + pod.name.size() && uid[slash] == '/' && uid.substr(0, slash) == pod.namespace_ &&
         uid.substr(slash + 1) == pod.name;
}

/// a.uid() == b.uid()
inline bool have_same_uid(const Pod& a, const Pod& b) {
  if (!a.stored_uid.empty()) return has_uid(b, a.stored_uid);
  if (!b.stored_uid.empty()) return has_uid(a, b.stored_uid);
  if (a.namespace_.size() == b.namespace_.size()) return a.namespace_ == b.namespace_ && a.name == b.name;
  // A namespace with a slash, which no valid one has.
  const auto character = [](const Pod& pod, std::size_t i) {
    if (i < pod.namespace_.size()) return pod.namespace_[i];
    return i == pod.namespace_.size() ? '/' : pod.name[i - pod.namespace_.size() - 1];
  };
  const std::size_t length = a.namespace_.size() + a.name.size();
  if (length != b.namespace_.size() + b.name.size()) return false;
  for (std::size_t i = 0; i <= length; ++i)
    if (character(a, i) != character(b, i)) return false;
  return true;
}

enum class PodStage : std::uint8_t { kAssumed, kAdded };

/// Where a pod is. The pod itself, and with it the key, is pods[position] of its node: 16 bytes instead of 48.
struct CachedPod {
  mutable NodeEntry* node;         ///< another one in a copy of the cache
  mutable std::uint32_t position;  ///< changes when another pod of the node leaves; the key does not
  mutable PodStage stage;
  const PodPtr& pod() const { return node->pods[position]; }
  bool is_assumed() const { return stage != PodStage::kAdded; }
};

struct PodHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view uid) const { return hash_text(uid); }
  std::size_t operator()(const Pod& pod) const { return hash_uid(pod); }
  std::size_t operator()(const CachedPod& state) const { return hash_uid(*state.pod()); }
};

struct PodEqual {
  using is_transparent = void;
  bool operator()(const CachedPod& state, std::string_view uid) const { return has_uid(*state.pod(), uid); }
  bool operator()(std::string_view uid, const CachedPod& state) const { return has_uid(*state.pod(), uid); }
  bool operator()(const CachedPod& state, const Pod& pod) const { return have_same_uid(*state.pod(), pod); }
  bool operator()(const Pod& pod, const CachedPod& state) const { return have_same_uid(*state.pod(), pod); }
  bool operator()(const CachedPod& a, const CachedPod& b) const { return have_same_uid(*a.pod(), *b.pod()); }
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
using CachedPodSet = HashSet<CachedPod, PodHash, PodEqual>;

}  // namespace berth
