// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `berth schedule` does, by a scheduling loop: for profiles with plugins from outside at points that only the loop
// has, from PreEnqueue to PostBind. schedule() is the same without such plugins, many times as fast; the test
// schedule_ways_agree_test compares both.

#include "host/framework/plugin_registry.h"
#include "host/objects/cluster_objects.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// As schedule(): every pod is tried once, in queue order; pods that preempt are tried again when victims are gone.
/// Time is a virtual clock of the run. Each decision goes through Reserve, Permit, PreBind, Bind and PostBind; a pod
/// that fails there is unplaced with what the plugin says, and a pod that waits there waits until the clock has brought
/// its time limit. Where victims of one node have different grace periods, their preemptor may be tried when the first
/// of them is gone, as in a cluster.
///
/// @param options  without an observer
/// @param plugins  from outside, at points of the loop
/// @throws InputError, DeviceError  as schedule()
ScheduleResult schedule_by_loop(const ClusterObjects& objects, const ScheduleOptions& options,
                                const PluginRegistry& plugins);

}  // namespace berth
