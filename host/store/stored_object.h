// SPDX-License-Identifier: Apache-2.0
#pragma once

// An object as the store keeps it: the model's object, and beside it what only the API knows of it. Every version is
// immutable and shared, so that lists and watch events cost a pointer each.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/store/object_kind.h"

namespace berth {

/// What few objects carry; kept apart because a million pods carry none of it.
struct RareMeta {
  std::string uid;                    ///< of kinds whose model object has none; pods carry their own
  std::int64_t creation_time_us = 0;  ///< likewise; whole seconds, as metav1.Time is stored
  std::vector<std::string> finalizers;
  std::optional<std::int64_t> deletion_grace_s;  ///< metadata.deletionGracePeriodSeconds; absent: not being deleted
  /// metadata.deletionTimestamp: when the grace period ends. In microseconds where the API keeps whole seconds, because
  /// the kubelet counts the period from when it began.
  std::int64_t deletion_time_us = 0;
  friend bool operator==(const RareMeta&, const RareMeta&) = default;
};

struct ObjectMeta {
  std::uint64_t resource_version = 0;           ///< of the write that made this version; one counter for all kinds
  std::int64_t generation = 0;                  ///< 0 for kinds without (has_generation())
  std::shared_ptr<const RareMeta> rare_fields;  ///< null: all at their defaults; shared by versions

  const RareMeta& rare() const;
  bool is_being_deleted() const { return rare().deletion_grace_s.has_value(); }
};

enum class ConditionStatus : std::uint8_t { kTrue, kFalse, kUnknown };

struct PodCondition {
  std::string type;  ///< "PodScheduled"
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason = {};
  std::string message = {};
  std::int64_t last_transition_time_us = 0;  ///< whole seconds; set by the store
  std::int64_t observed_generation = 0;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

/// One version of an object.
template <class T>
struct Stored {
  std::shared_ptr<const T> object;  ///< never null
  ObjectMeta meta;
};

using PodConditions = std::vector<PodCondition>;

template <>
struct Stored<Pod> {
  PodPtr object;  ///< never null
  ObjectMeta meta;
  std::shared_ptr<const PodConditions> shared_conditions;  ///< null: none; pods that changed alike may share a list

  const PodConditions& conditions() const;
  /// nullptr when there is none of the type.
  const PodCondition* find_condition(std::string_view type) const;
};

template <class T>
using StoredPtr = std::shared_ptr<const Stored<T>>;
using StoredPod = Stored<Pod>;
using StoredPodPtr = StoredPtr<Pod>;

/// null where there is no version.
template <class T>
std::shared_ptr<const T> object_of(const StoredPtr<T>& stored) {
  return stored == nullptr ? nullptr : stored->object;
}

template <class T>
std::string uid_of(const Stored<T>& stored) {
  return stored.meta.rare().uid;
}
template <>
inline std::string uid_of(const Stored<Pod>& stored) {
  return stored.object->uid();
}

/// The same metadata with other rare fields.
template <class Change>
void change_rare(ObjectMeta& meta, Change change) {
  auto rare = std::make_shared<RareMeta>(meta.rare());
  change(*rare);
  meta.rare_fields = std::move(rare);
}

/// As metav1.Time is stored. Times before the epoch do not occur.
constexpr std::int64_t whole_seconds(std::int64_t time_us) { return time_us - time_us % 1'000'000; }

}  // namespace berth
