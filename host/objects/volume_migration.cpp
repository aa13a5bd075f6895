// SPDX-License-Identifier: Apache-2.0
#include "host/objects/volume_migration.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace berth {
namespace {

using Kind = VolumeSource::Kind;
using Terms = std::vector<NodeSelectorTerm>;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZoneDelimiter = "__";

constexpr std::array kPlugins = std::to_array<MigratingPlugin>({
    {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true},
    {"kubernetes.io/aws-ebs", "ebs.csi.aws.com", true},
    {"kubernetes.io/cinder", "cinder.csi.openstack.org", true},
    {"kubernetes.io/azure-disk", "disk.csi.azure.com", true},
    {"kubernetes.io/azure-file", "file.csi.azure.com"},
    {"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
    {"kubernetes.io/portworx-volume", "pxd.portworx.com", false, true},
});

std::string_view plugin_of(Kind kind) {
  switch (kind) {
    case Kind::kGcePersistentDisk:
      return "kubernetes.io/gce-pd";
    case Kind::kAwsElasticBlockStore:
      return "kubernetes.io/aws-ebs";
    case Kind::kCinder:
      return "kubernetes.io/cinder";
    case Kind::kAzureDisk:
      return "kubernetes.io/azure-disk";
    case Kind::kPortworx:
      return "kubernetes.io/portworx-volume";
    default:
      return {};
  }
}

/// Empty: the driver's volumes keep their node affinity.
std::string_view topology_key_of(Kind kind) {
  switch (kind) {
    case Kind::kGcePersistentDisk:
      return "topology.gke.io/zone";
    case Kind::kAwsElasticBlockStore:
      return "topology.ebs.csi.aws.com/zone";
    case Kind::kCinder:
      return "topology.cinder.csi.openstack.org/zone";
    default:
      return {};
  }
}

std::vector<std::string> split(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(delimiter);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + delimiter.size());
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Handles

/// "aws://zone/vol-1", "aws:///vol-1" or "vol-1". @return whether it is one of these
bool ebs_handle(const std::string& id, MigratedVolume& out) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) {
    out.handle = id;
    return true;
  }
  const std::string_view rest = std::string_view(id).substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  std::string_view path = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  path = path.substr(0, path.find_first_of("?#"));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.starts_with("vol-") && path.find('/') == std::string_view::npos) {
    out.handle = path;
    return true;
  }
  out.problem = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (" + id + ")";
  return false;
}

std::string gce_handle(std::string_view where, std::string_view place, const std::string& disk) {
  return "projects/UNSPECIFIED/" + std::string(where) + "/" + std::string(place) + "/disks/" + disk;
}

/// Go's %v of a set of strings.
std::string set_text(const std::set<std::string>& values) {
  std::string text = "map[";
  for (const std::string& value : values) text += (text.back() == '[' ? "" : " ") + value + ":{}";
  return text + "]";
}

/// The region that zones "{locale}-{region}-{zone}" share; empty with `problem` set: none.
std::string gce_region(const std::vector<std::string>& zones, std::string& problem) {
  std::set<std::string> regions;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = split(zone, "-");
    if (parts.size() != 3) {
      problem =
          "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: " +
          zone;
      return {};
    }
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() == 1) return *regions.begin();
  problem = "failed to get region from zones: multiple or no regions gotten from zones, got: " + set_text(regions);
  return {};
}

void gce_volume_handle(const PersistentVolume& volume, MigratedVolume& out) {
  std::string_view label = volume.labels.find(kBetaZone).value_or("");
  if (label.empty()) label = volume.labels.find(kZone).value_or("");
  const std::vector<std::string> zones = split(label, kZoneDelimiter);
  if (zones.size() > 1) {
    const std::string region = gce_region(zones, out.problem);
    if (out.problem.empty()) out.handle = gce_handle("regions", region, volume.source.id);
  } else {
    out.handle = gce_handle("zones", zones.front().empty() ? "UNSPECIFIED" : zones.front(), volume.source.id);
  }
}

