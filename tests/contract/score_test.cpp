// SPDX-License-Identifier: Apache-2.0
// Worked examples of the scores: docs/behaviour/plugins-node.md 7.3, 8.5, 10 to 12, 14 and 17, by their ids.

#include "tests/contract/backend_contract.h"

namespace berth::test {
namespace {

using Scores = std::vector<std::int64_t>;

/// A node with `count` taints that no pod tolerates.
std::string tainted_node(const std::string& name, int count) {
  std::string line = "node " + name;
  for (int i = 0; i < count; ++i) line += " taint=k" + std::to_string(i) + ":PreferNoSchedule";
  return line + "\n";
}

std::string tainted_nodes(const std::vector<int>& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) text += tainted_node("n" + std::to_string(i), counts[i]);
  return text + "pod p";
}

/// Nodes whose matching preferred terms have these weights; 0 is a node that no term matches.
std::string preferred_nodes(const std::vector<int>& weights) {
  std::string nodes;
  std::string pod = "pod p prefer=1:nowhere:Exists";
  for (std::size_t i = 0; i < weights.size(); ++i) {
    nodes += "node n" + std::to_string(i) + " label:i=v" + std::to_string(i) + "\n";
    if (weights[i] > 0) pod += " prefer=" + std::to_string(weights[i]) + ":i:In:v" + std::to_string(i);
  }
  return nodes + pod;
}

TEST_P(BackendContract, E_TT_7_TaintScoresAreNormalisedInReverse) {
  const std::vector<std::pair<std::vector<int>, Scores>> rows = {
      {{1, 0, 2}, {50, 100, 0}}, {{3, 1, 2}, {0, 67, 34}}, {{0, 0, 0}, {100, 100, 100}}, {{2, 2}, {0, 0}}};
  for (const auto& [counts, scores] : rows) {
    given(tainted_nodes(counts));
    EXPECT_EQ(normalized("p", "TaintToleration"), scores);
  }
}

TEST_P(BackendContract, E_NA_10_WeightsOfMatchingPreferencesAreAdded) {
  given(R"(node x label:disk=ssd label:gen=7 label:zone=a
node y label:disk=hdd label:gen=v7
pod p prefer=80:disk:In:ssd prefer=20:zone:In:a prefer=5:gen:Lt:100)");
  EXPECT_EQ(raw("p", "x", "NodeAffinity"), 105);
  EXPECT_EQ(raw("p", "y", "NodeAffinity"), 0);
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{100, 0}));
}

TEST_P(BackendContract, E_NA_11_PreferencesAreNormalisedToTheHighest) {
  const std::vector<std::pair<std::vector<int>, Scores>> rows = {
      {{80, 20, 0}, {100, 25, 0}}, {{30, 30, 30}, {100, 100, 100}}, {{7, 3}, {100, 42}}, {{0, 0}, {0, 0}}};
  for (const auto& [weights, scores] : rows) {
    given(preferred_nodes(weights));
    EXPECT_EQ(normalized("p", "NodeAffinity"), scores);
  }
}

TEST_P(BackendContract, NodeAffinityIsSkippedWithoutPreferences) {
  given("node n\nnode m\npod p\npod q select:a=b");
  EXPECT_EQ(raw("p", "n", "NodeAffinity"), -1);
}

TEST_P(BackendContract, AddedPreferencesScoreForEveryPod) {
  given("config added-prefer=10:disk:In:ssd\nnode n label:disk=ssd\nnode m\npod p");
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{100, 0}));
}

TEST_P(BackendContract, PreferencesOfWeightZeroAndEmptyOnesAreNotParsed) {
  given("node n label:a=b\nnode m\npod p prefer=0:a:In prefer=7 prefer=3:a:In:b");
  const Evaluation evaluation = ask("p");
  EXPECT_EQ(evaluation.error, "");
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{100, 0}));
}

TEST_P(BackendContract, AMalformedPreferenceFailsTheCycle) {
  given("node n\nnode m\npod p prefer=1:a:Exists prefer=2:gen:Gt:-4");
  const std::string text =
      "running PreScore plugin \"NodeAffinity\": [1].matchExpressions[0].values[0][gen]: Invalid value: \"-4\": a "
      "valid "
      "label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
      "with "
      "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
      "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  EXPECT_EQ(ask("p").error, text);
  EXPECT_TRUE(ask("p").best.empty());
  const BatchResult result = place_pending();
  ASSERT_EQ(result.outcomes.at(0).kind, OutcomeKind::kError);
  EXPECT_EQ(result.messages.at(0).text, text);
}

TEST_P(BackendContract, ASingleFeasibleNodeGetsAPodWithMalformedPreferences) {
  given("node n\nnode m unschedulable\npod p prefer=2:gen:Gt:-4");
  const BatchResult result = place_pending();
  EXPECT_EQ(nodes_of(result), std::vector<std::string>{"n"});
  EXPECT_EQ(result.outcomes.at(0).score, 0);
}

