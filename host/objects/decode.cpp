// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "host/objects/decode_parts.h"
#include "host/objects/decode_pod.h"
#include "host/objects/decode_volumes.h"
#include "host/objects/decode_workload.h"
#include "host/objects/field_names.h"
#include "host/objects/foreign_object.h"
#include "host/objects/json_value.h"
#include "host/objects/list_entries.h"
#include "host/objects/object_kinds.h"
#include "host/objects/pod_state.h"
#include "host/objects/validation.h"

namespace berth {
namespace {

enum class KindUse : std::uint8_t {
  kNode,
  kPod,
  kNamespace,
  kPriorityClass,
  kService,
  kRuntimeClass,
  kPodDisruptionBudget,
  kWorkload,
  kVolume,
  kVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kStorageCapacity,
  kVolumeAttachment,
  kNothingYet  ///< known, counted
};

struct KnownKind {
  std::string_view kind;
  std::string_view group;
  KindUse use;
};

/// Kinds by API group, whatever the version: objects of old releases carry old ones.
constexpr std::array kKnownKinds = std::to_array<KnownKind>({
    {"Pod", "", KindUse::kPod},
    {"Node", "", KindUse::kNode},
    {"Namespace", "", KindUse::kNamespace},
    {"Service", "", KindUse::kService},
    {"ReplicationController", "", KindUse::kWorkload},
    {"ReplicaSet", "apps", KindUse::kWorkload},
    {"ReplicaSet", "extensions", KindUse::kWorkload},
    {"Deployment", "apps", KindUse::kWorkload},
    {"Deployment", "extensions", KindUse::kWorkload},
    {"DaemonSet", "apps", KindUse::kWorkload},
    {"DaemonSet", "extensions", KindUse::kWorkload},
    {"StatefulSet", "apps", KindUse::kWorkload},
    {"Job", "batch", KindUse::kWorkload},
    {"PriorityClass", "scheduling.k8s.io", KindUse::kPriorityClass},
    {"RuntimeClass", "node.k8s.io", KindUse::kRuntimeClass},
    {"PodDisruptionBudget", "policy", KindUse::kPodDisruptionBudget},
    {"PersistentVolume", "", KindUse::kVolume},
    {"PersistentVolumeClaim", "", KindUse::kVolumeClaim},
    {"StorageClass", "storage.k8s.io", KindUse::kStorageClass},
    {"CSINode", "storage.k8s.io", KindUse::kCsiNode},
    {"CSIDriver", "storage.k8s.io", KindUse::kCsiDriver},
    {"CSIStorageCapacity", "storage.k8s.io", KindUse::kStorageCapacity},
    {"VolumeAttachment", "storage.k8s.io", KindUse::kVolumeAttachment},
    {"ResourceClaim", "resource.k8s.io", KindUse::kNothingYet},
    {"ResourceClaimTemplate", "resource.k8s.io", KindUse::kNothingYet},
    {"ResourceSlice", "resource.k8s.io", KindUse::kNothingYet},
    {"DeviceClass", "resource.k8s.io", KindUse::kNothingYet},
    {"DeviceTaintRule", "resource.k8s.io", KindUse::kNothingYet},
    {"Workload", "scheduling.k8s.io", KindUse::kNothingYet},
    {"PodGroup", "scheduling.k8s.io", KindUse::kNothingYet},
});

const KnownKind* find_kind(std::string_view api_version, std::string_view kind) {
  const std::size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  for (const KnownKind& known : kKnownKinds) {
    if (known.kind == kind && known.group == group) return &known;
  }
  return nullptr;
}

std::vector<NodeImage> read_images(const JsonValue& value, ObjectPools& pools) {
  std::vector<NodeImage> images;
  value.for_each_element([&](const JsonValue& element) {
    NodeImage& image = images.emplace_back();
    std::vector<std::string> names;
    element.for_each_field([&](std::string_view key, const JsonValue& field) {
      if (key == "names") field.read(names);
      if (key == "sizeBytes") field.read(image.size_bytes);
    });
    image.names = pools.texts(std::move(names));
  });
  return images;
}

NodePtr read_node(const JsonValue& object, DecodedMeta&& meta, const DeclaredPaths* declared, ObjectPools& pools) {
  auto node = std::make_shared<Node>();
  node->name = std::move(meta.name);
  node->labels = std::move(meta.labels);
  const JsonValue spec = object.field("spec");
  spec.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "unschedulable") field.read(node->unschedulable);
    if (key == "taints") node->taints = read_taints(field);
  });
  const JsonValue status = object.field("status");
  status.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "allocatable") {
      const ResourceList list = read_resource_list(field, ResourceNames::kAny);
      node->allocatable = to_amounts(list);
      if (const Quantity* pods = find(list, kPods)) node->allowed_pod_number = pods->value();
    }
    if (key == "images") node->images = read_images(field, pools);
    if (key == "declaredFeatures") field.read(node->declared_features);
  });
  if (declared != nullptr) node->declared = read_declared(object, declared->of_nodes());
  return node;
}

