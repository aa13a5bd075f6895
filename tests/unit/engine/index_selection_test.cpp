// SPDX-License-Identifier: Apache-2.0
// Pods of clusters with many Deployments are placed by the index, and where the reference evaluator places them.
#include "host/engine/cpu/index_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/reference/reference_backend.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

/// Every pod takes the index where it serves.
CpuTuning always() {
  CpuTuning tuning;
  tuning.index_classes_min = tuning.index_topology_classes_min = 0;
  tuning.index_changes_min = 30;
  tuning.index_groups_always = 1000;  // these clusters are small
  tuning.min_run_pods = 1000000;
  return tuning;
}

class Mix {
 public:
  explicit Mix(unsigned seed) : random_(seed) {}

  /// @param nominated  pods of a higher priority that come last, and until then count on the nodes they are nominated
  /// to
  std::string text(unsigned nodes, unsigned apps, unsigned replicas, unsigned nominated = 0) {
    std::string text;
    for (unsigned i = 0; i < nodes; ++i) text += node(i);
    for (unsigned app = 0; app < apps; ++app) {
      const std::string name = "app" + std::to_string(app);
      if (one_in(2)) text += "service " + name + " select:app=" + name + "\n";
      const std::string pod = words_of(name, apps);
      for (unsigned k = 1 + upto(2 * replicas - 2); k > 0; --k)
        pods_.push_back("pod " + name + "-" + std::to_string(k) + pod);
    }
    std::shuffle(pods_.begin(), pods_.end(), random_);
    for (const std::string& pod : pods_) text += pod + "\n";
    for (unsigned i = 0; i < nominated; ++i)
      text += "pod urgent-" + std::to_string(i) + " priority=1000 cpu=" + one_of({"1", "1500m", "3"}) +
              " label:app=app" + std::to_string(upto(apps - 1)) + " nominated=n" + std::to_string(upto(nodes - 1)) +
              (one_in(4) ? " pod-anti-affinity=host match=app=app" + std::to_string(upto(apps - 1)) : "") + "\n";
    return text;
  }

 private:
  unsigned upto(unsigned most) { return static_cast<unsigned>(random_() % (most + 1)); }
  bool one_in(unsigned count) { return random_() % count == 0; }
  std::string one_of(const std::vector<std::string>& words) { return words[random_() % words.size()]; }

  std::string node(unsigned i) {
    std::string text = "node n" + std::to_string(i) + " host zone=z" + std::to_string(i % 3) +
                       " cpu=" + one_of({"2", "4", "8", "1900m", "3901m"}) +
                       " memory=" + one_of({"4Gi", "8Gi", "16Gi", "7000001Ki"}) + " pods=" + one_of({"5", "30", "110"});
    if (!one_in(8)) text += " label:pool=" + one_of({"general", "general", "batch"});
    if (!one_in(6)) text += " label:rack=r" + std::to_string(i % 7);
    if (one_in(6)) text += " taint=gpu:NoSchedule";
    if (one_in(9)) text += " taint=soft:PreferNoSchedule";
    if (one_in(3)) text += " image=300Mi*img" + std::to_string(upto(3));
    if (one_in(5)) text += " res:nvidia.com/gpu=4";
    return text + " label:index=" + std::to_string(i) + "\n";
  }

  std::string words_of(const std::string& app, unsigned apps) {
    std::string text = " label:app=" + app;
    if (!one_in(8)) text += " cpu=" + one_of({"50m", "100m", "250m", "500m", "1", "51m"});
    if (!one_in(8)) text += " memory=" + one_of({"64Mi", "256Mi", "1Gi", "2Gi", "100001Ki"});
    if (one_in(6)) text += " select:pool=" + one_of({"general", "batch"});
    if (one_in(8)) text += " tolerate=gpu";
    if (one_in(6)) text += " image=img" + std::to_string(upto(5));
    if (one_in(8)) text += " prefer=" + std::to_string(1 + upto(50)) + ":pool:In:batch";
    if (one_in(12)) text += " port=" + std::to_string(8000 + upto(2));
    if (one_in(15)) text += " res:nvidia.com/gpu=1";
    if (one_in(15)) text += " select:index=" + std::to_string(upto(9));
    const std::string other = "app" + std::to_string(upto(apps - 1));
    switch (upto(10)) {
      case 0:
      case 1:
        return text + " pod-anti-affinity=host:100 match=app=" + app;
      case 2:
        return text + " pod-anti-affinity=host match=app=" + app;
      case 3:
        return text + " spread=zone match=app=" + app;
      case 4:
        return text + " soft-spread=rack match=app=" + app + " soft-spread=host match=app=" + app;
      case 5:
        return text + " pod-affinity=zone:30 match=app=" + other + " pod-anti-affinity=host:20 match=app=" + app;
      case 7:
        return text + " soft-spread=rack match=app=" + app + " spread=zone match=app=" + app + " skew=3";
      case 8:
        return text + " pod-affinity=rack:10 match=app=" + other + " soft-spread=zone match=app=" + app;
      case 6:
        return text + (one_in(2) ? " pod-affinity=host match=app=" : " spread=host skew=2 match=app=") + app;
      default:
        return text;
    }
  }

