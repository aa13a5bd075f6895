// SPDX-License-Identifier: Apache-2.0
// A recording and its replays on every engine that runs without a device, the emulated device included.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/record/recording_observer.h"
#include "host/record/recording_reader.h"
#include "host/record/recording_writer.h"
#include "host/record/unpacked_inputs.h"
#include "host/simulate/scenario_reader.h"
#include "host/simulate/simulation.h"
#include "tests/support/emulated_accelerator.h"

namespace berth {
namespace {

struct Engine {
  const char* name;  ///< EngineConfig::backend
  int threads;
};

/// What served a run.
struct Served {
  std::string backend;
  std::int64_t launches = 0;  ///< on the emulated device, before the last attempt
};

/// Simulates a scenario as it lies in a file, into a recording. @return its hash
std::string record(const std::string& scenario_path, const Engine& engine, RecordingWriter& writer, Served& served) {
  std::vector<std::string> warnings;
  const Scenario scenario = make_scenario(load_scenario(scenario_path), {}, warnings);
  SimulationOptions options;
  options.loop.config = default_scheduler_config(FeatureGates());
  options.loop.engine.backend = engine.name;
  options.loop.engine.threads = engine.threads;
  options.loop.open_accelerator = [threads = engine.threads](int) {
    test::Emulation emulation;
    emulation.threads = threads;
    return std::make_unique<test::EmulatedAccelerator>(emulation);
  };
  options.loop.before_attempts = [&served](std::span<const PodToPlace>, const Backend& backend) {
    served = {std::string(backend.name()), 0};
    const BackendStats stats = backend.stats();
    if (!stats.device) return;
    for (const DeviceStats::Kernel& kernel : stats.device->kernels) served.launches += kernel.launches;
  };
  options.observe = [&writer](const Clock& clock) { return std::make_unique<RecordingObserver>(writer, clock); };
  const SimulationResult result = simulate(scenario, options);
  EXPECT_GT(result.totals.preempted, 0) << "the example evicts pods";
  writer.end(result.start_us + result.end_us);
  return writer.hash();
}

class ReplayBackends : public testing::TestWithParam<Engine> {};

TEST_P(ReplayBackends, GiveTheHashOfTheRecording) {
  const PrivateFolder folder;
  const std::string path = folder.path() + "/run.db";
  Served served;
  std::string recorded;
  {
    RecordingWriter writer(path, RecordingWriter::Existing::kRefuse);
    FileSource example("examples/scenario.yaml", TextLimits{});
    writer.add_input(kScenarioInput, "examples/scenario.yaml", example);
    writer.begin({{"berth", "test"}});
    recorded = record("examples/scenario.yaml", {"cpu", 1}, writer, served);
  }
  ASSERT_EQ(served.backend, "cpu");
  RecordingReader reader(path);
  ASSERT_GT(reader.extent().evictions, 0);
  const UnpackedInputs inputs(reader);
  RecordingWriter again(folder.path() + "/again.db", RecordingWriter::Existing::kRefuse);
  again.begin({{"berth", "test"}});
  EXPECT_EQ(record(inputs.scenario(), GetParam(), again, served), recorded);
  EXPECT_EQ(reader.extent().hash, recorded);
  const bool is_device = std::string_view(GetParam().name) == "cuda";
  EXPECT_EQ(served.backend, is_device ? "cuda-emulated" : GetParam().name);
  EXPECT_EQ(served.launches > 0, is_device);
}

INSTANTIATE_TEST_SUITE_P(Engines, ReplayBackends,
                         testing::Values(Engine{"cpu", 1}, Engine{"cpu", 2}, Engine{"reference", 1},
                                         Engine{"reference", 2}, Engine{"cuda", 1}, Engine{"cuda", 2}),
                         [](const testing::TestParamInfo<Engine>& param) {
                           return std::string(param.param.name) + std::to_string(param.param.threads);
                         });

}  // namespace
}  // namespace berth
