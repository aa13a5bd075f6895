// SPDX-License-Identifier: Apache-2.0
// The golden corpus, tests/golden: verdicts of upstream kube-scheduler on clusters and configurations drawn from seeds.
// scripts/oracle_golden.py writes it and describes its form.

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "host/generate/cluster_spec.h"
#include "host/generate/generate.h"
#include "host/generate/random_configuration.h"
#include "host/objects/loader.h"
#include "host/scheduler/intake.h"
#include "tests/support/open_backend.h"
#include "tests/support/oracle_record.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFolder = "tests/golden";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  return text.str();
}

/// One cluster of the corpus: the texts that both sides read.
struct Input {
  std::string cluster;
  std::string configuration;
  std::string gates;

  std::string crc32() const {
    uLong sum = ::crc32(0, nullptr, 0);
    for (const std::string* text : {&cluster, &configuration, &gates}) {
      sum = ::crc32(sum, reinterpret_cast<const Bytef*>(text->data()), static_cast<uInt>(text->size()));
    }
    std::ostringstream hex;
    hex << std::hex << sum;
    return hex.str();
  }
};

std::string read_if_there(const fs::path& path) { return fs::exists(path) ? read_file(path) : ""; }

Input read_handmade(const std::string& name) {
  const fs::path base = kFolder / "handmade" / name;
  Input input{read_file(base.string() + ".json"), read_if_there(base.string() + ".config.json"),
              read_if_there(base.string() + ".gates")};
  while (input.gates.ends_with('\n')) input.gates.pop_back();
  return input;
}

Input draw(const Json& entry) {
  const auto seed = entry.at("seed").get<std::uint64_t>();
  const ClusterSpec spec = parse_cluster_spec(entry.at("spec").dump(), "corpus.json");
  const fs::path file = fs::temp_directory_path() / ("berth_golden_" + std::to_string(::getpid()) + ".json");
  write_cluster(generate_cluster(spec, seed), file.string());
  Input input{read_file(file), "", ""};
  fs::remove(file);
  if (spec.random && spec.random->configuration) {
    const RandomConfiguration made = random_configuration(seed);
    input.configuration = made.json;
    input.gates = made.feature_gates;
  }
  return input;
}

/// Unpacks upstream's record: nodes with the same verdict share one entry of "verdicts".
Json unpack(const Json& pod, const Json& golden) {
  Json record = pod;
  record["nodes"] = Json::array();
  for (std::size_t i = 0; i < pod.at("nodes").size(); ++i) {
    Json node = golden.at("verdicts").at(pod["nodes"][i].get<std::size_t>());
    node["node"] = golden.at("nodes").at(i);
    record["nodes"].push_back(std::move(node));
  }
  record["best"] = Json::array();
  for (const Json& node : pod.at("best")) record["best"].push_back(golden.at("nodes").at(node.get<std::size_t>()));
  return record;
}

/// One cluster under one release on one backend.
class GoldenCase {
 public:
  GoldenCase(const std::string& backend, const Input& input, Release release)
      : loaded_(load_cluster_from_text(input.cluster, "cluster")) {
    loaded_.throw_if_problems();
    FeatureGates gates(release);
    gates.apply(input.gates);
    config_ = input.configuration.empty() ? default_scheduler_config(gates)
                                          : parse_scheduler_config(input.configuration, "configuration", gates);
    engine_.tie_break = TieBreak::kFirst;
    intake_ = partition_pods(loaded_.objects, config_, *cache_);
    backend_ = open_backend(backend, cache_, loaded_.objects, config_, engine_);
  }

  void expect_verdicts(const Json& golden) {
    std::map<std::string, PodPtr> pods;
    for (const PodPtr& pod : loaded_.objects.pods) pods[pod->full_name()] = pod;
    for (const Json& packed : golden.at("pods")) {
      std::vector<PodToPlace> pod{{pods.at(packed.at("pod").get<std::string>()), 0, -1}};
      pod.front().profile = profile_of(*pod.front().pod);
      backend_->prepare(pod);
      const Json record = unpack(packed, golden);
      const Evaluation ours = backend_->evaluate(pod.front());
      for (const std::string& difference : record_differences(record, *backend_, ours, NegativeRaw::kCompared)) {
        ADD_FAILURE() << difference;
      }
    }
  }

