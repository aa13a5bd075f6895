// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/objects/pod_copy.h"
#include "host/store/object_store.h"

namespace berth::test {

/// A store on a virtual clock that begins at 100 s.
class StoreFixture {
 public:
  explicit StoreFixture(const StoreOptions& options = {}) : store(clock, options) {}

  void advance_s(double seconds) { clock.advance_by(static_cast<std::int64_t>(seconds * 1e6)); }
  /// The newest version of a pod of the namespace default.
  StoredPodPtr pod(const std::string& name) const { return store.get<Pod>(key(name)); }
  StoreResult<Pod> create(const PodPtr& pod, const CreateOptions& options = {}) {
    return store.create<Pod>(pod, options);
  }
  StoreResult<Pod> bind(const std::string& name, const std::string& node = "n1") {
    return store.bind({.namespace_ = "default", .name = name, .node_name = node});
  }
  /// An update of what the pod is now, changed.
  StoreResult<Pod> update(const std::string& name, const std::function<void(Pod&)>& change,
                          const UpdateOptions& options = {}) {
    const std::shared_ptr<Pod> changed = copy_of(*pod(name)->object);
    change(*changed);
    return store.update<Pod>(changed, options);
  }
  void add_node(const std::string& name) { store.create<Node>(node(name)); }

  static ObjectKey key(std::string_view name) { return {.namespace_ = "default", .name = name}; }
  static std::shared_ptr<Pod> make_pod(const std::string& name, const PodSpec& spec = {}) {
    auto pod = std::make_shared<Pod>();
    pod->name = name;
    pod->spec = std::make_shared<const PodSpec>(spec);
    return pod;
  }
  static std::shared_ptr<Pod> make_bound_pod(const std::string& name, const std::string& node = "n1") {
    const std::shared_ptr<Pod> pod = make_pod(name);
    pod->node_name = node;
    return pod;
  }
  static std::shared_ptr<Pod> make_gated_pod(const std::string& name, const PodSpec& spec = {}) {
    const std::shared_ptr<Pod> pod = make_pod(name, spec);
    PodRare rare;
    rare.scheduling_gates = {"a", "b"};
    pod->rare_fields = std::make_unique<const PodRare>(rare);
    return pod;
  }
  static std::shared_ptr<const Node> node(const std::string& name) {
    auto node = std::make_shared<Node>();
    node->name = name;
    return node;
  }
  static std::shared_ptr<const Namespace> name_space(const std::string& name) {
    auto object = std::make_shared<Namespace>();
    object->name = name;
    return object;
  }
  static std::shared_ptr<const Service> service(const std::string& name, const std::string& name_space = "default") {
    auto object = std::make_shared<Service>();
    object->name = name;
    object->namespace_ = name_space;
    return object;
  }
  static void set_spec(Pod& pod, const std::function<void(PodSpec&)>& change) {
    PodSpec spec = *pod.spec;
    change(spec);
    pod.spec = std::make_shared<const PodSpec>(std::move(spec));
  }

  VirtualClock clock{100'000'000};
  ObjectStore store;
};

/// "Added p", "Modified p", "Deleted p" for events of pods.
inline std::vector<std::string> pod_events(const std::vector<WatchEvent>& events) {
  std::vector<std::string> texts;
  for (const WatchEvent& event : events) {
    const ObjectChange<Pod>* change = event.get<Pod>();
    if (change == nullptr) continue;
    const Pod& pod = *(change->after != nullptr ? change->after : change->before)->object;
    const WatchEventType type = event.type();
    const char* const name = type == WatchEventType::kAdded      ? "Added "
                             : type == WatchEventType::kModified ? "Modified "
                                                                 : "Deleted ";
    texts.push_back(name + pod.name);
  }
  return texts;
}

}  // namespace berth::test
