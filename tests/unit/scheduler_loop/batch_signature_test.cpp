// SPDX-License-Identifier: Apache-2.0
// Which pods sign alike: docs/behaviour/scheduler-core.md 6.2. tests/oracle compares random pods with upstream's.

#include "host/scheduler/loop/batch_signature.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/objects/load_text.h"

namespace berth::test {
namespace {

class BatchSignatureTest : public testing::Test {
 protected:
  BatchSignatureTest() {
    for (Profile& profile : config.profiles) profile.args.pod_topology_spread.system_defaulting = false;
  }

  std::optional<std::string> sign(const std::string& spec, const std::string& labels = "{}") {
    const std::string text =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":)" + labels + R"(},"spec":)" + spec + "}";
    const ClusterObjects objects = load_good(text);
    return BatchSigner(config.profiles.front(), config.gates).sign(*objects.pods.front());
  }
  static std::string with(const std::string& fields) {
    return R"({"containers":[{"name":"c","image":"app","resources":{"requests":{"cpu":"1"}}}],)" + fields + "}";
  }
  void expect_equal(const std::string& a, const std::string& b) { EXPECT_EQ(sign(with(a)), sign(with(b))) << a; }
  void expect_unlike(const std::string& a, const std::string& b) { EXPECT_NE(sign(with(a)), sign(with(b))) << a; }
  void expect_unsigned(const std::string& fields) { EXPECT_EQ(sign(with(fields)), std::nullopt) << fields; }
  void disable(std::string_view plugin) {
    for (auto& point : config.profiles.front().plugins)
      std::erase_if(point, [&](const EnabledPlugin& each) { return each.name == plugin; });
  }

  SchedulerConfig config = default_scheduler_config(FeatureGates());
};

TEST_F(BatchSignatureTest, Tolerations) {
  const std::string one = R"({"key":"a","operator":"Exists","effect":"NoSchedule"})";
  const std::string two = R"({"key":"b","value":"x","effect":"NoSchedule"})";
  expect_equal(R"("tolerations":[)" + one + "," + two + "]", R"("tolerations":[)" + two + "," + one + "]");
  expect_unlike(R"("tolerations":[)" + one + "]", R"("tolerations":[)" + two + "]");
  expect_unlike(R"("tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}])",
                R"("tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":30}])");
  // Equal key and value: only the order as written tells them apart, and it does.
  const std::string first = R"({"key":"a","operator":"Exists","effect":"NoSchedule"})";
  const std::string second = R"({"key":"a","operator":"Exists","effect":"NoExecute"})";
  expect_unlike(R"("tolerations":[)" + first + "," + second + "]", R"("tolerations":[)" + second + "," + first + "]");
}

TEST_F(BatchSignatureTest, HostPortsAreNumbersOnly) {
  const auto port = [](const std::string& more) {
    return R"({"containers":[{"name":"c","image":"app","ports":[{"containerPort":1,"hostPort":80)" + more + "}]}]}";
  };
  EXPECT_EQ(sign(port("")), sign(port(R"(,"protocol":"UDP","hostIP":"10.0.0.1")")));
  EXPECT_NE(sign(port("")), sign(R"({"containers":[{"name":"c","image":"app"}]})"));
}

TEST_F(BatchSignatureTest, NodeAffinityInAnyOrder) {
  const auto terms = [](const std::string& expressions) {
    return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
           expressions + "]}}}";
  };
  const std::string a =
      R"({"matchExpressions":[{"key":"z","operator":"In","values":["1","2"]},{"key":"y","operator":"Exists"}]})";
  const std::string b =
      R"({"matchExpressions":[{"key":"y","operator":"Exists"},{"key":"z","operator":"In","values":["2","1"]}]})";
  const std::string c = R"({"matchExpressions":[{"key":"z","operator":"In","values":["1"]}]})";
  expect_equal(terms(a + "," + c), terms(c + "," + b));
  expect_unlike(terms(a), terms(c));
  expect_unlike(R"("affinity":{"nodeAffinity":{}})", R"("hostNetwork":false)");
  expect_unlike(R"("nodeSelector":{"a":"b"})", R"("nodeSelector":{"a":"c"})");
}

