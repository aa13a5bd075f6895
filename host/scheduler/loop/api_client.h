// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a scheduler asks of the API server: bindings, status patches, deletions, and that volumes are bound. Calls are
// started and answered later.

#include <cstdint>
#include <variant>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/objects/pod.h"
#include "host/store/deletion.h"
#include "host/store/pod_status.h"
#include "host/store/store_status.h"

namespace berth {

struct ApiCall {
  PodPtr pod;  ///< whom it is about, as the scheduler knows it
  std::variant<PodBinding, PodStatusPatch, DeleteOptions, VolumeDecisionsPtr> request;
  std::int64_t pod_came_us = 0;  ///< of a binding by the first attempt, by the clock: 0: it is none
};

struct ApiAnswer {
  std::uint64_t id = 0;
  StoreStatus status;
};

/// Carries calls to whoever owns the cluster. One thread; nothing waits.
class ApiClient {
 public:
  static constexpr std::int64_t kNeverUs = INT64_MAX;

  virtual ~ApiClient() = default;
  /// @param id  returned with the answer; no other call in flight has it
  virtual void start(std::uint64_t id, const ApiCall& call) = 0;
  /// The answers that have come since.
  virtual std::vector<ApiAnswer> take_answers() = 0;
  /// When the next answer comes, where the client knows it: a simulated one. kNeverUs: it does not.
  virtual std::int64_t next_answer_us() const { return kNeverUs; }
};

}  // namespace berth
