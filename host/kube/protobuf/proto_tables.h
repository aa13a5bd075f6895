// SPDX-License-Identifier: Apache-2.0
#pragma once

// The messages of *.proto as tables, which the build makes of what protoc compiles.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace berth {

enum class FieldKind : std::uint8_t { kUnread, kText, kBool, kInt32, kInt64, kMessage, kQuantity, kTime };
enum class FieldShape : std::uint8_t { kOne, kList, kMap, kInlined };

struct ProtoField {
  FieldKind kind = FieldKind::kUnread;  ///< of a map: of its values
  FieldShape shape = FieldShape::kOne;
  bool omits_zero = false;   ///< the JSON leaves it out where the value is zero
  std::uint16_t target = 0;  ///< of kMessage: its message
  std::string_view key;      ///< with quotes and colon: `"name":`
};

struct ProtoMessage {
  std::string_view name;                  ///< "PodSpec"
  std::span<const ProtoField> by_number;  ///< [field number]; what is behind it is unread too
};

/// All of them; ProtoField::target counts in here.
std::span<const ProtoMessage> proto_messages();
/// null: there is none of that name
const ProtoMessage* find_proto_message(std::string_view name);

}  // namespace berth
