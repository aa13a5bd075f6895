// SPDX-License-Identifier: Apache-2.0
#include "host/objects/repeated_objects.h"

#include <tbb/parallel_invoke.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/objects/pod_names.h"
#include "host/objects/thread_count.h"

namespace berth {
namespace {

class RepeatedObjects {
 public:
  RepeatedObjects(DecodedObjects& objects, const std::vector<std::string>& sources, int threads,
                  const LeaveOut& leave_out)
      : objects_(objects), sources_(sources), threads_(threads), leave_out_(leave_out) {}

  void drop();

 private:
  void drop_pods();
  template <class Hash, class Text>
  std::vector<const DecodedPod*> earlier_namesakes(Hash hash, Text text) const;
  template <class T, class Name>
  void drop_from(std::vector<T>& list, std::string_view kind, Name name_of);
  void drop_terminal_namesakes();
  std::string repeated_name(SourcePlace place, SourcePlace first) const;

  DecodedObjects& objects_;
  const std::vector<std::string>& sources_;
  int threads_;
  const LeaveOut& leave_out_;
};

std::string RepeatedObjects::repeated_name(SourcePlace place, SourcePlace first) const {
  std::string text = "stands in the input twice, expected one object of a name; the first, ";
  if (place.source != first.source) text += "in " + sources_[first.source] + " ";
  return text + "on line " + std::to_string(first.line) + ", is kept";
}

template <class T, class Name>
void RepeatedObjects::drop_from(std::vector<T>& list, std::string_view kind, Name name_of) {
  tsl::robin_map<std::string, SourcePlace> names;
  names.reserve(list.size());
  std::erase_if(list, [&](const T& element) {
    std::string name = name_of(element);
    const auto [first, is_new] = names.try_emplace(name, element.place);
    if (is_new) return false;
    if (!kind.empty()) name.insert(0, std::string(kind) + ' ');
    leave_out_(element.place, name, repeated_name(element.place, first->second));
    return true;
  });
}

/// For each pod whose `text` an earlier one has, that pod; null for the others. Hashes were taken while the pod was at
/// hand, so that the pods themselves are looked at only when two hashes are equal.
template <class Hash, class Text>
std::vector<const DecodedPod*> RepeatedObjects::earlier_namesakes(Hash hash, Text text) const {
  std::vector<const DecodedPod*> earlier(objects_.pods.size());
  tsl::robin_set<std::uint64_t> hashes;
  hashes.reserve(objects_.pods.size());
  tsl::robin_set<std::uint64_t> suspects;
  for (const DecodedPod& decoded : objects_.pods) {
    if (!hashes.insert(hash(decoded)).second) suspects.insert(hash(decoded));
  }
  if (suspects.empty()) return earlier;
  tsl::robin_map<std::string, const DecodedPod*> first_of;
  for (std::size_t i = 0; i < objects_.pods.size(); ++i) {
    const DecodedPod& decoded = objects_.pods[i];
    if (!suspects.contains(hash(decoded))) continue;
    const auto [first, is_new] = first_of.try_emplace(text(*decoded.pod), &decoded);
    if (!is_new) earlier[i] = first->second;
  }
  return earlier;
}

void RepeatedObjects::drop_pods() {
  std::vector<const DecodedPod*> same_name;
  std::vector<const DecodedPod*> same_uid;
  const auto find_same_name = [&] {
    same_name = earlier_namesakes([](const DecodedPod& decoded) { return decoded.name_hash; },
                                  [](const Pod& pod) { return pod.full_name(); });
  };
  const auto find_same_uid = [&] {
    same_uid = earlier_namesakes([](const DecodedPod& decoded) { return decoded.uid_hash; },
                                 [](const Pod& pod) { return pod.uid(); });
  };
  if (thread_count(threads_) == 1) {
    find_same_name();
    find_same_uid();
  } else {
    tbb::parallel_invoke(find_same_name, find_same_uid);
  }
  for (std::size_t i = 0; i < objects_.pods.size(); ++i) {
    const DecodedPod& decoded = objects_.pods[i];
    if (same_name[i] == nullptr && same_uid[i] == nullptr) continue;
    std::string message = same_name[i] != nullptr
                              ? repeated_name(decoded.place, same_name[i]->place)
                              : "has the uid \"" + decoded.pod->uid() + "\" of another pod; the first is kept";
    leave_out_(decoded.place, "Pod " + decoded.pod->full_name(), std::move(message));
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < objects_.pods.size(); ++i) {
    if (same_name[i] != nullptr || same_uid[i] != nullptr) continue;
    if (kept != i) objects_.pods[kept] = std::move(objects_.pods[i]);
    ++kept;
  }
  objects_.pods.resize(kept);
}

void RepeatedObjects::drop_terminal_namesakes() {
  if (objects_.terminal_pods.empty()) return;
  tsl::robin_set<std::uint64_t> hashes;
  tsl::robin_map<std::string, SourcePlace> names;
  hashes.reserve(objects_.terminal_pods.size());
  for (const Sourced<TerminalPod>& terminal : objects_.terminal_pods) {
    const std::string_view name = terminal.object.name;
    const std::size_t slash = name.find('/');
    hashes.insert(PodNames::hash(name.substr(0, slash), name.substr(slash + 1)));
  }
  for (const DecodedPod& decoded : objects_.pods) {
    if (hashes.contains(decoded.name_hash)) names.try_emplace(decoded.pod->full_name(), decoded.place);
  }
  std::erase_if(objects_.terminal_pods, [&](const Sourced<TerminalPod>& terminal) {
    const auto [first, is_new] = names.try_emplace(terminal.object.name, terminal.place);
    if (is_new) return false;
    leave_out_(terminal.place, "Pod " + terminal.object.name, repeated_name(terminal.place, first->second));
    return true;
  });
}

void RepeatedObjects::drop() {
  const auto plain_name = [](const auto& element) { return element.object.name; };
  const auto full_name = [](const auto& element) { return element.object.namespace_ + "/" + element.object.name; };
  drop_from(objects_.nodes, "Node", [](const Sourced<NodePtr>& node) { return node.object->name; });
  drop_pods();
  drop_terminal_namesakes();
  drop_from(objects_.namespaces, "Namespace", plain_name);
  drop_from(objects_.priority_classes, "PriorityClass", plain_name);
  drop_from(objects_.runtime_classes, "RuntimeClass", plain_name);
  drop_from(objects_.services, "Service", full_name);
  drop_from(objects_.pod_disruption_budgets, "PodDisruptionBudget", full_name);
  drop_from(objects_.volumes, "PersistentVolume", plain_name);
  drop_from(objects_.volume_claims, "PersistentVolumeClaim", full_name);
  drop_from(objects_.storage_classes, "StorageClass", plain_name);
  drop_from(objects_.csi_nodes, "CSINode", plain_name);
  drop_from(objects_.csi_drivers, "CSIDriver", plain_name);
  drop_from(objects_.storage_capacities, "CSIStorageCapacity", full_name);
  drop_from(objects_.volume_attachments, "VolumeAttachment", plain_name);
  drop_from(objects_.workloads, "", [](const DecodedWorkload& decoded) { return name_in_reports(decoded.workload); });
}

}  // namespace

void drop_repeated_objects(DecodedObjects& objects, const std::vector<std::string>& sources, int threads,
                           const LeaveOut& leave_out) {
  RepeatedObjects(objects, sources, threads, leave_out).drop();
}

}  // namespace berth
