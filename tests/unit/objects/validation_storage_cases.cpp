// SPDX-License-Identifier: Apache-2.0
// Storage objects and sources of volumes that fail a check.

#include "tests/unit/objects/object_texts.h"
#include "tests/unit/objects/validation_cases.h"

namespace berth {
namespace {

using namespace object_texts;

const std::string kHostPath = R"("hostPath":{"path":"/a"})";
const std::string kBlobUri = R"("diskURI":"https://a.blob.core.windows.net/c/d.vhd")";

std::string required(const std::string& terms) {
  return volume(kVolume + kCsi + R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[)" + terms + "]}}");
}
std::string topologies(const std::string& terms) {
  return storage_class(R"("provisioner":"p","allowedTopologies":[)" + terms + "]");
}
std::string zones(const std::string& values) {
  return R"({"matchLabelExpressions":[{"key":"zone","values":[)" + values + "]}]}";
}

std::vector<ValidationCase> names_and_keys() {
  const std::string claim_source = R"("volumeClaimTemplate":{"spec":{)" + kClaim;
  return {
      // A misspelt field of a volume or claim moves pods.
      {"unknown-field", volume(kVolume + kCsi + R"(,"nodeaffinity":{"required":{}})"),
       "spec.nodeaffinity (PersistentVolume o): PersistentVolumeSpec has no such field and it is not read, expected "
       "nodeAffinity"},
      {"unknown-field", volume(kVolume + kCsi + R"(,"claimref":{"name":"c"})"), "expected claimRef"},
      {"unknown-field", volume(kVolume + kCsi + R"(,"claimRef":{"names":"c"})"), "spec.claimRef.names"},
      {"unknown-field",
       volume(kVolume + kCsi + R"(,"nodeAffinity":{"required":{"nodeSelectorTerms":[{}]},"preferred":[]})"),
       "spec.nodeAffinity.preferred (PersistentVolume o): unknown to VolumeNodeAffinity"},
      {"unknown-field", required(R"({"matchexpressions":[]})"), "expected matchExpressions"},
      {"unknown-field", volume(kVolume + R"("csi":{"driver":"d","volumeHandle":"h","fstype":"ext4"})"),
       "expected fsType"},
      {"unknown-field",
       object("v1", "PersistentVolume", R"(,"spec":{)" + kVolume + kCsi + R"(},"status":{"Phase":"Bound"})"),
       "status.Phase (PersistentVolume o)"},
      {"unknown-field", claim(kClaim + R"(,"storageClass":"fast")"),
       "spec.storageClass (PersistentVolumeClaim default/o): PersistentVolumeClaimSpec has no such field and it is not "
       "read, expected storageClassName"},
      {"unknown-field", claim(kClaim + R"(,"volumename":"v")"), "expected volumeName"},
      {"unknown-field", claim(kClaim + R"(,"selector":{"matchlabels":{"a":"b"}})"), "expected matchLabels"},
      {"unknown-field", claim(kModes + R"("resources":{"requests":{"storage":"1Gi"},"request":{}})"),
       "expected requests"},
      {"unknown-field",
       object("v1", "PersistentVolumeClaim", R"(,"spec":{)" + kClaim + R"(},"status":{"state":"Lost"})"),
       "status.state (PersistentVolumeClaim default/o)"},
      {"unknown-field", storage_class(R"("provisioner":"p","volumebindingMode":"WaitForFirstConsumer")"),
       "volumebindingMode (StorageClass o): StorageClass has no such field and it is not read, expected "
       "volumeBindingMode"},
      {"unknown-field", storage_class(R"("provisioner":"p","allowedtopologies":[])"), "expected allowedTopologies"},
      {"unknown-field", topologies(R"({"matchLabelExpressions":[{"key":"zone","value":["a"],"values":["a"]}]})"),
       "allowedTopologies[0].matchLabelExpressions[0].value (StorageClass o)"},
      {"unknown-field",
       topologies(R"({"matchExpressions":[],"matchLabelExpressions":[{"key":"zone","values":["a"]}]})"),
       "allowedTopologies[0].matchExpressions (StorageClass o)"},
      {"unknown-field", object("storage.k8s.io/v1", "CSINode", R"(,"spec":{"driver":[]})"), "expected drivers"},
      {"unknown-field", csi_node(R"({"name":"d","nodeID":"n","allocatables":{"count":1}})"), "expected allocatable"},
      {"unknown-field", csi_node(R"({"name":"d","nodeID":"n","allocatable":{"counts":1}})"), "expected count"},
      {"unknown-field", object("storage.k8s.io/v1", "CSIDriver", R"(,"spec":{"storagecapacity":true})"),
       "expected storageCapacity"},
      {"unknown-field", capacity(R"("storageClassName":"c","nodetopology":{})"), "expected nodeTopology"},
      {"unknown-field",
       attachment(R"("attacher":"d","nodename":"n","nodeName":"n","source":{"persistentVolumeName":"v"})"),
       "spec.nodename (VolumeAttachment o)"},
      {"unknown-field",
       attachment(R"("attacher":"d","nodeName":"n","source":{"persistentVolume":"v","persistentVolumeName":"v"})"),
       "spec.source.persistentVolume (VolumeAttachment o)"},
      {"unknown-field", pod_volume(R"("gcePersistentDisk":{"pdname":"d","pdName":"d"})"),
       "spec.volumes[0].gcePersistentDisk.pdname (Pod default/p): GCEPersistentDiskVolumeSource has no such field and "
       "it is not read, expected pdName"},
      {"unknown-field", pod_volume(R"("ephemeral":{)" + claim_source + R"(}},"claim":{}})"),
       "spec.volumes[0].ephemeral.claim (Pod default/p)"},
      {"unknown-field", pod_volume(R"("ephemeral":{)" + claim_source + R"(,"storageclassName":"c"}}})"),
       "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.storageclassName (Pod default/p)"},
      {"unknown-field", stateful_set(R"("metadata":{"name":"a"},"spec":{)" + kClaim + R"(,"storageclassName":"c"})"),
       "spec.volumeClaimTemplates[0].spec.storageclassName (StatefulSet default/w)"},
      {"duplicate-field", claim(kClaim + R"(,"volumeName":"a","volumeName":"b")"),
       "spec.volumeName (PersistentVolumeClaim default/o): stands twice, expected once"},
      {"duplicate-field", claim(kModes + R"("resources":{"requests":{"storage":"1Gi","storage":"2Gi"}})"),
       "spec.resources.requests.storage (PersistentVolumeClaim default/o)"},
      {"duplicate-field", volume(kModes + kCsi + R"(,"capacity":{"storage":"1Gi","storage":"2Gi"})"),
       "spec.capacity.storage (PersistentVolume o)"},
      {"duplicate-field", volume(kVolume + kCsi + "," + kCsi), "spec.csi (PersistentVolume o)"},
      {"duplicate-field",
       pod_volume(R"("persistentVolumeClaim":{"claimName":"a"},"persistentVolumeClaim":{"claimName":"b"})"),
       "spec.volumes[0].persistentVolumeClaim (Pod default/p): stands twice, expected once"},
      {"name", stateful_set(R"("metadata":{"name":"A_"},"spec":{)" + kClaim + "}"),
       R"(spec.volumeClaimTemplates[0].metadata.name (StatefulSet default/w): got "A_")"},
      {"referenced-name", volume(kVolume + kCsi + R"(,"storageClassName":"A B")"),
       R"(spec.storageClassName (PersistentVolume o): got "A B")"},
      {"referenced-name", volume(kVolume + kCsi + R"(,"volumeAttributesClassName":"A B")"),
       "spec.volumeAttributesClassName"},
      {"referenced-name", claim(kClaim + R"(,"storageClassName":"A B")"), "spec.storageClassName"},
      {"referenced-name", claim(kClaim + R"(,"volumeAttributesClassName":"A B")"), "spec.volumeAttributesClassName"},
      {"referenced-name", capacity(R"("storageClassName":"A B")"), "storageClassName (CSIStorageCapacity default/o)"},
      {"referenced-name", attachment(R"("attacher":"d","nodeName":"A B","source":{"persistentVolumeName":"v"})"),
       "spec.nodeName"},
      {"referenced-name", attachment(R"("attacher":"d","nodeName":"n","source":{"persistentVolumeName":"A B"})"),
       "spec.source.persistentVolumeName"},
      {"label-selector", claim(kClaim + R"(,"selector":{"matchExpressions":[{"key":"a","operator":"In"}]})"),
       "spec.selector.matchExpressions[0].values (PersistentVolumeClaim default/o): no value"},
      {"label-selector", capacity(R"("storageClassName":"c","nodeTopology":{"matchLabels":{"-a":"b"}})"),
       "nodeTopology.matchLabels.-a (CSIStorageCapacity default/o)"},
  };
}

