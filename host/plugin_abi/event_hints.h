// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "host/plugin_abi/abi_plugin.h"

namespace berth {

/// What the plugin's table says of events: berth_plugin.events and queueing_hint().
std::unique_ptr<QueueingHints> make_event_hints(std::shared_ptr<const AbiPlugin> plugin);

}  // namespace berth
