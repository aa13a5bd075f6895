// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "host/objects/object_pools.h"
#include "host/store/stored_object.h"

namespace berth {

/// The newest version of every object of one kind, found by its key: an open table of 20 bytes an entry, at most three
/// quarters full. Once room is reserved, no change can fail.
template <class T>
class ObjectTable {
 public:
  const StoredPtr<T>* find(const ObjectKey& key) const {
    if (entries_.empty()) return nullptr;
    const std::size_t at = place_of(key);
    return entries_[at] == nullptr ? nullptr : &entries_[at];
  }
  std::size_t size() const { return size_; }
  /// @param visit  called with each StoredPtr<T>, in no order
  template <class Visit>
  void for_each(Visit visit) const {
    for (const StoredPtr<T>& entry : entries_)
      if (entry != nullptr) visit(entry);
  }

  /// Makes room for one insert(). @throws std::bad_alloc, and nothing has changed
  void reserve_one() {
    if ((size_ + 1) * 4 <= entries_.size() * 3) return;
    ObjectTable larger;
    const std::size_t capacity = entries_.empty() ? 16 : entries_.size() * 2;
    larger.entries_.resize(capacity);
    larger.hashes_.resize(capacity);
    for (std::size_t at = 0; at < entries_.size(); ++at)
      if (entries_[at] != nullptr) larger.insert(std::move(entries_[at]), hashes_[at]);
    *this = std::move(larger);
  }
  /// reserve_one() came before; there is no object of the key.
  void insert(StoredPtr<T> stored) noexcept {
    const std::uint32_t hash = hash_of(key_of(*stored->object));
    insert(std::move(stored), hash);
  }
  /// There is an older version of the object.
  void replace(StoredPtr<T> stored) noexcept {
    StoredPtr<T>& entry = entries_[place_of(key_of(*stored->object))];
    entry = std::move(stored);
  }
  /// There is an object of the key.
  void erase(const ObjectKey& key) noexcept {
    std::size_t hole = place_of(key);
    // Entries behind the hole move up while that brings them no further than their own place.
    for (std::size_t at = (hole + 1) & mask(); entries_[at] != nullptr; at = (at + 1) & mask()) {
      const std::size_t distance = (at - (hashes_[at] & mask())) & mask();
      if (distance < ((at - hole) & mask())) continue;
      entries_[hole] = std::move(entries_[at]);
      hashes_[hole] = hashes_[at];
      hole = at;
    }
    entries_[hole] = nullptr;
    --size_;
  }

 private:
  static std::uint32_t hash_of(const ObjectKey& key) {
    return static_cast<std::uint32_t>(hash_bytes(key.name) + 31 * hash_bytes(key.namespace_) +
                                      961 * hash_bytes(key.workload_kind));
  }
  std::size_t mask() const { return entries_.size() - 1; }
  /// Of the object with the key, or the free place where it would be looked for.
  std::size_t place_of(const ObjectKey& key) const {
    const std::uint32_t hash = hash_of(key);
    std::size_t at = hash & mask();
    while (entries_[at] != nullptr && !(hashes_[at] == hash && key_of(*entries_[at]->object) == key))
      at = (at + 1) & mask();
    return at;
  }
  void insert(StoredPtr<T> stored, std::uint32_t hash) noexcept {
    std::size_t at = hash & mask();
    while (entries_[at] != nullptr) at = (at + 1) & mask();
    entries_[at] = std::move(stored);
    hashes_[at] = hash;
    ++size_;
  }

  std::vector<StoredPtr<T>> entries_;  ///< a power of two of them, or none; null: free
  std::vector<std::uint32_t> hashes_;  ///< [entry]
  std::size_t size_ = 0;
};

}  // namespace berth