// Normalisation, tested through the two plugins that use it

TEST_P(BackendContract, E_DN_1_NormalisationTruncates) {
  given(preferred_nodes({0, 3, 7}));
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{0, 42, 100}));
  given(tainted_nodes({0, 3, 7}));
  EXPECT_EQ(normalized("p", "TaintToleration"), (Scores{100, 58, 0}));
}

TEST_P(BackendContract, E_DN_2_AllZerosStayZeroOrBecomeHundredInReverse) {
  given(preferred_nodes({0, 0}));
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{0, 0}));
  given(tainted_nodes({0, 0}));
  EXPECT_EQ(normalized("p", "TaintToleration"), (Scores{100, 100}));
}

TEST_P(BackendContract, E_DN_3_ASingleScoreIsTheMaximum) {
  given(preferred_nodes({5}));
  EXPECT_EQ(normalized("p", "NodeAffinity"), Scores{100});
  given(tainted_nodes({5}));
  EXPECT_EQ(normalized("p", "TaintToleration"), Scores{0});
}

TEST_P(BackendContract, E_DN_4_ThirdsAreTruncatedBeforeReversing) {
  given(preferred_nodes({1, 2, 3}));
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{33, 66, 100}));
  given(tainted_nodes({1, 2, 3}));
  EXPECT_EQ(normalized("p", "TaintToleration"), (Scores{67, 34, 0}));
}

TEST_P(BackendContract, NormalisationUsesFeasibleNodesOnly) {
  given("node n0\nnode n1 taint=a:PreferNoSchedule\n" + tainted_node("n2", 4) + "pod p need=@metadata.name:NotIn:n2");
  EXPECT_EQ(normalized("p", "TaintToleration"), (Scores{100, 0, -1}));
}

// ImageLocality

/// `with` of `all` nodes have the image; the first one is n0.
std::string image_cluster(const std::string& image, int with, int all) {
  std::string text = "node n0 image=" + image + "\n";
  for (int i = 1; i < all; ++i) {
    text += "node n" + std::to_string(i) + (i < with ? " image=" + image : "") + "\n";
  }
  return text;
}

TEST_P(BackendContract, E_IL_1_AnImageIsWeightedByItsShareOfNodes) {
  given(image_cluster("500Mi*app:latest", 5, 10) + "pod p image=app");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 23);
  EXPECT_EQ(raw("p", "n9", "ImageLocality"), 0);
}

TEST_P(BackendContract, E_IL_2_AnImageOnEveryNodeCountsInFull) {
  given(image_cluster("500Mi*app:latest", 10, 10) + "pod p image=app");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 48);
}

TEST_P(BackendContract, E_IL_3_ASmallImageScoresZero) {
  given(image_cluster("20Mi*app:latest", 10, 10) + "pod p image=app");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 0);
}

TEST_P(BackendContract, E_IL_4_AHugeImageIsCapped) {
  given(image_cluster("4Gi*app:latest", 10, 10) + "pod p image=app");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 100);
}

TEST_P(BackendContract, E_IL_5_MoreContainersRaiseTheThreshold) {
  given(image_cluster("500Mi*app:latest", 5, 10) + "pod p image=app container image=other");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 11);
}

TEST_P(BackendContract, E_IL_6_InitContainersCount) {
  given(R"(node n0 image=300Mi*a:v1 image=900Mi*r.example:5000/b:latest
node n1 image=300Mi*a:v1 image=900Mi*r.example:5000/b:latest
node n2 image=900Mi*r.example:5000/b:latest
node n3 image=900Mi*r.example:5000/b:latest
pod p image=a:v1 init image=r.example:5000/b container image=none)");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 34);
}

TEST_P(BackendContract, E_IL_7_OneMoreByteGivesTheFirstPoint) {
  given(image_cluster("34361835*app:v1", 1, 1) + "pod p image=app:v1");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 0);
  given(image_cluster("34361836*app:v1", 1, 1) + "pod p image=app:v1");
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 1);
}

/// A hundred nodes; 29 have an image of `size`, all have one of `filler`. With two containers 25 points begin at a sum
/// of 542375936, so that a score of 25 or 24 determines the term of the first image to the byte.
std::string pinned(std::int64_t size, std::int64_t filler) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "node n" + std::to_string(i) + " image=" + std::to_string(filler) + "*filler:v1";
    if (i < 29) text += " image=" + std::to_string(size) + "*app:v1";
    text += "\n";
  }
  return text + "pod p image=app:v1 container image=filler:v1";
}

TEST_P(BackendContract, E_IL_8_TheFloatTermOfALargeImageIsTruncated) {
  given(pinned(900000000, 542375936 - 260999999));
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 25);
  given(pinned(900000000, 542375936 - 260999999 - 1));
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 24);
}

