// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode_volumes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/objects/decode_parts.h"
#include "host/objects/volume_migration.h"

namespace berth {
namespace {

using Kind = VolumeSource::Kind;

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
constexpr std::string_view kBindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kMigratedAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";

constexpr auto kAccessModes =
    std::to_array<std::pair<std::string_view, AccessMode>>({{"ReadWriteOnce", AccessMode::kReadWriteOnce},
                                                            {"ReadOnlyMany", AccessMode::kReadOnlyMany},
                                                            {"ReadWriteMany", AccessMode::kReadWriteMany},
                                                            {"ReadWriteOncePod", AccessMode::kReadWriteOncePod}});
constexpr auto kVolumeModes =
    std::to_array<std::pair<std::string_view, bool>>({{"Filesystem", false}, {"Block", true}});
constexpr auto kBindingModes = std::to_array<std::pair<std::string_view, StorageClass::BindingMode>>(
    {{"Immediate", StorageClass::BindingMode::kImmediate},
     {"WaitForFirstConsumer", StorageClass::BindingMode::kWaitForFirstConsumer}});

/// The source of a volume by the name of its field, and the field of its id.
struct SourceField {
  std::string_view name;
  Kind kind;
  std::string_view id;
};
constexpr auto kSourceFields =
    std::to_array<SourceField>({{"gcePersistentDisk", Kind::kGcePersistentDisk, "pdName"},
                                {"awsElasticBlockStore", Kind::kAwsElasticBlockStore, "volumeID"},
                                {"azureDisk", Kind::kAzureDisk, "diskURI"},
                                {"cinder", Kind::kCinder, "volumeID"},
                                {"portworxVolume", Kind::kPortworx, "volumeID"},
                                {"iscsi", Kind::kIscsi, "iqn"},
                                {"rbd", Kind::kRbd, "image"}});

const SourceField* find_source(std::string_view name) {
  for (const SourceField& field : kSourceFields)
    if (field.name == name) return &field;
  return nullptr;
}

VolumeSource read_source(const JsonValue& value, const SourceField& field) {
  VolumeSource source;
  source.kind = field.kind;
  if (field.kind == Kind::kRbd) source.pool = "rbd";  // the API server's default
  value.for_each_field([&](std::string_view key, const JsonValue& part) {
    if (key == field.id) part.read(source.id);
    if (key == "readOnly") part.read(source.read_only);
    if (field.kind == Kind::kAzureDisk && key == "kind") part.read(source.disk_kind);
    if (field.kind == Kind::kRbd && key == "monitors") part.read(source.monitors);
    if (field.kind == Kind::kRbd && key == "pool") part.read(source.pool);
  });
  return source;
}

VolumeSource read_csi_source(const JsonValue& value) {
  VolumeSource source;
  source.kind = Kind::kCsi;
  value.field("driver").read(source.driver);
  value.field("volumeHandle").read(source.id);
  return source;
}

/// The text of an annotation; "" and nullopt are told apart.
std::optional<std::string> annotation(const JsonValue& object, std::string_view name) {
  const JsonValue metadata = object.field("metadata");
  const JsonValue annotations = metadata.field("annotations");
  std::optional<std::string> found;
  if (!annotations.is_object()) return found;
  annotations.for_each_entry([&](std::string_view key, const JsonValue& value) {
    if (key != name) return;
    found.emplace();
    value.read(*found);
  });
  return found;
}

AccessModes read_access_modes(const JsonValue& value) {
  AccessModes modes;
  value.for_each_element([&](const JsonValue& element) {
    AccessMode mode{};
    if (read_enum(element, kAccessModes, mode)) modes.insert(mode);
  });
  return modes;
}

/// storageClassName, unless the annotation says otherwise.
std::string read_class_name(const JsonValue& object, const JsonValue& spec) {
  std::string name;
  spec.field("storageClassName").read(name);
  return annotation(object, kClassAnnotation).value_or(std::move(name));
}

std::optional<std::vector<NodeSelectorTerm>> read_volume_affinity(const JsonValue& affinity) {
  const JsonValue required = affinity.field("required");
  if (!required.present()) return std::nullopt;
  std::vector<NodeSelectorTerm> terms;
  const JsonValue list = required.field("nodeSelectorTerms");
  list.for_each_element([&](const JsonValue& term) { terms.push_back(read_node_selector_term(term)); });
  return terms;
}

ObjectName read_object_reference(const JsonValue& value) {
  ObjectName name;
  value.field("namespace").read(name.namespace_);
  value.field("name").read(name.name);
  value.field("uid").read(name.uid);
  return name;
}

/// What rules read of the source `key` of a volume of a pod; nullopt: nothing.
std::optional<PodVolume> read_pod_volume(const JsonValue& volume, std::string_view key, const JsonValue& source) {
  PodVolume result{PodVolume::Kind::kCsiInline, {}};
  if (key == "persistentVolumeClaim") {
    if (!source.expect_object()) return std::nullopt;
    result = {PodVolume::Kind::kClaim, {}};
    source.field("claimName").read(result.name);
  } else if (key == "ephemeral") {
    result = {PodVolume::Kind::kEphemeral, {}};
    volume.field("name").read(result.name);
  } else if (const SourceField* field = find_source(key)) {
    auto disk = std::make_shared<InlineDisk>();
    volume.field("name").read(disk->volume_name);
    disk->source = read_source(source, *field);
    disk->migrated = migrate_inline(disk->source);
    result = {PodVolume::Kind::kInTreeDisk, std::string(key), std::move(disk)};
  } else if (key == "csi") {
    source.field("driver").read(result.name);
  } else {
    return std::nullopt;
  }
  return result;
}

bool has_phase(const JsonValue& object, std::string_view expected) {
  const JsonValue status = object.field("status");
  std::string_view phase;
  return status.field("phase").read(phase) && phase == expected;
}

}  // namespace

PersistentVolume read_persistent_volume(const JsonValue& object, DecodedMeta&& meta) {
  PersistentVolume volume;
  volume.name = std::move(meta.name);
  volume.labels = std::move(meta.labels);
  volume.terminating = meta.terminating;
  const JsonValue spec = object.field("spec");
  spec.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "capacity") volume.capacity = read_quantity(field.field("storage")).value_or(Quantity());
    if (key == "accessModes") volume.access_modes = read_access_modes(field);
    if (key == "volumeMode") read_enum(field, kVolumeModes, volume.is_block);
    if (key == "volumeAttributesClassName") field.read(volume.attributes_class);
    if (key == "claimRef" && field.expect_object()) volume.claim_ref = read_object_reference(field);
    if (key == "nodeAffinity") volume.node_affinity = read_volume_affinity(field);
    if (key == "csi") volume.source = read_csi_source(field);
    // Of several sources upstream's plugins look at csi first.
    const SourceField* source = volume.source.kind == Kind::kCsi ? nullptr : find_source(key);
    if (source != nullptr) volume.source = read_source(field, *source);
  });
  volume.class_name = read_class_name(object, spec);
  volume.is_available = has_phase(object, "Available");
  volume.migrated = migrate(volume);
  return volume;
}

