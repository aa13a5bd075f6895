// SPDX-License-Identifier: Apache-2.0
// Cancel tokens of berth.h.

#include <memory>

#include "host/capi/guard.h"
#include "host/capi/stop_watch.h"

using namespace berth::capi;  // NOLINT(google-build-using-namespace): the C functions stand outside every namespace

extern "C" {

berth_status berth_cancel_create(berth_cancel** cancel, berth_error* error) {
  return guarded(error, [&] {
    needed(cancel, "cancel");
    *cancel = std::make_unique<berth_cancel>().release();
  });
}

void berth_cancel_free(berth_cancel** cancel) {
  if (cancel == nullptr) return;
  delete *cancel;
  *cancel = nullptr;
}

void berth_cancel_trigger(berth_cancel* cancel) {
  if (cancel != nullptr) cancel->is_triggered.store(true, std::memory_order_relaxed);
}

void berth_cancel_reset(berth_cancel* cancel) {
  if (cancel != nullptr) cancel->is_triggered.store(false, std::memory_order_relaxed);
}

int32_t berth_cancel_is_triggered(const berth_cancel* cancel) {
  return cancel != nullptr && cancel->is_triggered.load(std::memory_order_relaxed) ? 1 : 0;
}

}  // extern "C"
