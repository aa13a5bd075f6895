// SPDX-License-Identifier: Apache-2.0
// Storage objects and the sources of volumes: pkg/apis/{core,storage,apps}/validation. Of a source only the fields that
// scheduling reads are checked.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/decode_parts.h"
#include "host/objects/edit_distance.h"
#include "host/objects/field_names.h"
#include "host/objects/selectors.h"
#include "host/objects/validation.h"
#include "host/objects/validation_values.h"

namespace berth {
namespace {

constexpr std::string_view kStorage = "storage";
constexpr std::string_view kDriverName = "the name of a CSI driver: at most 63 letters, digits, '-' and '.'";

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii_lower);
  return lower;
}

bool is_driver_name(std::string_view text) { return text.size() <= 63 && is_dns_subdomain(lowered(text)); }

void validate_text(const JsonValue& value, ValidationCheck check, std::string_view expectation) {
  if (text_of(value).empty()) expected(value, check, expectation);
}

// ---- Sources of volumes

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "iqn.2001-04.com.example:storage": upstream's iscsiInitiatorIqnRegex.
bool is_iqn(std::string_view text) {
  constexpr std::string_view kDate = "iqn.dddd-dd.";
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon <= kDate.size() || colon + 1 == text.size()) return false;
  for (std::size_t i = 0; i < kDate.size(); ++i) {
    const bool has_digit = text[i] >= '0' && text[i] <= '9';
    if (kDate[i] == 'd' ? !has_digit : text[i] != kDate[i]) return false;
  }
  const std::string_view authority = text.substr(kDate.size(), colon - kDate.size());
  return std::all_of(authority.begin(), authority.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; }) &&
         text.find_first_of(",;*&$| \t\n\f\r", colon) == text.npos;
}

bool is_iscsi_name(std::string_view text) {
  if (text.starts_with("iqn")) return is_iqn(text);
  const bool is_eui = text.starts_with("eui") && text.size() == 20;
  const bool is_naa = text.starts_with("naa") && text.size() == 36;
  return (is_eui || is_naa) && std::all_of(text.begin() + 4, text.end(), is_letter_or_digit);
}

void validate_azure_disk(const JsonValue& disk) {
  const JsonValue kind = disk.field("kind");
  const JsonValue uri = disk.field("diskURI");
  const std::string_view name = kind.present() ? text_of(kind) : std::string_view("Shared");  // as it is defaulted
  const std::string_view place = text_of(uri);
  const bool is_managed = name == "Managed";
  if (!is_managed && name != "Shared" && name != "Dedicated") {
    expected(kind, ValidationCheck::kVolumeSource, "Shared, Dedicated or Managed");
  } else if (is_managed ? !place.starts_with("/subscriptions/") : !place.starts_with("https://")) {
    expected(uri, ValidationCheck::kVolumeSource,
             is_managed ? "/subscriptions/..., since kind is Managed" : "https://..., since kind is not Managed");
  }
}

struct SourceType {
  std::string_view name;
  ApiType of_pod;
  ApiType of_volume;    ///< of a PersistentVolume
  std::string_view id;  ///< a field that must not be empty; "" where the source has a function of its own
};
constexpr auto kSourceTypes = std::to_array<SourceType>(
    {{"awsElasticBlockStore", ApiType::kAWSElasticBlockStoreVolumeSource, ApiType::kAWSElasticBlockStoreVolumeSource,
      "volumeID"},
     {"azureDisk", ApiType::kAzureDiskVolumeSource, ApiType::kAzureDiskVolumeSource, ""},
     {"cinder", ApiType::kCinderVolumeSource, ApiType::kCinderPersistentVolumeSource, "volumeID"},
     {"csi", ApiType::kCSIVolumeSource, ApiType::kCSIPersistentVolumeSource, ""},
     {"gcePersistentDisk", ApiType::kGCEPersistentDiskVolumeSource, ApiType::kGCEPersistentDiskVolumeSource, "pdName"},
     {"iscsi", ApiType::kISCSIVolumeSource, ApiType::kISCSIPersistentVolumeSource, ""},
     {"portworxVolume", ApiType::kPortworxVolumeSource, ApiType::kPortworxVolumeSource, "volumeID"},
     {"rbd", ApiType::kRBDVolumeSource, ApiType::kRBDPersistentVolumeSource, "image"}});

