// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_volumes.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/generate/random.h"
#include "host/objects/pod_copy.h"
#include "host/objects/volume_migration.h"

namespace berth {
namespace {

using Kind = VolumeSource::Kind;

constexpr std::uint64_t kVolumesStream = 0x9FB21C651E98DF25ULL;
constexpr std::uint64_t kDriversStream = 0xD6E8FEB86659FD93ULL;
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
constexpr std::array<const char*, 3> kDrivers = {"csi.example.com", "csi.tracked.com", "ebs.csi.aws.com"};
constexpr std::array<const char*, 7> kClasses = {"local", "fast", "tracked", "now", "ebs", "none", ""};
constexpr std::array<const char*, 6> kPlugins = {"kubernetes.io/aws-ebs",    "kubernetes.io/gce-pd",
                                                 "kubernetes.io/azure-disk", "kubernetes.io/cinder",
                                                 "kubernetes.io/rbd",        "kubernetes.io/portworx-volume"};

Quantity gib(std::int64_t count, std::int64_t extra_mib = 0) {
  return Quantity{static_cast<__int128>((count << 30) + (extra_mib << 20)) * kNanoPerUnit};
}

class VolumeBuilder {
 public:
  VolumeBuilder(std::uint64_t seed, ClusterObjects& objects)
      : random_(seed ^ kVolumesStream),
        drivers_(seed ^ kDriversStream),
        objects_(objects),
        storage_(objects.storage),
        generous_(random_.chance(65)) {
    std::set<std::string> zones;
    for (const NodePtr& node : objects.nodes) {
      nodes_.push_back(node->name);
      for (const char* key : {kZone, kBetaZone})
        if (const auto zone = node->labels.find(key); zone && !zone->empty()) zones.emplace(*zone);
    }
    zones_.assign(zones.begin(), zones.end());
    if (zones_.empty()) zones_.emplace_back("us-a");
    if (nodes_.empty()) nodes_.emplace_back("no-such-node");
  }

  void build() {
    add_classes();
    add_volumes();
    for (PodPtr& pod : objects_.pods)
      if (random_.chance(55)) pod = with_volumes(*pod);
    bind_some();
    add_nodes();
    add_capacities();
    add_attachments();
    for (PersistentVolume& volume : storage_.volumes) volume.migrated = migrate(volume);
  }

 private:
  void add_class(const char* name, const char* provisioner, bool waits) {
    StorageClass object;
    object.name = name;
    object.provisioner = provisioner;
    object.binding_mode =
        waits ? StorageClass::BindingMode::kWaitForFirstConsumer : StorageClass::BindingMode::kImmediate;
    if (trouble(28)) {
      object.allowed_topologies.emplace_back();
      if (!random_.chance(10)) object.allowed_topologies[0].expressions.push_back({kZone, some_zones()});
      if (random_.chance(30)) object.allowed_topologies.push_back({{{kHostname, {random_.pick(nodes_)}}}});
    }
    storage_.classes.push_back(std::move(object));
  }

  void add_classes() {
    add_class("local", random_.chance(80) ? "kubernetes.io/no-provisioner" : "", true);
    add_class("fast", "csi.example.com", true);
    add_class("tracked", "csi.tracked.com", true);
    add_class("now", "csi.example.com", false);
    add_class("ebs", "kubernetes.io/aws-ebs", true);
    if (random_.chance(85)) storage_.csi_drivers.push_back({"csi.tracked.com", random_.chance(85)});
    if (random_.chance(50)) storage_.csi_drivers.push_back({"csi.example.com", random_.chance(20)});
    for (CsiDriver& driver : storage_.csi_drivers) driver.needs_node_plugin = drivers_.chance(60);
  }

  std::vector<std::string> some_zones() {
    std::vector<std::string> some;
    for (const std::string& zone : zones_)
      if (random_.chance(50)) some.push_back(zone);
    if (some.empty()) some.push_back(random_.pick(zones_));
    return some;
  }

