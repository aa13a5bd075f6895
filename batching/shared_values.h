// SPDX-License-Identifier: Apache-2.0
#pragma once

// Equal values kept once: a table by signature whose entries last as long as somebody holds the value.

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace berth {

template <class T>
using SharedValues = std::unordered_map<std::string, std::weak_ptr<const T>>;

/// @param signature  equal for equal values
template <class T>
std::shared_ptr<const T> shared_value(SharedValues<T>& known, const std::string& signature, T value) {
  std::weak_ptr<const T>& entry = known[signature];
  std::shared_ptr<const T> found = entry.lock();
  if (found == nullptr) entry = found = std::make_shared<const T>(std::move(value));
  return found;
}

/// Forgets the values that nobody holds any more.
template <class T>
void drop_expired(SharedValues<T>& known) {
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
}

/// Appends the bytes of the numbers after their count, so that different lists have different bytes.
template <class Number>
void append_numbers(std::string& out, const std::vector<Number>& numbers) {
  const std::size_t count = numbers.size();
  out.append(reinterpret_cast<const char*>(&count), sizeof count);
  if (count > 0) out.append(reinterpret_cast<const char*>(numbers.data()), count * sizeof(Number));
}

}  // namespace berth
