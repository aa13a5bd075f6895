// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/api_object_reader.h"

#include <type_traits>
#include <utility>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

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

}  // namespace

ApiObjectReader::ApiObjectReader(DeclaredPathsPtr declared)
    : declared_(std::move(declared)), decoding_(std::make_unique<Decoding>(declared_)) {}

bool ApiObjectReader::decode(const Text& text) {
  problem_.clear();
  out_ = {};
  if (text.version != nullptr) {
    version_ = *text.version;
  } else if (!text_.read_version(text.json, version_)) {
    problem_ = text_.problem();
    return false;
  }
  if (++decoded_ % kObjectsOfPools == 0) decoding_ = std::make_unique<Decoding>(declared_);
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
    if (!is_assigned(*stored->object))
      if (std::optional<PodCondition> condition = text_.read_scheduled_condition(text.json))
        stored->shared_conditions = std::make_shared<const PodConditions>(1, std::move(*condition));
  return stored;
}

#define BERTH_READ(T) template StoredPtr<T> ApiObjectReader::read<T>(const Text& text);
BERTH_EACH_STORED_KIND(BERTH_READ)
#undef BERTH_READ

}  // namespace berth
