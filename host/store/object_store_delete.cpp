// SPDX-License-Identifier: Apache-2.0
// Deletion, of objects and of namespaces with what is in them.

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "host/store/object_rules.h"
#include "host/store/object_store.h"

namespace berth {
namespace {

/// BeforeDelete() names the kind where other messages name the resource, and namespaces have their own text
/// (kubernetes pkg/registry/core/namespace/storage/storage.go).
template <class T>
StoreStatus check_preconditions(const Stored<T>& stored, const DeleteOptions& options) {
  const ObjectKey key = key_of(*stored.object);
  const KindNames kind = names_of<T>(key);
  const auto differs = [&](std::string_view field, std::string_view article_end, const std::string& wanted,
                           const std::string& found) {
    if (std::is_same_v<T, Namespace>) {
      return conflict(kind.resource, key.name,
                      fmt::format("Precondition failed: {} in precondition: {}, {} in object meta: {}", field, wanted,
                                  field, found));
    }
    return conflict(kind.kind, key.name,
                    fmt::format("the {} in the precondition ({}) does not match the {} in record ({}). The object "
                                "might have been {}",
                                field, wanted, field, found, article_end));
  };
  if (!options.uid.empty() && options.uid != uid_of(stored))
    return differs("UID", "deleted and then recreated", options.uid, uid_of(stored));
  if (options.resource_version && *options.resource_version != stored.meta.resource_version) {
    return differs("ResourceVersion", "modified", std::to_string(*options.resource_version),
                   std::to_string(stored.meta.resource_version));
  }
  return {};
}

}  // namespace

template <class T>
StoreResult<T> ObjectStore::remove(const ObjectKey& key, const DeleteOptions& options) {
  const std::lock_guard lock(mutex_);
  const StoredPtr<T>* found = table<T>().find(key);
  if (found == nullptr) return {not_found(names_of<T>(key), key.name), nullptr};
  const StoredPtr<T> before = *found;
  if (StoreStatus status = check_preconditions(*before, options); !status.is_success())
    return {std::move(status), nullptr};
  ChangePlan plan = begin();
  StoredPtr<T> left;
  if constexpr (std::is_same_v<T, Namespace>) {
    left = plan_namespace_removal(plan, before);
  } else {
    left = plan_removal(plan, before, options);
    if (left == nullptr && is_namespaced(kKindOf<T>)) plan_namespace_end(plan, key_of(*before->object).namespace_, 1);
  }
  commit(plan);
  return {{}, std::move(left)};
}

/// @return the version that stays; null when the object goes
template <class T>
StoredPtr<T> ObjectStore::plan_removal(ChangePlan& plan, const StoredPtr<T>& before,
                                       const DeleteOptions& options) const {
  const Pod* pod = nullptr;
  if constexpr (std::is_same_v<T, Pod>) pod = before->object.get();
  const DeletionPlan deletion = plan_deletion(before->meta, pod, options, plan.now_us());
  StoredPtr<T> newest = before;
  if (deletion.mark) {
    auto marked = std::make_shared<Stored<T>>(*before);
    apply(*deletion.mark, *marked);
    if constexpr (requires { before->object->terminating; }) {
      const std::shared_ptr<T> terminating = copy_object(*before->object);
      terminating->terminating = true;
      marked->object = terminating;
    }
    newest = plan.put(before, std::move(marked));
  }
  if (!deletion.removes) return newest;
  plan.remove(newest);
  return nullptr;
}

template <class T>
std::uint64_t ObjectStore::plan_content_removal(ChangePlan& plan, const std::string& name_space) const {
  std::vector<StoredPtr<T>> inside;
  table<T>().for_each([&](const StoredPtr<T>& stored) {
    if (key_of(*stored->object).namespace_ == name_space) inside.push_back(stored);
  });
  std::sort(inside.begin(), inside.end(), [](const StoredPtr<T>& a, const StoredPtr<T>& b) {
    const ObjectKey x = key_of(*a->object);
    const ObjectKey y = key_of(*b->object);
    return std::tie(x.workload_kind, x.name) < std::tie(y.workload_kind, y.name);
  });
  std::uint64_t removed = 0;
  for (const StoredPtr<T>& stored : inside)
    if (plan_removal(plan, stored, {}) == nullptr) ++removed;
  return removed;
}

StoredPtr<Namespace> ObjectStore::plan_namespace_removal(ChangePlan& plan, const StoredPtr<Namespace>& before) const {
  StoredPtr<Namespace> newest = before;
  if (!before->meta.is_being_deleted()) {
    auto marked = std::make_shared<Stored<Namespace>>(*before);
    apply(GracefulDeletion{0, plan.now_us(), true}, *marked);
    newest = plan.put(before, std::move(marked));
  }
  const std::string& name = before->object->name;
  const std::uint64_t removed =
      plan_content_removal<Pod>(plan, name) + plan_content_removal<Service>(plan, name) +
      plan_content_removal<Workload>(plan, name) + plan_content_removal<PodDisruptionBudget>(plan, name) +
      plan_content_removal<VolumeClaim>(plan, name) + plan_content_removal<CsiStorageCapacity>(plan, name);
  if (removed < content_count(name) || !newest->meta.rare().finalizers.empty()) return newest;
  plan.remove(newest);
  return nullptr;
}

/// A namespace that is being deleted goes with the last object in it.
void ObjectStore::plan_namespace_end(ChangePlan& plan, std::string_view name_space, std::uint64_t removed) const {
  const StoredPtr<Namespace>* space = table<Namespace>().find({{}, name_space});
  if (space == nullptr || !(*space)->meta.is_being_deleted() || !(*space)->meta.rare().finalizers.empty()) return;
  if (content_count(name_space) == removed) plan.remove(*space);
}

std::uint64_t ObjectStore::content_count(std::string_view name_space) const {
  const auto found = content_.find(name_space);
  return found == content_.end() ? 0 : found->second;
}

#define BERTH_INSTANTIATE(T) template StoreResult<T> ObjectStore::remove<T>(const ObjectKey&, const DeleteOptions&);
BERTH_EACH_STORED_KIND(BERTH_INSTANTIATE)
#undef BERTH_INSTANTIATE

}  // namespace berth
