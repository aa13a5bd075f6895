// SPDX-License-Identifier: Apache-2.0
// Scores of bulk checks, in drawn clusters and forks of them, by both backends: those of all nodes are the totals of
// explanations, which the comparison with upstream covers; those of a set are the totals of a pod whose PreFilter names
// these nodes, and what berth_fork_schedule() chooses by. BERTH_CLUSTERS and BERTH_SEED change how many there are.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/counting_world.h"
#include "tests/property/dice.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<std::uint32_t>;
using Scores = std::vector<std::int64_t>;

constexpr int kNodes = 7;

Json any_node(Dice& dice, int number) {
  const NodeShape shape = {.name = "n" + std::to_string(number),
                           .cpu = 2 + static_cast<int>(dice.upto(6)),
                           .zone = static_cast<int>(dice.upto(2)),
                           .cordoned = dice.one_in(6)};
  Json node = Json::parse(node_json(shape));
  node["metadata"]["labels"]["disk"] = dice.one_in(2) ? "ssd" : "hdd";
  if (dice.one_in(3))
    node["spec"]["taints"].push_back({{"key", "soft"}, {"value", ""}, {"effect", "PreferNoSchedule"}});
  return node;
}

Json selector_of_app(std::int64_t app) { return {{"matchLabels", {{"app", "x" + std::to_string(app)}}}}; }

/// A pod whose nodes the normalising plugins tell apart.
Json any_pod(Dice& dice, const std::string& name) {
  PodShape shape;
  shape.name = name;
  shape.milli_cpu = 300 * static_cast<int>(dice.upto(5));
  shape.app = static_cast<int>(dice.upto(2));
  shape.spreads = dice.one_in(5);
  shape.alone = dice.one_in(6);
  Json pod = Json::parse(pod_json(shape));
  Json& spec = pod["spec"];
  if (dice.one_in(2))
    spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = {
        {{"weight", 1 + dice.upto(99)},
         {"preference", {{"matchExpressions", {{{"key", "disk"}, {"operator", "In"}, {"values", {"ssd"}}}}}}}}};
  if (dice.one_in(2))
    spec["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = {
        {{"weight", 1 + dice.upto(99)},
         {"podAffinityTerm", {{"topologyKey", kZone}, {"labelSelector", selector_of_app(dice.upto(2))}}}}};
  if (dice.one_in(2))
    spec["topologySpreadConstraints"].push_back({{"maxSkew", 1},
                                                 {"topologyKey", dice.one_in(2) ? kZone : kHostname},
                                                 {"whenUnsatisfiable", "ScheduleAnyway"},
                                                 {"labelSelector", selector_of_app(shape.app)}});
  // Otherwise the names that a pod asks for would change what is counted for it.
  if (spec.contains("topologySpreadConstraints"))
    for (Json& constraint : spec["topologySpreadConstraints"]) constraint["nodeAffinityPolicy"] = "Ignore";
  return pod;
}

/// The pod, for which PreFilter names these nodes and no others.
Json named(Json pod, const std::vector<std::string>& nodes) {
  pod["metadata"]["name"] = "named";
  pod["metadata"]["uid"] = "uid-named";
  pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      Json::array();
  for (const std::string& node : nodes)
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        .push_back({{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}});
  return pod;
}

class Session {
 public:
  Session(const char* backend, std::uint64_t seed) : dice_(seed), world_(backend, seed) {
    for (int i = 0; i < kNodes; ++i) world_.upsert(any_node(dice_, i).dump());
    for (int i = 0; i < 9; ++i) {
      Json pod = any_pod(dice_, "runs" + std::to_string(i));
      pod["spec"]["nodeName"] = name_of(static_cast<std::uint32_t>(dice_.upto(kNodes - 1)));
      world_.upsert(pod.dump());
    }
    snapshot_ = world_.snapshot();
    fork_ = fork_of(snapshot_.get());
  }

  void check(const std::string& name) {
    const Json shape = any_pod(dice_, name);
    const OwnedPod pod = pod_of(world_.cluster.get(), shape.dump());
    const std::uint32_t flags = dice_.one_in(4) ? std::uint32_t{BERTH_NO_REASONS} : 0u;
    const bool on_snapshot = !is_changed_ && dice_.one_in(2);
    EXPECT_EQ(scores(on_snapshot, *pod, nullptr, flags), totals(on_snapshot, *pod));
    Numbers some;
    std::vector<std::string> names;
    for (const std::uint32_t number : nodes()) {
      if (dice_.one_in(3)) continue;
      some.push_back(number);
      names.push_back(name_of(number));
    }
    if (some.empty()) return;
    const OwnedNodeSet set = node_set(world_, some);
    check_set(on_snapshot, *pod, *set, some, *pod_of(world_.cluster.get(), named(shape, names).dump()));
    check_choice(*pod, *set, some, dice_.one_in(2) ? std::uint32_t{BERTH_SKIP_CORDONED} : 0u);
  }

