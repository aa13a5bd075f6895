// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_constraints.h"

#include <gtest/gtest.h>

#include "tests/unit/engine_reference/asked_cluster.h"

namespace berth::reference {
namespace {

using test::AskedCluster;

/// Whether the asked pod's default selector, from services and workloads, matches `labels`; nullopt without
/// requirements.
std::optional<bool> selects(const std::string& text, const LabelMap& labels) {
  const AskedCluster cluster(text);
  const LabelMatcher selector = default_selector(*cluster.request().pod, cluster.view());
  if (selector.is_empty()) return std::nullopt;
  return selector.matches(labels);
}

TEST(DefaultSelector, UnitesTheMatchingServices) {
  const std::string text =
      "node n\nservice a select:app=web\nservice b select:tier=x\nservice c select:app=db\nservice all\n"
      "ask p label:app=web label:tier=x";
  EXPECT_EQ(selects(text, {{"app", "web"}, {"tier", "x"}}), true);
  EXPECT_EQ(selects(text, {{"app", "web"}}), false);
}

TEST(DefaultSelector, IsEmptyForAnUnselectedPod) {
  EXPECT_EQ(selects("node n\nservice all\nservice a select:app=web\nask p label:app=db", {}), std::nullopt);
  EXPECT_EQ(selects("node n\nworkload ReplicaSet/open match=\nask p owner=ReplicaSet/open", {}), std::nullopt);
}

TEST(DefaultSelector, AReplicationControllerOverridesAService) {
  const std::string text =
      "node n\nservice a select:app=web\nworkload ReplicationController/rc match=app=old\n"
      "ask p label:app=web owner=ReplicationController/rc";
  EXPECT_EQ(selects(text, {{"app", "old"}}), true);
  EXPECT_EQ(selects(text, {{"app", "web"}}), false);
}

TEST(DefaultSelector, AddsTheRequirementsOfAReplicaSetEvenWhenContradictory) {
  const std::string text =
      "node n\nservice a select:app=web\nworkload ReplicaSet/rs match=app=db\nask p label:app=web owner=ReplicaSet/rs";
  EXPECT_EQ(selects(text, {{"app", "web"}}), false);
  EXPECT_EQ(selects(text, {{"app", "db"}}), false);
}

TEST(DefaultSelector, IgnoresAMalformedSelector) {
  EXPECT_EQ(selects("node n\nworkload ReplicaSet/rs match=app:In\nask p owner=ReplicaSet/rs", {}), std::nullopt);
}

TEST(DefaultSelector, FindsTheControllerByExactVersionAndKind) {
  const AskedCluster cluster("node n\nworkload ReplicaSet/rs match=app=web\nask p label:app=web");
  const auto selector_for = [&](const OwnerReference& owner) {
    Pod pod;
    pod.owners = std::make_shared<const std::vector<OwnerReference>>(1, owner);
    return default_selector(pod, cluster.view());
  };
  EXPECT_FALSE(selector_for({"ReplicaSet", "rs", "", true, "apps/v1"}).is_empty());
  EXPECT_TRUE(selector_for({"ReplicaSet", "rs", "", true, "extensions/v1beta1"}).is_empty());
  EXPECT_TRUE(selector_for({"ReplicaSet", "rs", "", true, ""}).is_empty());
  EXPECT_TRUE(selector_for({"ReplicaSet", "rs", "", false, "apps/v1"}).is_empty()) << "no controller";
  EXPECT_TRUE(selector_for({"StatefulSet", "rs", "", true, "apps/v1"}).is_empty()) << "another kind";
}

TEST(SpreadConstraints, ExplicitOnesDisableAllDefaults) {
  const AskedCluster cluster("node n\nservice a select:app=web\nask p label:app=web spread=zone match=app=web");
  EXPECT_EQ(hard_constraints(cluster.request()).list.size(), 1u);
  EXPECT_TRUE(soft_constraints(cluster.request()).list.empty());
}

TEST(SpreadConstraints, SystemDefaultsAreHostnameThenZone) {
  const AskedCluster cluster("node n\nservice a select:app=web\nask p label:app=web");
  const std::vector<SpreadConstraint> soft = soft_constraints(cluster.request()).list;
  ASSERT_EQ(soft.size(), 2u);
  EXPECT_EQ(soft[0].topology_key, "kubernetes.io/hostname");
  EXPECT_EQ(soft[0].max_skew, 3);
  EXPECT_EQ(soft[1].topology_key, "topology.kubernetes.io/zone");
  EXPECT_EQ(soft[1].max_skew, 5);
  EXPECT_TRUE(hard_constraints(cluster.request()).list.empty());
}

}  // namespace
}  // namespace berth::reference
