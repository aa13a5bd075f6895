// SPDX-License-Identifier: Apache-2.0
// Every team of threads commits alike. Rows of one to thousands of cells, on both sides of the number up to which each
// warp selects alone, and up to the numbers from which a cluster or the whole device selects; on host threads, and on a
// device with each of its teams.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_backend.h"
#include "tests/support/emulated_accelerator.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

/// `emulated-N`: N host threads; block, cluster and grid: a device, with BERTH_COMMIT_TEAM.
struct TeamCase {
  std::string team;
  std::int32_t cells = 1;
};

void PrintTo(const TeamCase& drawn, std::ostream* out) { *out << drawn.team << ", " << drawn.cells << " cells"; }

/// A zone of `nodes_per_zone` unlike nodes for each cell, and classes that read zones in every way.
std::string cluster_of(std::int32_t zones, std::int32_t nodes_per_zone) {
  std::string text;
  for (std::int32_t z = 0; z < zones; ++z)
    for (std::int32_t n = 0; n < nodes_per_zone; ++n) {
      const std::int32_t node = z * nodes_per_zone + n;
      text += "node n" + std::to_string(node) + " cpu=" + std::to_string(2 + node * 7 % 5) +
              " memory=" + std::to_string(4 + node * 5 % 11) + "Gi zone=z" + std::to_string(z) +
              (node % 3 == 0 ? " label:disk=ssd" : "") + "\n";
    }
  constexpr const char* kClasses[] = {
      "cpu=1 memory=1Gi label:app=a",
      "cpu=500m memory=2Gi label:app=b spread=zone match=app=b skew=2",
      "cpu=700m memory=1Gi label:app=c soft-spread=zone match=app=c",
      "cpu=300m memory=512Mi label:app=d pod-affinity=zone:7 match=app=a pod-anti-affinity=zone:3 match=app=c",
      "cpu=900m memory=1Gi label:app=e pod-anti-affinity=zone match=app=e prefer=5:disk:In:ssd",
      "cpu=200m memory=1Gi label:app=f pod-affinity=zone match=app=b",
  };
  for (int i = 0; i < 90; ++i)
    text += "pod p" + std::to_string(i) + " " + kClasses[static_cast<std::size_t>(i * i + i / 7) % 6] + "\n";
  return text;
}

/// A device with the team; null without a device.
std::unique_ptr<Accelerator> open_team(const std::string& team) {
  const std::string emulated = "emulated-";
  if (team.starts_with(emulated)) {
    test::Emulation emulation;
    emulation.threads = std::stoi(team.substr(emulated.size()));
    return std::make_unique<test::EmulatedAccelerator>(emulation);
  }
  setenv("BERTH_COMMIT_TEAM", team.c_str(), 1);
  auto device = test::open_device();
  unsetenv("BERTH_COMMIT_TEAM");
  return device;
}

struct Answer {
  OutcomeKind kind{};
  NodeIndex node;
  std::int64_t total = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

std::vector<Answer> place_all(Backend& backend, std::vector<PodToPlace> pods) {
  backend.compile(pods);
  std::vector<Answer> answers;
  for (const Outcome& outcome : backend.commit_batch(pods, {}).outcomes)
    answers.push_back({outcome.kind, outcome.node, outcome.score});
  return answers;
}

class TeamsTest : public testing::TestWithParam<TeamCase> {};

TEST_P(TeamsTest, CommitAlike) {
  std::unique_ptr<Accelerator> accelerator = open_team(GetParam().team);
  if (accelerator == nullptr) {
    ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
    GTEST_SKIP() << "needs a device";
  }
  const test::Scenario scenario = test::parse_scenario(cluster_of(GetParam().cells, 2));
  const auto cache = test::fill_cache(scenario.objects);
  std::vector<PodToPlace> pods;
  for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
  DeviceTuning tuning;
  tuning.coarse_domains_max = INT32_MAX;  // a cell for each zone
  tuning.nodes_per_cell_min = 1;
  tuning.refresh_entries_max = 2048;
  tuning.launch_pods_max = 40;  // rows are refreshed between launches
  CpuBackend cpu(cache, scenario.objects, scenario.config, scenario.engine);
  DeviceBackend device(std::move(accelerator), cache, scenario.objects, scenario.config, scenario.engine, tuning);
  EXPECT_EQ(place_all(device, pods), place_all(cpu, pods));
  EXPECT_EQ(device.stats().device->pods_on_host, 0);
}

std::vector<TeamCase> all_cases() {
  std::vector<TeamCase> cases;
  for (const char* team : {"emulated-1", "emulated-3", "emulated-32", "block", "cluster", "grid"})
    for (const std::int32_t cells : {1, 2, 7, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 2100})
      if (cells < 500 || team != std::string("emulated-32")) cases.push_back({team, cells});
  return cases;
}

std::string name_of(const testing::TestParamInfo<TeamCase>& drawn) {
  const std::string& team = drawn.param.team;
  const std::string device = team.starts_with("emulated") ? "" : "cuda-";
  return test::name_in_tests(device + team + "-" + std::to_string(drawn.param.cells) + "-cells");
}

INSTANTIATE_TEST_SUITE_P(All, TeamsTest, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace berth
