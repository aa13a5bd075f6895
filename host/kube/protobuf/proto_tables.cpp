// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/proto_tables.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

#include <kube_proto_tables.inc>

}  // namespace

std::span<const ProtoMessage> proto_messages() { return kMessages; }

const ProtoMessage* find_proto_message(std::string_view name) {
  const auto at =
      std::find_if(kMessages.begin(), kMessages.end(), [&](const ProtoMessage& one) { return one.name == name; });
  return at == kMessages.end() ? nullptr : &*at;
}

}  // namespace berth
