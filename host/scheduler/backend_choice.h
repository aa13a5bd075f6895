// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `auto` selects, and why. Opens nothing: the caller passes what is known of the device.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "batching/device/device_facts.h"
#include "host/config/engine_config.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// What decides whether a device gains.
struct WorkShape {
  std::int64_t nodes = 0;
  std::int64_t kinds_of_pods = 0;  ///< distinct specs of pending pods, near the number of their classes
  bool pod_by_pod = false;         ///< kube's node sampling or order of ties, which no device is asked about
};

/// From where on `auto` takes a device. Not measured: derived from what one core was measured at (docs/benchmarks.md)
/// and from what opening a device is known to cost.
struct GainThresholds {
  /// With fewer classes the chain of commits is the work: a placement refreshes its node in at most 8 tiles of 64
  /// classes at 156 to 239 ns on one core, no more than a step that all of a device has to agree on.
  std::int64_t kinds_of_pods_min = 512;
  /// nodes x kinds: at 2.4 to 3.7 ns each on one core about 0.6 s, and opening a device takes some hundred ms.
  std::int64_t evaluations_min = 200'000'000;
};

/// The work is large enough that it is worth opening a device for it.
bool may_gain(const WorkShape& work, const GainThresholds& thresholds = {});

struct BackendChoice {
  std::string_view backend;  ///< "cpu" or "cuda"
  std::string why;           ///< "500 nodes x 3 kinds of pods is below the gain threshold"
};

/// @param device          of the device that would serve; nothing when there is none, or when nobody looked because
///                        may_gain() says no
/// @param device_problem  why there is none
BackendChoice choose_backend(const WorkShape& work, const std::optional<DeviceFacts>& device,
                             std::string_view device_problem, const GainThresholds& thresholds = {});

/// One pass over the pods; those that are gated or of another scheduler count too.
WorkShape work_shape(const ClusterObjects& objects, const EngineConfig& engine);

}  // namespace berth
