// SPDX-License-Identifier: Apache-2.0
// Files of other people: ../shared/data. What they taught stands in docs/objects.md.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "host/objects/loader.h"

namespace berth {
namespace {

std::filesystem::path data_folder() {
  const char* shared = std::getenv("BERTH_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") / "data";
}

#define SKIP_UNLESS_PRESENT(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not here"

TEST(RealInput, EveryManifestIsReadOrNamed) {
  const auto folder = data_folder();
  SKIP_UNLESS_PRESENT(folder / "k8s-manifests");
  std::int64_t objects = 0;
  std::int64_t files_with_problems = 0;
  for (const auto* name : {"k8s-manifests", "k8s-docs-examples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / name)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".yaml" && extension != ".yml" && extension != ".json") continue;
      const LoadResult result = load_cluster({entry.path().string()});
      EXPECT_EQ(result.problems.empty(), result.left_out.empty()) << entry.path();
      objects += static_cast<std::int64_t>(result.objects.nodes.size() + result.objects.pods.size() +
                                           result.objects.workloads.size());
      if (!result.problems.empty()) ++files_with_problems;
    }
  }
  EXPECT_GT(objects, 300);
  EXPECT_LE(files_with_problems, 4);  // generateName, a Kustomize patch, a template of placeholders
}

TEST(RealInput, TheOracleClustersHaveNoProblems) {
  const auto folder = data_folder() / "oracle";
  SKIP_UNLESS_PRESENT(folder);
  const LoadResult result = load_cluster({(folder / "node-1.json.gz").string()});
  EXPECT_TRUE(result.problems.empty());
  EXPECT_FALSE(result.objects.nodes.empty());
  EXPECT_FALSE(result.objects.pods.empty());
}

TEST(RealInput, TheOpenbNodesAreAllThere) {
  const auto file = data_folder() / "openb/openb_node_list_gpu_node.yaml.gz";
  SKIP_UNLESS_PRESENT(file);
  const LoadResult result = load_cluster({file.string()});
  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(result.objects.nodes.size(), 1213u);
}

}  // namespace
}  // namespace berth