/// @param is_persistent  of a PersistentVolume, not of a pod
void validate_source(std::string_view name, const JsonValue& source, bool is_persistent) {
  constexpr auto kCheck = ValidationCheck::kVolumeSource;
  const auto type = std::find_if(kSourceTypes.begin(), kSourceTypes.end(),
                                 [&](const SourceType& candidate) { return candidate.name == name; });
  if (type == kSourceTypes.end() || !source.is_object()) return;
  validate_fields(source, is_persistent ? type->of_volume : type->of_pod);
  if (!type->id.empty()) validate_text(source.field(type->id), kCheck, "the name of a disk");
  if (name == "azureDisk") validate_azure_disk(source);
  if (name == "csi") {
    const JsonValue driver = source.field("driver");
    if (!is_driver_name(text_of(driver))) expected(driver, kCheck, kDriverName);
    if (is_persistent) validate_text(source.field("volumeHandle"), kCheck, "the driver's name of the volume");
  }
  if (name == "iscsi") {
    const JsonValue iqn = source.field("iqn");
    if (!is_iscsi_name(text_of(iqn))) expected(iqn, kCheck, "a name such as iqn.2001-04.com.example:disk");
  }
  if (name == "rbd") {
    const JsonValue monitors = source.field("monitors");
    if (element_count(monitors) == 0) expected(monitors, kCheck, "at least one");
  }
}

// ---- Claims and volumes

void validate_access_modes(const JsonValue& modes) {
  constexpr auto kCheck = ValidationCheck::kAccessModes;
  if (element_count(modes) == 0) return expected(modes, kCheck, "at least one, such as ReadWriteOnce");
  bool has_once_pod = false;
  bool has_other = false;
  for_each_text(modes, [&](const JsonValue& mode, std::string_view name) {
    if (name.empty()) expected(mode, kCheck, "a mode such as ReadWriteOnce");
    (name == "ReadWriteOncePod" ? has_once_pod : has_other) = true;
  });
  if (has_once_pod && has_other) modes.finding(kCheck, "expected no other mode beside ReadWriteOncePod");
}

/// Other names than these are problems of the decoder.
void validate_volume_mode(const JsonValue& mode) {
  if (mode.present()) validate_text(mode, ValidationCheck::kVolumeMode, "Filesystem or Block");
}

/// null is 0, as read_quantity() has it.
void validate_positive(const JsonValue& amount, ValidationCheck check) {
  const auto quantity = read_quantity(amount);
  if (quantity && quantity->nano <= 0) expected(amount, check, "more than 0");
}

void validate_volume_capacity(const JsonValue& capacity) {
  constexpr auto kCheck = ValidationCheck::kVolumeCapacity;
  bool has_storage = false;
  bool has_other = false;
  validate_map_keys(capacity);
  capacity.for_each_entry(
      [&](std::string_view name, const JsonValue&) { (name == kStorage ? has_storage : has_other) = true; });
  if (has_other) capacity.finding(kCheck, "expected storage alone");
  const JsonValue storage = capacity.field(kStorage);
  if (!has_storage) return expected(storage, kCheck, "an amount such as 10Gi");
  validate_positive(storage, kCheck);
}

void validate_claim_request(const JsonValue& resources) {
  constexpr auto kCheck = ValidationCheck::kClaimRequest;
  validate_fields(resources, ApiType::kVolumeResourceRequirements);
  const JsonValue requests = resources.field("requests");
  const JsonValue storage = requests.field(kStorage);
  validate_map_keys(requests);
  bool has_storage = false;
  requests.for_each_entry([&](std::string_view name, const JsonValue&) { has_storage |= name == kStorage; });
  if (!has_storage) return expected(storage, kCheck, "an amount such as 10Gi");
  validate_positive(storage, kCheck);
}

void validate_claim_spec(const JsonValue& spec) {
  validate_fields(spec, ApiType::kPersistentVolumeClaimSpec);
  validate_access_modes(spec.field("accessModes"));
  validate_volume_mode(spec.field("volumeMode"));
  validate_referenced_name(spec.field("storageClassName"));
  validate_referenced_name(spec.field("volumeAttributesClassName"));
  validate_label_selector(spec.field("selector"));
  validate_claim_request(spec.field("resources"));
}

void validate_volume_node_affinity(const JsonValue& affinity, bool is_local) {
  constexpr auto kCheck = ValidationCheck::kVolumeNodeAffinity;
  if (!affinity.present() && is_local)
    return expected(affinity, kCheck, "the nodes that a local volume can be reached from");
  if (!affinity.is_object()) return;
  validate_fields(affinity, ApiType::kVolumeNodeAffinity);
  const JsonValue required = affinity.field("required");
  if (!required.present()) return expected(required, kCheck, "the nodes that the volume can be reached from");
  validate_node_selector(required);
}

