// SPDX-License-Identifier: Apache-2.0
// The recorded verdicts of upstream kube-scheduler on the clusters of tests/golden/recorded: every (pod, node), both
// releases.

#include <gtest/gtest.h>

#include <algorithm>
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
  const auto backend = open_backend(backend_name, cache, objects, config, EngineConfig());
  std::map<std::string, PodPtr> pods;
  for (const PodPtr& pod : objects.pods) pods[pod->full_name()] = pod;
  std::size_t verdicts = 0;
  for (const Json& record : records) {
    std::vector<PodToPlace> pod{{pods.at(record.at("pod").get<std::string>()), 0, -1}};
    backend->prepare(pod);
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
  return open_backend(backend_name, cache, {}, default_scheduler_config(FeatureGates()), {}) != nullptr;
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

// Victims: upstream's SelectVictimsOnNode on every candidate node

/// As the clusters were recorded: every pending pod may evict every running one, and no two of those have one priority,
/// so that their order is known.
void set_priorities(const ClusterObjects& objects) {
  std::int32_t position = 0;
  for (const PodPtr& object : objects.pods) {
    const auto pod = std::const_pointer_cast<Pod>(object);
    pod->priority = pod->node_name.empty() ? 100000 : position;
    pod->preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
    ++position;
  }
}

/// Node -> full names of the victims, most important first.
using VictimsOfNode = std::map<std::string, std::vector<std::string>>;

VictimsOfNode find_victims(const Backend& backend, const ClusterCache& cache, const PodToPlace& preemptor) {
  VictimsOfNode found;
  const PodVerdicts verdicts = backend.verdicts(preemptor);
  for (std::size_t i = 0; i < verdicts.nodes.size(); ++i) {
    const NodeIndex node{static_cast<std::int32_t>(i)};
    const std::string name(backend.node_name(node));
    std::vector<Victim> victims;
    for (const PodPtr& pod : cache.find_node(name)->pods) victims.push_back({pod.get(), false});
    std::sort(victims.begin(), victims.end(),
              [](const Victim& a, const Victim& b) { return a.pod->priority > b.pod->priority; });
    if (!verdicts.nodes[i].eviction_can_help() || victims.empty()) continue;
    const std::vector<VictimList> lists{{node, victims}};
    const std::vector<DryRun> runs{{0, 0}};
    const DryRunResult result = backend.dry_run({{&preemptor, 1}, lists, runs});
    if (!result.answers.front().without_victims.accepts()) continue;
    std::vector<std::string>& evicted = found[name];
    for (std::size_t v = 0; v < victims.size(); ++v)
      if (!result.keeps(result.answers.front(), v)) evicted.push_back(victims[v].pod->full_name());
  }
  return found;
}

/// @return candidate nodes that were compared
std::size_t compare_victims(const std::string& backend_name, const Json& cluster, const std::vector<Json>& records) {
  const std::string name = cluster.at("cluster").get<std::string>();
  const LoadResult loaded = load_cluster_from_text(cluster.at("objects").dump(), name);
  set_priorities(loaded.objects);
  const SchedulerConfig config = default_scheduler_config(FeatureGates(Release::k1_35));
  const auto cache = fill_cache(loaded.objects);
  const auto backend = open_backend(backend_name, cache, loaded.objects, config, EngineConfig());
  std::map<std::string, PodPtr> pods;
  for (const PodPtr& pod : loaded.objects.pods) pods[pod->full_name()] = pod;
  std::size_t candidates = 0;
  for (const Json& record : records) {
    std::vector<PodToPlace> pod{{pods.at(record.at("pod").get<std::string>()), 0, -1}};
    backend->prepare(pod);
    const auto upstream = record.at("victims").get<VictimsOfNode>();
    EXPECT_EQ(find_victims(*backend, *cache, pod.front()), upstream) << name << " " << record.at("pod");
    candidates += upstream.size();
  }
  return candidates;
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

TEST_P(Oracle, MatchesUpstreamOnVictims) {
  std::map<std::string, std::vector<Json>> records;
  for (Json& record : read_lines(kFolder + "victims-1.35.jsonl.gz"))
    records[record.at("cluster").get<std::string>()].push_back(std::move(record));
  std::size_t candidates = 0;
  for (const Json& cluster : read_lines(kFolder + "clusters.jsonl.gz"))
    candidates += compare_victims(GetParam(), cluster, records[cluster.at("cluster").get<std::string>()]);
  EXPECT_GT(candidates, 200u) << "too few candidates were compared";
}

INSTANTIATE_TEST_SUITE_P(All, Oracle, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