PriorityClass read_priority_class(const JsonValue& object, DecodedMeta&& meta) {
  PriorityClass result;
  result.name = std::move(meta.name);
  object.field("value").read(result.value);
  object.field("globalDefault").read(result.global_default);
  result.preemption_policy = read_preemption_policy(object.field("preemptionPolicy"));
  return result;
}

Service read_service(const JsonValue& object, DecodedMeta&& meta) {
  const JsonValue spec = object.field("spec");
  return {std::move(meta.name), std::move(meta.namespace_), read_label_map(spec.field("selector"))};
}

RuntimeClass read_runtime_class(const JsonValue& object, DecodedMeta&& meta) {
  RuntimeClass result;
  result.name = std::move(meta.name);
  const JsonValue overhead = object.field("overhead");
  result.overhead_pod_fixed = read_resource_list(overhead.field("podFixed"));
  const JsonValue scheduling = object.field("scheduling");
  result.node_selector = read_label_map(scheduling.field("nodeSelector"));
  result.tolerations = read_tolerations(scheduling.field("tolerations"));
  return result;
}

PodDisruptionBudget read_disruption_budget(const JsonValue& object, DecodedMeta&& meta) {
  PodDisruptionBudget result;
  result.name = std::move(meta.name);
  result.namespace_ = std::move(meta.namespace_);
  const JsonValue spec = object.field("spec");
  result.selector = read_label_selector(spec.field("selector"));
  const JsonValue status = object.field("status");
  status.field("disruptionsAllowed").read(result.disruptions_allowed);
  const JsonValue disrupted = status.field("disruptedPods");
  disrupted.for_each_entry([&](std::string_view name, const JsonValue&) { result.disrupted_pods.emplace_back(name); });
  return result;
}

template <class T>
void move_append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::string line_location(SourcePlace place) { return "line " + std::to_string(place.line); }

void DecodedObjects::append(DecodedObjects&& later, std::size_t problem_limit) {
  move_append(nodes, later.nodes);
  move_append(pods, later.pods);
  move_append(terminal_pods, later.terminal_pods);
  move_append(workloads, later.workloads);
  move_append(namespaces, later.namespaces);
  move_append(priority_classes, later.priority_classes);
  move_append(services, later.services);
  move_append(runtime_classes, later.runtime_classes);
  move_append(pod_disruption_budgets, later.pod_disruption_budgets);
  move_append(volumes, later.volumes);
  move_append(volume_claims, later.volume_claims);
  move_append(storage_classes, later.storage_classes);
  move_append(default_storage_classes, later.default_storage_classes);
  move_append(csi_nodes, later.csi_nodes);
  move_append(csi_drivers, later.csi_drivers);
  move_append(storage_capacities, later.storage_capacities);
  move_append(volume_attachments, later.volume_attachments);
  for (const auto& [kind, count] : later.unused_kinds) unused_kinds[kind] += count;
  for (const auto& [kind, count] : later.unknown_kinds) unknown_kinds[kind] += count;
  object_count += later.object_count;
  problem_count += later.problem_count;
  for (InputProblem& problem : later.problems) fold_into(problems, std::move(problem), problem_limit);
  finding_count += later.finding_count;
  for (InputProblem& finding : later.findings) fold_into(findings, std::move(finding), problem_limit);
  move_append(left_out, later.left_out);
}

