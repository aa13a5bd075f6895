// SPDX-License-Identifier: Apache-2.0
#pragma once

// Messages in protobuf, field by field, as a test wants them.

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

inline std::string varint(std::uint64_t number) {
  std::string out;
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  return out += static_cast<char>(number);
}
inline std::string tag(std::uint32_t field, unsigned wire_type) {
  return varint(std::uint64_t{field} << 3 | wire_type);
}
inline std::string wire(std::uint32_t field, std::string_view content) {
  return tag(field, 2) + varint(content.size()) + std::string(content);
}
inline std::string wire(std::uint32_t field, std::int64_t number) {
  return tag(field, 0) + varint(static_cast<std::uint64_t>(number));
}
/// An object with its envelope.
inline std::string enveloped(std::string_view kind, std::string_view message) {
  return std::string("k8s\0", 4) + wire(1, wire(1, "v1") + wire(2, kind)) + wire(2, message) + wire(3, "") +
         wire(4, "");
}
/// An event of a watch, with its length before it.
inline std::string watch_frame(std::string_view type, std::string_view enveloped_object) {
  const std::string event = wire(1, type) + wire(2, wire(1, enveloped_object));
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(event.size() >> shift);
  return frame + event;
}

}  // namespace berth