std::vector<ValidationCase> volumes_and_claims() {
  return {
      {"access-modes", volume(kSize + kCsi),
       "spec.accessModes (PersistentVolume o): got nothing, expected at least one"},
      {"access-modes", volume(kSize + R"("accessModes":[],)" + kCsi), "spec.accessModes (PersistentVolume o)"},
      {"access-modes", volume(kSize + R"("accessModes":["ReadWriteOncePod","ReadWriteOnce"],)" + kCsi),
       "spec.accessModes (PersistentVolume o): expected no other mode beside ReadWriteOncePod"},
      {"access-modes",
       claim(R"("accessModes":["ReadOnlyMany","ReadWriteOncePod"],"resources":{"requests":{"storage":1}})"),
       "spec.accessModes (PersistentVolumeClaim default/o): expected no other mode"},
      {"access-modes", claim(R"("accessModes":[""],"resources":{"requests":{"storage":1}})"),
       R"(spec.accessModes[0] (PersistentVolumeClaim default/o): got "", expected a mode)"},
      {"access-modes", stateful_set(R"("metadata":{"name":"a"},"spec":{"resources":{"requests":{"storage":1}}})"),
       "spec.volumeClaimTemplates[0].spec.accessModes (StatefulSet default/w): got nothing"},
      {"volume-mode", volume(kVolume + kCsi + R"(,"volumeMode":"")"),
       R"(spec.volumeMode (PersistentVolume o): got "")"},
      {"volume-mode", claim(kClaim + R"(,"volumeMode":"")"), "spec.volumeMode (PersistentVolumeClaim default/o)"},
      {"volume-capacity", volume(kModes + kCsi),
       "spec.capacity.storage (PersistentVolume o): got nothing, expected an amount"},
      {"volume-capacity", volume(kModes + kCsi + R"(,"capacity":{})"), "spec.capacity.storage"},
      {"volume-capacity", volume(kModes + kCsi + R"(,"capacity":{"storage":"0"})"), R"(got "0", expected more than 0)"},
      {"volume-capacity", volume(kModes + kCsi + R"(,"capacity":{"storage":"-1Gi"})"),
       R"(got "-1Gi", expected more than 0)"},
      {"volume-capacity", volume(kModes + kCsi + R"(,"capacity":{"storage":"1Gi","cpu":"1"})"),
       "spec.capacity (PersistentVolume o): expected storage alone"},
      {"claim-request", claim(R"("accessModes":["ReadWriteOnce"])"),
       "spec.resources.requests.storage (PersistentVolumeClaim default/o): got nothing, expected an amount"},
      {"claim-request", claim(kModes + R"("resources":{"requests":{"storage":0}})"), "got 0, expected more than 0"},
      {"claim-request", claim(kModes + R"("resources":{"requests":{"storage":null}})"), "expected more than 0"},
      {"claim-request", claim(kModes + R"("resources":{"limits":{"storage":"1Gi"}})"),
       "spec.resources.requests.storage"},
      {"volume-node-affinity", volume(kVolume + kCsi + R"(,"nodeAffinity":{})"),
       "spec.nodeAffinity.required (PersistentVolume o): got nothing, expected the nodes"},
      {"volume-node-affinity", volume(kVolume + R"("local":{"path":"/a"})"),
       "spec.nodeAffinity (PersistentVolume o): got nothing, expected the nodes that a local volume"},
      {"node-selector-terms", required(""),
       "spec.nodeAffinity.required.nodeSelectorTerms (PersistentVolume o): no term"},
      {"node-requirement", required(R"({"matchExpressions":[{"key":"zone","operator":"In"}]})"),
       "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values (PersistentVolume o): no value"},
      {"node-field", required(R"({"matchFields":[{"key":"metadata.label","operator":"In","values":["n"]}]})"),
       "matchFields[0].key (PersistentVolume o)"},
      {"attributes-class", volume(kVolume + kCsi + R"(,"volumeAttributesClassName":"")"),
       R"(spec.volumeAttributesClassName (PersistentVolume o): got "")"},
      {"attributes-class", volume(kVolume + kHostPath + R"(,"volumeAttributesClassName":"gold")"),
       "spec.volumeAttributesClassName (PersistentVolume o): expected only beside a csi source"},
  };
}

