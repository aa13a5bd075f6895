// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "batching/device/device_errors.h"
#include "host/config/engine_config.h"

namespace berth {

/// Calls `run(engine, again)` with the engine that was asked for, and after an error of its device, where that is
/// allowed, with cpu and `again`.
/// @return what it gave, and what went wrong before; empty: nothing
/// @throws DeviceError
template <class Run>
auto run_or_rerun(const EngineConfig& asked, Run run) {
  using Result = std::pair<decltype(run(asked, false)), std::string>;
  std::string problem;
  try {
    return Result(run(asked, false), std::string());
  } catch (const DeviceUnavailable& error) {
    if (asked.on_device_failure == DeviceFailure::kStop) throw;
    problem = std::string("cuda cannot be used: ") + error.what() + "; done by cpu";
  } catch (const DeviceError& error) {
    if (asked.on_device_failure == DeviceFailure::kStop) throw;
    problem = std::string("cuda failed: ") + error.what() + "; fell back to cpu";
  }
  EngineConfig engine = asked;
  engine.backend = "cpu";
  return Result(run(engine, true), std::move(problem));
}

}  // namespace berth