struct ObjectDecoder::Caches {
  Caches(ObjectPools& shared, DenseEntries& entries, const DecodeOptions& options)
      : pools(shared),
        pods(shared, options.declared),
        dense_entries(entries),
        keeps_finished_pods(options.keeps_finished_pods),
        declared(options.declared) {}

  /// What the object at hand is called in a report: "Pod default/web-0".
  std::string object_name;
  JsonParser parser;
  ObjectPools& pools;
  PodDecoder pods;
  DenseEntries& dense_entries;
  bool keeps_finished_pods;
  DeclaredPathsPtr declared;

  void read_any(const ItemSlice& item, const JsonValue& object, SourcePlace place, DecodedObjects& out);
  bool has_few_entries(const JsonValue& object, std::string_view json);
  void read(const KnownKind& known, const JsonValue& object, SourcePlace place, DecodedObjects& out);
  void read_named(const KnownKind& known, const JsonValue& object, DecodedMeta&& meta, SourcePlace place,
                  DecodedObjects& out);
  void read_pod(const JsonValue& object, SourcePlace place, DecodedObjects& out);
  void require_name(const JsonValue& object, const std::string& name);
};

void ObjectDecoder::Caches::require_name(const JsonValue& object, const std::string& name) {
  if (!name.empty()) return;
  const JsonValue metadata = object.field("metadata");
  const bool is_to_be_named = metadata.field("generateName").present();
  metadata.field("name").problem(is_to_be_named ? "absent, expected a name; generateName is for objects being created"
                                                : "absent, expected a name");
}

void ObjectDecoder::Caches::read_pod(const JsonValue& object, SourcePlace place, DecodedObjects& out) {
  DecodedPod decoded = pods.read_pod(object);
  const Pod& pod = *decoded.pod;
  require_name(object, pod.name);
  const bool is_bad = !object.sink().empty();
  if (is_bad || object.sink().finding_count() > 0) object_name = pod.name.empty() ? "Pod" : "Pod " + pod.full_name();
  if (is_bad) return;
  if (is_finished(pod)) {
    object.sink().take_findings();  // a finished pod takes no part
    out.terminal_pods.push_back({{pod.full_name(), keeps_finished_pods ? decoded.pod : nullptr}, place});
  } else {
    decoded.place = place;
    out.pods.push_back(std::move(decoded));
  }
}

