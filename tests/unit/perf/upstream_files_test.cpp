// SPDX-License-Identifier: Apache-2.0
// Reads upstream's own workload files where they lie on this machine; docs/perf.md says how to get them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "host/perf/workload_plan.h"

namespace berth {
namespace {

constexpr const char* kModule = "k8s.io/kubernetes@v1.35.4/test/integration/scheduler_perf";

/// BERTH_SCHEDULER_PERF, or the folder in Go's module cache.
std::filesystem::path upstream_folder() {
  if (const char* folder = std::getenv("BERTH_SCHEDULER_PERF")) return folder;
  if (const char* cache = std::getenv("GOMODCACHE")) return std::filesystem::path(cache) / kModule;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "/root") / "go/pkg/mod" / kModule;
}

std::vector<std::string> workload_files() {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(upstream_folder(), missing))
    if (entry.path().filename() == "performance-config.yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(UpstreamFiles, EveryWorkloadIsReadAndRunOrSkippedWithAReason) {
  const std::vector<std::string> paths = workload_files();
  if (paths.empty()) GTEST_SKIP() << "no performance-config.yaml below " << upstream_folder();
  std::size_t workloads = 0;
  std::vector<std::string> skipped;  // of the files without devices
  for (const std::string& path : paths) {
    const PerfFile file = load_perf_file(path);
    const bool needs_more = path.find("/dra/") != std::string::npos;
    for (const PerfTestCase& test_case : file.cases) {
      for (const PerfWorkload& workload : test_case.workloads) {
        ++workloads;
        const WorkloadPlan plan = plan_workload(file, test_case, workload, PlanDepth::kDecision);
        if (!needs_more && !plan.skip_reason.empty()) skipped.push_back(plan.name + ": " + plan.skip_reason);
      }
    }
  }
  EXPECT_EQ(paths.size(), 12u);
  EXPECT_EQ(workloads, 230u);
  EXPECT_EQ(skipped, std::vector<std::string>());
}

}  // namespace
}  // namespace berth
