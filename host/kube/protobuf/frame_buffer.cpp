// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/frame_buffer.h"

namespace berth {
namespace {

constexpr std::size_t kHeadBytes = 4;

std::size_t length_of(std::string_view head) {
  std::size_t length = 0;
  for (const char c : head.substr(0, kHeadBytes)) length = length << 8 | static_cast<unsigned char>(c);
  return length;
}

}  // namespace

bool FrameBuffer::add(std::string_view bytes, const std::function<bool(std::string_view)>& on_frame) {
  bytes_.append(bytes);
  std::string_view rest(bytes_);
  bool goes_on = true;
  while (goes_on && rest.size() >= kHeadBytes) {
    const std::size_t length = length_of(rest);
    goes_on = length <= kFrameBytesMax;
    if (!goes_on || rest.size() - kHeadBytes < length) break;
    const std::string_view frame = rest.substr(kHeadBytes, length);
    rest.remove_prefix(kHeadBytes + length);
    if (!frame.empty()) goes_on = on_frame(frame);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
  return goes_on;
}

}  // namespace berth