  AccessModes access_modes() {
    AccessModes modes;
    if (random_.chance(80)) modes.insert(AccessMode::kReadWriteOnce);
    if (random_.chance(25)) modes.insert(AccessMode::kReadWriteMany);
    if (random_.chance(15)) modes.insert(AccessMode::kReadOnlyMany);
    if (random_.chance(20)) modes.insert(AccessMode::kReadWriteOncePod);
    if (modes.empty()) modes.insert(AccessMode::kReadWriteOnce);
    return modes;
  }

  std::vector<NodeSelectorTerm> affinity() {
    std::vector<NodeSelectorTerm> terms(1);
    NodeSelectorTerm& term = terms[0];
    const std::int64_t kind = random_.between(0, 9);
    if (kind < 4) {
      std::vector<std::string> names{random_.pick(nodes_)};
      if (random_.chance(40)) names.push_back(random_.pick(nodes_));
      term.match_expressions.push_back({kHostname, SelectorOperator::kIn, std::move(names)});
    } else if (kind < 8) {
      const SelectorOperator op = random_.chance(15) ? SelectorOperator::kNotIn : SelectorOperator::kIn;
      term.match_expressions.push_back({random_.chance(70) ? kZone : kBetaZone, op, some_zones()});
    } else if (kind == 8) {
      term.match_fields.push_back({"metadata.name", SelectorOperator::kIn, {random_.pick(nodes_)}});
    }
    if (random_.chance(15)) terms.push_back({{{kZone, SelectorOperator::kExists, {}}}, {}});
    return terms;
  }

  LabelMap volume_labels() {
    std::vector<std::pair<std::string, std::string>> labels;
    if (random_.chance(40)) labels.emplace_back("tier", random_.chance(60) ? "gold" : "");
    if (random_.chance(35)) {
      std::string zone = random_.pick(zones_);
      if (random_.chance(40)) zone += "__" + random_.pick(zones_);
      if (random_.chance(5)) zone += "__";
      labels.emplace_back(random_.chance(60) ? kZone : kBetaZone, zone);
    }
    if (random_.chance(15)) labels.emplace_back("topology.kubernetes.io/region", "us");
    return LabelMap(std::move(labels));
  }

  VolumeSource disk(std::int64_t number) {
    static constexpr std::array<Kind, 7> kKinds = {Kind::kGcePersistentDisk,
                                                   Kind::kAwsElasticBlockStore,
                                                   Kind::kAzureDisk,
                                                   Kind::kCinder,
                                                   Kind::kPortworx,
                                                   Kind::kIscsi,
                                                   Kind::kRbd};
    VolumeSource source;
    source.kind = random_.pick(kKinds);
    source.id = "disk-" + std::to_string(number);
    if (source.kind == Kind::kAwsElasticBlockStore)
      source.id = random_.chance(50) ? "aws://us-a/vol-" + std::to_string(number) : "vol-" + std::to_string(number);
    source.read_only = random_.chance(40);
    if (source.kind == Kind::kAzureDisk) source.disk_kind = random_.chance(90) ? "Managed" : "Dedicated";
    if (source.kind == Kind::kRbd) {
      source.pool = random_.chance(70) ? "rbd" : "other";
      source.monitors = {"mon-" + std::to_string(random_.between(0, 2))};
    }
    return source;
  }

  void add_volumes() {
    const std::int64_t count = random_.between(0, generous_ ? 40 : 24);
    for (std::int64_t i = 0; i < count; ++i) {
      PersistentVolume volume;
      volume.name = "pv-" + std::to_string(i);
      volume.class_name = random_.chance(60) ? "local" : random_.pick(kClasses);
      const std::int64_t size = random_.between(1, 12);
      volume.capacity = gib(size, i + 1);
      volume.access_modes = access_modes();
      volume.is_block = trouble(8);
      if (trouble(8)) volume.attributes_class = "silver";
      if (random_.chance(generous_ ? 35 : 70)) volume.node_affinity = affinity();
      volume.is_available = !trouble(12);
      volume.terminating = trouble(4);
      volume.labels = volume_labels();
      if (random_.chance(60)) {
        volume.source.kind = Kind::kCsi;
        volume.source.driver = random_.pick(kDrivers);
        volume.source.id = "handle-" + std::to_string(random_.between(0, i));
      } else if (random_.chance(70)) {
        volume.source = disk(i);
      }
      storage_.volumes.push_back(std::move(volume));
    }
  }

