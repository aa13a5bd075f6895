// SPDX-License-Identifier: Apache-2.0
#include "tests/support/storage_text.h"

#include <array>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "host/objects/volume_migration.h"
#include "tests/support/text_words.h"

namespace berth::test {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using Kind = VolumeSource::Kind;

constexpr std::array<std::string_view, 7> kKinds = {"persistent-volume", "volume-claim", "storage-class",
                                                    "csi-node",          "csi-driver",   "storage-capacity",
                                                    "volume-attachment"};

/// "RWO,RWX"
AccessModes access_modes(const std::string& list) {
  static const std::map<std::string, AccessMode> kModes = {{"RWO", AccessMode::kReadWriteOnce},
                                                           {"ROX", AccessMode::kReadOnlyMany},
                                                           {"RWX", AccessMode::kReadWriteMany},
                                                           {"RWOP", AccessMode::kReadWriteOncePod}};
  AccessModes modes;
  for (const std::string& name : split(list, ',')) {
    const auto mode = kModes.find(name);
    if (mode == kModes.end()) fail("no access mode", name);
    modes.insert(mode->second);
  }
  return modes;
}

/// "NAMESPACE/NAME[/UID]"
ObjectName object_name(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() < 2 || parts.size() > 3) fail("not NAMESPACE/NAME or NAMESPACE/NAME/UID", text);
  return {parts[0], parts[1], parts.size() == 3 ? parts[2] : ""};
}

std::pair<std::string, std::string> two_parts(const std::string& text, char separator, std::string_view what) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) fail(what, text);
  return {text.substr(0, at), text.substr(at + 1)};
}

/// "KEY:VALUE,VALUE", several joined with '&'
StorageClass::TopologyTerm topology_term(const std::string& text) {
  StorageClass::TopologyTerm term;
  for (const std::string& expression : text.empty() ? std::vector<std::string>() : split(text, '&')) {
    auto [key, values] = two_parts(expression, ':', "not KEY:VALUE,VALUE");
    term.expressions.emplace_back(topology_key(key), split(values, ','));
  }
  return term;
}

bool take_place(const std::string& key, const std::string& value, Labels& labels) {
  if (key.starts_with("label:")) {
    labels.emplace_back(key.substr(6), value);
  } else if (key == "zone") {
    labels.emplace_back(topology_key("zone"), value);
  } else {
    return false;
  }
  return true;
}

PersistentVolume read_volume(const std::vector<std::string>& words) {
  PersistentVolume volume;
  Labels labels;
  volume.name = words[1];
  volume.is_available = true;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (take_place(key, value, labels)) continue;
    if (key == "class") {
      volume.class_name = value;
    } else if (key == "size") {
      volume.capacity = quantity(value);
    } else if (key == "modes") {
      volume.access_modes = access_modes(value);
    } else if (key == "block") {
      volume.is_block = true;
    } else if (key == "attributes") {
      volume.attributes_class = value;
    } else if (key == "for") {
      volume.claim_ref = object_name(value);
    } else if (key == "need") {
      if (!volume.node_affinity) volume.node_affinity.emplace();
      volume.node_affinity->push_back(term(value));
    } else if (key == "released") {
      volume.is_available = false;
    } else if (key == "terminating") {
      volume.terminating = true;
    } else if (key == "csi") {
      volume.source.kind = Kind::kCsi;
      std::tie(volume.source.driver, volume.source.id) = two_parts(value, '/', "not DRIVER/HANDLE");
    } else if (key == "disk") {
      volume.source = in_tree_disk(value);
    } else {
      fail("no word of a volume", words[i]);
    }
  }
  volume.labels = LabelMap(std::move(labels));
  volume.migrated = migrate(volume);
  return volume;
}

VolumeClaim read_claim(const std::vector<std::string>& words) {
  VolumeClaim claim;
  claim.name = words[1];
  claim.namespace_ = "default";
  claim.access_modes.insert(AccessMode::kReadWriteOnce);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "namespace") {
      claim.namespace_ = value;
    } else if (key == "uid") {
      claim.uid = value;
    } else if (key == "class") {
      claim.class_name = value;
    } else if (key == "size") {
      claim.request = quantity(value);
    } else if (key == "modes") {
      claim.access_modes = access_modes(value);
    } else if (key == "block") {
      claim.is_block = true;
    } else if (key == "attributes") {
      claim.attributes_class = value;
    } else if (key == "match") {
      claim.selector = label_selector(value);
    } else if (key == "volume") {
      claim.volume_name = value;
    } else if (key == "bound") {
      claim.volume_name = value;
      claim.is_bind_completed = true;
    } else if (key == "selected") {
      claim.selected_node = value;
    } else if (key == "lost") {
      claim.is_lost = true;
    } else if (key == "terminating") {
      claim.terminating = true;
    } else if (key == "controller") {
      claim.controller_uid = value;
    } else {
      fail("no word of a volume claim", words[i]);
    }
  }
  return claim;
}

StorageClass read_class(const std::vector<std::string>& words) {
  StorageClass object;
  object.name = words[1];
  object.binding_mode = StorageClass::BindingMode::kImmediate;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "provisioner") {
      object.provisioner = value;
    } else if (key == "waits") {
      object.binding_mode = StorageClass::BindingMode::kWaitForFirstConsumer;
    } else if (key == "allow") {
      object.allowed_topologies.push_back(topology_term(value));
    } else {
      fail("no word of a storage class", words[i]);
    }
  }
  return object;
}