  std::mt19937 random_;
  std::vector<std::string> pods_;
};

template <class Engine, class... Tuning>
std::vector<std::string> place_with_undoing(const test::Scenario& scenario, AnswerWays* ways, const Tuning&... tuning) {
  const auto cache = test::fill_cache(scenario.objects);
  Engine engine(cache, scenario.objects, scenario.config, scenario.engine, tuning...);
  std::vector<PodToPlace> pods;
  for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
  engine.compile(pods);
  std::vector<std::string> lines;
  const auto commit = [&](std::size_t first, std::size_t end) {
    const BatchResult result = engine.commit_batch(std::span(pods).subspan(first, end - first), {});
    for (const Outcome& outcome : result.outcomes)
      lines.push_back(outcome.kind == OutcomeKind::kPlaced
                          ? std::string(engine.node_name(outcome.node)) + " " + std::to_string(outcome.score)
                          : result.messages[static_cast<std::size_t>(outcome.message)].text);
  };
  const std::size_t third = pods.size() / 3;
  commit(0, third);
  const CommitMark mark = engine.mark();
  commit(third, 2 * third);
  engine.rollback(mark);
  for (std::size_t i = 0; i < third; i += 3) engine.undo(*pods[i].pod);
  commit(third, pods.size());
  if (ways != nullptr) *ways = engine.stats().ways;
  return lines;
}

/// As always(), with few groups of nodes, so that those of one group differ.
CpuTuning few_groups() {
  CpuTuning tuning = always();
  tuning.index_groups_always = 6;
  return tuning;
}

/// As always(); racks are keys with many domains, which have trees of their own.
CpuTuning wide_trees() {
  CpuTuning tuning = always();
  tuning.coarse_domains_max = 4;
  return tuning;
}

/// As always(); no key has few enough domains for groups.
CpuTuning all_by_count() {
  CpuTuning tuning = always();
  tuning.index_groups_always = 2;
  tuning.coarse_domains_max = 1;
  return tuning;
}

/// @param nominated_share  a nominated pod for so many nodes; 0: none
void expect_mixes_agree(unsigned nominated_share, const CpuTuning& tuning) {
  std::int64_t by_index = 0;
  std::int64_t by_rows = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    Mix mix(seed);
    const unsigned nodes = 10 + seed * 3;
    const unsigned nominated = nominated_share > 0 ? nodes / nominated_share : 0;
    const test::Scenario scenario = test::parse_scenario(mix.text(nodes, 4 + seed / 2, 1 + seed % 9, nominated));
    AnswerWays ways;
    const std::vector<std::string> expected = place_with_undoing<ReferenceBackend>(scenario, nullptr);
    ASSERT_EQ(place_with_undoing<CpuBackend>(scenario, &ways, tuning), expected) << "seed " << seed;
    by_index += ways.by_index;
    by_rows += ways.all_by_rows();
  }
  EXPECT_GT(by_index, 2 * by_rows) << by_index << " of " << by_index + by_rows;
}

TEST(IndexSelection, PlacesEachPodOfAMixWhereTheReferenceDoes) { expect_mixes_agree(0, always()); }

TEST(IndexSelection, LeavesOutNodesThatRefuseBecauseOfNominations) { expect_mixes_agree(3, always()); }

TEST(IndexSelection, PlacesPodsWhereTheNodesOfAGroupDiffer) { expect_mixes_agree(0, few_groups()); }

TEST(IndexSelection, PlacesPodsByTreesForKeysWithManyDomains) { expect_mixes_agree(4, wide_trees()); }

TEST(IndexSelection, PlacesPodsWhoseKeysAreReadByCount) { expect_mixes_agree(0, all_by_count()); }

