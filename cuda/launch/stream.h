// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace berth::cuda {

/// A stream that somebody else owns. There is none to be had without naming one: the default stream waits for all
/// others and is never meant, so neither 0 nor nullptr makes a view.
class StreamView {
 public:
  explicit StreamView(cudaStream_t stream) : stream_(stream) {}
  StreamView(int) = delete;
  StreamView(std::nullptr_t) = delete;

  cudaStream_t raw() const { return stream_; }

  /// Waits until the device has done all that was put on the stream so far. Called where a host value is returned, and
  /// nowhere else.
  /// @throws DeviceLost when one of these things failed
  void synchronize() const;

  friend bool operator==(StreamView, StreamView) = default;

 private:
  cudaStream_t stream_;
};

/// Owns a stream of the device that was current when it was made; it does not wait for the default stream.
class Stream {
 public:
  /// @throws DeviceError
  Stream();
  /// Does not wait: what is on the stream is still done.
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
