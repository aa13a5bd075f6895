// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 1.13: each row, over real old and new objects.

#include "host/framework/queueing_hints.h"

#include <gtest/gtest.h>

#include "tests/support/storage_text.h"
#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

/// Does this change bring back a pod that this plugin rejected?
class QueueingHintsTest : public testing::Test {
 protected:
  bool node_helps(const std::string& pod, const std::string& plugin, const std::string& before,
                  const std::string& after) {
    test.add_failed("waits " + pod, {plugin});
    test.router().node_changed(before.empty() ? nullptr : node_of(before), after.empty() ? nullptr : node_of(after));
    return is_back();
  }
  bool pod_helps(const std::string& pod, const std::string& plugin, const std::string& before,
                 const std::string& after) {
    test.add_failed("waits " + pod, {plugin});
    test.router().pod_changed(before.empty() ? nullptr : pod_of(before), after.empty() ? nullptr : pod_of(after));
    return is_back();
  }
  /// Lines of tests/support/storage_text.h.
  bool storage_helps(const std::string& pod, const std::string& plugin, const std::string& before,
                     const std::string& after) {
    test.add_failed("waits " + pod, {plugin});
    const auto object_of = [](const std::string& text) -> StorageObjectPtr {
      if (text.empty()) return nullptr;
      return std::make_shared<const StorageObject>(read_storage_object(split_words(text)).value());
    };
    test.router().storage_changed(object_of(before), object_of(after));
    return is_back();
  }
  /// The pod's own update.
  bool update_helps(const std::string& before, const std::string& after, const std::string& plugin) {
    const PodPtr pod = test.add_failed("waits " + before, {plugin});
    test.router().pod_changed(pod, pod_of("waits " + after));
    return is_back();
  }
  bool is_back() {
    const bool back = test.place_of("waits") != "unschedulable";
    test.queue().remove(*pod_of("waits"));
    return back;
  }
  QueueFixture test{"NodeDeclaredFeatures=true"};
};

TEST_F(QueueingHintsTest, SchedulingGates) {
  const PodPtr both = test.add("waits gate=a gate=b");
  const PodPtr one = pod_of("waits gate=a");
  test.router().pod_changed(both, one);
  EXPECT_EQ(test.place_of("waits"), "unschedulable");
  test.add("other gate=a");
  test.router().pod_changed(one, pod_of("waits"));
  EXPECT_EQ(test.place_of("waits"), "active");
  EXPECT_EQ(test.place_of("other"), "unschedulable") << "an update is about the updated pod only";
}

TEST_F(QueueingHintsTest, NodeUnschedulable) {
  const std::string plugin = "NodeUnschedulable";
  EXPECT_TRUE(node_helps("", plugin, "", "n"));
  EXPECT_FALSE(node_helps("", plugin, "", "n unschedulable"));
  EXPECT_TRUE(node_helps("", plugin, "n unschedulable", "n"));
  EXPECT_FALSE(node_helps("", plugin, "n taint=a:NoSchedule", "n")) << "it was schedulable before";
  EXPECT_FALSE(node_helps("", plugin, "n label:a=b", "n"));
  EXPECT_TRUE(update_helps("", "tolerate=node.kubernetes.io/unschedulable:NoSchedule", plugin));
  EXPECT_FALSE(update_helps("", "tolerate=other:NoSchedule", plugin));
}

TEST_F(QueueingHintsTest, NodeName) {
  EXPECT_TRUE(node_helps("", "NodeName", "", "n unschedulable"));
  EXPECT_TRUE(node_helps("", "NodeName", "n", "n taint=a:NoSchedule")) << "registered along with Node Add";
  EXPECT_FALSE(node_helps("", "NodeName", "n", "n label:a=b"));
  EXPECT_FALSE(pod_helps("", "NodeName", "v on=n", ""));
}

TEST_F(QueueingHintsTest, TaintToleration) {
  const std::string plugin = "TaintToleration";
  EXPECT_TRUE(node_helps("", plugin, "", "n"));
  EXPECT_FALSE(node_helps("", plugin, "", "n taint=a:NoExecute"));
  EXPECT_TRUE(node_helps("", plugin, "", "n taint=a:PreferNoSchedule"));
  EXPECT_TRUE(node_helps("", plugin, "n taint=a:NoSchedule", "n"));
  EXPECT_FALSE(node_helps("tolerate=a:NoSchedule", plugin, "n taint=a:NoSchedule", "n")) << "tolerated before";
  EXPECT_FALSE(node_helps("", plugin, "n taint=a:NoSchedule", "n taint=b:NoSchedule"));
  EXPECT_TRUE(update_helps("", "tolerate=a", plugin));
  EXPECT_FALSE(update_helps("", "label:a=b", plugin));
}