bool equal_fold(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// @return null: the kind does not migrate; otherwise plugin, driver, and handle or problem are set. The zone of a GCE
/// disk is not known here: gce_volume_handle()
std::shared_ptr<MigratedVolume> migrate_source(const VolumeSource& source) {
  const std::string_view plugin = plugin_of(source.kind);
  if (plugin.empty()) return nullptr;
  auto migrated = std::make_shared<MigratedVolume>();
  migrated->plugin = plugin;
  migrated->driver = find_migrating_plugin(plugin)->driver;
  if (source.kind == Kind::kAwsElasticBlockStore) {
    ebs_handle(source.id, *migrated);
  } else if (source.kind == Kind::kGcePersistentDisk) {
    migrated->handle = gce_handle("zones", "UNSPECIFIED", source.id);
  } else if (source.kind == Kind::kAzureDisk && !source.disk_kind.empty() && !equal_fold(source.disk_kind, "managed")) {
    migrated->problem = "kind(" + source.disk_kind + ") is not supported in csi migration";
  } else {
    migrated->handle = source.id;
  }
  return migrated;
}

// Node affinity

bool names_key(const Terms& terms, std::string_view key) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
    return std::any_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const SelectorRequirement& one) { return one.key == key; });
  });
}

bool has_values(const Terms& terms, std::string_view key) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeSelectorTerm& term) {
    return std::any_of(term.match_expressions.begin(), term.match_expressions.end(),
                       [&](const SelectorRequirement& one) { return one.key == key && !one.values.empty(); });
  });
}

void rename(Terms& terms, std::string_view from, std::string_view to) {
  for (NodeSelectorTerm& term : terms)
    for (SelectorRequirement& one : term.match_expressions)
      if (one.key == from) one.key = to;
}

/// Zones of a label join every term; a volume without terms gets one.
void add_zones(std::optional<Terms>& terms, std::string_view key, std::string_view label) {
  std::set<std::string> zones;
  for (const std::string& zone : split(label, kZoneDelimiter))
    if (const std::string_view name = trim(zone); !name.empty()) zones.emplace(name);
  if (zones.empty()) return;
  if (!terms) terms.emplace();
  if (terms->empty()) terms->emplace_back();
  const SelectorRequirement in_zones{std::string(key), SelectorOperator::kIn,
                                     std::vector<std::string>(zones.begin(), zones.end())};
  for (NodeSelectorTerm& term : *terms) term.match_expressions.push_back(in_zones);
}

/// The version of the topology labels that the volume uses: affinity before labels, GA before beta.
bool uses_beta_labels(const Terms& terms, const LabelMap& labels) {
  if (names_key(terms, kZone)) return false;
  if (names_key(terms, kBetaZone)) return true;
  return !labels.contains(kZone) && labels.contains(kBetaZone);
}

std::optional<Terms> translate_affinity(const PersistentVolume& volume, std::string_view topology_key) {
  std::optional<Terms> terms = volume.node_affinity;
  const bool is_beta = uses_beta_labels(terms.value_or(Terms()), volume.labels);
  const std::string_view zone = is_beta ? kBetaZone : kZone;
  if (terms && has_values(*terms, zone)) {
    rename(*terms, zone, topology_key);
  } else if (const auto label = volume.labels.find(zone)) {
    add_zones(terms, topology_key, *label);
  }
  if (is_beta && terms && has_values(*terms, kBetaRegion)) rename(*terms, kBetaRegion, kRegion);
  return terms;
}

}  // namespace

std::shared_ptr<const MigratedVolume> migrate_inline(const VolumeSource& source) { return migrate_source(source); }

std::shared_ptr<const MigratedVolume> migrate(const PersistentVolume& volume) {
  std::shared_ptr<MigratedVolume> migrated = migrate_source(volume.source);
  if (migrated == nullptr) return nullptr;
  if (volume.source.kind == Kind::kGcePersistentDisk) {
    migrated->handle.clear();
    gce_volume_handle(volume, *migrated);
  }
  const std::string_view key = topology_key_of(volume.source.kind);
  migrated->node_affinity = key.empty() ? volume.node_affinity : translate_affinity(volume, key);
  return migrated;
}

const MigratingPlugin* find_migrating_plugin(std::string_view plugin) {
  const auto at = std::find_if(kPlugins.begin(), kPlugins.end(),
                               [&](const MigratingPlugin& known) { return known.plugin == plugin; });
  return at == kPlugins.end() ? nullptr : &*at;
}

}  // namespace berth
