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

/// How a value is copied into a clone of its state.
enum class Cloning : std::uint8_t {
  kCopy,   ///< copied, so that the clone may change its own
  kShare,  ///< one value for the state and all its clones; for what is never changed, or is meant to be shared
};

/// Name and type of one value. A plugin keeps its keys as constants.
template <class T>
struct StateKey {
  std::string_view name;
  Cloning cloning = Cloning::kCopy;
};

/// Store of one attempt. The same object goes from PreFilter into the binding cycle. One thread at a time.
class CycleState {
 public:
  CycleState();
  CycleState(CycleState&&) noexcept = default;
  CycleState& operator=(CycleState&&) noexcept = default;
  CycleState(const CycleState&) = delete;  // a copy has to say clone()
  CycleState& operator=(const CycleState&) = delete;

  /// Copies each value by its own clone operation; the skip sets are shared.
  CycleState clone() const;

  template <class T>
  void write(const StateKey<T>& key, T value) {
    values_.insert_or_assign(std::string(key.name), Value{std::make_shared<T>(std::move(value)), &typeid(T),
                                                          key.cloning == Cloning::kCopy ? &copy<T> : &share});
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
  /// Plugins whose Filter, Score or PreBind does not run in this attempt.
  Names& skipped_filters() const { return skips_->filters; }
  Names& skipped_scores() const { return skips_->scores; }
  Names& skipped_pre_binds() const { return skips_->pre_binds; }

 private:
  using Data = std::shared_ptr<void>;
  struct Value {
    Data data;
    const std::type_info* type;
    Data (*clone)(const Data&);
  };
  struct Skips {
    Names filters, scores, pre_binds;
  };
  template <class T>
  static Data copy(const Data& data) {
    return std::make_shared<T>(*static_cast<const T*>(data.get()));
  }
  static Data share(const Data& data) { return data; }

  std::map<std::string, Value, std::less<>> values_;
  std::shared_ptr<Skips> skips_;
};

/// Pods that plugins want activated when the cycle succeeds, by full name: docs/behaviour/scheduler-core.md 1.11.
using PodsToActivate = std::map<std::string, PodPtr>;
inline constexpr StateKey<PodsToActivate> kPodsToActivate{"kubernetes.io/pods-to-activate", Cloning::kShare};

}  // namespace berth
