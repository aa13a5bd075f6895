// SPDX-License-Identifier: Apache-2.0
#include "host/store/object_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/store/object_rules.h"
#include "host/store/pod_update.h"

namespace berth {
namespace {

/// Attempts of apiserver's createWithGenerateNameRetry().
constexpr int kNameAttempts = 8;

template <class T>
void sort_by_key(std::vector<StoredPtr<T>>& items) {
  std::sort(items.begin(), items.end(), [](const StoredPtr<T>& a, const StoredPtr<T>& b) {
    const ObjectKey x = key_of(*a->object);
    const ObjectKey y = key_of(*b->object);
    return std::tie(x.namespace_, x.name, x.workload_kind) < std::tie(y.namespace_, y.name, y.workload_kind);
  });
}

template <class T>
bool is_same_version(const Stored<T>& a, const Stored<T>& b) {
  if constexpr (std::is_same_v<T, Pod>) {
    if (a.conditions() != b.conditions()) return false;
  }
  return a.meta.generation == b.meta.generation && a.meta.rare() == b.meta.rare() &&
         (a.object == b.object || is_same_object(*a.object, *b.object));
}

/// As Go's %#v prints a list of strings.
std::string go_list(const std::set<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
  return "[]string{" + list + "}";
}

/// ValidateObjectMetaAccessorUpdate() of apimachinery's pkg/api/validation/objectmeta.go.
void check_finalizers(const ObjectMeta& meta, const std::vector<std::string>& finalizers,
                      std::vector<std::string>& problems) {
  if (!meta.is_being_deleted()) return;
  std::set<std::string> added(finalizers.begin(), finalizers.end());
  for (const std::string& old : meta.rare().finalizers) added.erase(old);
  if (!added.empty())
    problems.push_back(
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        "finalizers " +
        go_list(added));
}

template <class T>
StoreResult<T> failure(StoreStatus status) {
  return {std::move(status), nullptr};
}

}  // namespace

StoreOptions store_options(const FeatureGates& gates) {
  StoreOptions options;
  options.clears_nomination = gates.enabled("ClearingNominatedNodeNameAfterBinding");
  return options;
}

ObjectStore::ObjectStore(const Clock& clock, const StoreOptions& options)
    : clock_(clock),
      options_(options),
      names_(options.seed),
      log_(std::make_shared<EventLog>(options.watch_history_limit)) {}

template <class T>
StoredPtr<T> ObjectStore::get(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  const StoredPtr<T>* found = table<T>().find(key);
  return found == nullptr ? nullptr : *found;
}

template <class T>
std::size_t ObjectStore::count() const {
  const std::lock_guard lock(mutex_);
  return table<T>().size();
}

template <class T>
std::vector<StoredPtr<T>> ObjectStore::items() const {
  std::vector<StoredPtr<T>> items;
  items.reserve(table<T>().size());
  table<T>().for_each([&](const StoredPtr<T>& stored) { items.push_back(stored); });
  return items;
}

template <class T>
ObjectList<T> ObjectStore::list() const {
  ObjectList<T> list;
  {
    const std::lock_guard lock(mutex_);
    list = {log_->newest(), items<T>()};
  }
  sort_by_key(list.items);
  return list;
}

StoreContents ObjectStore::list_all() const {
  StoreContents contents;
  {
    const std::lock_guard lock(mutex_);
    contents.resource_version = log_->newest();
    std::apply([&]<class... T>(std::vector<StoredPtr<T>>&... list) { ((list = items<T>()), ...); }, contents.items);
  }
  std::apply([](auto&... items) { (sort_by_key(items), ...); }, contents.items);
  return contents;
}

void ObjectStore::commit(const ChangePlan& plan) {
  for (const WatchEvent& event : plan.events()) {
    std::visit(
        [&]<class T>(const ObjectChange<T>& change) {
          if (change.before != nullptr) return;
          table<T>().reserve_one();
          if (is_namespaced(kKindOf<T>)) content_.try_emplace(std::string(key_of(*change.after->object).namespace_), 0);
        },
        event.change);
  }
  log_->append(plan.events());
  // Nothing from here on can fail.
  for (const WatchEvent& event : plan.events()) {
    std::visit(
        [&]<class T>(const ObjectChange<T>& change) {
          const ObjectKey key = key_of(*(change.after != nullptr ? change.after : change.before)->object);
          const auto content = is_namespaced(kKindOf<T>) ? content_.find(key.namespace_) : content_.end();
          if (change.before == nullptr) {
            table<T>().insert(change.after);
            if (content != content_.end()) ++content->second;
          } else if (change.after != nullptr) {
            table<T>().replace(change.after);
          } else {
            table<T>().erase(key);
            if (content != content_.end() && --content->second == 0) content_.erase(content);
          }
        },
        event.change);
  }
}

template <class T>
StoreResult<T> ObjectStore::write(const StoredPtr<T>& before, std::shared_ptr<Stored<T>> after) {
  if (before != nullptr && is_same_version(*before, *after)) return {{}, before};
  ChangePlan plan = begin();
  StoredPtr<T> stored = plan.put(before, std::move(after));
  commit(plan);
  return {{}, std::move(stored)};
}

/// NamespaceLifecycle: apiserver's pkg/admission/plugin/namespace/lifecycle/admission.go.
StoreStatus ObjectStore::check_namespace(const KindNames& kind, const ObjectKey& key) const {
  const StoredPtr<Namespace>* space = table<Namespace>().find({{}, key.namespace_});
  if (space == nullptr)
    return options_.requires_namespaces ? not_found(names_of(ObjectKind::kNamespace), key.namespace_) : StoreStatus{};
  if (!(*space)->meta.is_being_deleted()) return {};
  return forbidden(
      kind, key.name,
      fmt::format("unable to create new content in namespace {} because it is being terminated", key.namespace_));
}

/// Gives the object a name that is free, when it has none.
template <class T>
StoreStatus ObjectStore::name_object(std::shared_ptr<const T>& object, const CreateOptions& options) {
  const KindNames kind = names_of<T>(key_of(*object));
  if (!object->name.empty()) {
    const StoredPtr<T>* found = table<T>().find(key_of(*object));
    if (found == nullptr) return {};
    StoreStatus status = already_exists(kind, object->name);
    if ((*found)->meta.is_being_deleted()) status.message = "object is being deleted: " + status.message;
    return status;
  }
  if (options.generate_name.empty())
    return invalid(kind.kind, "", {"metadata.name: Required value: name or generateName is required"});
  const std::shared_ptr<T> named = copy_object(*object);
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    named->name = names_.name(options.generate_name);
    if (table<T>().find(key_of(*named)) != nullptr) continue;
    object = named;
    return {};
  }
  return generated_name_exists(kind, named->name);
}