TEST_F(QueueingHintsTest, NodeAffinity) {
  const std::string plugin = "NodeAffinity";
  const std::string pod = "select:disk=ssd";
  EXPECT_TRUE(node_helps(pod, plugin, "", "n label:disk=ssd"));
  EXPECT_FALSE(node_helps(pod, plugin, "", "n"));
  EXPECT_TRUE(node_helps(pod, plugin, "n", "n label:disk=ssd"));
  EXPECT_FALSE(node_helps(pod, plugin, "n label:disk=ssd", "n label:disk=ssd label:a=b"));
  EXPECT_TRUE(node_helps(pod, plugin, "n", "n taint=a:NoSchedule")) << "the registration that was added always queues";
  EXPECT_TRUE(node_helps("need=disk:In:ssd", plugin, "n", "n label:disk=ssd"));
  EXPECT_TRUE(node_helps("need=disk:Gt:x", plugin, "n", "n label:disk=ssd")) << "a term that does not parse";
  EXPECT_FALSE(node_helps("need=disk:Gt:x select:a=b", plugin, "n", "n label:disk=ssd")) << "the selector comes first";
}

TEST_F(QueueingHintsTest, NodePorts) {
  const std::string plugin = "NodePorts";
  const std::string pod = "port=80";
  EXPECT_TRUE(pod_helps(pod, plugin, "v on=n port=80", ""));
  EXPECT_FALSE(pod_helps(pod, plugin, "v on=n port=81", ""));
  EXPECT_FALSE(pod_helps(pod, plugin, "v on=n", ""));
  EXPECT_TRUE(pod_helps(pod, plugin, "v nominated=n port=80", ""));
  EXPECT_FALSE(pod_helps(pod, plugin, "v port=80", ""));
  EXPECT_TRUE(node_helps(pod, plugin, "", "n"));
  EXPECT_TRUE(node_helps(pod, plugin, "n unschedulable", "n"));
}

TEST_F(QueueingHintsTest, NodeResourcesFit) {
  const std::string plugin = "NodeResourcesFit";
  const std::string pod = "cpu=2";
  EXPECT_TRUE(pod_helps(pod, plugin, "v on=n", ""));
  EXPECT_FALSE(pod_helps(pod, plugin, "v", ""));
  EXPECT_TRUE(pod_helps(pod, plugin, "v on=n cpu=2", "v on=n cpu=1"));
  EXPECT_FALSE(pod_helps(pod, plugin, "v on=n memory=2", "v on=n memory=1"));
  EXPECT_FALSE(pod_helps(pod, plugin, "v cpu=2", "v cpu=1")) << "it has no node";
  EXPECT_TRUE(update_helps("cpu=2 memory=2", "cpu=2 memory=1", plugin));
  EXPECT_TRUE(node_helps(pod, plugin, "", "n cpu=2"));
  EXPECT_FALSE(node_helps(pod, plugin, "", "n cpu=1"));
  EXPECT_FALSE(node_helps(pod, plugin, "", "n cpu=2 pods=0"));
  EXPECT_TRUE(node_helps(pod, plugin, "n cpu=1", "n cpu=2"));
  EXPECT_FALSE(node_helps(pod, plugin, "n cpu=4", "n cpu=3"));
  EXPECT_FALSE(node_helps(pod, plugin, "n cpu=4 memory=1", "n cpu=4 memory=2")) << "it asks for no memory";
  EXPECT_TRUE(node_helps(pod, plugin, "n cpu=4 pods=1", "n cpu=4 pods=2"));
  EXPECT_TRUE(node_helps("res:x.io/gpu=1", plugin, "n", "n res:x.io/gpu=1"));
  EXPECT_TRUE(node_helps(pod, plugin, "n taint=a:NoSchedule", "n")) << "the registration that was added";
}