bool is_source_of_persistent_volume(std::string_view field) {
  constexpr auto kOthers = std::to_array<std::string_view>(
      {"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
       "storageClassName", "volumeAttributesClassName", "volumeMode"});
  return field_index(ApiType::kPersistentVolumeSpec, field) >= 0 &&
         std::find(kOthers.begin(), kOthers.end(), field) == kOthers.end();
}

/// Names of the fields that are sources; one that stands twice counts once.
template <class IsSource>
std::set<std::string_view> sources_of(const JsonValue& object, IsSource&& is_source) {
  std::set<std::string_view> names;
  object.for_each_field([&](std::string_view key, const JsonValue&) {
    if (is_source(key)) names.insert(key);
  });
  return names;
}

void validate_attributes_class(const JsonValue& name, const std::set<std::string_view>& sources) {
  if (!name.present()) return;
  validate_text(name, ValidationCheck::kAttributesClass, "the name of a class");
  validate_referenced_name(name);
  if (!sources.contains("csi")) name.finding(ValidationCheck::kAttributesClass, "expected only beside a csi source");
}

// ---- Classes

using TopologyTerm = std::map<std::string_view, std::set<std::string_view>>;

void validate_topology_expression(const JsonValue& expression, TopologyTerm& term) {
  constexpr auto kCheck = ValidationCheck::kAllowedTopologies;
  validate_fields(expression, ApiType::kTopologySelectorLabelRequirement);
  const JsonValue key = expression.field("key");
  const JsonValue values = expression.field("values");
  const std::string_view name = text_of(key);
  if (!is_qualified_name(name)) expected(key, kCheck, "a node label such as topology.kubernetes.io/zone");
  if (term.contains(name)) expected(key, kCheck, "a key that stands once");
  if (element_count(values) == 0) expected(values, kCheck, "at least one value");
  std::set<std::string_view> seen;
  for_each_text(values, [&](const JsonValue& value, std::string_view text) {
    if (!seen.insert(text).second) expected(value, kCheck, "a value that stands once");
  });
  term.insert_or_assign(name, std::move(seen));
}

void validate_allowed_topologies(const JsonValue& topologies) {
  constexpr auto kCheck = ValidationCheck::kAllowedTopologies;
  std::vector<TopologyTerm> seen;
  topologies.for_each_element([&](const JsonValue& value) {
    validate_fields(value, ApiType::kTopologySelectorTerm);
    TopologyTerm term;
    const JsonValue expressions = value.field("matchLabelExpressions");
    expressions.for_each_element([&](const JsonValue& expression) { validate_topology_expression(expression, term); });
    // Upstream compares each term with empty ones first, so a term without expressions is a duplicate.
    if (term.empty()) {
      value.finding(kCheck, "no expression, expected at least one");
    } else if (std::find(seen.begin(), seen.end(), term) != seen.end()) {
      value.finding(kCheck, "has the expressions of an earlier term, expected each term once");
    }
    seen.push_back(std::move(term));
  });
}

}  // namespace

void validate_volume_sources(const JsonValue& volume) {
  volume.for_each_field([&](std::string_view key, const JsonValue& source) {
    if (key != "ephemeral") return validate_source(key, source, false);
    validate_fields(source, ApiType::kEphemeralVolumeSource);
    const JsonValue claim = source.field("volumeClaimTemplate");
    if (!claim.present()) return expected(claim, ValidationCheck::kVolume, "a claim");
    const JsonValue metadata = claim.field("metadata");
    validate_fields(claim, ApiType::kPersistentVolumeClaimTemplate);
    validate_fields(metadata, ApiType::kObjectMeta);
    validate_claim_spec(claim.field("spec"));
  });
}

void validate_persistent_volume(const JsonValue& object) {
  validate_fields(object, ApiType::kPersistentVolume);
  const JsonValue spec = object.field("spec");
  const JsonValue status = object.field("status");
  const JsonValue claim = spec.field("claimRef");
  validate_fields(spec, ApiType::kPersistentVolumeSpec);
  validate_fields(status, ApiType::kPersistentVolumeStatus);
  validate_fields(claim, ApiType::kObjectReference);
  validate_access_modes(spec.field("accessModes"));
  validate_volume_mode(spec.field("volumeMode"));
  validate_volume_capacity(spec.field("capacity"));
  validate_referenced_name(spec.field("storageClassName"));
  const std::set<std::string_view> sources = sources_of(spec, is_source_of_persistent_volume);
  if (sources.size() > 1) spec.finding(ValidationCheck::kVolumeSource, "more than one source, expected one");
  spec.for_each_field([](std::string_view key, const JsonValue& source) { validate_source(key, source, true); });
  validate_volume_node_affinity(spec.field("nodeAffinity"), sources.contains("local"));
  validate_attributes_class(spec.field("volumeAttributesClassName"), sources);
}

