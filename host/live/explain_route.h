// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/live/live_scheduler.h"
#include "host/serving/route.h"

namespace berth {

/// `/explain?pod=NAMESPACE/NAME[&format=json|text][&nodes=N]`: what the pod means to every node now, as `berth explain`
/// says it of files. It is evaluated on the scheduler's thread between two steps, one at a time: another request
/// meanwhile is answered 429.
/// @param scheduler  outlives the route
Route explain_route(LiveScheduler& scheduler);

}  // namespace berth