  /// The whole queue, each pod placed on the first of its best nodes before the next is tried.
  void expect_run(const Json& golden) {
    backend_->compile(intake_.queue);
    const BatchResult result = commit_with_refills(intake_.queue, {}, *backend_);
    ASSERT_EQ(result.outcomes.size(), golden.at("run").size());
    for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
      const Outcome& outcome = result.outcomes[i];
      Json ours = {{"pod", intake_.queue[i].pod->full_name()}};
      if (outcome.kind == OutcomeKind::kPlaced) {
        ours["node"] = backend_->node_name(outcome.node);
      } else {
        ours["message"] = result.messages.at(static_cast<std::size_t>(outcome.message)).text;
      }
      EXPECT_EQ(ours, golden["run"][i]) << "step " << i;
    }
  }

 private:
  std::int32_t profile_of(const Pod& pod) const {
    const std::int32_t profile = profile_index(config_, pod);
    if (profile >= 0) return profile;
    throw std::out_of_range(pod.full_name() + " has no profile");
  }

  LoadResult loaded_;
  SchedulerConfig config_;
  EngineConfig engine_;
  std::shared_ptr<ClusterCache> cache_ = std::make_shared<ClusterCache>();
  Intake intake_;
  std::unique_ptr<Backend> backend_;
};

class Golden : public testing::TestWithParam<std::tuple<const char*, Release>> {
 protected:
  void SetUp() override {
    const auto cache = std::make_shared<const ClusterCache>();
    const auto config = default_scheduler_config(FeatureGates());
    if (open_backend(backend(), cache, {}, config, {}) == nullptr) {
      ASSERT_EQ(std::getenv("BERTH_REQUIRE_DEVICE"), nullptr) << "this machine promises a device";
      GTEST_SKIP() << backend() << " is not available here";
    }
  }

  static std::string backend() { return std::get<0>(GetParam()); }
  static Release release() { return std::get<1>(GetParam()); }

  static std::vector<Json> verdicts(Release release) {
    const std::string name = "verdicts-" + std::string(to_string(release)) + ".jsonl.gz";
    std::istringstream lines(gunzip_file((kFolder / name).string()));
    std::vector<Json> found;
    for (std::string line; std::getline(lines, line);) found.push_back(Json::parse(line));
    return found;
  }
};

TEST_P(Golden, EveryVerdictAndPlacementMatchesUpstream) {
  const Json clusters = Json::parse(read_file(kFolder / "corpus.json")).at("clusters");
  const std::vector<Json> first = verdicts(Release::k1_35);
  const std::vector<Json> wanted = release() == Release::k1_35 ? first : verdicts(release());
  ASSERT_EQ(clusters.size(), wanted.size()) << "make golden";
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    SCOPED_TRACE("cluster " + clusters[i].dump());
    const bool handmade = clusters[i].contains("handmade");
    const Input input = handmade ? read_handmade(clusters[i]["handmade"].get<std::string>()) : draw(clusters[i]);
    ASSERT_EQ(input.crc32(), clusters[i].at("crc32").get<std::string>())
        << "the generated cluster has changed; 'make golden' records it again";
    // Equal answers of a later release are stored once.
    const Json& golden = wanted[i].contains("same") ? first.at(i) : wanted[i];
    GoldenCase(backend(), input, release()).expect_verdicts(golden);
    GoldenCase(backend(), input, release()).expect_run(golden);
  }
  EXPECT_GE(clusters.size(), 300u);
}

std::string test_name(const testing::TestParamInfo<Golden::ParamType>& info) {
  return name_in_tests(std::get<0>(info.param)) + (std::get<1>(info.param) == Release::k1_35 ? "_1_35" : "_1_36");
}

INSTANTIATE_TEST_SUITE_P(All, Golden,
                         testing::Combine(testing::ValuesIn(backend_names().begin(), backend_names().end()),
                                          testing::Values(Release::k1_35, Release::k1_36)),
                         test_name);

}  // namespace
}  // namespace berth::test
