// SPDX-License-Identifier: Apache-2.0
// How much memory handles hold.

#include <new>
#include <unordered_set>

#include "host/capi/cluster.h"
#include "host/capi/result.h"
#include "host/capi/what_if.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/heap_bytes.h"

namespace berth::capi {
namespace {

constexpr std::uint64_t kControlBlock = 16;  // of std::make_shared()

/// Without what pods of one owner share.
std::uint64_t own_bytes(const Pod& pod) {
  return heap_block_bytes(kControlBlock + sizeof(Pod)) +
         heap_bytes(pod.name, pod.namespace_, pod.stored_uid, pod.node_name) +
         (pod.rare_fields != nullptr ? heap_block_bytes(sizeof(PodRare)) : 0);
}

std::uint64_t bytes_of(const PodSpec& spec) {
  std::uint64_t bytes =
      heap_block_bytes(kControlBlock + sizeof(PodSpec)) +
      heap_bytes(spec.containers, spec.init_containers, spec.overhead, spec.pod_level_requests, spec.pod_level_limits,
                 spec.tolerations, spec.topology_spread_constraints, spec.image_volumes) +
      spec.node_selector.bytes().size();
  for (const auto* const containers : {&spec.containers, &spec.init_containers})
    for (const Container& container : *containers)
      bytes += heap_bytes(container.name, container.image, container.requests, container.limits, container.ports);
  return bytes;
}

/// Objects, each counted once.
class Objects {
 public:
  void add(const Node& node) {
    bytes_ += heap_block_bytes(kControlBlock + sizeof(Node)) +
              heap_bytes(node.name, node.taints, node.images, node.declared_features);
    add_labels(node.labels);
    for (const NodeImage& image : node.images) {
      if (image.names.empty() || !is_new(&image.names.list())) continue;
      bytes_ += heap_block_bytes(kControlBlock + sizeof(SharedTexts::List)) + heap_bytes(image.names.list());
      for (const std::string& name : image.names) bytes_ += heap_bytes(name);
    }
  }
  void add(const Pod& pod) {
    bytes_ += own_bytes(pod);
    if (is_new(pod.spec.get())) bytes_ += bytes_of(*pod.spec);
    if (pod.owners != nullptr && is_new(pod.owners.get()))
      bytes_ += heap_block_bytes(kControlBlock + sizeof(std::vector<OwnerReference>)) + heap_bytes(*pod.owners);
    add_labels(pod.labels);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  bool is_new(const void* shared) { return seen_.insert(shared).second; }
  void add_labels(const LabelMap& labels) {
    if (!labels.empty() && is_new(labels.bytes().data())) bytes_ += heap_block_bytes(labels.bytes().size() + 16);
  }

  std::unordered_set<const void*> seen_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::uint64_t Cluster::bytes() {
  const std::unique_lock alone(mutex_);
  const ClusterCache& cache = backend_->cluster().cache();
  Objects objects;
  for (const NodeInfo* const node : cache.nodes_in_order()) {
    if (node->node != nullptr) objects.add(*node->node);
    for (const PodPtr& pod : node->pods) objects.add(*pod);
  }
  const BackendStats stats = backend_->stats();
  return sizeof(Cluster) + objects.bytes() + cache.memory_bytes() + stats.column_bytes + stats.row_bytes +
         facts_.roster->entries().size() * sizeof(Roster::Entry);
}

void Cluster::note_memory() noexcept {
  if (!share_.is_counted()) return;
  try {
    const std::size_t pods = [&] {
      const std::unique_lock alone(mutex_);
      return backend_->cluster().cache().pod_count();
    }();
    const std::size_t before = pods_counted_.load(std::memory_order_relaxed);
    const std::size_t change = pods > before ? pods - before : before - pods;
    if (before != 0 && change < before / kCountedAgain + kFewPods) return;
    share_.set(bytes());
    pods_counted_.store(pods + 1, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {  // the figure of before stays
    return;
  }
}

std::uint64_t PodHandle::bytes() const {
  return sizeof(PodHandle) + heap_block_bytes(sizeof(ReadPod)) + heap_bytes(pod->uid) + own_bytes(*pod->given);
}

std::uint64_t NodeNumbers::bytes() const { return sizeof(NodeNumbers) + heap_bytes(words_); }

std::uint64_t NodeIndexes::bytes() const {
  return heap_block_bytes(kControlBlock + sizeof(NodeIndexes)) + heap_bytes(of_entry) + heap_bytes(number_of_slot);
}

std::uint64_t Snapshot::bytes() const {
  const std::lock_guard alone(mutex_);
  std::uint64_t bytes = sizeof(Snapshot) + base_->own_bytes() + heap_bytes(readers_);
  for (const Reader& reader : readers_) bytes += reader.fork->own_bytes();
  return bytes;
}

void Snapshot::note_memory() const noexcept {
  if (!share_.is_counted()) return;
  try {
    share_.set(bytes());
  } catch (const std::bad_alloc&) {  // the figure of before stays
    return;
  }
}

std::uint64_t WhatIf::bytes() const {
  const bool has_own_indexes = found_.latest != nullptr && found_.latest->roster != snapshot_->facts().roster;
  return sizeof(WhatIf) + heap_bytes(used_pods_) + (fork_ != nullptr ? fork_->own_bytes() : 0) +
         (has_own_indexes ? found_.latest->bytes() : 0);
}

void WhatIf::note_memory() noexcept {
  if (!share_.is_counted()) return;
  try {
    share_.set(bytes());
  } catch (const std::bad_alloc&) {  // the figure of before stays
    return;
  }
}

std::uint64_t Result::bytes_held() const {
  std::uint64_t held = sizeof(Result) + heap_bytes(json, bytes, message, columns_, texts_, numbers_);
  for (const auto& [id, column] : columns_)
    held += std::visit([](const auto& values) { return heap_bytes(values); }, column);
  for (const std::string& text : texts_) held += heap_bytes(text);
  for (const auto& [text, number] : numbers_) held += heap_bytes(text);
  const std::lock_guard alone(mutex_);
  return held + heap_bytes(record_);
}

void Result::note_memory() const noexcept {
  if (share_.is_counted()) share_.set(bytes_held());
}

}  // namespace berth::capi