  void change_fork() {
    is_changed_ = true;
    if (dice_.one_in(4)) {
      Json node = any_node(dice_, dice_.one_in(2) ? kNodes : static_cast<int>(dice_.upto(kNodes - 1)));
      const std::string text = node.dump();
      if (berth_fork_update_node(fork_.get(), text.data(), text.size(), nullptr) == BERTH_OK) return;
      EXPECT_EQ(berth_fork_add_node(fork_.get(), text.data(), text.size(), nullptr, nullptr), BERTH_OK);
      return;
    }
    const Numbers there = nodes();
    added_.push_back(pod_of(world_.cluster.get(), any_pod(dice_, "added" + std::to_string(added_.size())).dump()));
    const auto at = static_cast<std::size_t>(dice_.upto(static_cast<std::int64_t>(there.size()) - 1));
    EXPECT_EQ(berth_fork_add_pod(fork_.get(), added_.back().get(), there[at], nullptr), BERTH_OK);
  }

  std::size_t scored = 0, differing = 0;

 private:
  std::string name_of(std::uint32_t number) {
    berth_str name{};
    EXPECT_EQ(berth_cluster_node_name(world_.cluster.get(), number, &name, nullptr), BERTH_OK);
    return {name.data, name.size};
  }
  Numbers nodes() {
    Numbers numbers(kNodes + 1);
    std::size_t count = 0;
    EXPECT_EQ(berth_fork_nodes(fork_.get(), numbers.data(), numbers.size(), &count, nullptr), BERTH_OK);
    numbers.resize(count);
    return numbers;
  }
  OwnedResult checked(bool on_snapshot, const berth_pod& pod, const berth_node_set* set, std::uint32_t flags) {
    const berth_pod* const asked[] = {&pod, &pod};  // the second one repeats the first
    berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
    options.flags = flags | BERTH_WITH_SCORES;
    options.nodes = set;
    berth_result* made = nullptr;
    EXPECT_EQ(on_snapshot ? berth_snapshot_check_bulk_until(snapshot_.get(), asked, 2, &options, &made, nullptr)
                          : berth_fork_check_bulk_until(fork_.get(), asked, 2, &options, &made, nullptr),
              BERTH_OK);
    return OwnedResult(made);
  }
  /// Of the nodes of the answer. They are there where the node fits.
  Scores scores(bool on_snapshot, const berth_pod& pod, const berth_node_set* set, std::uint32_t flags) {
    const OwnedResult result = checked(on_snapshot, pod, set, flags);
    Scores twice = column_of<std::int64_t>(*result, BERTH_COLUMN_SCORE);
    const auto fits = column_of<std::uint8_t>(*result, BERTH_COLUMN_FITS);
    EXPECT_EQ(column_of<std::uint32_t>(*result, BERTH_COLUMN_MESSAGE), Numbers(2, 0u));
    EXPECT_EQ(twice.size(), fits.size());
    for (std::size_t i = 0; i < twice.size(); ++i) EXPECT_EQ(twice[i] != BERTH_NO_SCORE, fits[i] != 0) << i;
    const auto middle = twice.begin() + static_cast<std::ptrdiff_t>(twice.size() / 2);
    EXPECT_TRUE(std::equal(twice.begin(), middle, middle));
    twice.erase(middle, twice.end());
    return twice;
  }
  /// What an explanation says, by ascending number of the node.
  Scores totals(bool on_snapshot, const berth_pod& pod) {
    berth_result* made = nullptr;
    EXPECT_EQ(on_snapshot ? berth_snapshot_explain(snapshot_.get(), &pod, 0, &made, nullptr)
                          : berth_fork_explain(fork_.get(), &pod, 0, &made, nullptr),
              BERTH_OK);
    const OwnedResult result(made);
    berth_str json{};
    EXPECT_EQ(berth_result_json(result.get(), &json, nullptr), BERTH_OK);
    std::map<std::string, std::int64_t> of_name;
    const Json record = Json::parse(json.data);
    for (const Json& node : record.at("nodes"))
      of_name[node.at("node")] = node.at("feasible") ? node.at("total").get<std::int64_t>() : BERTH_NO_SCORE;
    Scores scores;
    for (const std::uint32_t number : nodes()) scores.push_back(of_name.at(name_of(number)));
    return scores;
  }
  void check_set(bool on_snapshot, const berth_pod& pod, const berth_node_set& set, const Numbers& some,
                 const berth_pod& naming) {
    const Scores of_set = scores(on_snapshot, pod, &set, 0);
    const Scores of_all = scores(on_snapshot, pod, nullptr, 0);
    const Scores of_named = totals(on_snapshot, naming);
    const Numbers all = nodes();
    ASSERT_EQ(of_set.size(), some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto at = static_cast<std::size_t>(std::ranges::find(all, some[i]) - all.begin());
      EXPECT_EQ(of_set[i], of_named[at]) << "node " << some[i] << ", as PreFilter names them";
      if (of_set[i] == BERTH_NO_SCORE) continue;
      ++scored;
      if (of_set[i] != of_all[at]) ++differing;
    }
  }
  /// By score berth_fork_schedule() takes a node with the highest total of the set.
  void check_choice(const berth_pod& pod, const berth_node_set& set, const Numbers& some, std::uint32_t flags) {
    const Scores of_set = scores(false, pod, &set, flags);
    const OwnedFork fork = fork_of(fork_.get());
    const berth_pod* const one = &pod;
    berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
    options.nodes = &set;
    options.flags = flags;
    berth_result* made = nullptr;
    ASSERT_EQ(berth_fork_schedule(fork.get(), &one, 1, &options, &made, nullptr), BERTH_OK);
    const OwnedResult result(made);
    const std::uint32_t taken = column_of<std::uint32_t>(*result, BERTH_COLUMN_NODE).front();
    const std::int64_t highest = *std::ranges::max_element(of_set);
    ASSERT_EQ(taken == BERTH_NO_NODE, highest == BERTH_NO_SCORE);
    if (taken == BERTH_NO_NODE) return;
    EXPECT_EQ(of_set[static_cast<std::size_t>(std::ranges::find(some, taken) - some.begin())], highest);
    const auto fitting = std::ranges::count_if(of_set, [](std::int64_t score) { return score != BERTH_NO_SCORE; });
    const std::int64_t total = column_of<std::int64_t>(*result, BERTH_COLUMN_SCORE).front();
    EXPECT_EQ(total, fitting > 1 ? highest : total) << "of one node alone nothing is scored";
  }

