// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace berth {

/// Values that hold for a while, `capacity` of them at most: the one that was asked for longest ago goes first.
/// Any thread may call.
template <class Value>
class ExpiringCache {
 public:
  explicit ExpiringCache(std::size_t capacity) : capacity_(capacity) {}

  std::optional<Value> find(const std::string& key, std::int64_t now_us) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return std::nullopt;
    if (at->second->until_us <= now_us) {
      order_.erase(at->second);
      by_key_.erase(at);
      return std::nullopt;
    }
    order_.splice(order_.begin(), order_, at->second);
    return at->second->value;
  }

  /// Nothing where `until_us` is past.
  void put(const std::string& key, Value value, std::int64_t until_us, std::int64_t now_us) {
    if (until_us <= now_us) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto at = by_key_.find(key); at != by_key_.end()) {
      order_.erase(at->second);
      by_key_.erase(at);
    }
    order_.push_front({key, std::move(value), until_us});
    by_key_[key] = order_.begin();
    if (order_.size() <= capacity_) return;
    by_key_.erase(order_.back().key);
    order_.pop_back();
  }

  std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return order_.size();
  }

 private:
  struct Entry {
    std::string key;
    Value value;
    std::int64_t until_us;
  };
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;  ///< asked for last first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace berth