TEST_F(QueueingHintsTest, PodTopologySpread) {
  const std::string plugin = "PodTopologySpread";
  const std::string pod = "spread=zone match=app=web";
  EXPECT_TRUE(pod_helps(pod, plugin, "", "v on=n label:app=web"));
  EXPECT_FALSE(pod_helps(pod, plugin, "", "v on=n label:app=db"));
  EXPECT_FALSE(pod_helps(pod, plugin, "", "v on=n namespace=other label:app=web"));
  EXPECT_TRUE(pod_helps(pod, plugin, "v on=n label:app=web", ""));
  EXPECT_TRUE(pod_helps(pod, plugin, "v on=n label:app=db", "v on=n label:app=web"));
  EXPECT_FALSE(pod_helps(pod, plugin, "v on=n label:app=db", "v on=n label:app=cache"));
  EXPECT_FALSE(pod_helps("soft-spread=zone match=app=web", plugin, "", "v on=n label:app=web"));
  EXPECT_TRUE(
      update_helps("spread=zone match=app=web label:app=db", "spread=zone match=app=web label:app=web", plugin));
  EXPECT_TRUE(update_helps(pod + " node-taints=Honor", pod + " node-taints=Honor tolerate=a", plugin));
  EXPECT_FALSE(update_helps(pod, pod + " tolerate=a", plugin));
  EXPECT_TRUE(node_helps(pod, plugin, "", "n zone=a"));
  EXPECT_FALSE(node_helps(pod, plugin, "", "n"));
  EXPECT_TRUE(node_helps(pod, plugin, "n zone=a", ""));
  EXPECT_FALSE(node_helps(pod, plugin, "n", ""));
  EXPECT_TRUE(node_helps(pod, plugin, "n zone=a", "n zone=b"));
  EXPECT_TRUE(node_helps(pod, plugin, "n zone=a", "n"));
  EXPECT_TRUE(node_helps(pod, plugin, "n zone=a", "n zone=a taint=x:NoSchedule"));
  EXPECT_FALSE(node_helps(pod, plugin, "n", "n taint=x:NoSchedule"));
  EXPECT_FALSE(node_helps(pod, plugin, "n zone=a unschedulable", "n zone=a"));
}

TEST_F(QueueingHintsTest, PodsThatDifferInAMatchLabelKeyAreAskedApart) {
  test.add_failed("one label:rev=1 spread=zone match=app=web match-keys=rev", {"PodTopologySpread"});
  test.add_failed("two label:rev=2 spread=zone match=app=web match-keys=rev", {"PodTopologySpread"});
  test.router().pod_changed(nullptr, pod_of("v on=n label:app=web label:rev=2"));
  EXPECT_EQ(test.place_of("one"), "unschedulable");
  EXPECT_EQ(test.place_of("two"), "backoff");
}

TEST_F(QueueingHintsTest, InterPodAffinity) {
  const std::string plugin = "InterPodAffinity";
  const std::string wants = "pod-affinity=zone match=app=web";
  const std::string hates = "pod-anti-affinity=zone match=app=web";
  EXPECT_TRUE(pod_helps(wants, plugin, "", "v on=n label:app=web"));
  EXPECT_FALSE(pod_helps(wants, plugin, "", "v on=n label:app=db"));
  EXPECT_FALSE(pod_helps(wants, plugin, "", "v on=n namespace=other label:app=web"));
  EXPECT_TRUE(pod_helps(wants + " namespace-match=", plugin, "", "v on=n namespace=other label:app=web"));
  EXPECT_FALSE(pod_helps(hates, plugin, "", "v on=n label:app=web"));
  EXPECT_TRUE(pod_helps(hates, plugin, "v on=n label:app=web", ""));
  EXPECT_FALSE(pod_helps(wants, plugin, "v on=n label:app=web", ""));
  EXPECT_TRUE(pod_helps(wants, plugin, "v on=n", "v on=n label:app=web"));
  EXPECT_TRUE(pod_helps(hates, plugin, "v on=n label:app=web", "v on=n label:app=db"));
  EXPECT_FALSE(pod_helps(hates + " pod-anti-affinity=host match=a=b", plugin, "v on=n label:app=web", ""))
      << "all terms have to match";
  EXPECT_FALSE(pod_helps("", plugin, "v on=n", "")) << "all of no terms is false";
  EXPECT_TRUE(node_helps(wants, plugin, "", "n zone=a"));
  EXPECT_FALSE(node_helps(wants, plugin, "", "n"));
  EXPECT_TRUE(node_helps(hates, plugin, "", "n"));
  EXPECT_TRUE(node_helps(wants, plugin, "n", "n zone=a"));
  EXPECT_TRUE(node_helps(wants, plugin, "n zone=a", "n zone=b"));
  EXPECT_FALSE(node_helps(wants, plugin, "n zone=a", "n"));
  EXPECT_TRUE(node_helps(hates, plugin, "n zone=a", "n"));
  EXPECT_FALSE(node_helps(hates, plugin, "n", "n zone=a"));
}

QueueOptions options_of(Release release) {
  QueueOptions options;
  options.release = release;
  return options;
}

