// SPDX-License-Identifier: Apache-2.0
#include "host/capi/handles.h"

namespace berth::capi {
namespace {

void refuse_other(bool is_same, const char* argument) {
  if (!is_same) throw ApiError(BERTH_E_ARGUMENT, argument, "belongs to another cluster");
}

}  // namespace

PodHandlePtr pod_argument(const berth_pod* pod, const Cluster& cluster) {
  PodHandlePtr handle = needed(pod, "pod").pod;
  refuse_other(handle->cluster.get() == &cluster, "pod");
  return handle;
}

std::vector<PodHandlePtr> pod_arguments(const berth_pod* const* pods, std::size_t count, const Cluster& cluster) {
  std::vector<PodHandlePtr> handles;
  if (count == 0) return handles;
  needed(pods, "pods");
  handles.reserve(count);
  for (std::size_t i = 0; i < count; ++i) handles.push_back(pod_argument(pods[i], cluster));
  return handles;
}

void fill(berth_result& handle, std::unique_ptr<Result> result) noexcept {
  *handle.owner = std::move(result);
  handle.result = std::shared_ptr<const Result>(handle.owner, handle.owner->get());
  handle.result->note_memory();
}

std::unique_ptr<berth_result> as_handle(std::unique_ptr<Result> result) {
  auto handle = std::make_unique<berth_result>();
  fill(*handle, std::move(result));
  return handle;
}

const NodeNumbers* node_set_argument(const berth_node_set* set, const Cluster& cluster) {
  if (set == nullptr) return nullptr;
  refuse_other(set->cluster.get() == &cluster, "nodes");
  return &set->numbers;
}

}  // namespace berth::capi
