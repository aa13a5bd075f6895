// SPDX-License-Identifier: Apache-2.0
// Each topology rule of the checker is violated here on purpose.

#include "tests/support/check_topology.h"

#include <gtest/gtest.h>

#include "tests/support/check_placement.h"
#include "tests/support/scenario.h"

namespace berth::test {
namespace {

using Lines = std::vector<std::string>;

/// Puts every pending pod of `text` on the node given for it, in order.
Lines problems(const std::string& text, const Lines& nodes) {
  const Scenario scenario = parse_scenario(text);
  const std::vector<PodPtr> pending = scenario.pending();
  std::vector<PlacedPod> placed;
  for (std::size_t i = 0; i < nodes.size(); ++i) placed.push_back({pending.at(i), nodes[i]});
  return check_placement(scenario.objects, placed,
                         check_rules(scenario.config, scenario.config.profiles.front(), scenario.engine));
}

constexpr const char* kZones = "node a zone=A\nnode b zone=B\nnode x\n";
constexpr const char* kHosts = "node a host\nnode b host\n";

TEST(CheckTopology, AcceptsPodsThatAlternate) {
  EXPECT_EQ(problems(std::string(kZones) + "pod p*4 label:app=w spread=zone match=app=w", {"a", "b", "b", "a"}),
            Lines{});
}

TEST(CheckTopology, ReportsASkewThatLaterPodsCorrect) {
  EXPECT_EQ(problems(std::string(kZones) + "pod p*4 label:app=w spread=zone match=app=w", {"a", "a", "b", "b"}),
            Lines{"pod default/p1 went to a which skews topology.kubernetes.io/zone too much"});
}

TEST(CheckTopology, ReportsANodeWithoutTheKey) {
  EXPECT_EQ(problems(std::string(kZones) + "pod p spread=zone match=app=w", {"x"}),
            Lines{"pod default/p went to x which lacks topology.kubernetes.io/zone"});
}

TEST(CheckTopology, AppliesMinDomains) {
  const std::string text = std::string(kZones) + "pod r on=a label:app=w\npod s on=b label:app=w\n";
  EXPECT_EQ(problems(text + "pod p label:app=w spread=zone match=app=w", {"a"}), Lines{});
  EXPECT_EQ(problems(text + "pod p label:app=w spread=zone match=app=w min-domains=3", {"a"}).size(), 1u);
}

TEST(CheckTopology, AppliesInclusionPolicies) {
  const std::string pods =
      "node c zone=C label:disk=hdd\npod r on=a label:app=w\npod t on=b label:app=w terminating\n"
      "pod o on=b label:app=w namespace=other\n";
  const std::string ask = "pod p label:app=w spread=zone match=app=w node-affinity=";
  EXPECT_EQ(problems(kZones + pods + ask + "Ignore", {"a"}).size(), 1u);
  EXPECT_EQ(problems(kZones + pods + ask + "Honor", {"b"}), Lines{});
  const std::string full = "pod s on=b label:app=w\n";
  EXPECT_EQ(problems(kZones + pods + full + "pod p label:app=w spread=zone match=app=w need=disk:DoesNotExist", {"a"}),
            Lines{})
      << "zone C is not eligible";
  EXPECT_EQ(problems(kZones + pods + full + ask + "Ignore need=disk:DoesNotExist", {"a"}).size(), 1u);
}

TEST(CheckTopology, HandlesTheEmptySelectorAndItsBug) {
  const std::string text = std::string(kZones) + "pod r on=a\npod p spread=zone match=";
  EXPECT_EQ(problems(text, {"a"}), Lines{});
  EXPECT_EQ(problems("engine fixed=empty-spread-selector\n" + text, {"a"}).size(), 1u);
}

TEST(CheckTopology, AppliesListDefaultConstraints) {
  const std::string text = std::string("config default-spread=zone:1:hard\n") + kZones + "pod r on=a label:app=w\n";
  EXPECT_EQ(problems(text + "pod p label:app=w", {"a"}), Lines{});
  EXPECT_EQ(problems(text + "service s select:app=w\npod p label:app=w", {"a"}).size(), 1u);
  EXPECT_EQ(problems(text + "workload ReplicaSet/rs match=app=w\npod p label:app=w owner=ReplicaSet/rs", {"a"}).size(),
            1u);
}

TEST(CheckTopology, IgnoresDisabledPlugins) {
  const std::string pod = "pod r on=a label:app=w\npod p label:app=w ";
  EXPECT_EQ(
      problems(std::string("config disable=PodTopologySpread\n") + kZones + pod + "spread=zone match=app=w", {"a"}),
      Lines{});
  EXPECT_EQ(problems(std::string("config disable=InterPodAffinity@filter\n") + kZones + pod +
                         "pod-anti-affinity=zone match=app=w",
                     {"a"}),
            Lines{});
}

TEST(CheckTopology, ReportsAnUnsatisfiedAffinity) {
  const std::string text = std::string(kHosts) + "pod r on=a label:app=db\npod p pod-affinity=host match=app=db";
  EXPECT_EQ(problems(text, {"a"}), Lines{});
  EXPECT_EQ(problems(text, {"b"}), Lines{"pod default/p went to b against its own affinity"});
}

TEST(CheckTopology, AcceptsTheFirstPodOfASeriesAndNotTheSecond) {
  const std::string text = std::string(kHosts) + "pod p*2 label:app=ring pod-affinity=host match=app=ring";
  EXPECT_EQ(problems(text, {"a", "a"}), Lines{});
  EXPECT_EQ(problems(text, {"a", "b"}), Lines{"pod default/p1 went to b against its own affinity"});
  EXPECT_EQ(problems(std::string(kHosts) + "pod p pod-affinity=host match=app=ring", {"a"}).size(), 1u)
      << "it does not match itself";
}

TEST(CheckTopology, ReportsAntiAffinityInBothDirections) {
  const std::string guard = "pod g on=a label:app=db pod-anti-affinity=host match=app=web\n";
  EXPECT_EQ(problems(kHosts + guard + "pod p label:app=web", {"a"}),
            Lines{"pod default/p went to a against the anti-affinity of default/g"});
  EXPECT_EQ(problems(kHosts + guard + "pod p label:app=x pod-anti-affinity=host match=app=db", {"a"}),
            Lines{"pod default/p went to a against its own anti-affinity, to default/g"});
  EXPECT_EQ(problems(kHosts + guard + "pod p label:app=web pod-anti-affinity=host match=app=db", {"b"}), Lines{});
}

TEST(CheckTopology, HandlesNamespacesOfTermsAndTheirBug) {
  const std::string text =
      "namespace default label:team=a\nnamespace q label:team=b\n" + std::string(kHosts) +
      "pod g on=a label:app=db\npod p namespace=q pod-anti-affinity=host match=app=db namespace-match=";
  EXPECT_EQ(problems(text + "team:In:a", {"a"}).size(), 1u);
  EXPECT_EQ(problems(text + "team:In:b", {"a"}), Lines{});
  EXPECT_EQ(problems(text, {"a"}).size(), 1u) << "{} is every namespace";
  EXPECT_EQ(problems(text + "team:NotIn:a", {"a"}).size(), 1u) << "the bug";
  EXPECT_EQ(problems("engine fixed=negative-namespace-selector\n" + text + "team:NotIn:a", {"a"}), Lines{});
}

}  // namespace
}  // namespace berth::test