TEST(QueueingHintsOf136, ADeletedPodThatHatedThisOneHelps) {
  for (const Release release : {Release::k1_35, Release::k1_36}) {
    QueueFixture test("", options_of(release));
    test.add_failed("hated label:app=web", {"InterPodAffinity"});
    test.add_failed("other label:app=db", {"InterPodAffinity"});
    test.router().pod_changed(pod_of("v on=n pod-anti-affinity=zone match=app=web"), nullptr);
    EXPECT_EQ(test.place_of("hated"), release == Release::k1_36 ? "backoff" : "unschedulable");
    EXPECT_EQ(test.place_of("other"), "unschedulable") << "equal to every function but this one";
  }
}

TEST(QueueingHintsOf136, LabelsOfThePodItselfAndNominatedPodsCount) {
  for (const Release release : {Release::k1_35, Release::k1_36}) {
    const std::string helped = release == Release::k1_36 ? "backoff" : "unschedulable";
    QueueFixture test("", options_of(release));
    const PodPtr pod = test.add_failed("affine label:a=1", {"InterPodAffinity"});
    test.router().pod_changed(pod, pod_of("affine label:a=2"));
    EXPECT_EQ(test.place_of("affine"), helped);
    test.add_failed("hates pod-anti-affinity=zone match=app=web", {"InterPodAffinity"});
    test.add_failed("spreads spread=zone match=app=web", {"PodTopologySpread"});
    test.router().pod_changed(pod_of("v nominated=n label:app=web"), nullptr);
    EXPECT_EQ(test.place_of("hates"), helped);
    EXPECT_EQ(test.place_of("spreads"), helped);
  }
}

TEST_F(QueueingHintsTest, VolumeRestrictions) {
  const std::string plugin = "VolumeRestrictions";
  EXPECT_TRUE(pod_helps("claim=c", plugin, "v on=n claim=c", ""));
  EXPECT_FALSE(pod_helps("claim=c", plugin, "v on=n claim=d", ""));
  EXPECT_FALSE(pod_helps("claim=c", plugin, "v on=n namespace=other claim=c", ""));
  EXPECT_TRUE(pod_helps("disk=gce:x", plugin, "v on=n disk=gce:x:ro", ""));
  EXPECT_FALSE(pod_helps("disk=gce:x:ro", plugin, "v on=n disk=gce:x:ro", ""));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "volume-claim c"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "", "volume-claim d"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "", "volume-claim c namespace=other"));
  EXPECT_FALSE(storage_helps("ephemeral-volume=e", plugin, "", "volume-claim waits-e"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "volume-claim c", "volume-claim c bound=v"))
      << "Add alone is registered";
  EXPECT_TRUE(node_helps("claim=c", plugin, "", "n"));
}

TEST_F(QueueingHintsTest, NodeVolumeLimits) {
  const std::string plugin = "NodeVolumeLimits";
  EXPECT_TRUE(pod_helps("claim=c", plugin, "v on=n claim=d", ""));
  EXPECT_TRUE(pod_helps("claim=c", plugin, "v nominated=n disk=aws:vol-1", ""));
  EXPECT_FALSE(pod_helps("claim=c", plugin, "v claim=d", "")) << "it had no node";
  EXPECT_FALSE(pod_helps("claim=c", plugin, "v on=n disk=iscsi:i", ""));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "csi-node n"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "csi-node n driver=d:1", "csi-node n driver=d:2"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "csi-node n", "csi-node n driver=d:1"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "csi-node n driver=d:2", "csi-node n driver=d:1"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "csi-node n driver=d:2", "csi-node n driver=d"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "volume-claim c"));
  EXPECT_TRUE(storage_helps("ephemeral-volume=e", plugin, "", "volume-claim waits-e"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "volume-claim c", "volume-claim c bound=v"));
  const std::string attachment = "volume-attachment a attacher=ebs.csi.aws.com on=n volume=v";
  EXPECT_TRUE(storage_helps("claim=c", plugin, attachment, ""));
  EXPECT_TRUE(storage_helps("disk=aws:vol-1", plugin, attachment, ""));
  EXPECT_FALSE(storage_helps("disk=gce:x", plugin, attachment, ""));
  EXPECT_FALSE(storage_helps("ephemeral-volume=e", plugin, attachment, ""));
}

