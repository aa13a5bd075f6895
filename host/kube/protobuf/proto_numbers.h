// SPDX-License-Identifier: Apache-2.0
#pragma once

// Field numbers of *.proto by their names, for what is read and written by hand.

#include <array>
#include <cstdint>
#include <string_view>

#include "host/kube/protobuf/proto_tables.h"

namespace berth {
namespace proto_detail {
#include <kube_proto_tables.inc>
}  // namespace proto_detail

/// field_number("ObjectMeta", "uid") is 5; does not compile for a field that the schema does not have.
consteval std::uint32_t field_number(std::string_view message, std::string_view field) {
  for (const ProtoMessage& one : proto_detail::kMessages) {
    if (one.name != message) continue;
    for (std::uint32_t number = 0; number < one.by_number.size(); ++number) {
      const std::string_view key = one.by_number[number].key;
      if (key.size() > 3 && key.substr(1, key.size() - 3) == field) return number;
    }
  }
  throw "no such field";
}

}  // namespace berth
