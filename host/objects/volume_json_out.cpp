// SPDX-License-Identifier: Apache-2.0
// Storage objects as JSON.

#include <string>

#include "host/objects/json_out.h"
#include "host/objects/json_parts.h"

namespace berth {
namespace {

using Kind = VolumeSource::Kind;

struct SourceNames {
  std::string_view source;
  std::string_view id;
};

SourceNames names_of(Kind kind) {
  switch (kind) {
    case Kind::kOther:
      break;
    case Kind::kCsi:
      return {"csi", "volumeHandle"};
    case Kind::kGcePersistentDisk:
      return {"gcePersistentDisk", "pdName"};
    case Kind::kAwsElasticBlockStore:
      return {"awsElasticBlockStore", "volumeID"};
    case Kind::kAzureDisk:
      return {"azureDisk", "diskURI"};
    case Kind::kCinder:
      return {"cinder", "volumeID"};
    case Kind::kPortworx:
      return {"portworxVolume", "volumeID"};
    case Kind::kIscsi:
      return {"iscsi", "iqn"};
    case Kind::kRbd:
      return {"rbd", "image"};
  }
  return {"", ""};
}

void open_object(JsonWriter& w, std::string_view api_version, std::string_view kind) {
  w.open('{');
  w.field("apiVersion", api_version);
  w.field("kind", kind);
}

void write_access_modes(JsonWriter& w, AccessModes modes) {
  std::vector<std::string> names;
  if (modes.contains(AccessMode::kReadWriteOnce)) names.emplace_back("ReadWriteOnce");
  if (modes.contains(AccessMode::kReadOnlyMany)) names.emplace_back("ReadOnlyMany");
  if (modes.contains(AccessMode::kReadWriteMany)) names.emplace_back("ReadWriteMany");
  if (modes.contains(AccessMode::kReadWriteOncePod)) names.emplace_back("ReadWriteOncePod");
  w.strings("accessModes", names);
}

void write_volume_affinity(JsonWriter& w, const std::vector<NodeSelectorTerm>& terms) {
  w.object("nodeAffinity", [&] {
    w.object("required", [&] {
      w.objects("nodeSelectorTerms", terms, [&](const NodeSelectorTerm& term) { write_term(w, term); });
    });
  });
}

void write_quantity(JsonWriter& w, std::string_view name, const std::optional<Quantity>& amount) {
  if (amount) w.field(name, amount->to_string());
}

void write_deletion(JsonWriter& w, bool terminating) {
  if (terminating) w.field("deletionTimestamp", std::string_view("1970-01-01T00:00:00Z"));
}

void write_claim_metadata(JsonWriter& w, const VolumeClaim& claim) {
  w.text("name", claim.name);
  w.text("namespace", claim.namespace_);
  w.text("uid", claim.uid);
  write_deletion(w, claim.terminating);
  if (claim.selected_node || claim.is_bind_completed) {
    w.object("annotations", [&] {
      if (claim.selected_node) w.field("volume.kubernetes.io/selected-node", *claim.selected_node);
      if (claim.is_bind_completed) w.field("pv.kubernetes.io/bind-completed", std::string_view("yes"));
    });
  }
  if (claim.controller_uid.empty()) return;
  const std::vector<std::string> owners = {claim.controller_uid};
  w.objects("ownerReferences", owners, [&](const std::string& uid) {
    w.field("apiVersion", std::string_view("v1"));
    w.field("kind", std::string_view("Pod"));
    w.field("name", std::string_view("owner"));
    w.field("uid", uid);
    w.field("controller", true);
  });
}

}  // namespace

void write_volume_source(JsonWriter& w, const VolumeSource& source) {
  const auto [name, id] = names_of(source.kind);
  if (name.empty()) return;
  w.object(name, [&, id_field = id] {
    w.text("driver", source.driver);
    w.field(id_field, source.id);
    w.flag("readOnly", source.read_only);
    w.text("kind", source.disk_kind);
    w.strings("monitors", source.monitors);
    w.text("pool", source.pool);
  });
}

void append_json(std::string& out, const PersistentVolume& volume) {
  JsonWriter w(out);
  open_object(w, "v1", "PersistentVolume");
  w.object("metadata", [&] {
    w.field("name", volume.name);
    write_deletion(w, volume.terminating);
    w.labels("labels", volume.labels);
  });
  w.object("spec", [&] {
    w.object("capacity", [&] { w.field("storage", volume.capacity.to_string()); });
    write_access_modes(w, volume.access_modes);
    w.field("volumeMode", std::string_view(volume.is_block ? "Block" : "Filesystem"));
    w.text("storageClassName", volume.class_name);
    w.text("volumeAttributesClassName", volume.attributes_class);
    if (volume.claim_ref) {
      w.object("claimRef", [&] {
        w.text("namespace", volume.claim_ref->namespace_);
        w.text("name", volume.claim_ref->name);
        w.text("uid", volume.claim_ref->uid);
      });
    }
    if (volume.node_affinity) write_volume_affinity(w, *volume.node_affinity);
    write_volume_source(w, volume.source);
  });
  w.object("status", [&] {
    const std::string_view other = volume.claim_ref ? "Bound" : "Released";
    w.field("phase", volume.is_available ? std::string_view("Available") : other);
  });
  w.close('}');
}

void append_json(std::string& out, const VolumeClaim& claim) {
  JsonWriter w(out);
  open_object(w, "v1", "PersistentVolumeClaim");
  w.object("metadata", [&] { write_claim_metadata(w, claim); });
  w.object("spec", [&] {
    write_access_modes(w, claim.access_modes);
    w.field("volumeMode", std::string_view(claim.is_block ? "Block" : "Filesystem"));
    w.text("volumeName", claim.volume_name);
    w.text("storageClassName", claim.class_name);
    w.text("volumeAttributesClassName", claim.attributes_class);
    write_selector(w, "selector", claim.selector);
    if (claim.request) {
      w.object("resources", [&] { w.object("requests", [&] { w.field("storage", claim.request->to_string()); }); });
    }
  });
  w.object("status", [&] {
    const std::string_view other = claim.is_bound() ? "Bound" : "Pending";
    w.field("phase", claim.is_lost ? std::string_view("Lost") : other);
  });
  w.close('}');
}

void append_json(std::string& out, const StorageClass& object) {
  JsonWriter w(out);
  open_object(w, "storage.k8s.io/v1", "StorageClass");
  w.object("metadata", [&] { w.field("name", object.name); });
  w.field("provisioner", object.provisioner);
  const bool waits = object.binding_mode == StorageClass::BindingMode::kWaitForFirstConsumer;
  w.field("volumeBindingMode", std::string_view(waits ? "WaitForFirstConsumer" : "Immediate"));
  w.objects("allowedTopologies", object.allowed_topologies, [&](const StorageClass::TopologyTerm& term) {
    w.objects("matchLabelExpressions", term.expressions, [&](const auto& expression) {
      w.field("key", expression.first);
      w.strings("values", expression.second);
    });
  });
  w.close('}');
}

void append_json(std::string& out, const CsiNode& node) {
  JsonWriter w(out);
  open_object(w, "storage.k8s.io/v1", "CSINode");
  w.object("metadata", [&] {
    w.field("name", node.name);
    if (node.migrated_plugins.empty()) return;
    std::string plugins;
    for (const std::string& plugin : node.migrated_plugins) plugins += (plugins.empty() ? "" : ",") + plugin;
    w.object("annotations", [&] { w.field("storage.alpha.kubernetes.io/migrated-plugins", plugins); });
  });
  w.object("spec", [&] {
    w.objects("drivers", node.drivers, [&](const CsiNode::Driver& driver) {
      w.field("name", driver.name);
      w.field("nodeID", node.name);
      if (!driver.topology_keys.empty()) w.strings("topologyKeys", driver.topology_keys);
      if (driver.limit) w.object("allocatable", [&] { w.field("count", *driver.limit); });
    });
  });
  w.close('}');
}

void append_json(std::string& out, const CsiDriver& driver) {
  JsonWriter w(out);
  open_object(w, "storage.k8s.io/v1", "CSIDriver");
  w.object("metadata", [&] { w.field("name", driver.name); });
  w.object("spec", [&] {
    w.flag("storageCapacity", driver.tracks_capacity);
    w.flag("preventPodSchedulingIfMissing", driver.needs_node_plugin);
  });
  w.close('}');
}

void append_json(std::string& out, const CsiStorageCapacity& capacity) {
  JsonWriter w(out);
  open_object(w, "storage.k8s.io/v1", "CSIStorageCapacity");
  w.object("metadata", [&] {
    w.field("name", capacity.name);
    w.field("namespace", capacity.namespace_);
  });
  w.field("storageClassName", capacity.class_name);
  write_selector(w, "nodeTopology", capacity.node_topology);
  write_quantity(w, "capacity", capacity.capacity);
  write_quantity(w, "maximumVolumeSize", capacity.volume_size_max);
  w.close('}');
}

void append_json(std::string& out, const VolumeAttachment& attachment) {
  JsonWriter w(out);
  open_object(w, "storage.k8s.io/v1", "VolumeAttachment");
  w.object("metadata", [&] { w.field("name", attachment.name); });
  w.object("spec", [&] {
    w.text("attacher", attachment.attacher);
    w.text("nodeName", attachment.node_name);
    w.object("source", [&] {
      if (attachment.volume_name) w.field("persistentVolumeName", *attachment.volume_name);
    });
  });
  w.close('}');
}

}  // namespace berth