std::vector<ValidationCase> sources() {
  return {
      {"volume-source", volume(kVolume + kCsi + "," + kHostPath), "spec (PersistentVolume o): more than one source"},
      {"volume-source", volume(kVolume + R"("csi":{"volumeHandle":"h"})"),
       "spec.csi.driver (PersistentVolume o): got nothing, expected the name of a CSI driver"},
      {"volume-source", volume(kVolume + R"("csi":{"driver":"a b","volumeHandle":"h"})"), "spec.csi.driver"},
      {"volume-source", volume(kVolume + R"("csi":{"driver":"d"})"), "spec.csi.volumeHandle"},
      {"volume-source", volume(kVolume + R"("awsElasticBlockStore":{})"), "spec.awsElasticBlockStore.volumeID"},
      {"volume-source", volume(kVolume + R"("cinder":{"volumeID":""})"), "spec.cinder.volumeID"},
      {"volume-source", pod_volume(R"("awsElasticBlockStore":{})"),
       "spec.volumes[0].awsElasticBlockStore.volumeID (Pod default/p): got nothing, expected the name of a disk"},
      {"volume-source", pod_volume(R"("gcePersistentDisk":{})"), "gcePersistentDisk.pdName"},
      {"volume-source", pod_volume(R"("cinder":{})"), "cinder.volumeID"},
      {"volume-source", pod_volume(R"("portworxVolume":{})"), "portworxVolume.volumeID"},
      {"volume-source", pod_volume(R"("csi":{})"), "spec.volumes[0].csi.driver (Pod default/p): got nothing"},
      {"volume-source", pod_volume(R"("iscsi":{"targetPortal":"10.0.0.1"})"), "iscsi.iqn (Pod default/p): got nothing"},
      {"volume-source", pod_volume(R"("iscsi":{"targetPortal":"10.0.0.1","iqn":"iqn.2001-4.com:a"})"), "iscsi.iqn"},
      {"volume-source", pod_volume(R"("iscsi":{"targetPortal":"10.0.0.1","iqn":"iqn.2001-04.com:a b"})"), "iscsi.iqn"},
      {"volume-source", pod_volume(R"("iscsi":{"targetPortal":"10.0.0.1","iqn":"eui.0123"})"), "iscsi.iqn"},
      {"volume-source", pod_volume(R"("rbd":{"monitors":["m"]})"), "rbd.image"},
      {"volume-source", pod_volume(R"("rbd":{"image":"i","monitors":[]})"), "rbd.monitors"},
      {"volume-source", pod_volume(R"("azureDisk":{"diskName":"d",)" + kBlobUri + R"(,"kind":"managed"})"),
       R"(azureDisk.kind (Pod default/p): got "managed", expected Shared, Dedicated or Managed)"},
      {"volume-source", pod_volume(R"("azureDisk":{"diskName":"d",)" + kBlobUri + R"(,"kind":"Managed"})"),
       "azureDisk.diskURI"},
      {"volume-source", pod_volume(R"("azureDisk":{"diskName":"d","diskURI":"/subscriptions/s"})"),
       "expected https://..., since kind is not Managed"},
      {"volume", pod_volume(R"("ephemeral":{})"),
       "spec.volumes[0].ephemeral.volumeClaimTemplate (Pod default/p): got nothing, expected a claim"},
      {"access-modes",
       pod_volume(R"("ephemeral":{"volumeClaimTemplate":{"spec":{"resources":{"requests":{"storage":1}}}}})"),
       "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes (Pod default/p)"},
  };
}

