// SPDX-License-Identifier: Apache-2.0
// Storage objects as they are read, and in-tree volumes as csi-translation-lib translates them.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/objects/volume_migration.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";

PersistentVolume volume_of(const std::string& spec, const std::string& labels = "{}") {
  return load_good("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, labels: " + labels + "}\nspec: {" +
                   spec + "}\nstatus: {phase: Available}\n")
      .storage.volumes.at(0);
}

TEST(DecodeVolumes, APersistentVolume) {
  const PersistentVolume volume = volume_of(
      "capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce, ReadWriteOncePod], volumeMode: Block, storageClassName: "
      "fast, "
      "volumeAttributesClassName: gold, claimRef: {namespace: team, name: c, uid: u}, csi: {driver: d, volumeHandle: "
      "h}, "
      "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: In, values: [a]}]}]}}");
  EXPECT_EQ(volume.capacity.value(), std::int64_t{5} << 30);
  EXPECT_TRUE(volume.access_modes.contains(AccessMode::kReadWriteOncePod));
  EXPECT_FALSE(volume.access_modes.contains(AccessMode::kReadWriteMany));
  EXPECT_TRUE(volume.is_block);
  EXPECT_EQ(volume.class_name, "fast");
  EXPECT_EQ(volume.attributes_class, "gold");
  EXPECT_EQ(volume.claim_ref, (ObjectName{"team", "c", "u"}));
  EXPECT_EQ(volume.source.driver, "d");
  EXPECT_EQ(volume.source.id, "h");
  EXPECT_TRUE(volume.is_available);
  ASSERT_TRUE(volume.node_affinity);
  EXPECT_EQ(volume.node_affinity->at(0).match_expressions.at(0).key, "k");
  EXPECT_EQ(volume.migrated, nullptr);
}

TEST(DecodeVolumes, AClaimWithItsAnnotations) {
  const VolumeClaim claim = load_good(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: c
  namespace: team
  uid: u
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: pod-uid, controller: true}]
  annotations:
    volume.beta.kubernetes.io/storage-class: old
    volume.kubernetes.io/selected-node: node-1
    pv.kubernetes.io/bind-completed: ""
spec: {storageClassName: new, volumeName: v, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}, selector: {matchLabels: {a: b}}}
status: {phase: Lost}
)")
                                .storage.claims.at(0);
  EXPECT_EQ(claim.full_name(), "team/c");
  EXPECT_EQ(claim.class_name, "old");
  EXPECT_EQ(claim.selected_node, "node-1");
  EXPECT_TRUE(claim.is_bound());
  EXPECT_TRUE(claim.is_lost);
  EXPECT_EQ(claim.controller_uid, "pod-uid");
  EXPECT_EQ(claim.request->value(), std::int64_t{1} << 30);
  EXPECT_TRUE(claim.selector.has_value());
}

