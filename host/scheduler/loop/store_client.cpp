// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/store_client.h"

#include <variant>

namespace berth {
namespace {

struct Caller {
  ObjectStore& store;
  const Pod& pod;
  StoreStatus operator()(const PodBinding& binding) const { return store.bind(binding).status; }
  StoreStatus operator()(const PodStatusPatch& patch) const { return store.update_status(key_of(pod), patch).status; }
  StoreStatus operator()(const DeleteOptions& options) const { return store.remove<Pod>(key_of(pod), options).status; }
  StoreStatus operator()(const VolumeDecisionsPtr& decisions) const { return store.bind_volumes(*decisions); }
};

}  // namespace

void StoreClient::start(std::uint64_t id, const ApiCall& call) {
  answers_.push_back({id, std::visit(Caller{store_, *call.pod}, call.request)});
}

}  // namespace berth
