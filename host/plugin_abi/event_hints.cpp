// SPDX-License-Identifier: Apache-2.0
#include "host/plugin_abi/event_hints.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "host/framework/host_plugin.h"
#include "host/objects/pod_copy.h"

namespace berth {
namespace {

static_assert(BERTH_EVENT_POD == static_cast<int>(EventResource::kPod));
static_assert(BERTH_EVENT_NODE == static_cast<int>(EventResource::kNode));
static_assert(BERTH_EVENT_PERSISTENT_VOLUME == static_cast<int>(EventResource::kPersistentVolume));
static_assert(BERTH_EVENT_PERSISTENT_VOLUME_CLAIM == static_cast<int>(EventResource::kPersistentVolumeClaim));
static_assert(BERTH_EVENT_CSI_NODE == static_cast<int>(EventResource::kCsiNode));
static_assert(BERTH_EVENT_CSI_DRIVER == static_cast<int>(EventResource::kCsiDriver));
static_assert(BERTH_EVENT_CSI_STORAGE_CAPACITY == static_cast<int>(EventResource::kCsiStorageCapacity));
static_assert(BERTH_EVENT_STORAGE_CLASS == static_cast<int>(EventResource::kStorageClass));
static_assert(BERTH_EVENT_VOLUME_ATTACHMENT == static_cast<int>(EventResource::kVolumeAttachment));
static_assert(BERTH_EVENT_UPDATE_NODE_TAINT == EventAction::kUpdateNodeTaint);
static_assert(BERTH_EVENT_UPDATE_NODE_ANNOTATION == EventAction::kUpdateNodeAnnotation);
static_assert(BERTH_EVENT_UPDATE_POD_SCHEDULING_GATES_ELIMINATED == EventAction::kUpdatePodSchedulingGatesEliminated);
static_assert(BERTH_EVENT_UPDATE == EventAction::kUpdate);
static_assert(BERTH_EVENT_ALL == EventAction::kAll);

/// "namespace/name" of kinds that have namespaces, else the name.
std::string name_of(const StorageObject& object) {
  return std::visit(
      [](const auto& of) {
        if constexpr (requires { of.namespace_; }) {
          return of.namespace_ + "/" + of.name;
        } else {
          return of.name;
        }
      },
      object);
}

berth_plugin_change change_of(EventResource resource) {
  berth_plugin_change change{};
  change.struct_size = sizeof change;
  change.resource = static_cast<std::uint32_t>(resource);
  return change;
}

/// A node without pods, as plugins see it.
class NodeView {
 public:
  explicit NodeView(const Node* node) {
    if (node == nullptr) return;
    info_.emplace();
    info_->name = node->name;
    info_->node = NodePtr(NodePtr(), node);  // owns nothing
  }
  const berth_plugin_node* get() const { return info_ ? to_abi(&*info_) : nullptr; }

 private:
  std::optional<NodeInfo> info_;
};

/// Of pods that the plugin signs alike, or of one.
class PreparedEventHints : public PreparedHints {
 public:
  /// @param like  one of them
  PreparedEventHints(std::shared_ptr<const AbiPlugin> plugin, PodPtr like)
      : plugin_(std::move(plugin)), like_(std::move(like)) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    berth_plugin_change told = change_of(EventResource::kPod);
    told.old_pod = to_abi(change.before);
    told.new_pod = to_abi(change.after);
    told.is_own = change.is_waiting_pod ? 1 : 0;
    return ask(change.waiting, told);
  }
  QueueingHint after_node_change(const NodeChange& change) const override {
    const NodeView before(change.before);
    const NodeView after(change.after);
    berth_plugin_change told = change_of(EventResource::kNode);
    told.old_node = before.get();
    told.new_node = after.get();
    return ask(nullptr, told);
  }
  QueueingHint after_storage_change(const StorageChange& change) const override {
    const StorageObject& any = change.after != nullptr ? *change.after : *change.before;
    berth_plugin_change told = change_of(resource_of(kind_of(any)));
    const std::string name = name_of(any);
    if (change.before != nullptr) told.old_name = to_abi(name);
    if (change.after != nullptr) told.new_name = to_abi(name);
    return ask(nullptr, told);
  }

 private:
  QueueingHint ask(const Pod* waiting, const berth_plugin_change& change) const {
    return plugin_->hint(waiting != nullptr ? *waiting : *like_, change);
  }

  std::shared_ptr<const AbiPlugin> plugin_;
  PodPtr like_;
};

void append_text(std::string_view text, std::string& out) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

class EventHints : public QueueingHints {
 public:
  EventHints(std::shared_ptr<const AbiPlugin> plugin, std::vector<EventRegistration> registrations)
      : plugin_(std::move(plugin)), registrations_(std::move(registrations)) {}
  std::string_view plugin() const override { return plugin_->name(); }
  std::span<const EventRegistration> registrations() const override { return registrations_; }
  void read(const Pod& pod, HintKey& key) const override {
    const std::optional<std::string> signature = ask_signature(*plugin_, pod);
    key.more += signature ? 's' : 'p';
    append_text(signature ? *signature : pod.uid(), key.more);
    if (signature) return;
    // What may change while the pod waits, so that another version of it has hints of its own.
    key.spec = true;
    append_text(pod.labels.bytes(), key.more);
    for (const DeclaredValue& declared : pod.rare().declared) {
      append_text(std::to_string(declared.path), key.more);
      append_text(declared.value, key.more);
    }
    key.more += '.';
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedEventHints>(plugin_, copy_of(pod));
  }

 private:
  std::shared_ptr<const AbiPlugin> plugin_;
  std::vector<EventRegistration> registrations_;
};

}  // namespace

/// Without a list of events those of default_queueing_hints().
std::vector<EventRegistration> AbiPlugin::events() const {
  const bool has_hint = table_.table.queueing_hint != nullptr;
  std::vector<EventRegistration> registrations;
  for (std::size_t i = 0; i < table_.table.event_count; ++i) {
    const berth_plugin_event& event = table_.table.events[i];
    registrations.push_back(
        {{static_cast<EventResource>(event.resource), static_cast<std::uint16_t>(event.actions)}, has_hint});
  }
  if (table_.table.events != nullptr) return registrations;
  const std::unique_ptr<QueueingHints> all = default_queueing_hints(std::string(name()));
  registrations.assign(all->registrations().begin(), all->registrations().end());
  for (EventRegistration& registration : registrations) registration.has_function = has_hint;
  return registrations;
}

QueueingHint AbiPlugin::hint(const Pod& pod, const berth_plugin_change& change) const {
  const auto alone = turn();
  berth_plugin_call call(this, paths_, nullptr);
  QueueingHint hint = QueueingHint::kQueue;
  try {
    hint = queue_if(table_.table.queueing_hint(self_of(pod), &call, to_abi(&pod), &change) != BERTH_HINT_SKIP);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a pod that is tried once too often loses nothing
  }
  call.check();
  return hint;
}

std::unique_ptr<QueueingHints> make_event_hints(std::shared_ptr<const AbiPlugin> plugin) {
  std::vector<EventRegistration> events = plugin->events();
  return std::make_unique<EventHints>(std::move(plugin), std::move(events));
}

}  // namespace berth
