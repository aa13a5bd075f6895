// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/config/scheduler_config.h"
#include "host/objects/document_writer.h"

namespace berth {

/// The list "pluginConfig" of a profile: arguments of the plugins that its lists enable, by name, then those of plugins
/// from outside, in their order.
void write_plugin_config(const Profile& profile, DocumentWriter& out);

}  // namespace berth