void ObjectDecoder::Caches::read_named(const KnownKind& known, const JsonValue& object, DecodedMeta&& meta,
                                       SourcePlace place, DecodedObjects& out) {
  // What is decoded is used only when the sink stayed empty, so that a bad object leaves no trace.
  const auto keep = [&]<class T>(std::vector<Sourced<T>>& list, T&& value) {
    if (object.sink().empty()) list.push_back({std::forward<T>(value), place});
  };
  switch (known.use) {
    case KindUse::kNode:
      validate_node(object);
      return keep(out.nodes, read_node(object, std::move(meta), declared.get(), pools));
    case KindUse::kNamespace:
      validate_fields(object, ApiType::kNamespace);
      return keep(out.namespaces, Namespace{std::move(meta.name), std::move(meta.labels)});
    case KindUse::kPriorityClass:
      validate_priority_class(object);
      return keep(out.priority_classes, read_priority_class(object, std::move(meta)));
    case KindUse::kService:
      validate_service(object);
      return keep(out.services, read_service(object, std::move(meta)));
    case KindUse::kRuntimeClass:
      validate_runtime_class(object);
      return keep(out.runtime_classes, read_runtime_class(object, std::move(meta)));
    case KindUse::kPodDisruptionBudget:
      validate_disruption_budget(object);
      return keep(out.pod_disruption_budgets, read_disruption_budget(object, std::move(meta)));
    case KindUse::kWorkload: {
      DecodedWorkload workload = read_workload(known.kind, object, std::move(meta), pods);
      workload.place = place;
      if (object.sink().empty()) out.workloads.push_back(std::move(workload));
      return;
    }
    case KindUse::kVolume:
      validate_persistent_volume(object);
      return keep(out.volumes, read_persistent_volume(object, std::move(meta)));
    case KindUse::kVolumeClaim:
      validate_volume_claim(object);
      return keep(out.volume_claims, read_volume_claim(object, std::move(meta)));
    case KindUse::kStorageClass:
      validate_storage_class(object);
      if (is_default_class(object)) out.default_storage_classes.push_back({meta.name, meta.creation_time_us});
      return keep(out.storage_classes, read_storage_class(object, std::move(meta)));
    case KindUse::kCsiNode:
      validate_csi_node(object);
      return keep(out.csi_nodes, read_csi_node(object, std::move(meta)));
    case KindUse::kCsiDriver:
      validate_csi_driver(object);
      return keep(out.csi_drivers, read_csi_driver(object, std::move(meta)));
    case KindUse::kStorageCapacity:
      validate_csi_storage_capacity(object);
      return keep(out.storage_capacities, read_csi_storage_capacity(object, std::move(meta)));
    case KindUse::kVolumeAttachment:
      validate_volume_attachment(object);
      return keep(out.volume_attachments, read_volume_attachment(object, std::move(meta)));
    case KindUse::kPod:
    case KindUse::kNothingYet:
      return;
  }
}

void ObjectDecoder::Caches::read(const KnownKind& known, const JsonValue& object, SourcePlace place,
                                 DecodedObjects& out) {
  if (known.use == KindUse::kPod) return read_pod(object, place, out);
  if (known.use == KindUse::kNothingYet) {
    ++out.unused_kinds[std::string(known.kind)];
    return;
  }
  const bool has_namespace = !is_cluster_wide(known.kind);
  DecodedMeta meta = pods.read_metadata(object.field("metadata"), known.use == KindUse::kNamespace);
  require_name(object, meta.name);
  if (has_namespace && meta.namespace_.empty()) meta.namespace_ = "default";
  object_name = known.kind;
  if (!meta.name.empty()) object_name += " " + (has_namespace ? meta.namespace_ + "/" : "") + meta.name;
  read_named(known, object, std::move(meta), place, out);
}

/// Looks before anything is decoded.
bool ObjectDecoder::Caches::has_few_entries(const JsonValue& object, std::string_view json) {
  const std::int64_t count = count_list_entries(object.element(), json);
  if (count > kListEntriesMax) {
    object.problem("lists with " + std::to_string(count) + " entries together, expected at most " +
                   std::to_string(kListEntriesMax) + " in an object");
    return false;
  }
  dense_entries.add(count, json);
  if (!dense_entries.is_over()) return true;
  object.problem("with this object the lists of the input have more than " + std::to_string(dense_entries.max()) +
                 " entries beyond one for each " + std::to_string(kListEntryTextBytes) + " bytes of their object");
  return false;
}