template <class T>
void ObjectStore::prepare(Stored<T>& stored, const CreateOptions& options, std::int64_t now_us) {
  stored.meta.generation = has_generation(kKindOf<T>) ? 1 : 0;
  if constexpr (std::is_same_v<T, Pod>) {
    options.keeps_status ? keep_status(stored, now_us) : reset_status(stored, now_us);
    if (stored.object->stored_uid.empty() || stored.object->creation_time_us == 0) {
      const std::shared_ptr<Pod> pod = copy_of(*stored.object);
      if (pod->stored_uid.empty()) pod->stored_uid = names_.uid();
      if (pod->creation_time_us == 0) pod->creation_time_us = whole_seconds(now_us);
      stored.object = pod;
    }
    if (options.finalizers.empty()) return;
  }
  if (!options.keeps_status) stored.object = with_first_status(stored.object);
  if constexpr (std::is_same_v<T, VolumeClaim>) {
    if (stored.object->uid.empty()) {  // a volume's claimRef compares it
      const std::shared_ptr<VolumeClaim> claim = copy_object(*stored.object);
      claim->uid = names_.uid();
      stored.object = claim;
    }
  }
  change_rare(stored.meta, [&](RareMeta& rare) {
    rare.finalizers = options.finalizers;
    if constexpr (std::is_same_v<T, Pod>) return;
    if constexpr (std::is_same_v<T, Workload> || std::is_same_v<T, VolumeClaim>) rare.uid = stored.object->uid;
    if (rare.uid.empty()) rare.uid = names_.uid();
    rare.creation_time_us = whole_seconds(now_us);
  });
}

template <class T>
StoreResult<T> ObjectStore::create(const std::shared_ptr<const T>& object, const CreateOptions& options) {
  const std::lock_guard lock(mutex_);
  const ObjectKey key = key_of(*object);
  if (is_namespaced(kKindOf<T>)) {
    StoreStatus status = check_namespace(names_of<T>(key), key);
    if (!status.is_success()) return failure<T>(std::move(status));
  }
  auto stored = std::make_shared<Stored<T>>();
  stored->object = object;
  if (StoreStatus status = name_object(stored->object, options); !status.is_success())
    return failure<T>(std::move(status));
  prepare(*stored, options, clock_.now_us());
  return write<T>(nullptr, std::move(stored));
}

