// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/engine_cluster.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// Finds a workload of a namespace.
auto has_name(const std::string& kind, const std::string& name) {
  return [&](const Workload& workload) { return workload.kind == kind && workload.name == name; };
}

/// Finds a Service of a namespace.
auto has_name(const std::string& name) {
  return [&](const Service& service) { return service.name == name; };
}

}  // namespace

ClusterObjects EngineObjects::listed() const {
  ClusterObjects lists;
  lists.namespaces = namespaces;
  for (const auto& [name, here] : selecting) {
    lists.services.insert(lists.services.end(), here.services.begin(), here.services.end());
    lists.workloads.insert(lists.workloads.end(), here.workloads.begin(), here.workloads.end());
  }
  return lists;
}

EngineCluster::EngineCluster(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects)
    : shared_(std::move(cache)) {
  objects_ = {objects.namespaces, by_namespace(objects.services, objects.workloads)};
}

ClusterCache& EngineCluster::own() {
  if (own_ != nullptr) return *own_;
  if (keeps_before_ || shared_.use_count() != 1) {
    own_ = std::make_shared<ClusterCache>(cache());
  } else {
    own_ = std::const_pointer_cast<ClusterCache>(shared_);  // nobody else has it, or can get it
  }
  if (keeps_before_) return *own_;
  if (is_noting_) own_->note_changes_in(&steps_);
  shared_.reset();
  return *own_;
}

// Changes as a whole

/// What a call makes of an empty cache, mostly a load, is given up as a whole when it fails.
void EngineCluster::begin() noexcept {
  is_noting_ = true;
  if (cache().empty()) return keep_before();
  if (own_ != nullptr) own_->note_changes_in(&steps_);
}

void EngineCluster::begin_load() {
  if (keeps_before_) return;
  auto next = std::make_shared<ClusterCache>(cache());
  keep_before();
  own_ = std::move(next);
}

void EngineCluster::keep_before() noexcept {
  keeps_before_ = true;
  before_ = std::move(own_);
}

void EngineCluster::keep() noexcept {
  steps_.finish_all();
  if (own_ == nullptr) own_ = std::move(before_);
  if (own_ != nullptr) shared_.reset();
  end_call();
}

std::shared_ptr<ClusterCache> EngineCluster::take_back() noexcept {
  std::shared_ptr<ClusterCache> given_up;
  steps_.undo_all();
  if (keeps_before_) given_up = std::exchange(own_, std::move(before_));
  end_call();
  return given_up;
}

void EngineCluster::end_call() noexcept {
  drop_empty_lists();
  if (own_ != nullptr) own_->note_changes_in(nullptr);
  before_.reset();
  is_noting_ = keeps_before_ = false;
}

/// The fingerprint of a node came, changed or went.
class EngineCluster::Fingerprinted : public UndoStep {
 public:
  explicit Fingerprinted(EngineCluster& cluster) : cluster_(cluster) {}
  void undo() noexcept override {
    if (!is_done) return;
    if (before) {
      cluster_.fingerprints_.insert_or_assign(std::move(name), *before);  // has the room that it had before
    } else {
      cluster_.fingerprints_.erase(name);
    }
  }
  std::string name;
  std::optional<NodeFingerprint> before;
  bool is_done = false;

 private:
  EngineCluster& cluster_;
};

/// @param fingerprint  null: it goes
void EngineCluster::set_fingerprint(const std::string& name, const NodeFingerprint* fingerprint) {
  Fingerprinted* const step = is_noting_ ? &steps_.add<Fingerprinted>(*this) : nullptr;
  if (step != nullptr) {
    step->name = name;
    if (const auto at = fingerprints_.find(name); at != fingerprints_.end()) step->before = at->second;
  }
  if (fingerprint == nullptr) {
    fingerprints_.erase(name);
  } else {
    fingerprints_.insert_or_assign(name, *fingerprint);
  }
  if (step != nullptr) step->is_done = true;
}

/// An object of a list was appended, replaced or removed.
template <class Object>
class EngineCluster::ListChanged : public UndoStep {
 public:
  explicit ListChanged(std::vector<Object>& list) : list_(list) {}
  void undo() noexcept override {
    if (!is_done) return;
    if (!before) {
      list_.pop_back();
    } else if (was_removed) {
      list_.insert(list_.begin() + position, std::move(*before));  // has the room that it had before
    } else {
      list_[static_cast<std::size_t>(position)] = std::move(*before);
    }
  }
  bool is_done = false;
  bool was_removed = false;
  std::ptrdiff_t position = 0;
  std::optional<Object> before;

 private:
  std::vector<Object>& list_;
};

/// Replaces the object that `is_same` finds, or appends.
template <class Object, class IsSame>
void EngineCluster::upsert(std::vector<Object>& list, const Object& object, IsSame is_same) {
  auto* const step = is_noting_ ? &steps_.add<ListChanged<Object>>(list) : nullptr;
  const auto at = std::find_if(list.begin(), list.end(), is_same);
  if (at == list.end()) {
    list.push_back(object);
  } else {
    Object copy = object;
    std::swap(*at, copy);
    if (step != nullptr) step->before = std::move(copy);
    if (step != nullptr) step->position = at - list.begin();
  }
  if (step != nullptr) step->is_done = true;
}

