// SPDX-License-Identifier: Apache-2.0
// The genuine scheduler's verdicts on the node-* clusters of ../shared/data/oracle, every (pod, node), both releases.

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/objects/loader.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

std::filesystem::path oracle_folder() {
  const char* shared = std::getenv("BERTH_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : "../shared") / "data" / "oracle";
}

std::string gunzip(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (int count = 0; (count = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  gzclose(file);
  return text;
}

std::multiset<std::string> texts(const Json& node, const char* key) {
  const auto list = node.find(key);
  if (list == node.end() || list->is_null()) return {};
  return list->get<std::multiset<std::string>>();
}

/// Compares one record the way ../shared/tools/compare_verdicts.py does and collects what differs.
class Comparison {
 public:
  Comparison(const Json& record, const Backend& backend, const Evaluation& ours)
      : record_(record), backend_(backend), ours_(ours) {}

  std::vector<std::string> differences() {
    for (const NodeEvaluation& node : ours_.nodes) ours_by_name_.emplace(backend_.node_name(node.node), &node);
    for (const Json& node : record_.value("nodes", Json::array())) compare_node(node);
    compare_best();
    const std::string message = record_.value("message", "");
    if (!message.empty() && message != ours_.message) differ("message", message, ours_.message);
    return std::move(found_);
  }

 private:
  template <class Value>
  void differ(const std::string& what, const Value& genuine, const Value& ours) {
    std::ostringstream text;
    text << record_.value("pod", "?") << ": " << what << " is " << ours << ", genuine " << genuine;
    found_.push_back(text.str());
  }

  void compare_node(const Json& genuine) {
    const auto name = genuine.at("node").get<std::string>();
    const auto found = ours_by_name_.find(name);
    if (found == ours_by_name_.end()) return differ(name, std::string("there"), std::string("missing"));
    const NodeEvaluation& ours = *found->second;
    const bool feasible = genuine.at("feasible").get<bool>();
    if (feasible != ours.feasible) return differ(name + " feasible", feasible, ours.feasible);
    feasible ? compare_scores(genuine, ours) : compare_status(genuine, ours);
  }

  void compare_status(const Json& genuine, const NodeEvaluation& ours) {
    const auto name = genuine.at("node").get<std::string>();
    if (genuine.value("plugin", "") != ours.status.plugin) {
      differ(name + " plugin", genuine.value("plugin", ""), ours.status.plugin);
    }
    if (genuine.value("plugin", "") == "PreFilter") return;
    const std::string code(to_string(ours.status.code));
    if (genuine.value("code", "") != code) differ(name + " code", genuine.value("code", ""), code);
    const std::multiset<std::string> reasons(ours.status.reasons.begin(), ours.status.reasons.end());
    if (texts(genuine, "reasons") != reasons) {
      differ(name + " reasons", genuine.value("reasons", Json::array()).dump(), ours.status.message());
    }
  }

  void compare_scores(const Json& genuine, const NodeEvaluation& ours) {
    const auto name = genuine.at("node").get<std::string>();
    for (const Json& score : genuine.value("scores", Json::array())) {
      const auto plugin = score.at("plugin").get<std::string>();
      const auto found = std::find_if(ours.scores.begin(), ours.scores.end(),
                                      [&](const PluginScore& own) { return own.plugin == plugin; });
      const auto raw = score.at("raw").get<std::int64_t>();
      const auto normalized = score.at("normalized").get<std::int64_t>();
      if (found == ours.scores.end()) {
        if (raw != 0 || normalized != 0) differ(name + " " + plugin, score.dump(), std::string("absent"));
        continue;
      }
      // A raw score below zero is an internal value of the genuine code.
      if (raw >= 0 && raw != found->raw) differ(name + " " + plugin + " raw", raw, found->raw);
      if (normalized != found->normalized) differ(name + " " + plugin + " normalized", normalized, found->normalized);
      const auto weight = score.at("weight").get<std::int32_t>();
      if (weight != found->weight) differ(name + " " + plugin + " weight", weight, found->weight);
    }
    const auto total = genuine.at("total").get<std::int64_t>();
    if (total != ours.total) differ(name + " total", total, ours.total);
  }

  void compare_best() {
    std::multiset<std::string> ours;
    for (const NodeIndex node : ours_.best) ours.emplace(backend_.node_name(node));
    const auto genuine = texts(record_, "best");
    if (genuine != ours) differ("best", Json(genuine).dump(), Json(ours).dump());
  }

  const Json& record_;
  const Backend& backend_;
  const Evaluation& ours_;
  std::map<std::string, const NodeEvaluation*, std::less<>> ours_by_name_;
  std::vector<std::string> found_;
};

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
  std::istringstream lines(gunzip(records));
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    std::vector<PodToPlace> pod{{pods.at(record.at("pod").get<std::string>()), 0, -1}};
    backend->compile(pod);
    const Evaluation ours = backend->evaluate(pod.front());
    EXPECT_EQ(record.contains("error"), !ours.error.empty()) << cluster << " " << ours.error;
    if (record.contains("error")) {
      EXPECT_EQ(record["error"].get<std::string>(), "prescore: " + ours.error);
      continue;
    }
    for (const std::string& difference : Comparison(record, *backend, ours).differences()) {
      ADD_FAILURE() << cluster.filename() << " " << to_string(release) << " " << difference;
    }
    verdicts += ours.nodes.size();
  }
}

class Oracle : public testing::TestWithParam<const char*> {};

TEST_P(Oracle, HasNothingToCorrect) {
  if (!std::filesystem::is_directory(oracle_folder())) GTEST_SKIP() << oracle_folder() << " is not here";
  {
    const auto cache = fill_cache({});
    const auto config = default_scheduler_config(FeatureGates());
    if (open_backend(GetParam(), *cache, {}, config, {}) == nullptr) {
      ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
      GTEST_SKIP() << GetParam() << " is not available here";
    }
  }
  std::size_t verdicts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(oracle_folder())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node-") || name.find("verdicts") != std::string::npos) continue;
    for (const Release release : {Release::k1_35, Release::k1_36}) {
      compare_cluster(GetParam(), entry.path(), release, verdicts);
    }
  }
  EXPECT_GT(verdicts, 5000u) << "hardly anything was compared";
}

INSTANTIATE_TEST_SUITE_P(All, Oracle, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace berth::test
