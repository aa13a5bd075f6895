// SPDX-License-Identifier: Apache-2.0
// Whole runs on published clusters (tests/support/shared_data.h): every pod gets an answer, and the independent checker
// accepts every placement.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "host/generate/import_openb.h"
#include "host/objects/loader.h"
#include "host/scheduler/scheduler.h"
#include "tests/support/check_placement.h"
#include "tests/support/shared_data.h"

namespace berth {
namespace {

std::vector<std::string> files_in(const std::filesystem::path& folder, const std::string& prefix) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix) && entry.path().extension() == ".csv")
      files.push_back(entry.path().string());
  return files;
}

ScheduleResult run(const ClusterObjects& objects) {
  ScheduleOptions options;
  options.config = default_scheduler_config(FeatureGates());
  return schedule(objects, options);
}

void expect_sound(const ClusterObjects& objects, const ScheduleResult& result) {
  std::vector<test::PlacedPod> placed;
  for (const Placement& placement : result.placements)
    placed.push_back({placement.pod, result.node_names[static_cast<std::size_t>(placement.node.value)]});
  for (const std::string& violation : test::check_placement(objects, placed)) ADD_FAILURE() << violation;
  const auto answered =
      static_cast<std::int64_t>(result.placements.size() + result.unplaced.size() + result.skipped.size()) +
      result.stats.running_pods;
  EXPECT_EQ(answered, static_cast<std::int64_t>(objects.pods.size()));
}

TEST(RealRun, PlacesEveryOpenbListCorrectlyInBothGpuModes) {
  const auto folder = test::shared_data_folder() / "openb";
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder);
  int runs = 0;
  for (const std::string& nodes : files_in(folder, "openb_node_list"))
    for (const std::string& pods : files_in(folder, "openb_pod_list"))
      for (const GpuMode mode : {GpuMode::kCard, GpuMode::kMilli}) {
        SCOPED_TRACE(nodes + " " + pods);
        const ClusterObjects objects = import_openb(nodes, pods, {.gpu_mode = mode});
        const ScheduleResult result = run(objects);
        expect_sound(objects, result);
        EXPECT_GT(result.placements.size(), objects.pods.size() / 2);
        ++runs;
      }
  EXPECT_GE(runs, 4);
}

TEST(RealRun, AnswersEveryPodOfThePublishedManifests) {
  const auto folder = test::shared_data_folder() / "k8s-manifests";
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder);
  const LoadResult loaded =
      load_cluster({folder.string(), (test::shared_data_folder() / "k8s-docs-examples").string()});
  EXPECT_FALSE(loaded.objects.pods.empty());
  expect_sound(loaded.objects, run(loaded.objects));
}

}  // namespace
}  // namespace berth
