// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"

namespace berth {

/// A Filter plugin that reads what its PreFilter left, in a profile that runs only the Filter: kube-scheduler starts
/// with such a profile, and the first node that gets as far as that plugin ends the pod's cycle.
struct MissingFilterState {
  std::size_t rank = 0;  ///< in the profile's Filter order
  std::string_view plugin;
  std::string text;  ///< of the error
};
/// The first one of the profile; what stands behind it is never asked.
std::optional<MissingFilterState> missing_filter_state(const Profile& profile, const FeatureGates& gates);

/// The error that ends scoring in a profile that runs a Score plugin without the PreScore whose state it reads.
std::optional<std::string> missing_score_state(const Profile& profile);

/// Why no backend may evaluate this pod: an enabled plugin of kube-scheduler that is not built yet has something to say
/// about it. nullopt when every enabled plugin that the pod concerns is there. The text names the plugin and what the
/// pod uses, and becomes the message of a SchedulerError: `plugin "VolumeBinding" is not supported yet: the pod uses
/// the volume claim "data"`.
std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile);

}  // namespace berth