VolumeClaim read_volume_claim(const JsonValue& object, DecodedMeta&& meta) {
  VolumeClaim claim;
  claim.name = std::move(meta.name);
  claim.namespace_ = std::move(meta.namespace_);
  claim.uid = std::move(meta.uid);
  claim.terminating = meta.terminating;
  if (meta.owners != nullptr)
    for (const OwnerReference& owner : *meta.owners)
      if (owner.controller && claim.controller_uid.empty()) claim.controller_uid = owner.uid;
  const JsonValue spec = object.field("spec");
  spec.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "volumeName") field.read(claim.volume_name);
    if (key == "accessModes") claim.access_modes = read_access_modes(field);
    if (key == "volumeMode") read_enum(field, kVolumeModes, claim.is_block);
    if (key == "volumeAttributesClassName") field.read(claim.attributes_class);
    if (key == "selector") claim.selector = read_label_selector(field);
    if (key != "resources") return;
    const JsonValue requests = field.field("requests");
    const JsonValue storage = requests.field("storage");
    if (storage.present()) claim.request = read_quantity(storage);
  });
  claim.class_name = read_class_name(object, spec);
  claim.selected_node = annotation(object, kSelectedNodeAnnotation);
  claim.is_bind_completed = annotation(object, kBindCompletedAnnotation).has_value();
  claim.is_lost = has_phase(object, "Lost");
  return claim;
}

bool names_class(const JsonValue& claim) {
  const JsonValue spec = claim.field("spec");
  return spec.field("storageClassName").present() || annotation(claim, kClassAnnotation).has_value();
}

