// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "host/objects/json_value.h"
#include "host/objects/loader.h"
#include "host/objects/pod_copy.h"
#include "host/objects/text/text_reader.h"
#include "host/objects/volume_migration.h"
#include "host/perf/stored_form.h"

namespace berth {
namespace {

constexpr auto kKinds = std::to_array<std::string_view>(
    {"Pod", "Node", "Namespace", "Service", "PodDisruptionBudget", "PriorityClass", "PersistentVolume",
     "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"});

// makeBasePod() and makeBaseNode() of upstream's util.go.
constexpr std::string_view kBasePod = R"(apiVersion: v1
kind: Pod
metadata:
  generateName: pod-
spec:
  containers:
  - name: pause
    image: registry.k8s.io/pause:3.10.1
    ports:
    - containerPort: 80
    resources:
      limits: {cpu: 100m, memory: 500Mi}
      requests: {cpu: 100m, memory: 500Mi}
)";
constexpr std::string_view kBaseNode = R"(apiVersion: v1
kind: Node
metadata:
  generateName: {}
status:
  capacity: {{pods: "110", cpu: "4", memory: 32Gi}}
)";

/// Objects of one load: their text, and what the text does not keep.
struct Batch {
  std::string json;  ///< an object a line
  std::vector<StoredForm> forms;
};

std::string only_document(const std::string& text, const std::string& source) {
  std::vector<JsonDocument> documents = documents_from_text(text, source);
  if (documents.size() == 1) return std::move(documents.front().json);
  throw InputError(
      InputProblem{source, "", "got " + std::to_string(documents.size()) + " documents, expected exactly one object"});
}

void add_object(const TextTemplate& text, const SeriesRequest& request, std::int64_t index, Batch& batch) {
  const std::string json = only_document(text.render(index, request.count), text.source());
  JsonParser parser;
  const auto element = parser.parse(json);
  if (!element) throw InputError(InputProblem{text.source(), "", parser.error()});
  ProblemSink sink(text.source());
  const JsonValue root(*element, sink);
  if (root.expect_object())
    batch.forms.push_back(stored_form(root, request.namespace_, fmt::format("perf-{}", batch.forms.size())));
  sink.throw_if_any();
  batch.json += batch.forms.back().json + "\n";
}

/// Gives back the absence of a name that stored_form() filled in.
template <class T>
PerfObject finish(std::shared_ptr<T> object, const StoredForm& form) {
  if (!form.has_name) object->name.clear();
  PerfObject result;
  result.object = std::shared_ptr<const T>(std::move(object));
  result.options.generate_name = form.generate_name;
  result.options.finalizers = form.finalizers;
  return result;
}

/// @return the largest number where the product is larger
std::int64_t times(std::int64_t amount, std::int64_t factor) {
  const __int128 product = static_cast<__int128>(amount) * factor;
  return static_cast<std::int64_t>(std::min(product, static_cast<__int128>(INT64_MAX)));
}

std::shared_ptr<Pod> mutable_copy(const PodPtr& pod) { return copy_of(*pod); }
std::shared_ptr<Node> mutable_copy(const NodePtr& node) { return std::make_shared<Node>(*node); }
template <class T>
std::shared_ptr<T> mutable_copy(const T& object) {
  return std::make_shared<T>(object);
}

template <class List>
std::vector<PerfObject> finish_all(const List& loaded, const Batch& batch, const std::string& source) {
  if (loaded.size() != batch.forms.size())
    throw InputError(
        InputProblem{source, "",
                     fmt::format("got {} of {} objects, expected all: a pod that has ended cannot be created",
                                 loaded.size(), batch.forms.size())});
  std::vector<PerfObject> objects;
  objects.reserve(loaded.size());
  for (std::size_t i = 0; i < loaded.size(); ++i) objects.push_back(finish(mutable_copy(loaded[i]), batch.forms[i]));
  return objects;
}

