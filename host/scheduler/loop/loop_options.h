// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "batching/backend.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/framework/plugin_registry.h"
#include "host/preemption/default_preemption.h"
#include "host/scheduler/backend_factory.h"
#include "host/scheduler/loop/loop_meter.h"

namespace berth {

/// How a SchedulingLoop works.
struct LoopOptions {
  SchedulerConfig config;
  EngineConfig engine;
  PreemptionLimits preemption;
  std::int32_t evictions_per_minute_max = 0;  ///< by the loop's clock; later ones wait for their turn. 0: no limit
  /// Plugins from outside at PreEnqueue, PostFilter, Reserve, Permit, PreBind, Bind and PostBind.
  PluginRegistry plugins = {};
  bool has_api_server = false;                      ///< FrameworkHandle::has_api_server
  std::int64_t max_unschedulable_us = 300'000'000;  ///< then a pod that cannot be placed is tried again all the same
  std::size_t batch_pods_max = 1024;                ///< pods that are handed to the engine at once
  std::size_t unbound_pods_max = 100'000;           ///< decided and not yet bound; beyond it no pod is tried
  std::size_t calls_in_flight_max = 1'000;          ///< of each kind of API call but the next
  std::size_t volume_calls_in_flight_max = 1'000;   ///< that bind volumes
  std::int64_t call_timeout_us = 30'000'000;        ///< then an API call counts as failed
  OpenAccelerator open_accelerator = built_in_accelerator();
  /// Called with pods before they are tried, in case the engine is to be asked about them: a batch of
  /// `batch_pods_max`, or one pod. Not all of a batch need be tried. It must not change the engine; what it throws ends
  /// run(). May be empty.
  std::function<void(std::span<const PodToPlace> pods, Backend& backend)> before_attempts = {};
  LoopMeter* meter = nullptr;  ///< is told what metrics count; null: nobody. Outlives the loop
};

}  // namespace berth