bool is_default_class(const JsonValue& storage_class) {
  return annotation(storage_class, "storageclass.kubernetes.io/is-default-class") == "true" ||
         annotation(storage_class, "storageclass.beta.kubernetes.io/is-default-class") == "true";
}

StorageClass read_storage_class(const JsonValue& object, DecodedMeta&& meta) {
  StorageClass storage_class;
  storage_class.name = std::move(meta.name);
  // An API server stores a mode with every class: this one where none is given.
  storage_class.binding_mode = StorageClass::BindingMode::kImmediate;
  object.field("provisioner").read(storage_class.provisioner);
  read_enum(object.field("volumeBindingMode"), kBindingModes, storage_class.binding_mode);
  const JsonValue topologies = object.field("allowedTopologies");
  topologies.for_each_element([&](const JsonValue& value) {
    StorageClass::TopologyTerm& term = storage_class.allowed_topologies.emplace_back();
    const JsonValue expressions = value.field("matchLabelExpressions");
    expressions.for_each_element([&](const JsonValue& expression) {
      auto& [key, values] = term.expressions.emplace_back();
      expression.field("key").read(key);
      expression.field("values").read(values);
    });
  });
  return storage_class;
}

CsiNode read_csi_node(const JsonValue& object, DecodedMeta&& meta) {
  CsiNode node;
  node.name = std::move(meta.name);
  const JsonValue spec = object.field("spec");
  const JsonValue drivers = spec.field("drivers");
  drivers.for_each_element([&](const JsonValue& value) {
    CsiNode::Driver& driver = node.drivers.emplace_back();
    value.field("name").read(driver.name);
    const JsonValue allocatable = value.field("allocatable");
    allocatable.field("count").read(driver.limit);
    value.field("topologyKeys").read(driver.topology_keys);
  });
  const std::string plugins = annotation(object, kMigratedAnnotation).value_or("");
  for (std::size_t begin = 0; !plugins.empty() && begin <= plugins.size();) {
    const std::size_t end = std::min(plugins.find(',', begin), plugins.size());
    node.migrated_plugins.push_back(plugins.substr(begin, end - begin));
    begin = end + 1;
  }
  return node;
}

CsiDriver read_csi_driver(const JsonValue& object, DecodedMeta&& meta) {
  CsiDriver driver;
  driver.name = std::move(meta.name);
  const JsonValue spec = object.field("spec");
  spec.field("storageCapacity").read(driver.tracks_capacity);
  spec.field("preventPodSchedulingIfMissing").read(driver.needs_node_plugin);
  return driver;
}

CsiStorageCapacity read_csi_storage_capacity(const JsonValue& object, DecodedMeta&& meta) {
  CsiStorageCapacity capacity;
  capacity.name = std::move(meta.name);
  capacity.namespace_ = std::move(meta.namespace_);
  object.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "storageClassName") field.read(capacity.class_name);
    if (key == "nodeTopology") capacity.node_topology = read_label_selector(field);
    if (key == "capacity") capacity.capacity = read_quantity(field);
    if (key == "maximumVolumeSize") capacity.volume_size_max = read_quantity(field);
  });
  return capacity;
}

VolumeAttachment read_volume_attachment(const JsonValue& object, DecodedMeta&& meta) {
  VolumeAttachment attachment;
  attachment.name = std::move(meta.name);
  const JsonValue spec = object.field("spec");
  spec.field("attacher").read(attachment.attacher);
  spec.field("nodeName").read(attachment.node_name);
  const JsonValue source = spec.field("source");
  source.field("persistentVolumeName").read(attachment.volume_name);
  return attachment;
}

void read_pod_volumes(const JsonValue& value, std::vector<PodVolume>& out) {
  out.clear();
  value.for_each_element([&](const JsonValue& volume) {
    const auto first = static_cast<std::ptrdiff_t>(out.size());
    volume.for_each_field([&](std::string_view key, const JsonValue& source) {
      std::optional<PodVolume> read = read_pod_volume(volume, key, source);
      if (!read) return;
      // Of a source that stands twice the last counts.
      const auto earlier = std::find_if(out.begin() + first, out.end(), [&](const PodVolume& other) {
        return other.kind == read->kind &&
               (read->kind != PodVolume::Kind::kInTreeDisk || other.disk->source.kind == read->disk->source.kind);
      });
      if (earlier == out.end()) {
        out.push_back(std::move(*read));
      } else {
        *earlier = std::move(*read);
      }
    });
  });
}

}  // namespace berth
