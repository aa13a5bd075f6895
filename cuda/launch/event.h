// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "cuda/launch/check.h"
#include "cuda/launch/stream.h"

namespace berth::cuda {

enum class EventTiming : bool { kOff, kOn };

/// Owns a CUDA event. With timing (for benchmarks; it has a small cost) the time between two events can be read.
class Event {
 public:
  /// @throws DeviceError
  explicit Event(EventTiming timing = EventTiming::kOff) {
    const unsigned flags = timing == EventTiming::kOn ? cudaEventDefault : cudaEventDisableTiming;
    check(cudaEventCreateWithFlags(&event_, flags), "creation of an event");
  }
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Records the event after the current work of the stream. Does not wait.
  void record(StreamView stream) { check(cudaEventRecord(event_, stream.raw()), "recording of an event"); }

  /// Makes later work of `stream` wait for the event. Does not wait itself.
  void hold(StreamView stream) const { check(cudaStreamWaitEvent(stream.raw(), event_), "wait of a stream"); }

  /// Waits until the event was reached. @throws DeviceLost when something before it failed
  void synchronize() const { check(cudaEventSynchronize(event_), "wait for an event"); }

  /// Whether the event was reached. @throws DeviceLost when something before it failed
  bool is_passed() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) return false;
    check(code, "query of an event");
    return true;
  }

  /// Microseconds from `begin` to this event; both with timing, and reached.
  double elapsed_us_since(const Event& begin) const {
    float elapsed_ms = 0;
    check(cudaEventElapsedTime(&elapsed_ms, begin.event_, event_), "time between events");
    return 1000.0 * static_cast<double>(elapsed_ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace berth::cuda