/// Removes all objects that `is_same` finds. @return whether there was one
template <class Object, class IsSame>
bool EngineCluster::remove(std::vector<Object>& list, IsSame is_same) {
  bool any = false;
  for (auto at = list.end(); at != list.begin();) {
    if (!is_same(*--at)) continue;
    auto* const step = is_noting_ ? &steps_.add<ListChanged<Object>>(list) : nullptr;
    if (step != nullptr) {
      step->before = std::move(*at);
      step->position = at - list.begin();
      step->is_done = step->was_removed = true;
    }
    at = list.erase(at);
    any = true;
  }
  return any;
}

ClusterEffect EngineCluster::apply(const ClusterChange& change) {
  journal_->trim();
  ClusterEffect effect;
  std::visit([&](const auto& what) { apply(what, effect); }, change);
  if (!is_noting_) drop_empty_lists();
  return effect;
}

// Nodes

bool EngineCluster::is_heartbeat(const NodeUpsert& change) const {
  const NodeInfo* known = cache().find_node(change.node->name);
  if (known == nullptr || known->node == nullptr) return false;
  const auto at = fingerprints_.find(change.node->name);
  const NodeFingerprint before = at == fingerprints_.end() ? fingerprint_of(*known->node) : at->second;
  return before == change.fingerprint && !cache().would_resize_images(*change.node);
}

void EngineCluster::apply(const NodeUpsert& change, ClusterEffect& effect) {
  const std::string& name = change.node->name;
  const bool resizes_images = cache().would_resize_images(*change.node);
  // Nodes with a fingerprint exist, and a node that says what it said before costs no more than this: a heartbeat.
  const auto last = fingerprints_.find(name);
  if (last != fingerprints_.end() && last->second == change.fingerprint && !resizes_images) {
    effect.node = ClusterEffect::Node::kChanged;
    return;
  }
  const NodeInfo* known = cache().find_node(name);
  const bool exists = known != nullptr && known->node != nullptr;
  effect.node_name = name;
  effect.node = exists ? ClusterEffect::Node::kChanged : ClusterEffect::Node::kAdded;
  if (exists) {
    const NodeFingerprint before = last == fingerprints_.end() ? fingerprint_of(*known->node) : last->second;
    effect.parts = differing_parts(before, change.fingerprint);
    if (resizes_images) effect.parts.insert(NodePart::kImages);
  }
  set_fingerprint(name, &change.fingerprint);
  if (exists && effect.parts.empty()) return;  // the object that is known says the same
  own().update_node(change.node);
}

void EngineCluster::apply(const NodeRemoval& change, ClusterEffect& effect) {
  const NodeInfo* known = cache().find_node(change.name);
  if (known == nullptr || known->node == nullptr) return;
  own().remove_node(change.name);
  set_fingerprint(change.name, nullptr);
  effect.node = ClusterEffect::Node::kRemoved;
  effect.node_name = change.name;
}

// Pods

/// Call before the pod is changed. @param going_to  name of a node
void EngineCluster::note_before(std::string_view uid, std::string_view going_to) {
  if (!journal_->has_readers()) return;
  PodBefore before;
  before.uid = uid;
  const auto note_ports = [&](const NodeInfo& node) { before.ports.push_back({node.name, node.used_ports}); };
  if (std::optional<ClusterCache::PodPlace> place = cache().find_pod(uid)) {
    before.pod = std::move(place->pod);
    before.node_name = place->node->name;
    before.is_assumed = place->is_assumed;
    note_ports(*place->node);
  }
  if (going_to != before.node_name)
    if (const NodeInfo* node = cache().find_node(going_to)) note_ports(*node);
  journal_->append(std::move(before));
}

void EngineCluster::leave_node(std::string_view uid, ClusterEffect& effect) {
  std::optional<ClusterCache::PodPlace> place = cache().find_pod(uid);
  if (!place) return;
  note_before(uid);
  effect.pods.push_back({place->node->name, std::move(place->pod), nullptr});
  own().remove_pod(uid);
}

void EngineCluster::stand_on_node(const PodPtr& pod, ClusterEffect& effect) {
  const std::string uid = pod->uid();
  std::optional<ClusterCache::PodPlace> before = cache().find_pod(uid);
  if (before && before->node->name != pod->node_name) {
    leave_node(uid, effect);
    before.reset();
  }
  note_before(uid, pod->node_name);
  if (before && !before->is_assumed) {
    own().update_pod(pod);
  } else {
    own().add_pod(pod);
  }
  effect.pods.push_back({pod->node_name, before ? std::move(before->pod) : nullptr, pod});
  effect.nomination_ended = uid;
}

