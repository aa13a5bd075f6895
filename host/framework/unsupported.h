// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"

namespace berth {

/// The error that ends scoring in a profile that runs TaintToleration's Score without its PreScore.
std::optional<std::string> missing_score_state(const Profile& profile);

/// Why no backend may judge this pod: an enabled plugin of kube-scheduler that is not built yet has something to say
/// about it, or the profile runs a Filter without the PreFilter whose state it reads. nullopt when every enabled plugin
/// that the pod concerns is there. The text names the plugin and what the pod uses, and becomes the message of a
/// SchedulerError: `plugin "VolumeBinding" is not supported yet: the pod uses the volume claim "data"`.
std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile);

}  // namespace berth
