// SPDX-License-Identifier: Apache-2.0
#pragma once

// The objects of a cluster in memory, with what an API server promises of them: versions, generations, subresources,
// graceful deletion, finalizers, watches. Stands behind a simulation as the API server stands behind a real cluster.
//
// Every call is all or nothing, also when it throws std::bad_alloc. Any thread may call: calls run one after another.
// Times are microseconds since the epoch, by the store's clock. Names and labels are not checked; the reader of
// objects does that (host/objects/validation.h).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/config/feature_gates.h"
#include "host/framework/clock.h"
#include "host/store/change_plan.h"
#include "host/store/deletion.h"
#include "host/store/event_log.h"
#include "host/store/generated_names.h"
#include "host/store/object_table.h"
#include "host/store/pod_resize.h"
#include "host/store/pod_status.h"
#include "host/store/store_status.h"

namespace berth {

struct StoreOptions {
  /// Gate ClearingNominatedNodeNameAfterBinding, on in 1.35.
  bool clears_nomination = true;
  /// The API server refuses an object whose namespace does not exist. Off, because dumps often lack the Namespace
  /// objects, and the rest of Berth reads an absent one as one without labels. A namespace that is there and is being
  /// deleted refuses new objects either way.
  bool requires_namespaces = false;
  /// Events that are kept for a watch that does not read. One that fell behind further gets Expired.
  std::size_t watch_history_limit = std::size_t{1} << 20;
  std::uint64_t seed = 0;  ///< of generated names and uids
};

/// What the gates of a cluster say; the rest as it is by default.
StoreOptions store_options(const FeatureGates& gates);

struct CreateOptions {
  /// metadata.generateName, used when the object has no name.
  std::string generate_name = {};
  std::vector<std::string> finalizers = {};
  /// Loads pods and disruption budgets with their status, as a dump has them. Otherwise they start as the API server
  /// creates them: a pod is Pending, a budget allows no disruption.
  bool keeps_status = false;
};

struct UpdateOptions {
  /// Absent: any. Disruption budgets need one, as in the API.
  std::optional<std::uint64_t> resource_version = {};
  std::optional<std::vector<std::string>> finalizers = {};  ///< absent: as they are
};

template <class T>
struct StoreResult {
  StoreStatus status;
  StoredPtr<T> stored;  ///< the newest version after the call; null when the call failed or the object is gone
  bool is_success() const { return status.is_success(); }
};

template <class T>
struct ObjectList {
  std::uint64_t resource_version = 0;  ///< where a watch continues
  std::vector<StoredPtr<T>> items;     ///< sorted by namespace and name
};

template <class T>
using StoredList = std::vector<StoredPtr<T>>;

/// Objects of every kind at one resourceVersion, each list sorted by namespace and name.
struct StoreContents {
  std::uint64_t resource_version = 0;
  EachKind<std::tuple, StoredList> items;
  template <class T>
  const StoredList<T>& of() const {
    return std::get<StoredList<T>>(items);
  }
};

/// T is a kind of EachKind: Pod, Node, ...
class ObjectStore {
 public:
  /// @param clock  must outlive the store
  explicit ObjectStore(const Clock& clock, const StoreOptions& options = {});
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  const Clock& clock() const { return clock_; }
  /// Of the newest write; 0 when there was none.
  std::uint64_t resource_version() const { return log_->newest(); }
  /// null when there is no such object.
  template <class T>
  StoredPtr<T> get(const ObjectKey& key) const;
  template <class T>
  std::size_t count() const;
  template <class T>
  ObjectList<T> list() const;
  /// Calls use(object) for each, in no order. @param use  must not call the store
  template <class T, class Use>
  void for_each(Use use) const {
    const std::lock_guard lock(mutex_);
    table<T>().for_each(use);
  }
  StoreContents list_all() const;
  /// Events after the resourceVersion `from`, usually that of a list. Events are kept for open watches only: a watch
  /// from an older version opens when some other watch has still to read them, and is Expired otherwise.
  WatchStart watch(std::uint64_t from, KindSet kinds = KindSet::all()) { return log_->watch(from, kinds); }

