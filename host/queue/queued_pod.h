// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "host/framework/plugin_names.h"
#include "host/objects/pod.h"

namespace berth {

inline constexpr std::int64_t kNotYetUs = INT64_MIN;

/// What the queue knows of a pod from attempt to attempt: docs/behaviour/scheduler-core.md 1.2.
struct QueuedPodInfo {
  PodPtr pod;
  std::int64_t timestamp_us = 0;  ///< when it was added, or last returned
  std::int64_t initial_attempt_us = kNotYetUs;
  std::uint32_t attempts = 0;
  std::uint32_t unschedulable_count = 0;
  std::uint32_t consecutive_errors = 0;
  bool was_flushed = false;  ///< last moved by the leftover flush
  /// For whoever tries pods: a hash of the condition that the last failed attempt led to; 0: none. It stands here,
  /// because a table of its own by uid costs a waiting pod more than all the rest.
  std::uint64_t told_condition = 0;
  std::int64_t generation = 1;  ///< likewise: metadata.generation of the version that is being tried
};

/// Why an attempt failed. Without a plugin: an error.
struct Rejectors {
  PluginNames unschedulable = {};
  PluginNames pending = {};    ///< whose Filter or PreFilter answered Pending
  bool until_changed = false;  ///< an error that nothing but a change of the pod mends: it needs what is not built
};

/// Whether two versions of a pod ask a scheduler for the same: spec, as far as the model keeps it, and labels.
bool asks_the_same(const Pod& a, const Pod& b);

/// Pods of equal namespace and name share a place in the queue; the uid tells them apart.
inline bool same_name(const Pod& a, const Pod& b) { return a.name == b.name && a.namespace_ == b.namespace_; }
/// Is `uid` what Pod::uid() gives? Without a copy of it.
bool has_uid(const Pod& pod, std::string_view uid);
bool same_uid(const Pod& a, const Pod& b);
std::uint32_t hash_of_name(std::string_view name_space, std::string_view name);
std::uint32_t hash_of_uid(std::string_view uid);

}  // namespace berth