template <class T>
StoreStatus ObjectStore::check_version(const Stored<T>& stored, const UpdateOptions& options) const {
  const ObjectKey key = key_of(*stored.object);
  const KindNames kind = names_of<T>(key);
  if (!options.resource_version) {
    // AllowUnconditionalUpdate() of pkg/registry/policy/poddisruptionbudget/strategy.go.
    if (!std::is_same_v<T, PodDisruptionBudget>) return {};
    return invalid(kind.resource, key.name,
                   {"metadata.resourceVersion: Invalid value: 0: must be specified for an update"});
  }
  return *options.resource_version == stored.meta.resource_version ? StoreStatus{} : stale_version(kind, key.name);
}

template <class T>
StoreResult<T> ObjectStore::update(const std::shared_ptr<const T>& object, const UpdateOptions& options) {
  const std::lock_guard lock(mutex_);
  const ObjectKey key = key_of(*object);
  const StoredPtr<T>* found = table<T>().find(key);
  if (found == nullptr) return failure<T>(not_found(names_of<T>(key), key.name));
  const StoredPtr<T> before = *found;
  if constexpr (std::is_same_v<T, Pod>) {
    if (!object->stored_uid.empty() && object->stored_uid != before->object->stored_uid)
      return failure<T>(
          failed_precondition(names_of<T>(key), key, "UID", object->stored_uid, before->object->stored_uid));
  }
  if (StoreStatus status = check_version(*before, options); !status.is_success()) return failure<T>(std::move(status));

  auto after = std::make_shared<Stored<T>>(*before);
  after->object = with_stored_status(object, *before->object);
  std::vector<std::string> problems = update_problems(*before->object, *after->object);
  const std::vector<std::string>& finalizers =
      options.finalizers ? *options.finalizers : before->meta.rare().finalizers;
  check_finalizers(before->meta, finalizers, problems);
  if (!problems.empty()) return failure<T>(invalid(names_of<T>(key).kind, key.name, problems));

  if (ends_with_update(before->meta, finalizers) && !(std::is_same_v<T, Namespace> && content_count(key.name) > 0))
    return end(before);
  if (finalizers != before->meta.rare().finalizers)
    change_rare(after->meta, [&](RareMeta& rare) { rare.finalizers = finalizers; });
  if (has_generation(kKindOf<T>) && has_other_spec(*before->object, *after->object)) ++after->meta.generation;
  return write(before, std::move(after));
}

template <class T>
StoreResult<T> ObjectStore::end(const StoredPtr<T>& stored) {
  ChangePlan plan = begin();
  plan.remove(stored);
  if (is_namespaced(kKindOf<T>)) plan_namespace_end(plan, key_of(*stored->object).namespace_, 1);
  commit(plan);
  return {{}, nullptr};
}

template <class T>
StoreResult<T> ObjectStore::update_status(const std::shared_ptr<const T>& object, const UpdateOptions& options) {
  const std::lock_guard lock(mutex_);
  const ObjectKey key = key_of(*object);
  const StoredPtr<T>* found = table<T>().find(key);
  if (found == nullptr) return failure<T>(not_found(names_of<T>(key), key.name));
  const StoredPtr<T> before = *found;
  if (StoreStatus status = check_version(*before, options); !status.is_success()) return failure<T>(std::move(status));
  auto after = std::make_shared<Stored<T>>(*before);
  after->object = with_status_of(*before->object, *object);
  return write(before, std::move(after));
}

#define BERTH_INSTANTIATE(T)                                                                             \
  template StoredPtr<T> ObjectStore::get<T>(const ObjectKey&) const;                                     \
  template std::size_t ObjectStore::count<T>() const;                                                    \
  template ObjectList<T> ObjectStore::list<T>() const;                                                   \
  template StoreResult<T> ObjectStore::create<T>(const std::shared_ptr<const T>&, const CreateOptions&); \
  template StoreResult<T> ObjectStore::update<T>(const std::shared_ptr<const T>&, const UpdateOptions&);
BERTH_EACH_STORED_KIND(BERTH_INSTANTIATE)
#undef BERTH_INSTANTIATE

template void ObjectStore::prepare<PersistentVolume>(Stored<PersistentVolume>&, const CreateOptions&, std::int64_t);
template StoreResult<Pod> ObjectStore::write<Pod>(const StoredPodPtr&, std::shared_ptr<StoredPod>);
template StoreResult<Node> ObjectStore::update_status<Node>(const NodePtr&, const UpdateOptions&);
template StoreResult<PodDisruptionBudget> ObjectStore::update_status<PodDisruptionBudget>(
    const std::shared_ptr<const PodDisruptionBudget>&, const UpdateOptions&);
template StoreResult<PersistentVolume> ObjectStore::update_status<PersistentVolume>(
    const std::shared_ptr<const PersistentVolume>&, const UpdateOptions&);
template StoreResult<VolumeClaim> ObjectStore::update_status<VolumeClaim>(const std::shared_ptr<const VolumeClaim>&,
                                                                          const UpdateOptions&);

}  // namespace berth
