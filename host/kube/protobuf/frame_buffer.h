// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace berth {

/// Cuts a stream into frames: four bytes of length, the highest first, and so many bytes.
class FrameBuffer {
 public:
  /// So that the first byte of a stream is 0, which no JSON text begins with.
  static constexpr std::size_t kFrameBytesMax = (std::size_t{1} << 24) - 1;

  /// @param on_frame  called with each frame that is complete; false ends the reading. An empty frame is left out
  /// @return false: on_frame ended it, or a frame is longer than kFrameBytesMax
  bool add(std::string_view bytes, const std::function<bool(std::string_view frame)>& on_frame);

 private:
  std::string bytes_;
};

}  // namespace berth