std::vector<ValidationCase> classes_and_drivers() {
  return {
      {"storage-class", object("storage.k8s.io/v1", "StorageClass", ""),
       "provisioner (StorageClass o): got nothing, expected a qualified name"},
      {"storage-class", storage_class(R"("provisioner":"a b")"), R"(provisioner (StorageClass o): got "a b")"},
      {"storage-class", storage_class(R"("provisioner":"p","volumeBindingMode":"")"),
       R"(volumeBindingMode (StorageClass o): got "", expected Immediate or WaitForFirstConsumer)"},
      {"allowed-topologies", topologies("{}"), "allowedTopologies[0] (StorageClass o): no expression"},
      {"allowed-topologies", topologies(zones("")), "allowedTopologies[0].matchLabelExpressions[0].values"},
      {"allowed-topologies", topologies(zones(R"("a","a")")),
       "values[1] (StorageClass o): got \"a\", expected a value"},
      {"allowed-topologies", topologies(zones(R"("a","b")") + "," + zones(R"("b","a")")),
       "allowedTopologies[1] (StorageClass o): has the expressions of an earlier term"},
      {"allowed-topologies", topologies(R"({"matchLabelExpressions":[{"key":"-","values":["a"]}]})"),
       R"(matchLabelExpressions[0].key (StorageClass o): got "-")"},
      {"allowed-topologies",
       topologies(R"({"matchLabelExpressions":[{"key":"a","values":["a"]},{"key":"a","values":["b"]}]})"),
       R"(matchLabelExpressions[1].key (StorageClass o): got "a", expected a key that stands once)"},
      {"csi-node-driver", csi_node(R"({"name":"d","nodeID":"n"},{"name":"d","nodeID":"n"})"),
       R"(spec.drivers[1].name (CSINode o): got "d", expected a driver that stands once)"},
      {"csi-node-driver", csi_node(R"({"nodeID":"n"})"), "spec.drivers[0].name (CSINode o): got nothing"},
      {"csi-node-driver", csi_node(R"({"name":"d","nodeID":"n","allocatable":{"count":-1}})"),
       "spec.drivers[0].allocatable.count (CSINode o): got -1, expected at least 0"},
      {"storage-capacity", capacity(R"("storageClassName":"c","capacity":"-1Gi")"),
       R"(capacity (CSIStorageCapacity default/o): got "-1Gi", expected at least 0)"},
      {"storage-capacity", capacity(R"("capacity":"1Gi")"),
       "storageClassName (CSIStorageCapacity default/o): got nothing"},
      {"volume-attachment", attachment(R"("nodeName":"n","source":{"persistentVolumeName":"v"})"),
       "spec.attacher (VolumeAttachment o): got nothing, expected the name of a CSI driver"},
      {"volume-attachment", attachment(R"("attacher":"d","nodeName":"n")"),
       "spec.source (VolumeAttachment o): expected either persistentVolumeName or inlineVolumeSpec"},
      {"volume-attachment",
       attachment(R"("attacher":"d","nodeName":"n","source":{"persistentVolumeName":"v","inlineVolumeSpec":{}})"),
       "spec.source (VolumeAttachment o): expected either"},
      {"volume-attachment", attachment(R"("attacher":"d","nodeName":"n","source":{"persistentVolumeName":""})"),
       R"(spec.source.persistentVolumeName (VolumeAttachment o): got "")"},
      {"volume-attachment", attachment(R"("attacher":"d","source":{"persistentVolumeName":"v"})"),
       "spec.nodeName (VolumeAttachment o): got nothing, expected the name of a node"},
  };
}

}  // namespace

