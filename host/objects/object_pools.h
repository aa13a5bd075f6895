// SPDX-License-Identifier: Apache-2.0
#pragma once

// One copy of each distinct label map, pod spec, owner list and list of image names of a load, so that the many pods of
// one template share theirs, as the nodes that have an image. Any thread.

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/label_map.h"
#include "host/objects/pod.h"
#include "host/objects/shared_texts.h"

namespace berth {

using SpecPtr = std::shared_ptr<const PodSpec>;
using OwnersPtr = std::shared_ptr<const std::vector<OwnerReference>>;

/// Hash of bytes; stable within a process only.
std::uint64_t hash_bytes(std::string_view bytes);

/// Content that says all a spec says: equal specs have equal bytes. Serves as the hash key of a spec.
void append_content(std::string& out, const PodSpec& spec);

/// Values by content. T is compared with ==; the caller gives the hash.
template <class T>
class ContentPool {
 public:
  /// @return the one shared value that equals `value`, which is kept when there was none.
  std::shared_ptr<const T> intern(std::uint64_t hash, T&& value) {
    Shard& shard = shards_[hash % shards_.size()];
    const std::lock_guard lock(shard.mutex);
    auto& same_hash = shard.by_hash[hash];
    for (const auto& kept : same_hash) {
      if (*kept == value) return kept;
    }
    return same_hash.emplace_back(std::make_shared<const T>(std::move(value)));
  }

 private:
  struct Shard {
    std::mutex mutex;
    tsl::robin_map<std::uint64_t, std::vector<std::shared_ptr<const T>>> by_hash;
  };
  std::array<Shard, 64> shards_;
};

class ObjectPools {
 public:
  /// @param packed  as LabelMap::pack() writes it
  LabelMap labels(std::string_view packed, std::uint64_t hash);
  SpecPtr spec(PodSpec&& spec);
  OwnersPtr owners(std::vector<OwnerReference>&& owners, std::uint64_t hash) {
    return owners_.intern(hash, std::move(owners));
  }
  SharedTexts texts(std::vector<std::string>&& texts);

 private:
  struct LabelHash {
    using is_transparent = void;
    std::size_t operator()(const LabelMap& map) const { return hash_bytes(map.bytes()); }
    std::size_t operator()(std::string_view packed) const { return hash_bytes(packed); }
  };
  struct LabelEqual {
    using is_transparent = void;
    static std::string_view bytes(const LabelMap& map) { return map.bytes(); }
    static std::string_view bytes(std::string_view packed) { return packed; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return bytes(a) == bytes(b);
    }
  };
  struct LabelShard {
    std::mutex mutex;
    tsl::robin_set<LabelMap, LabelHash, LabelEqual> maps;
  };

  std::array<LabelShard, 64> label_shards_;
  ContentPool<PodSpec> specs_;
  ContentPool<std::vector<OwnerReference>> owners_;
  ContentPool<SharedTexts::List> texts_;
};

}  // namespace berth