void EngineCluster::apply(const PodUpsert& change, ClusterEffect& effect) {
  if (is_finished(*change.pod)) return apply(PodRemoval{change.pod->uid()}, effect);
  if (is_on_node(*change.pod)) return stand_on_node(change.pod, effect);
  if (cache().is_assumed(change.pod->uid())) return;  // the API server does not know of its placement yet
  effect.nomination = change.pod;
  effect.nominated_node = change.pod->rare().nominated_node_name;
}

void EngineCluster::apply(const PodRemoval& change, ClusterEffect& effect) {
  leave_node(change.uid, effect);
  effect.nomination_ended = change.uid;
}

void EngineCluster::apply(const NominationUpsert& change, ClusterEffect& effect) {
  effect.nomination = change.pod;
  effect.nominated_node = change.node_name;
}

void EngineCluster::assume(PodPtr pod, std::string_view node_name, VolumeDecisionsPtr decisions) {
  if (journal_->has_readers()) note_before(pod->uid(), node_name);
  own().assume_pod(std::move(pod), node_name, std::move(decisions));
}

std::optional<PodChange> EngineCluster::forget(std::string_view uid) {
  std::optional<ClusterCache::PodPlace> place = cache().find_pod(uid);
  if (!place || !place->is_assumed) return std::nullopt;
  PodChange change{place->node->name, std::move(place->pod), nullptr};
  note_before(uid);
  own().forget_pod(uid);
  return change;
}

// Objects beside nodes and pods

void EngineCluster::apply(const NamespaceUpsert& change, ClusterEffect& effect) {
  effect.name_space = change.object.name;
  upsert(objects_.namespaces, change.object, [&](const Namespace& known) { return known.name == change.object.name; });
  effect.namespaces_changed = true;
}

void EngineCluster::apply(const NamespaceRemoval& change, ClusterEffect& effect) {
  effect.name_space = change.name;
  effect.namespaces_changed =
      remove(objects_.namespaces, [&](const Namespace& known) { return known.name == change.name; });
}

/// For a change, after which drop_empty_lists() is called.
NamespaceObjects& EngineCluster::write_objects(const std::string& name_space) {
  written_namespaces_.push_back(name_space);
  return objects_.selecting[name_space];
}

void EngineCluster::drop_empty_lists() noexcept {
  for (const std::string& name_space : written_namespaces_)
    if (const auto at = objects_.selecting.find(name_space); at != objects_.selecting.end() && at->second.empty())
      objects_.selecting.erase(at);
  written_namespaces_.clear();
}

void EngineCluster::apply(const ServiceUpsert& change, ClusterEffect& effect) {
  const Service& object = change.object;
  const auto is_same = has_name(object.name);
  std::vector<Service>& services = write_objects(object.namespace_).services;
  effect.selectors.name_space = object.namespace_;
  for (const Service& known : services)
    if (is_same(known)) effect.selectors.service_selectors.push_back(known.selector);
  effect.selectors_changed =
      effect.selectors.service_selectors.empty() || effect.selectors.service_selectors.front() != object.selector;
  effect.selectors.service_selectors.push_back(object.selector);
  upsert(services, object, is_same);
}

void EngineCluster::apply(const ServiceRemoval& change, ClusterEffect& effect) {
  const auto is_same = has_name(change.name);
  std::vector<Service>& services = write_objects(change.namespace_).services;
  effect.selectors.name_space = change.namespace_;
  for (const Service& known : services)
    if (is_same(known)) effect.selectors.service_selectors.push_back(known.selector);
  effect.selectors_changed = remove(services, is_same);
}

void EngineCluster::apply(const WorkloadUpsert& change, ClusterEffect& effect) {
  const Workload& object = change.object;
  const auto is_same = has_name(object.kind, object.name);
  std::vector<Workload>& workloads = write_objects(object.namespace_).workloads;
  effect.selectors = {object.namespace_, {}, object.kind, object.name};
  const auto known = std::find_if(workloads.begin(), workloads.end(), is_same);
  effect.selectors_changed = known == workloads.end() || known->selector != object.selector;
  upsert(workloads, object, is_same);
}

void EngineCluster::apply(const WorkloadRemoval& change, ClusterEffect& effect) {
  effect.selectors = {change.namespace_, {}, change.kind, change.name};
  effect.selectors_changed = remove(write_objects(change.namespace_).workloads, has_name(change.kind, change.name));
}

void EngineCluster::apply(const StorageUpsert& change, ClusterEffect& effect) {
  effect.storage = own().storage().reach_of(change.object);
  own().storage().upsert(change.object);
  effect.storage_changed = true;
}

void EngineCluster::apply(const StorageRemoval& change, ClusterEffect& effect) {
  if (change.kind == StorageKind::kClaim) {
    effect.storage.claims = {change.namespace_ + "/" + change.name};
  } else {
    effect.storage.is_wide = true;
  }
  effect.storage_changed = own().storage().remove(change.kind, change.namespace_, change.name);
}

}  // namespace berth
