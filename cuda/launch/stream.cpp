// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/stream.h"

#include <utility>

#include "cuda/launch/check.h"

namespace berth::cuda {

void StreamView::synchronize() const { check(cudaStreamSynchronize(stream_), "wait for the device"); }

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creation of a stream"); }

Stream::~Stream() {
  // The call that requested the work reports a device failure, not a destructor.
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

Stream::Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(stream_, other.stream_);
  return *this;
}

}  // namespace berth::cuda