  /// Adds an object. A uid and a creation time are given to one without; where the object brings them they stay, unlike
  /// in the API, so that dumps keep theirs. AlreadyExists, Invalid (no name), Forbidden or NotFound (namespace).
  template <class T>
  StoreResult<T> create(const std::shared_ptr<const T>& object, const CreateOptions& options = {});
  /// Replaces all but the status. NotFound, Conflict, Invalid. Removes the object when its last finalizer goes and its
  /// deletion waited for that. An update that changes nothing is no write.
  template <class T>
  StoreResult<T> update(const std::shared_ptr<const T>& object, const UpdateOptions& options = {});
  /// The subresource status of T = Node, PodDisruptionBudget, PersistentVolume or VolumeClaim: takes the status of
  /// `object` alone. Finalizers are not read.
  template <class T>
  StoreResult<T> update_status(const std::shared_ptr<const T>& object, const UpdateOptions& options = {});
  /// Deletes. A pod on a node stays, marked, until its kubelet removes it with a grace period of 0; everything waits
  /// for its finalizers. A namespace takes what is in it along and stays while something is left: this does the
  /// namespace controller's work within the call. NotFound, Conflict.
  template <class T>
  StoreResult<T> remove(const ObjectKey& key, const DeleteOptions& options = {});

  /// pods/status. NotFound, Conflict, Invalid.
  StoreResult<Pod> update_status(const ObjectKey& key, const PodStatusPatch& patch);
  /// pods/binding. NotFound; Conflict when the pod is bound, gated, being deleted or another one. The generation stays,
  /// because the API server writes the node name past the pod strategy. The admission plugin that copies topology
  /// labels of the node to the pod is not modelled.
  StoreResult<Pod> bind(const PodBinding& binding);
  /// What PreBind of VolumeBinding writes of a pod's claims, and what the PV controller and a provisioner make of it,
  /// in one step: each claim is bound, to the volume that was chosen, or to a new one. That one is reached where the
  /// node is, by the driver's topology keys in its CSINode, else where the allowedTopologies of the class say.
  /// NotFound, Conflict where a claim or volume is bound otherwise by now, and InternalError where the provisioner
  /// fails; then nothing is written.
  /// @param decisions  without a node name no pod is there that asks, as for a class that binds at once
  StoreStatus bind_volumes(const VolumeDecisions& decisions);
  /// While it fails, no volume of a class with this provisioner is made.
  void set_provisioner_fails(const std::string& provisioner, bool fails);
  /// pods/resize. NotFound, Conflict, Invalid.
  StoreResult<Pod> resize(const ObjectKey& key, std::span<const ContainerResize> changes,
                          std::optional<std::uint64_t> resource_version = {});

 private:
  class VolumeBindings;
  template <class T>
  ObjectTable<T>& table() {
    return std::get<ObjectTable<T>>(tables_);
  }
  template <class T>
  const ObjectTable<T>& table() const {
    return std::get<ObjectTable<T>>(tables_);
  }
  template <class T>
  std::vector<StoredPtr<T>> items() const;
  ChangePlan begin() const { return {log_->newest(), clock_.now_us()}; }
  void commit(const ChangePlan& plan);
  template <class T>
  StoreResult<T> write(const StoredPtr<T>& before, std::shared_ptr<Stored<T>> after);
  template <class T>
  void prepare(Stored<T>& stored, const CreateOptions& options, std::int64_t now_us);
  template <class T>
  StoreStatus name_object(std::shared_ptr<const T>& object, const CreateOptions& options);
  StoreStatus check_namespace(const KindNames& kind, const ObjectKey& key) const;
  template <class T>
  StoreStatus check_version(const Stored<T>& stored, const UpdateOptions& options) const;
  template <class T>
  StoreResult<T> end(const StoredPtr<T>& stored);
  template <class T>
  StoredPtr<T> plan_removal(ChangePlan& plan, const StoredPtr<T>& before, const DeleteOptions& options) const;
  StoredPtr<Namespace> plan_namespace_removal(ChangePlan& plan, const StoredPtr<Namespace>& before) const;
  template <class T>
  std::uint64_t plan_content_removal(ChangePlan& plan, const std::string& name_space) const;
  void plan_namespace_end(ChangePlan& plan, std::string_view name_space, std::uint64_t removed) const;
  std::uint64_t content_count(std::string_view name_space) const;
  /// Finds the pod, checks the uid unless it is empty, and writes what `change` makes of a copy of it.
  /// @param change  StoreStatus(StoredPod&): no success leaves the pod as it is
  template <class Change>
  StoreResult<Pod> change_pod(const ObjectKey& key, const std::string& uid, Change change);

  const Clock& clock_;
  StoreOptions options_;
  mutable std::mutex mutex_;  ///< of all below; the log has its own, taken after this one
  EachKind<std::tuple, ObjectTable> tables_;
  std::map<std::string, std::uint64_t, std::less<>> content_;  ///< objects by namespace
  GeneratedNames names_;
  std::set<std::string, std::less<>> failing_provisioners_;
  /// Of the pod that was bound last: pods that are bound in the same second share the list.
  std::shared_ptr<const PodConditions> bound_conditions_;
  std::shared_ptr<EventLog> log_;
};

}  // namespace berth
