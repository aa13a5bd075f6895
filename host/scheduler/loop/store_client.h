// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "host/scheduler/loop/api_client.h"
#include "host/store/object_store.h"

namespace berth {

/// Makes calls on an ObjectStore, at once.
class StoreClient : public ApiClient {
 public:
  explicit StoreClient(ObjectStore& store) : store_(store) {}  ///< the store outlives the client
  void start(std::uint64_t id, const ApiCall& call) override;
  std::vector<ApiAnswer> take_answers() override { return std::exchange(answers_, {}); }

 private:
  ObjectStore& store_;
  std::vector<ApiAnswer> answers_;
};

}  // namespace berth
