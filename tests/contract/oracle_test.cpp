// SPDX-License-Identifier: Apache-2.0
// The recorded verdicts of upstream kube-scheduler on the clusters of tests/golden/recorded: every (pod, node), both
// releases.

#include <gtest/gtest.h>

#include <cstdlib>
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

const std::string kFolder = "tests/golden/recorded/";

/// The lines of a gzip file, parsed.
std::vector<Json> read_lines(const std::string& path) {
  std::istringstream lines(gunzip_file(path));
  std::vector<Json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(Json::parse(line));
  return found;
}

/// Recorded answers of one release, by the name of the cluster.
std::map<std::string, std::vector<Json>> read_verdicts(Release release) {
  std::map<std::string, std::vector<Json>> found;
  for (Json& record : read_lines(kFolder + "verdicts-" + std::string(to_string(release)) + ".jsonl.gz")) {
    found[record.at("cluster").get<std::string>()].push_back(std::move(record));
  }
  return found;
}

/// Compares what one release answers for one cluster.
/// @return (pod, node) pairs that were compared
std::size_t compare_cluster(const std::string& backend_name, const Json& cluster, const std::vector<Json>& records,
                            Release release) {
  const std::string name = cluster.at("cluster").get<std::string>();
  const LoadResult loaded = load_cluster_from_text(cluster.at("objects").dump(), name);
  loaded.throw_if_problems();
  const ClusterObjects& objects = loaded.objects;
  const SchedulerConfig config = default_scheduler_config(FeatureGates(release));
  const auto cache = fill_cache(objects);
  const auto backend = open_backend(backend_name, *cache, objects, config, EngineConfig());
  std::map<std::string, PodPtr> pods;
  for (const PodPtr& pod : objects.pods) pods[pod->full_name()] = pod;
  std::size_t verdicts = 0;
  for (const Json& record : records) {
    std::vector<PodToPlace> pod{{pods.at(record.at("pod").get<std::string>()), 0, -1}};
    backend->compile(pod);
    const Evaluation ours = backend->evaluate(pod.front());
    for (const std::string& difference : record_differences(record, *backend, ours, NegativeRaw::kIgnored)) {
      ADD_FAILURE() << name << " " << to_string(release) << " " << difference;
    }
    verdicts += ours.nodes.size();
  }
  return verdicts;
}

bool is_available(const std::string& backend_name) {
  const auto cache = fill_cache({});
  return open_backend(backend_name, *cache, {}, default_scheduler_config(FeatureGates()), {}) != nullptr;
}

/// Compares every cluster whose name begins with `prefix`.
/// @return (pod, node) pairs that were compared
std::size_t compare_clusters(const std::string& backend_name, const std::string& prefix) {
  const std::vector<Json> clusters = read_lines(kFolder + "clusters.jsonl.gz");
  std::size_t verdicts = 0;
  for (const Release release : {Release::k1_35, Release::k1_36}) {
    const std::map<std::string, std::vector<Json>> records = read_verdicts(release);
    for (const Json& cluster : clusters) {
      const std::string name = cluster.at("cluster").get<std::string>();
      if (!name.starts_with(prefix)) continue;
      verdicts += compare_cluster(backend_name, cluster, records.at(name), release);
    }
  }
  return verdicts;
}

class Oracle : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_available(GetParam())) return;
    ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
    GTEST_SKIP() << GetParam() << " is not available here";
  }
};

TEST_P(Oracle, MatchesUpstreamOnNodePlugins) {
  EXPECT_GT(compare_clusters(GetParam(), "node-"), 5000u) << "too few verdicts were compared";
}

TEST_P(Oracle, MatchesUpstreamOnTopologyPlugins) {
  EXPECT_GT(compare_clusters(GetParam(), "topo-"), 5000u) << "too few verdicts were compared";
}

INSTANTIATE_TEST_SUITE_P(All, Oracle, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
