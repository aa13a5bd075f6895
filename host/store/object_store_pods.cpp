// SPDX-License-Identifier: Apache-2.0
// The subresources of pods.

#include <utility>

#include "host/objects/pod_copy.h"
#include "host/store/object_store.h"

namespace berth {
namespace {

constexpr KindNames kPodNames = {.resource = "pods", .kind = "Pod", .storage = "pods"};

StoreStatus check_newest(const StoredPod& stored, const std::optional<std::uint64_t>& resource_version) {
  if (!resource_version || *resource_version == stored.meta.resource_version) return {};
  return stale_version(kPodNames, stored.object->name);
}

}  // namespace

template <class Change>
StoreResult<Pod> ObjectStore::change_pod(const ObjectKey& key, const std::string& uid, Change change) {
  const std::lock_guard lock(mutex_);
  const StoredPodPtr* found = table<Pod>().find(key);
  if (found == nullptr) return {not_found(kPodNames, key.name), nullptr};
  const StoredPodPtr before = *found;
  if (!uid.empty() && uid != uid_of(*before))
    return {failed_precondition(kPodNames, key, "UID", uid, uid_of(*before)), nullptr};
  auto after = std::make_shared<StoredPod>(*before);
  if (StoreStatus status = change(*after); !status.is_success()) return {std::move(status), nullptr};
  return write(before, std::move(after));
}

StoreResult<Pod> ObjectStore::update_status(const ObjectKey& key, const PodStatusPatch& patch) {
  return change_pod(key, patch.uid, [&](StoredPod& stored) -> StoreStatus {
    if (StoreStatus status = check_newest(stored, patch.resource_version); !status.is_success()) return status;
    const std::vector<std::string> problems = status_problems(*stored.object, patch, options_.clears_nomination);
    if (!problems.empty()) return invalid(kPodNames.kind, key.name, problems);
    apply(patch, clock_.now_us(), stored);
    return {};
  });
}

StoreResult<Pod> ObjectStore::bind(const PodBinding& binding) {
  // ValidatePodBinding(); its errors reach the client as those of no known kind.
  if (binding.node_name.empty()) return {{StoreReason::kInternalError, "target.name: Required value"}, nullptr};
  const ObjectKey key = {binding.namespace_, binding.name};
  return change_pod(key, binding.uid, [&](StoredPod& stored) -> StoreStatus {
    if (binding.resource_version && *binding.resource_version != stored.meta.resource_version) {
      return failed_precondition(kPodNames, key, "ResourceVersion", std::to_string(*binding.resource_version),
                                 std::to_string(stored.meta.resource_version));
    }
    if (const std::string problem = binding_problem(stored); !problem.empty())
      return conflict("pods/binding", key.name, problem);
    apply(binding, options_.clears_nomination, clock_.now_us(), stored);
    if (bound_conditions_ == nullptr || *bound_conditions_ != stored.conditions())
      bound_conditions_ = stored.shared_conditions;
    stored.shared_conditions = bound_conditions_;
    return {};
  });
}

StoreResult<Pod> ObjectStore::resize(const ObjectKey& key, std::span<const ContainerResize> changes,
                                     std::optional<std::uint64_t> resource_version) {
  return change_pod(key, {}, [&](StoredPod& stored) -> StoreStatus {
    if (StoreStatus status = check_newest(stored, resource_version); !status.is_success()) return status;
    std::vector<std::string> problems;
    PodSpec spec = resized(*stored.object->spec, changes, problems);
    if (problems.empty()) problems = resize_problems(*stored.object->spec, spec);
    if (!problems.empty()) return invalid(kPodNames.kind, key.name, problems);
    if (spec == *stored.object->spec) return {};
    const std::shared_ptr<Pod> pod = copy_of(*stored.object);
    pod->spec = std::make_shared<const PodSpec>(std::move(spec));
    stored.object = pod;
    ++stored.meta.generation;
    return {};
  });
}

}  // namespace berth
