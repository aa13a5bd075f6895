// SPDX-License-Identifier: Apache-2.0
// The plugins of volumes: the worked examples of docs/behaviour/plugins-storage-devices.md 1 and 2, and what placements
// assume.

#include <string>
#include <vector>

#include "tests/contract/backend_contract.h"
#include "tests/support/open_backend.h"

namespace berth::test {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";
constexpr const char* kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr StatusCode kRefusedForGood = StatusCode::kUnschedulableAndUnresolvable;
constexpr const char* kNoVolume = "node(s) didn't find available persistent volumes to bind";

Quantity gib(std::int64_t count) { return Quantity{static_cast<__int128>(count << 30) * kNanoPerUnit}; }

AccessModes modes(std::initializer_list<AccessMode> list) {
  AccessModes set;
  for (const AccessMode mode : list) set.insert(mode);
  return set;
}

StorageClass waiting_class(const char* name, const char* provisioner) {
  StorageClass object;
  object.name = name;
  object.provisioner = provisioner;
  object.binding_mode = StorageClass::BindingMode::kWaitForFirstConsumer;
  return object;
}

VolumeClaim claim(const char* name, std::int64_t request_gib, const char* class_name = "local") {
  VolumeClaim claim;
  claim.name = name;
  claim.namespace_ = "default";
  claim.uid = std::string("uid-") + name;
  claim.class_name = class_name;
  claim.request = gib(request_gib);
  claim.access_modes = modes({AccessMode::kReadWriteOnce});
  return claim;
}

PersistentVolume volume(const char* name, std::int64_t size_gib, const char* zone, AccessModes access) {
  PersistentVolume volume;
  volume.name = name;
  volume.class_name = "local";
  volume.capacity = gib(size_gib);
  volume.access_modes = access;
  volume.is_available = true;
  volume.node_affinity = {{{{{kZone, SelectorOperator::kIn, {zone}}}, {}}}};
  return volume;
}

class VolumesContract : public BackendContract {
 protected:
  BatchResult place_all() { return commit_with_refills(compiled(scenario_.pending()), {}, *backend_); }
  /// The existing volume that the pod's only claim takes; "" for none.
  std::string volume_of(std::string_view pod_name) {
    const VolumeDecisionsPtr decisions = backend_->volume_decisions(*pod(pod_name));
    return decisions == nullptr || decisions->matches.empty() ? "" : decisions->matches.front().volume;
  }
};

/// E-VB-1, whose volumes lie in order.
class MatchingContract : public VolumesContract {
 protected:
  void SetUp() override {
    const AccessModes once = modes({AccessMode::kReadWriteOnce});
    const AccessModes both = modes({AccessMode::kReadWriteOnce, AccessMode::kReadWriteMany});
    storage_.classes = {waiting_class("local", "kubernetes.io/no-provisioner")};
    storage_.volumes = {volume("p200", 200, "z1", both), volume("p50", 50, "z2", once), volume("p60", 60, "z1", once),
                        volume("p60b", 60, "z1", both), volume("p55", 55, "z1", both)};
    storage_.volumes.back().is_available = false;
    VolumesContract::SetUp();
  }
  std::string match(const VolumeClaim& asked) {
    storage_.claims = {asked};
    given("node n cpu=8 memory=8Gi zone=z1\npod p claim=c");
    place_all();
    return volume_of("p");
  }
};

TEST_P(MatchingContract, TakesTheSmallestVolumeThatSuits) {
  EXPECT_EQ(match(claim("c", 50)), "p60");
  VolumeClaim many = claim("c", 50);
  many.access_modes = modes({AccessMode::kReadWriteMany});
  EXPECT_EQ(match(many), "p60b");
  storage_.volumes[2].claim_ref = ObjectName{"default", "other", ""};
  EXPECT_EQ(match(claim("c", 50)), "p60b");
  EXPECT_EQ(match(claim("c", 250)), "");
  EXPECT_EQ(fit_error("p"), "0/1 nodes are available: 1 " + std::string(kNoVolume) + ".");
}

TEST_P(MatchingContract, AVolumeThatIsBoundToTheClaimIsTakenOrNone) {
  storage_.volumes[0].claim_ref = ObjectName{"default", "c", "uid-c"};
  EXPECT_EQ(match(claim("c", 50)), "p200");
  storage_.volumes[0].claim_ref->uid = "another";
  EXPECT_EQ(match(claim("c", 50)), "p60");
  storage_.volumes[0].claim_ref.reset();
  storage_.volumes[1].claim_ref = ObjectName{"default", "c", ""};
  EXPECT_EQ(match(claim("c", 50)), "");
}

/// Pods whose claims say the same, on a node with room for two of their volumes.
class AlikeClaimsContract : public VolumesContract {
 protected:
  void SetUp() override {
    CsiNode node;
    node.name = "n";
    node.drivers = {{"csi.example.com", 2}};
    storage_.csi_nodes = {node};
    for (const char* name : {"a", "b", "c"}) {
      PersistentVolume made = volume(name, 10, "z1", modes({AccessMode::kReadWriteOnce}));
      made.claim_ref = ObjectName{"default", name, ""};
      made.source.kind = VolumeSource::Kind::kCsi;
      made.source.id = std::string("handle-") + name;
      made.source.driver = "csi.example.com";
      storage_.volumes.push_back(made);
      VolumeClaim bound = claim(name, 10);
      bound.volume_name = name;
      bound.is_bind_completed = true;
      storage_.claims.push_back(bound);
    }
    VolumesContract::SetUp();
  }
};

TEST_P(AlikeClaimsContract, OneBatchPlacesThemUpToTheLimit) {
  given("node n cpu=8 memory=8Gi zone=z1\npod p claim=a\npod q claim=b\npod r claim=c");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  backend_->refill(pods);
  const std::int64_t stops = backend_->stats().host_stops;
  const BatchResult result = commit_with_refills(pods, {}, *backend_);
  EXPECT_EQ(nodes_of(result), (std::vector<std::string>{"n", "n", ""}));
  EXPECT_EQ(result.messages.front().text, "0/1 nodes are available: 1 node(s) exceed max volume count.");
  if (backend_->name() != "cpu") return;
  EXPECT_EQ(pods[0].class_index, pods[2].class_index);
  EXPECT_EQ(backend_->stats().host_stops, stops);
}

TEST_P(AlikeClaimsContract, AVolumeWithTheSameHandleCountsOnce) {
  storage_.volumes[2].source.id = "handle-a";
  given("node n cpu=8 memory=8Gi zone=z1\npod p claim=a\npod q claim=b\npod r claim=c");
  EXPECT_EQ(nodes_of(place_all()), (std::vector<std::string>{"n", "n", "n"}));
}

TEST_P(AlikeClaimsContract, AClaimOfTwoPodsCountsOnce) {
  given("node n cpu=8 memory=8Gi zone=z1\npod p claim=a\npod q claim=b\npod r claim=a");
  EXPECT_EQ(nodes_of(place_all()), (std::vector<std::string>{"n", "n", "n"}));
}

TEST_P(AlikeClaimsContract, AClaimThatIsReplacedIsReadAgain) {
  given("node n cpu=8 memory=8Gi zone=z1\npod p claim=a\npod q claim=b");
  const std::vector<PodToPlace> pods = compiled(scenario_.pending());
  VolumeClaim lost = storage_.claims[1];
  lost.is_lost = true;
  const std::vector<ClusterChange> changes{StorageUpsert{lost}};
  backend_->apply(changes);
  EXPECT_EQ(nodes_of(commit_with_refills(pods, {}, *backend_)), (std::vector<std::string>{"n", ""}));
}

TEST_P(VolumesContract, ClaimsOfAPodDoNotTradeVolumes) {
  storage_.classes = {waiting_class("local", "kubernetes.io/no-provisioner")};
  storage_.volumes = {volume("a", 60, "z1", modes({AccessMode::kReadWriteOnce, AccessMode::kReadWriteMany})),
                      volume("b", 70, "z1", modes({AccessMode::kReadWriteOnce}))};
  storage_.claims = {claim("c1", 50), claim("c2", 60)};
  storage_.claims[1].access_modes = modes({AccessMode::kReadWriteMany});
  given("node n cpu=8 memory=8Gi zone=z1\npod p claim=c1 claim=c2");
  expect_refusal("p", "n", "VolumeBinding", kRefusedForGood, {kNoVolume});
}

TEST_P(VolumesContract, CapacityIsComparedClaimByClaim) {
  storage_.classes = {waiting_class("tracked", "csi.example.com")};
  storage_.csi_drivers = {{"csi.example.com", true}};
  const LabelSelector in_z1{LabelMap{{kZone, "z1"}}, {}};
  const LabelSelector anywhere{{}, {{kZone, SelectorOperator::kIn, {"z1", "z2"}}}};
  storage_.capacities = {{"s1", "default", "tracked", in_z1, gib(100), gib(40)},
                         {"s2", "default", "tracked", anywhere, gib(50), std::nullopt}};
  storage_.claims = {claim("c40", 40, "tracked"), claim("c45", 45, "tracked"), claim("c60", 60, "tracked"),
                     claim("c30", 30, "tracked"), claim("d30", 30, "tracked")};
  given(
      "node n1 cpu=8 memory=8Gi zone=z1\nnode n2 cpu=8 memory=8Gi "
      "zone=z2\npod p40 claim=c40\npod p45 claim=c45\npod p60 claim=c60\npod both claim=c30 "
      "claim=d30");
  for (const char* node : {"n1", "n2"}) {
    expect_pass("p40", node);
    expect_pass("p45", node);
    expect_pass("both", node);
    expect_refusal("p60", node, "VolumeBinding", kRefusedForGood, {"node(s) did not have enough free storage"});
  }
}

TEST_P(VolumesContract, PreFilterNamesTheClaimThatIsNotReady) {
  storage_.classes = {waiting_class("local", "csi.example.com")};
  storage_.claims = {claim("lost", 1), claim("going", 1), claim("now", 1, "missing")};
  storage_.claims[0].is_lost = true;
  storage_.claims[0].volume_name = "v";
  storage_.claims[1].terminating = true;
  given("node n cpu=8 memory=8Gi\npod none claim=c\npod lost claim=lost\npod going claim=going\npod now claim=now");
  const std::string head = "0/1 nodes are available: ";
  EXPECT_EQ(fit_error("none"), head + "persistentvolumeclaim \"c\" not found.");
  EXPECT_EQ(ask("none").rejectors, PluginNames{"VolumeRestrictions"});
  EXPECT_EQ(fit_error("lost"), head + "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\".");
  EXPECT_EQ(fit_error("going"), head + "persistentvolumeclaim \"going\" is being deleted.");
  EXPECT_EQ(fit_error("now"), head + "pod has unbound immediate PersistentVolumeClaims.");
}

TEST_P(VolumesContract, ABoundClaimFollowsItsVolume) {
  storage_.volumes = {volume("v", 5, "z1", {})};
  storage_.claims = {claim("c", 1), claim("d", 1)};
  for (VolumeClaim& bound : storage_.claims) bound.is_bind_completed = true;
  storage_.claims[0].volume_name = "v";
  storage_.claims[1].volume_name = "gone";
  given(
      "node n1 cpu=8 memory=8Gi zone=z1\nnode n2 cpu=8 memory=8Gi "
      "zone=z2\npod p claim=c\npod q claim=d");
  expect_pass("p", "n1");
  expect_refusal("p", "n2", "VolumeBinding", kRefusedForGood,
                 {"node(s) didn't match PersistentVolume's node affinity"});
  EXPECT_EQ(fit_error("q"), "0/2 nodes are available: persistentvolume \"gone\" not found.");
  EXPECT_EQ(ask("q").rejectors, PluginNames{"VolumeZone"});
}

// VolumeRestrictions

TEST_P(VolumesContract, AClaimOfOnePodIsUsedOnce) {  // E-VR-1
  storage_.volumes = {volume("v", 5, "z1", {})};
  storage_.volumes[0].node_affinity.reset();
  storage_.claims = {claim("d", 1)};
  storage_.claims[0].access_modes = modes({AccessMode::kReadWriteOncePod});
  storage_.claims[0].volume_name = "v";
  storage_.claims[0].is_bind_completed = true;
  given("node n1 cpu=8 memory=8Gi\nnode n2 cpu=8 memory=8Gi\npod q on=n1 claim=d\npod p priority=10 claim=d");
  const std::string reason =
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
      "pod";
  for (const char* node : {"n1", "n2"})
    expect_refusal("p", node, "VolumeRestrictions", StatusCode::kUnschedulable, {reason});
  const PodPtr q = pod("q");
  const std::vector<Victim> victims = {{q.get(), false}};
  const std::vector<VictimList> lists = {{node("n1"), victims}};
  const std::vector<PodToPlace> preemptors = prepared({pod("p")});
  const std::vector<DryRun> runs = {{0, 0}};
  const DryRunResult result = backend_->dry_run({preemptors, lists, runs});
  EXPECT_EQ(result.answers[0].without_victims.code, StatusCode::kSuccess);
  EXPECT_EQ(result.answers[0].kept_count, 0U);
}

// VolumeZone

TEST_P(VolumesContract, ZonesOfAVolumeAreThoseOfTheNode) {  // E-VZ-1
  storage_.volumes = {volume("v", 5, "z1", {})};
  storage_.volumes[0].node_affinity.reset();
  storage_.volumes[0].labels = LabelMap{{kBetaZone, "us-a__us-b"}, {kRegion, "us"}};
  storage_.claims = {claim("c", 1)};
  storage_.claims[0].volume_name = "v";
  storage_.claims[0].is_bind_completed = true;
  const std::string room = " cpu=8 memory=8Gi ";
  const auto node_line = [&](const char* name, const std::string& labels) {
    return "node " + std::string(name) + room + labels + "\n";
  };
  const std::string zone = "zone=";
  const std::string beta = "label:" + std::string(kBetaZone) + "=us-a ";
  const std::string us = "label:" + std::string(kRegion) + "=us";
  given(node_line("plain", "") + node_line("ga", zone + "us-b " + us) + node_line("beta", beta + us) +
        node_line("far", zone + "us-c " + us) + node_line("half", zone + "us-a") +
        node_line("old", beta + "label:" + kBetaRegion + "=us") + "pod p claim=c");
  for (const char* name : {"plain", "ga", "beta"}) expect_pass("p", name);
  for (const char* name : {"far", "half", "old"})
    expect_refusal("p", name, "VolumeZone", kRefusedForGood, {"node(s) had no available volume zone"});
}

// NodeVolumeLimits

class LimitsContract : public VolumesContract {
 protected:
  /// E-NVL-1: pods on n use a and b; a and x are attached.
  bool fits(const char* claim_name, std::int32_t limit) {
    storage_ = {};
    storage_.classes = {waiting_class("fast", "csi.example.com")};
    for (const char* name : {"a", "b", "c", "x"}) {
      PersistentVolume bound = volume(name, 5, "", {});
      bound.node_affinity.reset();
      bound.source.kind = VolumeSource::Kind::kCsi;
      bound.source.driver = "csi.example.com";
      bound.source.id = name;
      storage_.volumes.push_back(bound);
      storage_.claims.push_back(claim(name, 1, "fast"));
      storage_.claims.back().volume_name = name;
      storage_.claims.back().is_bind_completed = true;
    }
    storage_.claims.push_back(claim("unbound", 1, "fast"));
    storage_.attachments = {{"1", "csi.example.com", "n", "a"}, {"2", "csi.example.com", "n", "x"}};
    storage_.csi_nodes = {{"n", {{"csi.example.com", limit}}, {}}};
    given("node n cpu=8 memory=8Gi\npod q on=n claim=a\npod r on=n claim=b\npod p claim=" + std::string(claim_name));
    const NodeEvaluation answer = ask("p", "n");
    if (!answer.feasible) {
      EXPECT_EQ(answer.status.plugin, "NodeVolumeLimits");
      EXPECT_EQ(answer.status.code, StatusCode::kUnschedulable);
      EXPECT_EQ(answer.status.reasons, std::vector<std::string>{"node(s) exceed max volume count"});
    }
    return answer.feasible;
  }
};

TEST_P(LimitsContract, CountsVolumesOfPodsAndAttachments) {
  EXPECT_FALSE(fits("c", 3));
  EXPECT_TRUE(fits("c", 4));
  EXPECT_TRUE(fits("b", 1));
  EXPECT_FALSE(fits("x", 3));
  EXPECT_TRUE(fits("x", 4));
  EXPECT_FALSE(fits("unbound", 3));
  EXPECT_TRUE(fits("unbound", 4));
}

// What placements assume

class AssumedVolumesContract : public VolumesContract {
 protected:
  void SetUp() override {
    const AccessModes once = modes({AccessMode::kReadWriteOnce});
    storage_.classes = {waiting_class("local", "kubernetes.io/no-provisioner"),
                        waiting_class("fast", "csi.example.com")};
    storage_.volumes = {volume("v1", 10, "z1", once), volume("v2", 20, "z2", once)};
    storage_.claims = {claim("c1", 1), claim("c2", 1), claim("c3", 1), claim("f", 1, "fast")};
    VolumesContract::SetUp();
    if (backend_ == nullptr) return;
    given(
        "node n1 cpu=8 memory=8Gi zone=z1\nnode n2 cpu=8 memory=8Gi "
        "zone=z2\npod p1 claim=c1\npod p2 claim=c2\npod p3 claim=c3\npod q1 claim=f\npod q2 "
        "claim=f");
  }
  OutcomeKind kind_of(std::string_view name) {
    return commit_with_refills(compiled({pod(name)}), {}, *backend_).outcomes.front().kind;
  }
  bool is_placed(std::string_view name) { return kind_of(name) == OutcomeKind::kPlaced; }
};

TEST_P(AssumedVolumesContract, AVolumeIsTakenByOnePod) {
  EXPECT_TRUE(is_placed("p1"));
  EXPECT_TRUE(is_placed("p2"));
  EXPECT_FALSE(is_placed("p3"));
  EXPECT_NE(volume_of("p1"), volume_of("p2"));
  EXPECT_TRUE(backend_->undo(*pod("p1")));
  EXPECT_TRUE(is_placed("p3"));
}

TEST_P(AssumedVolumesContract, ARollbackFreesVolumes) {
  const CommitMark before = backend_->mark();
  EXPECT_TRUE(is_placed("p1"));
  EXPECT_TRUE(is_placed("p2"));
  backend_->rollback(before);
  EXPECT_TRUE(is_placed("p3"));
  EXPECT_TRUE(is_placed("p2"));
  EXPECT_FALSE(is_placed("p1"));
}

TEST_P(AssumedVolumesContract, AClaimStaysWhereItsFirstPodWent) {
  const BatchResult result = commit_with_refills(compiled({pod("q1"), pod("q2")}), {}, *backend_);
  EXPECT_EQ(nodes_of(result)[0], nodes_of(result)[1]);
  const VolumeDecisionsPtr decisions = backend_->volume_decisions(*pod("q1"));
  ASSERT_NE(decisions, nullptr);
  EXPECT_EQ(decisions->provisions, (std::vector<VolumeDecisions::Provision>{{"default/f", "fast"}}));
  EXPECT_EQ(decisions->node_name, nodes_of(result)[0]);
}

TEST_P(AssumedVolumesContract, ForksAssumeForThemselves) {
  const auto fork = backend_->fork();
  const auto placed = [&](std::string_view name) {
    const std::vector<PodToPlace> pods = prepared({pod(name)});
    return fork->commit_batch(pods, {}).outcomes.front().kind == OutcomeKind::kPlaced;
  };
  EXPECT_TRUE(is_placed("p1"));
  EXPECT_TRUE(is_placed("p2"));
  EXPECT_TRUE(placed("p3"));
  EXPECT_TRUE(placed("p2"));
  EXPECT_FALSE(placed("p1"));
}

TEST_P(AssumedVolumesContract, ANewerObjectEndsWhatWasAssumed) {
  EXPECT_TRUE(is_placed("p1"));
  EXPECT_TRUE(is_placed("p2"));
  PersistentVolume again = storage_.volumes[volume_of("p1") == "v1" ? 0 : 1];
  const ClusterChange change = StorageUpsert{again};
  backend_->apply({&change, 1});
  EXPECT_TRUE(is_placed("p3"));
}

TEST_P(AssumedVolumesContract, StorageObjectsComeAndGo) {
  const ClusterChange gone = StorageRemoval{StorageKind::kVolume, "", "v1"};
  backend_->apply({&gone, 1});
  EXPECT_TRUE(is_placed("p1"));
  EXPECT_FALSE(is_placed("p2"));
  const ClusterChange back = StorageUpsert{storage_.volumes[0]};
  backend_->apply({&back, 1});
  EXPECT_TRUE(is_placed("p2"));
}

INSTANTIATE_TEST_SUITE_P(All, VolumesContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });
INSTANTIATE_TEST_SUITE_P(All, AlikeClaimsContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });
INSTANTIATE_TEST_SUITE_P(All, MatchingContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });
INSTANTIATE_TEST_SUITE_P(All, LimitsContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });
INSTANTIATE_TEST_SUITE_P(All, AssumedVolumesContract, testing::ValuesIn(backend_names().begin(), backend_names().end()),
                         [](const auto& name) { return name_in_tests(name.param); });

}  // namespace
}  // namespace berth::test