void ObjectDecoder::Caches::read_any(const ItemSlice& item, const JsonValue& object, SourcePlace place,
                                     DecodedObjects& out) {
  if (!object.is_object()) {
    object.problem(object.present() ? "got " + object.describe() + ", expected an object" : "null, expected an object");
    return;
  }
  std::string_view kind = item.kind_hint();
  std::string_view api_version = item.api_version_hint();
  constexpr std::array<std::string_view, 2> kTypeFields = {"kind", "apiVersion"};
  const auto found = object.find_fields(kTypeFields);
  object.field(kTypeFields[0], found[0]).read(kind);
  object.field(kTypeFields[1], found[1]).read(api_version);
  if (!object.sink().empty()) return;
  const bool has_type = !kind.empty() && !api_version.empty();
  const KnownKind* known = has_type ? find_kind(api_version, kind) : nullptr;
  if (known != nullptr) {
    if (known->use == KindUse::kNothingYet || has_few_entries(object, item.json)) read(*known, object, place, out);
    return;
  }
  if (is_empty_list(object, kind)) return;
  if (std::string what = describe_foreign_object(object, api_version, kind); !what.empty()) {
    return object.problem(std::move(what));
  }
  if (kind.empty()) object.field("kind").problem("absent, expected a kind such as Pod");
  if (api_version.empty()) object.field("apiVersion").problem("absent, expected an API version such as v1");
  if (!has_type) return;
  constexpr std::size_t kShownBytes = 253;
  ++out.unknown_kinds[std::string(api_version.substr(0, kShownBytes)) + "/" + std::string(kind.substr(0, kShownBytes))];
}

ObjectDecoder::ObjectDecoder(ObjectPools& pools, DenseEntries& dense_entries, DecodeOptions options)
    : options_(std::move(options)), caches_(std::make_unique<Caches>(pools, dense_entries, options_)) {}
ObjectDecoder::~ObjectDecoder() = default;

void ObjectDecoder::decode(const ItemSlice& item, const std::string& source, std::uint32_t source_index,
                           DecodedObjects& out) {
  ++out.object_count;
  constexpr auto kLineMax = std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
  const SourcePlace place{source_index, static_cast<std::uint32_t>(std::min(item.line, kLineMax))};
  ProblemSink sink(std::string(), kProblemLimit, options_.is_strict);
  caches_->object_name.clear();
  const char* readable_end = item.json.data() + item.json.size() + kSlicePaddingBytes;
  if (const auto root = caches_->parser.parse(item.json, readable_end)) {
    caches_->read_any(item, JsonValue(*root, sink), place, out);
  } else {
    sink.add({}, caches_->parser.error());
  }
  if (!sink.empty()) {
    leave_out(item, source, sink, out);
  } else if (sink.finding_count() > 0) {
    keep_findings(item, source, sink, out);
  }
}

void ObjectDecoder::leave_out(const ItemSlice& item, const std::string& source, ProblemSink& sink,
                              DecodedObjects& out) const {
  out.problem_count += static_cast<std::int64_t>(sink.count());
  std::vector<InputProblem> problems = sink.take();
  for (InputProblem& problem : problems) {
    problem.source = source;
    problem.location = field_location(item, problem.location);
    problem.object = caches_->object_name;
  }
  std::string name = caches_->object_name;
  if (name.empty()) name = source;
  out.left_out.push_back({std::move(name), problems.front().to_string()});
  for (InputProblem& problem : problems) fold_into(out.problems, std::move(problem), kProblemLimit);
}

void ObjectDecoder::keep_findings(const ItemSlice& item, const std::string& source, ProblemSink& sink,
                                  DecodedObjects& out) const {
  out.finding_count += static_cast<std::int64_t>(sink.finding_count());
  for (InputProblem& finding : sink.take_findings()) {
    const std::size_t kept = out.findings.size();
    const std::string path = finding.location;
    finding.source = source;
    finding.object = caches_->object_name;
    fold_into(out.findings, std::move(finding), kProblemLimit);
    // Finding a line takes time, so only what is said gets one.
    if (out.findings.size() > kept) out.findings.back().location = field_location(item, path);
  }
}

}  // namespace berth