  Dice dice_;
  CountingWorld world_;
  OwnedSnapshot snapshot_;
  OwnedFork fork_;
  bool is_changed_ = false;
  std::vector<OwnedPod> added_;
};

void run(const char* backend, std::uint64_t sessions) {
  const std::uint64_t first = setting("BERTH_SEED", 1);
  std::size_t scored = 0, differing = 0;
  for (std::uint64_t seed = first; seed < first + sessions; ++seed) {
    SCOPED_TRACE(std::string(backend) + ", seed " + std::to_string(seed));
    Session session(backend, seed);
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
      session.check("p" + std::to_string(i));
      if (i % 2 == 1) session.change_fork();
    }
    scored += session.scored;
    differing += session.differing;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(20 * differing, scored);  // the set changes what normalisers see
}

TEST(ScoresOfChecks, AreTheTotalsOverTheNodesThatFit) { run("cpu", setting("BERTH_CLUSTERS", 150)); }
TEST(ScoresOfChecks, AreSoInTheReferenceToo) { run("reference", setting("BERTH_CLUSTERS", 150) / 3); }

TEST(ScoresOfChecks, AreNoneWhereAPodIsNotJudgedOrFitsNowhere) {
  CountingWorld world("cpu", 1);
  for (int i = 0; i < 3; ++i) world.upsert(node_json({.name = "n" + std::to_string(i)}));
  const OwnedPod claims = world.pod({.name = "claims", .has_claim = true});
  const OwnedPod large = world.pod({.name = "large", .milli_cpu = 90000});
  const OwnedPod fits = world.pod({.name = "fits"});
  const berth_pod* const pods[] = {claims.get(), large.get(), fits.get()};
  const OwnedSnapshot snapshot = world.snapshot();
  berth_result* made = nullptr;
  ASSERT_EQ(berth_snapshot_check_bulk(snapshot.get(), pods, 3, nullptr, BERTH_WITH_SCORES, &made, nullptr), BERTH_OK);
  const OwnedResult result(made);
  const Scores scores = column_of<std::int64_t>(*result, BERTH_COLUMN_SCORE);
  ASSERT_EQ(scores.size(), 9u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(scores[i], BERTH_NO_SCORE) << i;
  for (std::size_t i = 6; i < 9; ++i) EXPECT_GE(scores[i], 0) << i;
  EXPECT_EQ(texts_of(*result, BERTH_COLUMN_MESSAGE), std::vector<std::string>(3));
  ASSERT_EQ(berth_snapshot_check_bulk(snapshot.get(), pods, 3, nullptr, 0, &made, nullptr), BERTH_OK);
  const OwnedResult without(made);
  berth_column column{};
  EXPECT_EQ(berth_result_column(without.get(), BERTH_COLUMN_SCORE, &column, nullptr), BERTH_E_NOT_FOUND);
}

}  // namespace
}  // namespace berth::test