  static bool is_waiting_class(std::string_view name) {
    return name == "local" || name == "fast" || name == "tracked" || name == "ebs";
  }

  VolumeClaim& new_claim(const std::string& name_space, std::string name) {
    VolumeClaim claim;
    claim.namespace_ = name_space;
    claim.name = std::move(name);
    if (random_.chance(60)) claim.uid = "uid-" + claim.name;
    claim.class_name = random_.chance(generous_ ? 55 : 45) ? "local" : random_.pick(kClasses);
    if (generous_ && !is_waiting_class(claim.class_name) && random_.chance(75)) claim.class_name = "fast";
    const std::int64_t size = random_.between(1, 12);
    if (!random_.chance(6)) claim.request = gib(size);
    claim.access_modes.insert(random_.chance(75)   ? AccessMode::kReadWriteOnce
                              : random_.chance(60) ? AccessMode::kReadWriteOncePod
                                                   : AccessMode::kReadWriteMany);
    claim.is_block = trouble(6);
    if (trouble(5)) claim.attributes_class = "silver";
    if (random_.chance(8)) claim.selector = LabelSelector{LabelMap{{"tier", "gold"}}, {}};
    if (trouble(8)) claim.selected_node = random_.pick(nodes_);
    claim.is_lost = random_.chance(1);
    claim.terminating = random_.chance(1);
    storage_.claims.push_back(std::move(claim));
    claims_of_[name_space].push_back(storage_.claims.back().name);
    return storage_.claims.back();
  }

  PodVolume claim_volume(const Pod& pod) {
    const std::vector<std::string>& known = claims_of_[pod.namespace_];
    if (!known.empty() && random_.chance(35)) return {PodVolume::Kind::kClaim, random_.pick(known)};
    const std::string name = "claim-" + std::to_string(++claim_count_);
    if (!random_.chance(4)) new_claim(pod.namespace_, name);
    return {PodVolume::Kind::kClaim, name};
  }

  PodVolume ephemeral_volume(const Pod& pod, std::int64_t number) {
    const std::string name = "scratch-" + std::to_string(number);
    if (random_.chance(85)) {
      VolumeClaim& claim = new_claim(pod.namespace_, pod.name + "-" + name);
      if (random_.chance(90)) claim.controller_uid = random_.chance(92) ? pod.uid() : "somebody-else";
    }
    return {PodVolume::Kind::kEphemeral, name};
  }

  PodPtr with_volumes(const Pod& pod) {
    PodRare rare = pod.rare();
    const std::int64_t count = random_.chance(65) ? 1 : random_.between(2, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t kind = random_.between(0, 99);
      if (kind < 70) {
        PodVolume volume = claim_volume(pod);
        const auto end = rare.volumes.end();
        if (std::find(rare.volumes.begin(), end, volume) == end) rare.volumes.push_back(std::move(volume));
      } else if (kind < 80) {
        rare.volumes.push_back(ephemeral_volume(pod, i));
      } else if (kind < 96) {
        auto inline_disk = std::make_shared<InlineDisk>();
        inline_disk->volume_name = "disk-" + std::to_string(i);
        inline_disk->source = disk(random_.between(0, 1));
        inline_disk->migrated = migrate_inline(inline_disk->source);
        rare.volumes.push_back({PodVolume::Kind::kInTreeDisk, field_name(inline_disk->source.kind), inline_disk});
      } else {
        rare.volumes.push_back({PodVolume::Kind::kCsiInline, "inline.csi.example.com"});
      }
    }
    const std::shared_ptr<Pod> made = copy_of(pod);
    made->rare_fields = std::make_unique<const PodRare>(std::move(rare));
    return made;
  }

  static std::string field_name(Kind kind) {
    static const std::map<Kind, std::string> kNames = {{Kind::kGcePersistentDisk, "gcePersistentDisk"},
                                                       {Kind::kAwsElasticBlockStore, "awsElasticBlockStore"},
                                                       {Kind::kAzureDisk, "azureDisk"},
                                                       {Kind::kCinder, "cinder"},
                                                       {Kind::kPortworx, "portworxVolume"},
                                                       {Kind::kIscsi, "iscsi"},
                                                       {Kind::kRbd, "rbd"}};
    return kNames.at(kind);
  }