TEST(DecodeVolumes, ClassesNodesDriversCapacitiesAndAttachments) {
  const StorageObjects storage = load_good(R"(
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: s}
provisioner: p
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: t}
provisioner: p
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1, annotations: {storage.alpha.kubernetes.io/migrated-plugins: "a,b"}}
spec: {drivers: [{name: d, nodeID: x, topologyKeys: [zone, host], allocatable: {count: 7}}, {name: e, nodeID: x}]}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: d}
spec: {storageCapacity: true, preventPodSchedulingIfMissing: true}
---
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: c, namespace: team}
storageClassName: s
nodeTopology: {}
capacity: 10Gi
maximumVolumeSize: 4Gi
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: a}
spec: {attacher: d, nodeName: node-1, source: {persistentVolumeName: v}}
)")
                                     .storage;
  EXPECT_EQ(storage.classes.at(0).binding_mode, StorageClass::BindingMode::kWaitForFirstConsumer);
  EXPECT_EQ(storage.classes.at(0).allowed_topologies.at(0).expressions.at(0).second,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(storage.classes.at(1).binding_mode, StorageClass::BindingMode::kImmediate);
  EXPECT_EQ(storage.csi_nodes.at(0).drivers.at(0).limit, 7);
  EXPECT_FALSE(storage.csi_nodes.at(0).drivers.at(1).limit);
  EXPECT_EQ(storage.csi_nodes.at(0).drivers.at(0).topology_keys, (std::vector<std::string>{"zone", "host"}));
  EXPECT_TRUE(storage.csi_nodes.at(0).drivers.at(1).topology_keys.empty());
  EXPECT_EQ(storage.csi_nodes.at(0).migrated_plugins, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(storage.csi_drivers.at(0).tracks_capacity);
  EXPECT_TRUE(storage.csi_drivers.at(0).needs_node_plugin);
  EXPECT_TRUE(storage.capacities.at(0).node_topology.has_value());
  EXPECT_EQ(storage.capacities.at(0).volume_size_max->value(), std::int64_t{4} << 30);
  EXPECT_EQ(storage.attachments.at(0).volume_name, "v");
}

std::string handle_of(const std::string& spec, const std::string& labels = "{}") {
  const PersistentVolume volume = volume_of(spec, labels);
  if (volume.migrated == nullptr) return "none";
  return volume.migrated->problem.empty() ? volume.migrated->handle : "problem: " + volume.migrated->problem;
}

TEST(VolumeMigration, HandlesAreThoseOfTheCsiDrivers) {
  EXPECT_EQ(handle_of("awsElasticBlockStore: {volumeID: vol-1}"), "vol-1");
  EXPECT_EQ(handle_of("awsElasticBlockStore: {volumeID: 'aws://us-a/vol-1'}"), "vol-1");
  EXPECT_EQ(
      handle_of("awsElasticBlockStore: {volumeID: 'aws://us-a/x/vol-1'}"),
      "problem: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-a/x/vol-1)");
  EXPECT_EQ(handle_of("gcePersistentDisk: {pdName: d}", "{" + std::string(kZone) + ": us-east1-a}"),
            "projects/UNSPECIFIED/zones/us-east1-a/disks/d");
  EXPECT_EQ(handle_of("gcePersistentDisk: {pdName: d}", "{" + std::string(kZone) + ": us-east1-a__us-east1-b}"),
            "projects/UNSPECIFIED/regions/us-east1/disks/d");
  EXPECT_EQ(handle_of("gcePersistentDisk: {pdName: d}"), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  EXPECT_EQ(handle_of("azureDisk: {diskURI: u, diskName: d, kind: Dedicated}"),
            "problem: kind(Dedicated) is not supported in csi migration");
  EXPECT_EQ(handle_of("iscsi: {iqn: i}"), "none");
}

TEST(VolumeMigration, ZonesBecomeTheTopologyOfTheDriver) {
  const PersistentVolume labelled =
      volume_of("awsElasticBlockStore: {volumeID: vol-1}", "{" + std::string(kZone) + ": b__a}");
  ASSERT_TRUE(labelled.migrated->node_affinity);
  const SelectorRequirement& zones = labelled.migrated->node_affinity->at(0).match_expressions.at(0);
  EXPECT_EQ(zones.key, "topology.ebs.csi.aws.com/zone");
  EXPECT_EQ(zones.values, (std::vector<std::string>{"a", "b"}));
  const PersistentVolume affine = volume_of(
      "awsElasticBlockStore: {volumeID: vol-1}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
      "[{key: " +
      std::string(kZone) + ", operator: In, values: [a]}]}]}}");
  EXPECT_EQ(affine.migrated->node_affinity->at(0).match_expressions.at(0).key, "topology.ebs.csi.aws.com/zone");
  EXPECT_EQ(affine.node_affinity->at(0).match_expressions.at(0).key, kZone);
}

TEST(DecodeVolumes, OfSeveralSourcesOfAVolumeCsiCounts) {
  const std::string csi = "csi: {driver: d, volumeHandle: h}";
  const std::string disk = "gcePersistentDisk: {pdName: d}";
  for (const std::string& sources : {csi + ", " + disk, disk + ", " + csi}) {
    const PersistentVolume volume = volume_of(sources);
    EXPECT_EQ(volume.source.kind, VolumeSource::Kind::kCsi) << sources;
    EXPECT_EQ(volume.source.id, "h") << sources;
    EXPECT_EQ(volume.migrated, nullptr) << sources;
  }
}

/// encoding/json takes the last of equal keys. Read as two claims both would have to be bound.
TEST(DecodeVolumes, TheLastOfRepeatedSourcesOfAPodCounts) {
  const ClusterObjects objects =
      load_good(pod_json(R"("volumes":[{"name":"u","persistentVolumeClaim":{"claimName":"z"}}],
      "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"a"},
      "gcePersistentDisk":{"pdName":"c"},"iscsi":{"iqn":"i"},"gcePersistentDisk":{"pdName":"d"},
      "persistentVolumeClaim":{"claimName":"b"}}],)"));
  const std::vector<PodVolume>& read = objects.pods.at(0)->rare().volumes;
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].name, "b");
  EXPECT_EQ(read[1].disk->source.id, "d");
  EXPECT_EQ(read[2].disk->source.kind, VolumeSource::Kind::kIscsi);
}

}  // namespace
}  // namespace berth