void validate_volume_claim(const JsonValue& object) {
  validate_fields(object, ApiType::kPersistentVolumeClaim);
  const JsonValue status = object.field("status");
  validate_fields(status, ApiType::kPersistentVolumeClaimStatus);
  validate_claim_spec(object.field("spec"));
}

void validate_claim_template(const JsonValue& object) {
  const JsonValue metadata = object.field("metadata");
  const JsonValue name = metadata.field("name");
  validate_fields(metadata, ApiType::kObjectMeta);
  // It is the name of a volume of each pod.
  if (!is_dns_label(text_of(name))) {
    expected(name, ValidationCheck::kName, "at most 63 lower-case letters, digits and '-'");
  }
  validate_volume_claim(object);
}

void validate_storage_class(const JsonValue& object) {
  constexpr auto kCheck = ValidationCheck::kStorageClass;
  validate_fields(object, ApiType::kStorageClass);
  const JsonValue provisioner = object.field("provisioner");
  const JsonValue mode = object.field("volumeBindingMode");
  if (!is_qualified_name(lowered(text_of(provisioner)))) {
    expected(provisioner, kCheck, "a qualified name such as ebs.csi.aws.com");
  }
  // Other names than these are problems of the decoder.
  if (mode.present()) validate_text(mode, kCheck, "Immediate or WaitForFirstConsumer");
  validate_allowed_topologies(object.field("allowedTopologies"));
}

void validate_csi_node(const JsonValue& object) {
  constexpr auto kCheck = ValidationCheck::kCsiNodeDriver;
  validate_fields(object, ApiType::kCSINode);
  const JsonValue spec = object.field("spec");
  const JsonValue drivers = spec.field("drivers");
  validate_fields(spec, ApiType::kCSINodeSpec);
  std::vector<std::string_view> seen;
  drivers.for_each_element([&](const JsonValue& driver) {
    validate_fields(driver, ApiType::kCSINodeDriver);
    const JsonValue name = driver.field("name");
    const JsonValue allocatable = driver.field("allocatable");
    const JsonValue count = allocatable.field("count");
    const std::string_view text = text_of(name);
    validate_fields(allocatable, ApiType::kVolumeNodeResources);
    if (!is_driver_name(text)) expected(name, kCheck, kDriverName);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) expected(name, kCheck, "a driver that stands once");
    seen.push_back(text);
    std::int32_t limit = 0;
    if (count.read(limit) && limit < 0) expected(count, kCheck, "at least 0");
  });
}

void validate_csi_driver(const JsonValue& object) {
  validate_fields(object, ApiType::kCSIDriver);
  const JsonValue spec = object.field("spec");
  validate_fields(spec, ApiType::kCSIDriverSpec);
}

void validate_csi_storage_capacity(const JsonValue& object) {
  validate_fields(object, ApiType::kCSIStorageCapacity);
  const JsonValue class_name = object.field("storageClassName");
  const JsonValue capacity = object.field("capacity");
  validate_text(class_name, ValidationCheck::kStorageCapacity, "the name of a StorageClass");
  validate_referenced_name(class_name);
  validate_label_selector(object.field("nodeTopology"));
  const auto amount = capacity.present() ? read_quantity(capacity) : std::nullopt;
  if (amount && amount->nano < 0) expected(capacity, ValidationCheck::kStorageCapacity, "at least 0");
}

void validate_volume_attachment(const JsonValue& object) {
  constexpr auto kCheck = ValidationCheck::kVolumeAttachment;
  validate_fields(object, ApiType::kVolumeAttachment);
  const JsonValue spec = object.field("spec");
  const JsonValue attacher = spec.field("attacher");
  const JsonValue node_name = spec.field("nodeName");
  const JsonValue source = spec.field("source");
  const JsonValue volume_name = source.field("persistentVolumeName");
  const JsonValue inline_volume = source.field("inlineVolumeSpec");
  validate_fields(spec, ApiType::kVolumeAttachmentSpec);
  validate_fields(source, ApiType::kVolumeAttachmentSource);
  if (!is_driver_name(text_of(attacher))) expected(attacher, kCheck, kDriverName);
  validate_text(node_name, kCheck, "the name of a node");
  validate_referenced_name(node_name);
  if (volume_name.present() == inline_volume.present()) {
    source.finding(kCheck, "expected either persistentVolumeName or inlineVolumeSpec");
  } else if (volume_name.present()) {
    validate_text(volume_name, kCheck, "the name of a PersistentVolume");
    validate_referenced_name(volume_name);
  }
}

}  // namespace berth