std::vector<ValidationCase> storage_validation_cases() {
  std::vector<ValidationCase> cases = names_and_keys();
  for (auto* const more : {volumes_and_claims, sources, classes_and_drivers})
    for (ValidationCase& one : more()) cases.push_back(std::move(one));
  return cases;
}

std::vector<std::string> good_storage_objects() {
  return {
      volume(kVolume + kCsi),
      volume(kVolume +
             R"("csi":{"driver":"D.example.com","volumeHandle":"h","fsType":"ext4","volumeAttributes":{"a":"b"},
        "nodeStageSecretRef":{"name":"s","namespace":"t"}},"volumeAttributesClassName":"gold","volumeMode":"Block",
        "persistentVolumeReclaimPolicy":"Delete","storageClassName":"","mountOptions":["ro"],
        "claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"c","namespace":"t","uid":"u","resourceVersion":"7"},
        "nodeAffinity":{"required":{"nodeSelectorTerms":[{},{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}})"),
      volume(kSize +
             R"("accessModes":["ReadWriteOncePod"],"awsElasticBlockStore":{"volumeID":"vol-1","fsType":"ext4"})"),
      volume(kVolume + R"("nfs":{"server":"s","path":"/a"})"),
      volume(kVolume + R"("azureDisk":{"diskName":"d","diskURI":"/subscriptions/s/d","kind":"Managed"})"),
      volume(kVolume + R"("azureDisk":{"diskName":"d","diskURI":"https://a.blob.core.windows.net/c/d.vhd"})"),
      volume(
          kVolume +
          R"("iscsi":{"targetPortal":"10.0.0.1:3260","iqn":"iqn.2001-04.com.example:storage.kube.sys1.xyz","lun":0})"),
      volume(kVolume + R"("iscsi":{"targetPortal":"10.0.0.1:3260","iqn":"eui.0123456789abcdef","lun":0})"),
      volume(kVolume +
             R"("iscsi":{"targetPortal":"10.0.0.1:3260","iqn":"naa.0123456789abcdef0123456789abcdef","lun":0})"),
      // A source that is null is none.
      volume(kVolume + R"("hostPath":null,)" + kCsi),
      // What no rule reads of a source is not looked at: docs/objects.md.
      volume(kVolume + R"("hostPath":{"paths":"/a"})"),
      object("v1", "PersistentVolume", R"(,"spec":{)" + kVolume + kCsi + R"(},"status":{"phase":"Bound",
        "lastPhaseTransitionTime":"2026-01-01T00:00:00Z"})"),
      claim(kClaim),
      claim(kClaim +
            R"(,"storageClassName":"","volumeAttributesClassName":"","volumeMode":"Filesystem","volumeName":"A_b",
        "selector":{},"dataSource":{"name":"x","kind":"PersistentVolumeClaim"})"),
      claim(kModes + R"("resources":{"requests":{"storage":"1Gi","cpu":"1"},"limits":{"storage":"2Gi"}})"),
      object("v1", "PersistentVolumeClaim", R"(,"spec":{)" + kClaim + R"(},"status":{"phase":"Bound","accessModes":[],
        "capacity":{"storage":"1Gi"},"conditions":[],"resizeStatus":""})"),
      storage_class(R"("provisioner":"kubernetes.io/GCE-PD","parameters":{"type":"pd-ssd"},"reclaimPolicy":"Delete",
        "allowVolumeExpansion":true,"mountOptions":["debug"],"volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[
        {"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]},{"matchLabelExpressions":[{"key":"zone","values":["b"]}]}])"),
      storage_class(R"("provisioner":"rancher.io/local-path","allowedTopologies":[])"),
      csi_node(R"({"name":"d","nodeID":"n","topologyKeys":["zone"],"allocatable":{"count":0}},{"name":"e","nodeID":"n",
        "topologyKeys":null,"allocatable":{}})"),
      object("storage.k8s.io/v1", "CSINode", R"(,"spec":{"drivers":null})"),
      object("storage.k8s.io/v1", "CSIDriver",
             R"(,"spec":{"attachRequired":true,"podInfoOnMount":false,"storageCapacity":true,
        "volumeLifecycleModes":["Persistent"],"preventPodSchedulingIfMissing":true})"),
      capacity(
          R"("storageClassName":"c","nodeTopology":{"matchLabels":{"zone":"a"}},"capacity":"0","maximumVolumeSize":"1Gi")"),
      capacity(R"("storageClassName":"c")"),
      attachment(R"("attacher":"d.example.com","nodeName":"n","source":{"persistentVolumeName":"v"})"),
      attachment(R"("attacher":"d","nodeName":"n","source":{"inlineVolumeSpec":{"csi":{}}})"),
      pod_volume(R"("ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{)" + kClaim + "}}}"),
      pod_volume(R"("csi":{"driver":"d","nodePublishSecretRef":{"name":"s"},"volumeAttributes":{"a":"b"}})"),
      pod_volume(R"("rbd":{"image":"i","monitors":["m"],"pool":"p","user":"u","secretRef":{"name":"s"}})"),
      pod_volume(R"("gcePersistentDisk":{"pdName":"d","partition":1,"fsType":"ext4","readOnly":true})"),
      // Of sources that no rule reads nothing is checked, their number apart.
      pod_volume(R"("nfs":{},"emptyDir":null)"),
      stateful_set(R"("apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a","creationTimestamp":null},
        "spec":{)" +
                   kClaim + R"(},"status":{"phase":"Pending"})"),
  };
}

}  // namespace berth
