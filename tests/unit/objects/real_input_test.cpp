// SPDX-License-Identifier: Apache-2.0
// Published files (tests/support/shared_data.h). docs/objects.md lists what they taught.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "host/objects/loader.h"
#include "tests/support/shared_data.h"

namespace berth {
namespace {

TEST(RealInput, EveryManifestIsReadOrNamed) {
  const auto folder = test::shared_data_folder();
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder / "k8s-manifests");
  std::int64_t objects = 0;
  std::int64_t files_with_problems = 0;
  for (const auto* name : {"k8s-manifests", "k8s-docs-examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / name)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".yaml" && extension != ".yml" && extension != ".json") continue;
      const LoadResult result = load_cluster({entry.path().string()});
      EXPECT_EQ(result.problems.empty(), result.left_out.empty()) << entry.path();
      for (const InputProblem& problem : result.problems) EXPECT_NE(problem.location, "") << problem.to_string();
      objects += static_cast<std::int64_t>(result.objects.nodes.size() + result.objects.pods.size() +
                                           result.objects.workloads.size());
      if (!result.problems.empty()) ++files_with_problems;
    }
  }
  EXPECT_GT(objects, 300);
  EXPECT_LE(files_with_problems, 4);  // generateName, a Kustomize patch, a template of placeholders
}

TEST(RealInput, ReadsAllOpenbNodes) {
  const auto file = test::shared_data_folder() / "openb/openb_node_list_gpu_node.yaml.gz";
  BERTH_SKIP_WITHOUT_SHARED_DATA(file);
  const LoadResult result = load_cluster({file.string()});
  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(result.objects.nodes.size(), 1213u);
}

}  // namespace
}  // namespace berth