std::vector<PerfObject> finish_kind(std::string_view kind, const ClusterObjects& loaded, const Batch& batch,
                                    const std::string& source) {
  if (kind == "Pod") return finish_all(loaded.pods, batch, source);
  if (kind == "Node") return finish_all(loaded.nodes, batch, source);
  if (kind == "Namespace") return finish_all(loaded.namespaces, batch, source);
  if (kind == "Service") return finish_all(loaded.services, batch, source);
  if (kind == "PriorityClass") return finish_all(loaded.priority_classes, batch, source);
  if (kind == "PersistentVolume") return finish_all(loaded.storage.volumes, batch, source);
  if (kind == "PersistentVolumeClaim") return finish_all(loaded.storage.claims, batch, source);
  if (kind == "StorageClass") return finish_all(loaded.storage.classes, batch, source);
  if (kind == "CSINode") return finish_all(loaded.storage.csi_nodes, batch, source);
  if (kind == "CSIDriver") return finish_all(loaded.storage.csi_drivers, batch, source);
  if (kind == "CSIStorageCapacity") return finish_all(loaded.storage.capacities, batch, source);
  if (kind == "VolumeAttachment") return finish_all(loaded.storage.attachments, batch, source);
  return finish_all(loaded.pod_disruption_budgets, batch, source);
}

/// What the pod needs and Berth does not have; empty: nothing.
std::string unsupported_by(const PerfObject& object) {
  const auto* pod = std::get_if<PodPtr>(&object.object);
  if (pod == nullptr) return {};
  if (!(*pod)->rare().resource_claims.empty()) return "pods with resource claims";
  return {};
}

}  // namespace

SeriesResult make_series(const TextTemplate& text, const SeriesRequest& request) {
  if (request.count == 0) return {};
  const std::int64_t distinct = text.has_directives() && !request.only_first ? request.count : 1;
  Batch batch;
  for (std::int64_t index = 0; index < distinct; ++index) add_object(text, request, index, batch);
  const std::string& kind = batch.forms.front().kind;
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return {{}, kind + " objects"};
  LoadOptions options;
  options.expand_workloads = false;
  const LoadResult loaded = load_cluster_from_text(batch.json, text.source(), options);
  loaded.throw_if_problems();
  std::vector<PerfObject> objects = finish_kind(kind, loaded.objects, batch, text.source());
  if (std::string unsupported = unsupported_by(objects.front()); !unsupported.empty()) return {{}, unsupported};
  return {ObjectSeries(std::move(objects)), {}};
}

ObjectSeries larger_nodes(const ObjectSeries& nodes, std::int64_t factor) {
  std::vector<PerfObject> larger = nodes.distinct();
  for (PerfObject& object : larger) {
    auto* node = std::get_if<NodePtr>(&object.object);
    if (node == nullptr) continue;
    const std::shared_ptr<Node> changed = mutable_copy(*node);
    ResourceAmounts& amounts = changed->allocatable;
    for (std::int64_t* amount :
         {&amounts.milli_cpu, &amounts.memory_bytes, &amounts.ephemeral_storage_bytes, &changed->allowed_pod_number})
      *amount = times(*amount, factor);
    for (auto& [name, amount] : amounts.scalars) amount = times(amount, factor);
    *node = changed;
  }
  return ObjectSeries(std::move(larger));
}

PodWithVolume with_volume(const PerfObject& pod, const PerfObject& volume, const PerfObject& claim,
                          const std::string& name_space, std::int64_t index) {
  const std::string claim_name = fmt::format("pvc-{}", index);
  const auto own_claim = mutable_copy(*std::get<SharedObject<VolumeClaim>>(claim.object));
  const auto own_volume = mutable_copy(*std::get<SharedObject<PersistentVolume>>(volume.object));
  own_volume->name = fmt::format("{}-vol-{}", name_space, index);
  const bool is_csi = own_volume->source.kind == VolumeSource::Kind::kCsi;
  own_volume->source.id = is_csi ? own_volume->name : fmt::format("vol-{}", index);
  own_volume->migrated = migrate(*own_volume);
  own_volume->claim_ref = ObjectName{name_space, claim_name, ""};
  own_volume->is_available = false;
  own_claim->name = claim_name;
  own_claim->namespace_ = name_space;
  own_claim->volume_name = own_volume->name;
  const std::shared_ptr<Pod> own_pod = mutable_copy(std::get<PodPtr>(pod.object));
  PodRare rare = own_pod->rare();
  rare.volumes = {PodVolume{PodVolume::Kind::kClaim, claim_name}};
  own_pod->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  PodWithVolume result{own_claim, own_volume, pod};
  result.pod.object = PodPtr(own_pod);
  return result;
}

TextTemplate base_pod_template() { return {std::string(kBasePod), "the pod of scheduler_perf"}; }

TextTemplate base_node_template(const std::string& name_prefix) {
  return {fmt::format(kBaseNode, name_prefix), "the node of scheduler_perf"};
}

}  // namespace berth