TEST_P(BackendContract, E_IL_9_TheFloatTermOfASmallImageIsTruncated) {
  given(pinned(100, 542375936 - 28));
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 25);
  given(pinned(100, 542375936 - 28 - 1));
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 24);
}

TEST_P(BackendContract, AnImageWithTwoNamesIsFoundByEither) {
  given("node n image=500Mi*app:v1,app@sha256:abab\npod p image=app:v1\npod q image=app@sha256:abab");
  EXPECT_EQ(raw("p", "n", "ImageLocality"), 48);
  EXPECT_EQ(raw("q", "n", "ImageLocality"), 48);
}

TEST_P(BackendContract, TheFirstReportedSizeOfAnImageCounts) {
  given("node n image=500Mi*app:v1\nnode m image=20Mi*app:v1\npod p image=app:v1");
  EXPECT_EQ(raw("p", "n", "ImageLocality"), 48);
  EXPECT_EQ(raw("p", "m", "ImageLocality"), 48);
}

TEST_P(BackendContract, ImageVolumesCountFromV136On) {
  const std::string cluster = image_cluster("500Mi*app:latest", 10, 10) + "pod p image=none image-volume=app";
  given(cluster);
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 0);
  given("config release=1.36\n" + cluster);
  EXPECT_EQ(raw("p", "n0", "ImageLocality"), 48);
}

// A complete example

// r2 raises the non-zero figures of n1 to 1100m and 3Gi while 1000m and 2Gi are requested: its six containers without a
// memory request count as 1200Mi there, and as the 176Mi of the init container here.
constexpr const char* kWhole = R"(node n1 cpu=4 memory=16Gi label:disk=ssd taint=a:PreferNoSchedule
node n2 cpu=8 memory=32Gi label:zone=a
node n3 cpu=4 memory=8Gi taint=a:PreferNoSchedule taint=b:PreferNoSchedule
pod r1 on=n1 cpu=1000m memory=1872Mi
pod r2 on=n1 init cpu=0 memory=176Mi container container cpu=0 container cpu=0 )"
                               R"(container cpu=0 container cpu=0 container cpu=0
pod r3 on=n2 cpu=2 memory=8Gi
pod p cpu=500m memory=1Gi prefer=80:disk:In:ssd prefer=20:zone:In:a image=nowhere
)";

TEST_P(BackendContract, E_ALL_TheHostIsTheNodeWithTheHighestTotal) {
  given(kWhole);
  const Evaluation evaluation = ask("p");
  EXPECT_EQ(on(evaluation, "n1").total, 507);
  EXPECT_EQ(on(evaluation, "n2").total, 517);
  EXPECT_EQ(on(evaluation, "n3").total, 187);
  ASSERT_EQ(evaluation.best.size(), 1u);
  EXPECT_EQ(backend_->node_name(evaluation.best[0]), "n2");
  EXPECT_EQ(normalized("p", "TaintToleration"), (Scores{50, 100, 0}));
  EXPECT_EQ(normalized("p", "NodeAffinity"), (Scores{100, 25, 0}));
  EXPECT_EQ(normalized("p", "NodeResourcesFit"), (Scores{67, 69, 87}));
  EXPECT_EQ(normalized("p", "NodeResourcesBalancedAllocation"), (Scores{90, 98, 100}));
  EXPECT_EQ(normalized("p", "ImageLocality"), (Scores{0, 0, 0}));
  const BatchResult result = place_pending();
  EXPECT_EQ(nodes_of(result), std::vector<std::string>{"n2"});
  EXPECT_EQ(result.outcomes[0].score, 517);
}

TEST_P(BackendContract, E_ALL_WithoutTheBestNodeTheOthersAreNormalisedAgain) {
  given(std::string(kWhole) +
        "pod q cpu=500m memory=1Gi prefer=80:disk:In:ssd prefer=20:zone:In:a "
        "need=@metadata.name:NotIn:n2");
  const Evaluation evaluation = ask("q");
  EXPECT_EQ(normalized("q", "TaintToleration"), (Scores{50, -1, 0}));
  EXPECT_EQ(on(evaluation, "n1").total, 507);
  EXPECT_EQ(on(evaluation, "n3").total, 187);
}

TEST_P(BackendContract, E_ALL_ASingleFeasibleNodeIsSelectedWithoutScoring) {
  given(std::string(kWhole) + "pod q cpu=500m memory=1Gi need=@metadata.name:In:n1");
  EXPECT_GT(ask("q", "n1").total, 0) << "explain scores it all the same";
  const BatchResult result = place({pod("q")});
  EXPECT_EQ(nodes_of(result), std::vector<std::string>{"n1"});
  EXPECT_EQ(result.outcomes[0].score, 0);
}

}  // namespace
}  // namespace berth::test