CsiNode read_csi_node(const std::vector<std::string>& words) {
  CsiNode node;
  node.name = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "driver") {
      const std::vector<std::string> parts = split(value, ':');
      CsiNode::Driver& driver = node.drivers.emplace_back();
      driver.name = parts[0];
      if (parts.size() > 1) driver.limit = small_integer(parts[1]);
    } else if (key == "migrated") {
      node.migrated_plugins.push_back(value);
    } else {
      fail("no word of a CSI node", words[i]);
    }
  }
  return node;
}

CsiDriver read_csi_driver(const std::vector<std::string>& words) {
  CsiDriver driver{words[1], false};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "tracks-capacity") {
      driver.tracks_capacity = true;
    } else if (words[i] == "needs-node-plugin") {
      driver.needs_node_plugin = true;
    } else {
      fail("no word of a CSI driver", words[i]);
    }
  }
  return driver;
}

CsiStorageCapacity read_capacity(const std::vector<std::string>& words) {
  CsiStorageCapacity capacity;
  capacity.name = words[1];
  capacity.namespace_ = "default";
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "class") {
      capacity.class_name = value;
    } else if (key == "free") {
      capacity.capacity = quantity(value);
    } else if (key == "largest") {
      capacity.volume_size_max = quantity(value);
    } else if (key == "nodes") {
      capacity.node_topology = label_selector(value);
    } else {
      fail("no word of a storage capacity", words[i]);
    }
  }
  return capacity;
}

VolumeAttachment read_attachment(const std::vector<std::string>& words) {
  VolumeAttachment attachment;
  attachment.name = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "attacher") {
      attachment.attacher = value;
    } else if (key == "on") {
      attachment.node_name = value;
    } else if (key == "volume") {
      attachment.volume_name = value;
    } else {
      fail("no word of a volume attachment", words[i]);
    }
  }
  return attachment;
}

}  // namespace

std::optional<StorageKind> storage_kind(const std::string& word) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == word) return static_cast<StorageKind>(i);
  return std::nullopt;
}

std::optional<StorageObject> read_storage_object(const std::vector<std::string>& words) {
  const std::optional<StorageKind> kind = storage_kind(words.front());
  if (!kind) return std::nullopt;
  switch (*kind) {
    case StorageKind::kVolume:
      return read_volume(words);
    case StorageKind::kClaim:
      return read_claim(words);
    case StorageKind::kClass:
      return read_class(words);
    case StorageKind::kCsiNode:
      return read_csi_node(words);
    case StorageKind::kCsiDriver:
      return read_csi_driver(words);
    case StorageKind::kCapacity:
      return read_capacity(words);
    case StorageKind::kAttachment:
      return read_attachment(words);
  }
  return std::nullopt;
}

void add(const StorageObject& object, StorageObjects& objects) {
  struct Add {
    void operator()(const PersistentVolume& one) const { to.volumes.push_back(one); }
    void operator()(const VolumeClaim& one) const { to.claims.push_back(one); }
    void operator()(const StorageClass& one) const { to.classes.push_back(one); }
    void operator()(const CsiNode& one) const { to.csi_nodes.push_back(one); }
    void operator()(const CsiDriver& one) const { to.csi_drivers.push_back(one); }
    void operator()(const CsiStorageCapacity& one) const { to.capacities.push_back(one); }
    void operator()(const VolumeAttachment& one) const { to.attachments.push_back(one); }
    StorageObjects& to;
  };
  std::visit(Add{objects}, object);
}

VolumeSource in_tree_disk(const std::string& text) {
  static const std::map<std::string, Kind> kDisks = {{"gce", Kind::kGcePersistentDisk},
                                                     {"aws", Kind::kAwsElasticBlockStore},
                                                     {"azure", Kind::kAzureDisk},
                                                     {"cinder", Kind::kCinder},
                                                     {"portworx", Kind::kPortworx},
                                                     {"iscsi", Kind::kIscsi},
                                                     {"rbd", Kind::kRbd}};
  auto [kind, id] = two_parts(text, ':', "not KIND:ID");
  const auto known = kDisks.find(kind);
  if (known == kDisks.end()) fail("no kind of disk", kind);
  VolumeSource source;
  source.kind = known->second;
  constexpr std::string_view kReadOnly = ":ro";
  source.read_only = id.ends_with(kReadOnly);
  if (source.read_only) id.resize(id.size() - kReadOnly.size());
  source.id = std::move(id);
  if (source.kind != Kind::kRbd) return source;
  const auto [pool, rest] = two_parts(source.id, '/', "not POOL/IMAGE@MONITORS");
  const auto [image, monitors] = two_parts(rest, '@', "not POOL/IMAGE@MONITORS");
  source.pool = pool;
  source.monitors = split(monitors, ',');
  source.id = image;
  return source;
}

PodVolume inline_disk(const std::string& text) {
  auto disk = std::make_shared<InlineDisk>();
  disk->volume_name = "disk";
  disk->source = in_tree_disk(text);
  disk->migrated = migrate_inline(disk->source);
  return {PodVolume::Kind::kInTreeDisk, split(text, ':').front(), std::move(disk)};
}

}  // namespace berth::test