TEST_F(QueueingHintsTest, VolumeBinding) {
  const std::string plugin = "VolumeBinding";
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "storage-class s"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "storage-class s", "storage-class s allow=zone:a"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "storage-class s", "storage-class s provisioner=p"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "volume-claim c", "volume-claim c bound=v"));
  EXPECT_TRUE(storage_helps("ephemeral-volume=e", plugin, "", "volume-claim waits-e"));
  EXPECT_FALSE(storage_helps("ephemeral-volume=e", plugin, "", "volume-claim e"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "volume-claim c", "")) << "deletions are not registered";
  EXPECT_TRUE(storage_helps("claim=c", plugin, "persistent-volume v", "persistent-volume v"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "csi-node n"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "csi-node n", "csi-node n migrated=x"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "csi-node n", "csi-node n driver=d:3"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "", "csi-driver d"));
  EXPECT_TRUE(storage_helps("inline-csi=d", plugin, "csi-driver d tracks-capacity", "csi-driver d"));
  EXPECT_FALSE(storage_helps("inline-csi=d", plugin, "csi-driver d", "csi-driver d tracks-capacity"));
  EXPECT_FALSE(storage_helps("inline-csi=e", plugin, "csi-driver d tracks-capacity", "csi-driver d"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "storage-capacity k free=0"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "storage-capacity k", "storage-capacity k free=1"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "storage-capacity k free=9 largest=1", "storage-capacity k largest=2"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "storage-capacity k free=2", "storage-capacity k free=9 largest=2"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "storage-capacity k free=2", "storage-capacity k"));
  EXPECT_TRUE(node_helps("claim=c", plugin, "n", "n label:a=b"));
}

TEST_F(QueueingHintsTest, VolumeZone) {
  const std::string plugin = "VolumeZone";
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "storage-class s waits"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "", "storage-class s"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "volume-claim c", "volume-claim c bound=v"));
  EXPECT_FALSE(storage_helps("ephemeral-volume=e", plugin, "", "volume-claim waits-e"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "", "persistent-volume v"));
  EXPECT_TRUE(storage_helps("claim=c", plugin, "persistent-volume v zone=a", "persistent-volume v zone=b"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "persistent-volume v zone=a__b", "persistent-volume v zone=b__a"));
  EXPECT_FALSE(storage_helps("claim=c", plugin, "persistent-volume v label:x=1", "persistent-volume v label:x=2"));
  EXPECT_TRUE(node_helps("claim=c", plugin, "n", "n label:a=b"));
}

TEST_F(QueueingHintsTest, PodsWithOtherVolumesAreAskedApart) {
  test.add_failed("one claim=c", {"VolumeBinding", "VolumeZone"});
  test.add_failed("two claim=d", {"VolumeBinding", "VolumeZone"});
  const auto claim = std::make_shared<const StorageObject>(read_storage_object(split_words("volume-claim d")).value());
  test.router().storage_changed(nullptr, claim);
  EXPECT_EQ(test.place_of("one"), "unschedulable");
  EXPECT_EQ(test.place_of("two"), "backoff");
}

TEST_F(QueueingHintsTest, DefaultPreemptionNeverQueues) {
  EXPECT_FALSE(pod_helps("", "DefaultPreemption", "v on=n", ""));
}

TEST_F(QueueingHintsTest, NodeDeclaredFeatures) {
  const std::string plugin = "NodeDeclaredFeatures";
  EXPECT_TRUE(node_helps("", plugin, "", "n"));
  EXPECT_TRUE(node_helps("", plugin, "n", "n feature=A"));
  EXPECT_FALSE(node_helps("", plugin, "n", "n label:a=b"));
  EXPECT_TRUE(update_helps("", "restarts-all", plugin));
  EXPECT_FALSE(update_helps("", "priority=4", plugin));
}

TEST(DefaultQueueingHints, APluginWithoutHintsRegistersAlmostEveryEvent) {
  const auto hints = default_queueing_hints("Mine");
  EXPECT_EQ(hints->plugin(), "Mine");
  EXPECT_EQ(hints->registrations().size(), 10U);
  for (const EventRegistration& registration : hints->registrations()) EXPECT_FALSE(registration.has_function);
}

TEST(QueueingHintsOfAProfile, AreThoseOfItsRejectingPlugins) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  std::vector<std::string> names;
  for (const auto& hints : make_queueing_hints(config.profiles.front(), config.gates, nullptr))
    names.emplace_back(hints->plugin());
  EXPECT_EQ(names, (std::vector<std::string>{"SchedulingGates", "DefaultPreemption", "NodeAffinity", "NodePorts",
                                             "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
                                             "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity",
                                             "NodeUnschedulable", "NodeName", "TaintToleration"}));
}

}  // namespace
}  // namespace berth::test
