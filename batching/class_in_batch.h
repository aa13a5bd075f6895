// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/backend.h"

namespace berth {

/// What a batch has found out about a class, so that its next pod need not ask again. Batches are numbered from 1.
struct ClassInBatch {
  /// The latest batch in which neither PreFilter nor PreScore said anything about its pods. What they read changes
  /// between batches only.
  std::uint64_t passes_in = 0;
  /// Why its pods find no node. Valid for the next one while the log has not grown.
  struct Failure {
    std::uint64_t batch = 0;           ///< that `message` belongs to
    std::uint64_t answer_version = 0;  ///< DiagnosisRow::Answer::version
    std::uint64_t log_position = 0;
    OutcomeKind kind = OutcomeKind::kUnschedulable;
    std::int32_t message = -1;  ///< index into BatchResult::messages
  };
  Failure failure;
};

}  // namespace berth
