// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arguments of the in-tree plugins: strict decoding, defaults, rules. docs/behaviour/scheduler-core.md 7.4.

#include <vector>

#include "host/config/config_reader.h"
#include "host/config/scheduler_config.h"

namespace berth {

/// The "pluginConfig" list of a profile: Profile::args starts as default_plugin_args() and takes over what the list
/// says. Arguments of loaded plugins become Profile::outside_args. Those of other plugins that are not in-tree are
/// problems, or appended to Profile::out_of_tree where the context leaves them out.
void decode_plugin_config(const JsonValue& list, const ConfigContext& context, Profile& profile);

}  // namespace berth
