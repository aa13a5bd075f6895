// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin.h"

namespace berth {

Status PreBindPlugin::pre_bind_pre_flight(const PodOnNode&) { return {}; }

}  // namespace berth
