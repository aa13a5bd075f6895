// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"
#include "host/objects/pod.h"

namespace berth {

/// A Filter plugin that reads the state of its PreFilter, in a profile that runs only the Filter: kube-scheduler
/// accepts such a profile, and the first node that reaches that plugin fails the pod's cycle.
struct MissingFilterState {
  std::size_t rank = 0;  ///< in the profile's Filter order
  std::string_view plugin;
  std::string text;  ///< of the error
};
/// The first such plugin of the profile; later plugins are never called.
std::optional<MissingFilterState> missing_filter_state(const Profile& profile, const FeatureGates& gates);

/// The scoring error of a profile that runs a PreScore or Score plugin without the point whose state it reads.
std::optional<std::string> missing_score_state(const Profile& profile, const FeatureGates& gates);

/// What a pod uses that Berth cannot judge.
struct UnsupportedUse {
  std::string plugin;
  std::string field;  ///< of the pod: "spec.resourceClaims"
  std::string text;   ///< unsupported_reason()
};
std::optional<UnsupportedUse> unsupported_use(const Pod& pod, const Profile& profile, const HostPlugins& hosted = {});

/// Why no backend may evaluate this pod: it needs an enabled plugin of kube-scheduler that is not built yet. nullopt
/// when every enabled plugin that concerns the pod is built. The text names the plugin and what the pod uses, and
/// becomes the message of a SchedulerError: `plugin "DynamicResources" is not supported yet: the pod uses the resource
/// claim "gpu"`.
/// @param hosted  registered plugins, which are there whatever is built
std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile, const HostPlugins& hosted = {});

}  // namespace berth
