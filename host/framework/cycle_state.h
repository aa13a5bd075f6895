// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plugin data between the extension points of one scheduling attempt: docs/behaviour/scheduler-core.md 3.8.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "host/objects/pod.h"

namespace berth {

/// Name and type of one value. A plugin keeps its keys as constants.
template <class T>
struct StateKey {
  std::string_view name;
};

/// Store of one attempt. The same object goes from Reserve into the binding cycle. One thread at a time.
class CycleState {
 public:
  CycleState() = default;
  CycleState(CycleState&&) noexcept = default;
  CycleState& operator=(CycleState&&) noexcept = default;
  CycleState(const CycleState&) = delete;
  CycleState& operator=(const CycleState&) = delete;

  template <class T>
  void write(const StateKey<T>& key, T value) {
    values_.insert_or_assign(std::string(key.name), Value{std::make_shared<T>(std::move(value)), &typeid(T)});
  }
  /// @return null when nothing, or something of another type, was written under the name
  template <class T>
  T* read(const StateKey<T>& key) const {
    const auto found = values_.find(key.name);
    const bool is_there = found != values_.end() && *found->second.type == typeid(T);
    return is_there ? static_cast<T*>(found->second.data.get()) : nullptr;
  }
  void erase(std::string_view name);

  using Names = std::set<std::string, std::less<>>;
  /// Plugins whose PreBind does not run in this attempt.
  Names& skipped_pre_binds() { return skipped_pre_binds_; }

 private:
  struct Value {
    std::shared_ptr<void> data;
    const std::type_info* type;
  };

  std::map<std::string, Value, std::less<>> values_;
  Names skipped_pre_binds_;
};

/// Pods that plugins want activated when the cycle succeeds, by full name: docs/behaviour/scheduler-core.md 1.11.
using PodsToActivate = std::map<std::string, PodPtr>;
inline constexpr StateKey<PodsToActivate> kPodsToActivate{"kubernetes.io/pods-to-activate"};

}  // namespace berth