  /// Each volume belongs to at most one claim, and each claim to at most one volume.
  void bind_some() {
    std::size_t next = 0;
    const std::size_t end = generous_ ? storage_.volumes.size() / 2 : storage_.volumes.size();
    for (VolumeClaim& claim : storage_.claims) {
      const bool has_volume = next < end;
      if (!has_volume && !trouble(25)) continue;
      if (random_.chance(is_waiting_class(claim.class_name) ? 35 : 70)) {
        claim.volume_name = has_volume && !trouble(8) ? storage_.volumes[next].name : "gone";
        claim.is_bind_completed = !trouble(6);
      } else if (!has_volume || !random_.chance(20)) {
        continue;
      }
      if (!has_volume || claim.volume_name == "gone") continue;
      PersistentVolume& volume = storage_.volumes[next++];
      volume.claim_ref = ObjectName{claim.namespace_, claim.name, random_.chance(70) ? claim.uid : ""};
      if (random_.chance(8)) volume.claim_ref->uid = "of-another";
      if (!claim.volume_name.empty()) volume.is_available = false;
      if (random_.chance(70)) volume.class_name = claim.class_name;
    }
  }

  void add_nodes() {
    for (const NodePtr& node : objects_.nodes) {
      if (!random_.chance(75)) continue;
      CsiNode object;
      object.name = node->name;
      for (const char* driver : kDrivers) {
        if (!random_.chance(65)) continue;
        object.drivers.push_back({driver, std::nullopt});
        if (random_.chance(75)) object.drivers.back().limit = static_cast<std::int32_t>(random_.between(1, 5));
      }
      if (random_.chance(30)) object.drivers.push_back({"disk.csi.azure.com", 1});
      for (const char* plugin : kPlugins)
        if (random_.chance(40)) object.migrated_plugins.emplace_back(plugin);
      storage_.csi_nodes.push_back(std::move(object));
    }
  }

  void add_capacities() {
    const std::int64_t count = random_.between(0, 6);
    for (std::int64_t i = 0; i < count; ++i) {
      CsiStorageCapacity object;
      object.name = "capacity-" + std::to_string(i);
      object.namespace_ = "default";
      object.class_name = random_.chance(75) ? "tracked" : "fast";
      if (random_.chance(60)) {
        object.node_topology = LabelSelector{{}, {{kZone, SelectorOperator::kIn, some_zones()}}};
      } else if (random_.chance(80)) {
        object.node_topology.emplace();
      }
      if (random_.chance(90)) object.capacity = gib(random_.between(1, 12));
      // A size without a capacity crashes upstream's StorageCapacityScoring.
      if (random_.chance(30) && object.capacity) object.volume_size_max = gib(random_.between(1, 8));
      storage_.capacities.push_back(std::move(object));
    }
  }

  void add_attachments() {
    const std::int64_t count = random_.between(0, 8);
    for (std::int64_t i = 0; i < count; ++i) {
      VolumeAttachment object;
      object.name = "attachment-" + std::to_string(i);
      object.attacher = random_.pick(kDrivers);
      object.node_name = random_.pick(nodes_);
      if (random_.chance(90)) object.volume_name = "pv-" + std::to_string(random_.between(0, 24));
      storage_.attachments.push_back(std::move(object));
    }
  }

  /// Of something that keeps pods from being placed: less often in a generous cluster.
  bool trouble(int percent) { return random_.chance(generous_ ? percent / 4 : percent); }

  Random random_;
  Random drivers_;  ///< apart, so that a draw of it does not change what else a seed draws
  ClusterObjects& objects_;
  StorageObjects& storage_;
  const bool generous_;
  std::vector<std::string> nodes_;
  std::vector<std::string> zones_;
  std::map<std::string, std::vector<std::string>> claims_of_;  ///< by namespace
  std::int64_t claim_count_ = 0;
};

}  // namespace

void add_random_volumes(std::uint64_t seed, ClusterObjects& objects) { VolumeBuilder(seed, objects).build(); }

}  // namespace berth
