// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/loop_warnings.h"

namespace berth {

void LoopWarnings::on_mismatch(std::string_view text) {
  if (warn_) warn_("the scheduler's cache does not match the cluster and follows it now: " + std::string(text));
}

void LoopWarnings::on_pause(std::size_t unbound_pods) {
  if (warn_)
    warn_("scheduling pauses: " + std::to_string(unbound_pods) +
          " pods have a node and are not bound yet; no other pod is tried until some of them are bound");
}

}  // namespace berth
