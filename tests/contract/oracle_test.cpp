// SPDX-License-Identifier: Apache-2.0
// The genuine scheduler's verdicts on the clusters of ../shared/data/oracle, every (pod, node), both releases.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "host/objects/loader.h"
#include "tests/support/open_backend.h"
#include "tests/support/oracle_record.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

std::filesystem::path oracle_folder() {
  const char* shared = std::getenv("BERTH_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") / "data" / "oracle";
}

/// What one release says of one cluster; `verdicts` counts the (pod, node) pairs that were compared.
void compare_cluster(const std::string& backend_name, const std::filesystem::path& cluster, Release release,
                     std::size_t& verdicts) {
  const std::string base = cluster.string().substr(0, cluster.string().size() - std::string(".json.gz").size());
  const std::string records = base + (release == Release::k1_35 ? ".verdicts.jsonl.gz" : ".verdicts-1.36.jsonl.gz");
  const LoadResult loaded = load_cluster({cluster.string()});
  ASSERT_EQ(loaded.problem_count, 0) << loaded.problems.front().to_string();
  const ClusterObjects& objects = loaded.objects;
  const SchedulerConfig config = default_scheduler_config(FeatureGates(release));
  const auto cache = fill_cache(objects);
  const auto backend = open_backend(backend_name, *cache, objects, config, EngineConfig());
  std::map<std::string, PodPtr> pods;
  for (const PodPtr& pod : objects.pods) pods[pod->full_name()] = pod;
  std::istringstream lines(gunzip_file(records));
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    std::vector<PodToPlace> pod{{pods.at(record.at("pod").get<std::string>()), 0, -1}};
    backend->compile(pod);
    const Evaluation ours = backend->evaluate(pod.front());
    for (const std::string& difference : record_differences(record, *backend, ours, NegativeRaw::kIgnored)) {
      ADD_FAILURE() << cluster.filename() << " " << to_string(release) << " " << difference;
    }
    verdicts += ours.nodes.size();
  }
}

bool is_available(const std::string& backend_name) {
  const auto cache = fill_cache({});
  return open_backend(backend_name, *cache, {}, default_scheduler_config(FeatureGates()), {}) != nullptr;
}

/// Compares every cluster whose file name begins with `prefix`.
/// @return (pod, node) pairs that were compared
std::size_t compare_clusters(const std::string& backend_name, const std::string& prefix) {
  std::size_t verdicts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(oracle_folder())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.find("verdicts") != std::string::npos) continue;
    for (const Release release : {Release::k1_35, Release::k1_36}) {
      compare_cluster(backend_name, entry.path(), release, verdicts);
    }
  }
  return verdicts;
}

class Oracle : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(oracle_folder())) GTEST_SKIP() << oracle_folder() << " is not here";
    if (is_available(GetParam())) return;
    ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
    GTEST_SKIP() << GetParam() << " is not available here";
  }
};

TEST_P(Oracle, HasNothingToCorrectInNodeRules) {
  EXPECT_GT(compare_clusters(GetParam(), "node-"), 5000u) << "hardly anything was compared";
}

TEST_P(Oracle, HasNothingToCorrectInTopologyRules) {
  EXPECT_GT(compare_clusters(GetParam(), "topo-"), 5000u) << "hardly anything was compared";
}

INSTANTIATE_TEST_SUITE_P(All, Oracle, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
