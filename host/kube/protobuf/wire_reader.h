// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fields of one protobuf message, in the order of their bytes: protobuf.dev/programming-guides/encoding.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace berth {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// Reads from bytes that the caller keeps. Each function returns null when the bytes are well formed, and otherwise
/// says what they are; what was read then does not count.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes)
      : at_(reinterpret_cast<const std::uint8_t*>(bytes.data())), end_(at_ + bytes.size()) {}

  bool is_at_end() const { return at_ == end_; }

  const char* read_varint(std::uint64_t& out) {
    if (at_ != end_ && *at_ < 0x80) {
      out = *at_++;
      return nullptr;
    }
    return read_long_varint(out);
  }
  const char* read_tag(std::uint32_t& number, WireType& type) {
    std::uint64_t tag = 0;
    if (const char* const problem = read_varint(tag)) return problem;
    const std::uint64_t wire_type = tag & 7;
    if (wire_type == 3 || wire_type == 4) return "is a group, which Kubernetes does not use";
    if (wire_type > 5) return "has no wire type that there is";
    if (tag >> 3 == 0 || tag > std::numeric_limits<std::uint32_t>::max()) return "has no field number that there is";
    number = static_cast<std::uint32_t>(tag >> 3);
    type = static_cast<WireType>(wire_type);
    return nullptr;
  }
  const char* read_bytes(std::string_view& out) {
    std::uint64_t length = 0;
    if (const char* const problem = read_varint(length)) return problem;
    if (length > rest()) return "is longer than what is there";
    out = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(length)};
    at_ += length;
    return nullptr;
  }
  const char* skip(WireType type) {
    if (type == WireType::kVarint) {
      std::uint64_t number = 0;
      return read_varint(number);
    }
    if (type == WireType::kLength) {
      std::string_view bytes;
      return read_bytes(bytes);
    }
    const std::size_t size = type == WireType::kFixed64 ? 8 : 4;
    if (size > rest()) return "is longer than what is there";
    at_ += size;
    return nullptr;
  }

 private:
  std::size_t rest() const { return static_cast<std::size_t>(end_ - at_); }
  const char* read_long_varint(std::uint64_t& out) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) return "ends within a number";
      const std::uint64_t byte = *at_++;
      if (shift == 63 && byte > 1) return "holds a number of more than 64 bits";
      value |= (byte & 0x7F) << shift;
      if (byte < 0x80) {
        out = value;
        return nullptr;
      }
    }
    return "holds a number of more than 64 bits";
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace berth
