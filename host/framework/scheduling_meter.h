// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the parts of a scheduler tell of the time that they take. Nobody reads a clock for it where there is no meter.

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "host/framework/cluster_event.h"
#include "host/framework/status.h"

namespace berth {

/// Points that are run for one pod at a time, outside the backends.
enum class MeteredPoint : std::uint8_t {
  kPreEnqueue,
  kPostFilter,
  kReserve,
  kUnreserve,
  kPermit,
  kPreBindPreFlight,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr std::size_t kMeteredPointCount = 9;
/// As kube-scheduler labels its metrics: "PreBindPreFlight".
constexpr std::string_view to_string(MeteredPoint point) {
  constexpr std::array<std::string_view, kMeteredPointCount> kNames = {
      "PreEnqueue", "PostFilter", "Reserve", "Unreserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind"};
  return kNames[static_cast<std::size_t>(point)];
}

/// Is told of durations. What runs here and now is timed by a steady clock, what waits for somebody else by the
/// scheduler's clock, which may be virtual.
class SchedulingMeter {
 public:
  virtual ~SchedulingMeter() = default;
  /// All plugins of a point ran for one pod.
  virtual void on_point(MeteredPoint point, StatusCode code, std::string_view profile, double seconds) = 0;
  /// Whether on_plugin() should be called in the run of the point that on_point() ends next.
  virtual bool wants_plugins(MeteredPoint point) const = 0;
  virtual void on_plugin(std::string_view plugin, MeteredPoint point, StatusCode code, double seconds) = 0;
  /// A pod that a Permit plugin had made to wait was decided on.
  virtual void on_permit_wait(StatusCode code, double seconds) = 0;
  /// A plugin was asked whether an event may help pods that it rejected.
  virtual void on_hint(std::string_view plugin, ClusterEvent event, bool queues, double seconds) = 0;
  /// The cache and the queue have taken an event in.
  virtual void on_handled(ClusterEvent event, double seconds) = 0;
};

/// Measures from its construction by a steady clock, if anybody wants to know.
class MeterWatch {
 public:
  /// @param meter  null: the clock is not read
  explicit MeterWatch(const SchedulingMeter* meter) {
    if (meter != nullptr) start_ = std::chrono::steady_clock::now();
  }
  /// Only with a meter.
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_{};
};

inline double seconds_between(std::int64_t from_us, std::int64_t to_us) {
  return static_cast<double>(to_us - from_us) * 1e-6;
}

}  // namespace berth
