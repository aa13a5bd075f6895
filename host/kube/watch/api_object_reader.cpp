// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/api_object_reader.h"

#include <type_traits>
#include <utility>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

constexpr std::string_view kPodScheduled = "PodScheduled";

/// The one object of its kind that was decoded; null when there is none.
template <class T>
std::shared_ptr<const T> share(std::vector<Sourced<T>>& list) {
  return list.empty() ? nullptr : std::make_shared<const T>(std::move(list.front().object));
}

template <class T>
std::shared_ptr<const T> take(DecodedObjects& objects) {
  if constexpr (std::is_same_v<T, Pod>) return objects.pods.empty() ? nullptr : std::move(objects.pods.front().pod);
  if constexpr (std::is_same_v<T, Node>) return objects.nodes.empty() ? nullptr : objects.nodes.front().object;
  if constexpr (std::is_same_v<T, Namespace>) return share(objects.namespaces);
  if constexpr (std::is_same_v<T, Service>) return share(objects.services);
  if constexpr (std::is_same_v<T, PodDisruptionBudget>) return share(objects.pod_disruption_budgets);
  if constexpr (std::is_same_v<T, PriorityClass>) return share(objects.priority_classes);
  if constexpr (std::is_same_v<T, PersistentVolume>) return share(objects.volumes);
  if constexpr (std::is_same_v<T, VolumeClaim>) return share(objects.volume_claims);
  if constexpr (std::is_same_v<T, StorageClass>) return share(objects.storage_classes);
  if constexpr (std::is_same_v<T, CsiNode>) return share(objects.csi_nodes);
  if constexpr (std::is_same_v<T, CsiDriver>) return share(objects.csi_drivers);
  if constexpr (std::is_same_v<T, CsiStorageCapacity>) return share(objects.storage_capacities);
  if constexpr (std::is_same_v<T, VolumeAttachment>) return share(objects.volume_attachments);
  if constexpr (std::is_same_v<T, Workload>)
    return objects.workloads.empty() ? nullptr
                                     : std::make_shared<const Workload>(std::move(objects.workloads.front().workload));
}

ConditionStatus status_of(std::string_view text) {
  if (text == "True") return ConditionStatus::kTrue;
  return text == "False" ? ConditionStatus::kFalse : ConditionStatus::kUnknown;
}

}  // namespace

ApiObjectReader::ApiObjectReader() : decoding_(std::make_unique<Decoding>()) {}

bool ApiObjectReader::decode(const Text& text) {
  problem_.clear();
  out_ = {};
  if (!text_.read_version(text.json, version_)) {
    problem_ = text_.problem();
    return false;
  }
  if (++decoded_ % kObjectsOfPools == 0) decoding_ = std::make_unique<Decoding>();
  const ListContext list{"", std::string(text.resource.item_kind), std::string(text.resource.api_version)};
  ItemSlice item;
  item.json = text.json;
  item.list = &list;
  decoding_->decoder.decode(item, std::string(text.resource.name), 0, out_);
  if (out_.problems.empty()) return true;
  const InputProblem& first = out_.problems.front();
  problem_ = first.object.empty() ? first.message : first.object + ": " + first.to_string();
  return false;
}

/// PodScheduled alone.
std::shared_ptr<const PodConditions> ApiObjectReader::read_conditions(std::string_view json) {
  simdjson::ondemand::document document;
  simdjson::ondemand::array list;
  auto error = parser_.iterate(json.data(), json.size(), json.size() + kSlicePaddingBytes).get(document);
  if (!error) error = document.find_field_unordered("status").find_field_unordered("conditions").get_array().get(list);
  if (error) return nullptr;
  for (auto element : list) {
    simdjson::ondemand::object fields;
    if (element.get_object().get(fields)) return nullptr;
    PodCondition condition;
    for (auto field : fields) {
      std::string_view key;
      std::string_view text;
      if (field.unescaped_key().get(key)) return nullptr;
      if (key == "observedGeneration") {
        if (field.value().get_int64().get(condition.observed_generation)) condition.observed_generation = 0;
        continue;
      }
      if (field.value().get_string().get(text)) continue;
      if (key == "type") condition.type = text;
      if (key == "status") condition.status = status_of(text);
      if (key == "reason") condition.reason = text;
      if (key == "message") condition.message = text;
    }
    if (condition.type == kPodScheduled) return std::make_shared<const PodConditions>(1, std::move(condition));
  }
  return nullptr;
}

template <class T>
StoredPtr<T> ApiObjectReader::read(const Text& text) {
  if (!decode(text)) return nullptr;
  std::shared_ptr<const T> object = take<T>(out_);
  if (object == nullptr) {
    if (out_.terminal_pods.empty()) problem_ = "no object of the kind " + std::string(text.resource.item_kind);
    return nullptr;
  }
  auto stored = std::make_shared<Stored<T>>();
  stored->object = std::move(object);
  stored->meta.resource_version = version_.resource_version;
  stored->meta.generation = version_.generation;
  if constexpr (std::is_same_v<T, Pod>)
    if (!is_assigned(*stored->object)) stored->shared_conditions = read_conditions(text.json);
  return stored;
}

#define BERTH_READ(T) template StoredPtr<T> ApiObjectReader::read<T>(const Text& text);
BERTH_EACH_STORED_KIND(BERTH_READ)
#undef BERTH_READ

}  // namespace berth