TEST_F(BatchSignatureTest, RequestsLabelsAndImages) {
  EXPECT_NE(sign(with(R"("overhead":{"cpu":"1"})")), sign(with(R"("overhead":{"cpu":"2"})")));
  EXPECT_NE(sign(with(R"("hostNetwork":false)"), R"({"a":"b"})"), sign(with(R"("hostNetwork":false)")));
  const auto image = [](const std::string& name) { return R"({"containers":[{"name":"c","image":")" + name + "\"}]}"; };
  EXPECT_EQ(sign(image("app")), sign(image("app:latest")));
  EXPECT_NE(sign(image("app")), sign(image("app:1")));
  config.profiles.front().args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods = true;
  EXPECT_EQ(sign(with(R"("hostNetwork":false)"), R"({"a":"b"})"), sign(with(R"("hostNetwork":false)")));
}

TEST_F(BatchSignatureTest, VolumesWithoutTheirNamesConfigMapsAndSecrets) {
  expect_equal(R"("volumes":[{"name":"a","emptyDir":{}},{"name":"b","hostPath":{"path":"/x","type":""}}])",
               R"("volumes":[{"name":"c","hostPath":{"type":"","path":"/x"}},{"name":"d","emptyDir":{}}])");
  expect_equal(R"("volumes":[{"name":"a","configMap":{"name":"m"}},{"name":"b","secret":{"secretName":"s"}}])",
               R"("hostNetwork":false)");
  expect_unlike(R"("volumes":[{"name":"a","emptyDir":{}}])", R"("hostNetwork":false)");
  expect_unlike(R"("volumes":[{"name":"a","hostPath":{"path":"/x"}}])",
                R"("volumes":[{"name":"a","hostPath":{"path":"/y"}}])");
}

TEST_F(BatchSignatureTest, PrioritiesAndOwnersDoNotCount) { expect_equal(R"("priority":7)", R"("priority":8)"); }

TEST_F(BatchSignatureTest, PodsThatAreNotSigned) {
  expect_unsigned(R"("affinity":{"podAffinity":{}})");
  expect_unsigned(R"("affinity":{"podAntiAffinity":{}})");
  expect_unsigned(
      R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}])");
  expect_unsigned(R"("resourceClaims":[{"name":"gpu","resourceClaimName":"g"}])");
  disable("InterPodAffinity");
  EXPECT_NE(sign(with(R"("affinity":{"podAffinity":{}})")), std::nullopt);
}

TEST_F(BatchSignatureTest, ProfilesThatSignNothing) {
  const std::string plain = with(R"("hostNetwork":false)");
  ASSERT_NE(sign(plain), std::nullopt);
  config.gates.apply("DRAExtendedResource=true");
  EXPECT_EQ(sign(plain), std::nullopt);
  disable("NodeResourcesFit");
  EXPECT_EQ(sign(plain), std::nullopt);
  disable("NodeResourcesBalancedAllocation");
  EXPECT_NE(sign(plain), std::nullopt);
  config.profiles.front().args.pod_topology_spread = {};
  EXPECT_EQ(sign(plain), std::nullopt);
  disable("PodTopologySpread");
  EXPECT_NE(sign(plain), std::nullopt);
  config.profiles.front().plugins[static_cast<std::size_t>(ExtensionPoint::kScore)].push_back({"Outside", 1});
  EXPECT_EQ(sign(plain), std::nullopt);
}

TEST_F(BatchSignatureTest, OnlyWhatSomePluginReads) {
  disable("NodeUnschedulable");
  expect_unlike(R"("tolerations":[{"operator":"Exists"}])", R"("hostNetwork":false)");
  disable("TaintToleration");
  expect_equal(R"("tolerations":[{"operator":"Exists"}])", R"("hostNetwork":false)");
  for (const char* plugin : {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}) disable(plugin);
  expect_equal(R"("volumes":[{"name":"a","emptyDir":{}}])", R"("hostNetwork":false)");
}

}  // namespace
}  // namespace berth::test
