// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/live/live_log.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/store/object_store.h"

namespace berth {

/// What SIGUSR2 asks for: docs/behaviour/scheduler-core.md 2.7. Logs where cache and queue differ from what the watches
/// know, then each node of the cache and the queue. Repairs nothing.
void dump_cache(const SchedulingLoop& loop, const StoreContents& known, LiveLog& log);

}  // namespace berth