TEST(IndexSelection, EveryPodOfDeploymentsWithServicesTakesTheIndex) {
  std::string text;
  for (unsigned i = 0; i < 90; ++i)
    text += "node n" + std::to_string(i) + " host zone=z" + std::to_string(i % 3) +
            " cpu=" + std::to_string(4 + i % 4) + " memory=32Gi label:pool=" + (i % 2 == 0 ? "a" : "b") + "\n";
  for (unsigned app = 0; app < 70; ++app) {
    const std::string name = "app" + std::to_string(app);
    const std::string with = app % 2 == 0 ? " pod-anti-affinity=host:100 match=app=" + name : "";
    text += "service " + name + " select:app=" + name + "\n";
    for (unsigned k = 0; k < 5; ++k)
      text += "pod " + name + "-" + std::to_string(k) + " cpu=100m memory=128Mi image=registry/" + name +
              " label:app=" + name + (app % 5 == 0 ? " select:pool=a" : "") + with + "\n";
  }
  const test::Scenario scenario = test::parse_scenario(text);
  AnswerWays ways;
  const std::vector<std::string> expected = place_with_undoing<ReferenceBackend>(scenario, nullptr);
  EXPECT_EQ(place_with_undoing<CpuBackend>(scenario, &ways, always()), expected);
  EXPECT_GT(ways.by_index, 0);
  EXPECT_EQ(ways.all_by_rows(), 0);
}

/// Pods of every size, most of which fit nowhere: too large for what is free, or for what nodes offer, by a byte too.
TEST(IndexSelection, SaysWhyPodsFitNowhere) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
    std::string text;
    const unsigned kinds = 1 + upto(3);
    for (unsigned i = 0; i < 60; ++i)
      text += "node n" + std::to_string(i) + " host cpu=" + std::to_string(2 + i % kinds) +
              " memory=" + std::to_string(4 + i % kinds) + "Gi pods=" + (seed % 5 == 0 && i % 7 == 0 ? "1" : "20") +
              (seed % 3 == 0 && i % 4 == 0 ? " taint=gpu:NoSchedule" : "") + " label:pool=" + (i % 3 == 0 ? "a" : "b") +
              "\n";
    for (unsigned i = 0; i < 200; ++i) {
      const bool fits = upto(3) == 0;
      text += "pod p" + std::to_string(i) + " cpu=" + std::to_string(fits ? 100 + upto(900) : 1000 + upto(4500)) +
              "m memory=" + std::to_string((fits ? 100u : 2000u) * 1048576u + upto(2)) +
              (upto(3) == 0 ? " select:pool=a" : "") + (upto(5) == 0 ? " tolerate=gpu" : "") +
              (upto(5) == 0 ? " soft-spread=host match=app=x" : "") + "\n";
    }
    const test::Scenario scenario = test::parse_scenario(text);
    AnswerWays ways;
    const std::vector<std::string> expected = place_with_undoing<ReferenceBackend>(scenario, nullptr);
    for (const CpuTuning& tuning : {always(), few_groups()})
      ASSERT_EQ(place_with_undoing<CpuBackend>(scenario, &ways, tuning), expected) << "seed " << seed;
    EXPECT_GT(ways.by_index, 0);
  }
}

/// A row keeps the largest raw score of a node that is refused later. What it normalises by is nobody's then.
TEST(IndexSelection, TheOnlyHolderOfTheLargestRawScoreIsCordoned) {
  const test::Scenario scenario = test::parse_scenario(
      "node a cpu=8 zone=1 label:disk=ssd\nnode b*3 cpu=8 zone=1\nnode c cpu=8\n"
      "pod p*2 cpu=1 prefer=7:topology.kubernetes.io/zone:In:1 prefer=5:disk:In:ssd\n");
  const auto cordoned = std::make_shared<Node>(*scenario.objects.nodes.front());
  cordoned->unschedulable = true;
  const auto scores = [&](Backend& backend) {
    std::vector<PodToPlace> pods;
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    backend.compile(pods);
    const std::int64_t before = backend.commit_batch(std::span(pods).first(1), {}).outcomes.front().score;
    backend.apply(std::vector<ClusterChange>{NodeUpsert(cordoned)});
    return std::pair(before, backend.commit_batch(std::span(pods).last(1), {}).outcomes.front().score);
  };
  const auto cache = test::fill_cache(scenario.objects);
  ReferenceBackend reference(cache, scenario.objects, scenario.config, scenario.engine);
  CpuBackend cpu(cache, scenario.objects, scenario.config, scenario.engine, always());
  EXPECT_EQ(scores(cpu), scores(reference));
  EXPECT_GT(cpu.stats().ways.by_index, 0);
}

}  // namespace
}  // namespace berth
