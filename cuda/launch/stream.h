// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace berth::cuda {

/// A non-owning view of a stream. The default stream waits for all others and is never intended, so that neither 0 nor
/// nullptr creates a view.
class StreamView {
 public:
  explicit StreamView(cudaStream_t stream) : stream_(stream) {}
  StreamView(int) = delete;
  StreamView(std::nullptr_t) = delete;

  cudaStream_t raw() const { return stream_; }

  /// Waits until the device has finished the current work of the stream. Called only where a host value is returned.
  /// @throws DeviceLost when any of this work failed
  void synchronize() const;

  friend bool operator==(StreamView, StreamView) = default;

 private:
  cudaStream_t stream_;
};

/// Owns a stream of the device that was current at its construction; it does not wait for the default stream.
class Stream {
 public:
  /// @throws DeviceError
  Stream();
  /// Does not wait: enqueued work still runs.
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamView view() const { return StreamView(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace berth::cuda
