// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many pods one load may make (docs/objects.md, "Limits").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Pods that one load may make: a mistyped number of replicas has to end as an error, not as a full memory.
inline constexpr std::int64_t kExpandedPodsMax = 1'000'000;
/// Of these, pods of DaemonSets: each has a spec of its own, which names its node.
inline constexpr std::int64_t kExpandedDaemonPodsMax = 250'000;
/// Estimated bytes that made pods and their claims take in a run: long names, many labels, claims and volumes of a
/// template count once for each pod.
inline constexpr std::int64_t kExpandedBytesMax = std::int64_t{1000} << 20;

struct ExpansionLimits {
  std::int64_t pods_max = kExpandedPodsMax;
  std::int64_t daemon_pods_max = kExpandedDaemonPodsMax;
  std::int64_t bytes_max = kExpandedBytesMax;
};

/// What is left of the limits while workloads are expanded one after another.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(const ExpansionLimits& limits) : limits_(limits) {}

  enum class Maker : std::uint8_t { kDaemonSet, kOther };

  /// Takes `count` pods of `bytes_each` bytes (pod_cost_bytes()) from what is left.
  /// @return why the workload may not make them; then nothing was taken
  std::optional<std::string> take(Maker maker, std::int64_t count, std::int64_t bytes_each);

 private:
  static std::optional<std::string> above(std::int64_t count, std::int64_t pods_max, std::int64_t made_count,
                                          std::string_view makers);

  ExpansionLimits limits_;
  std::int64_t made_count_ = 0;
  std::int64_t made_daemon_count_ = 0;  ///< of these, by DaemonSets
  std::int64_t made_bytes_ = 0;         ///< estimated
};

}  // namespace berth
