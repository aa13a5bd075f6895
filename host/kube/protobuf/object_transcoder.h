// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/kube/protobuf/json_buffer.h"
#include "host/kube/protobuf/proto_tables.h"

namespace berth {

/// Writes the JSON of a protobuf message as an API server would have, in so far as the schema has its fields. All else
/// is skipped: managedFields above all. Allocates nothing once its text is long enough. One thread at a time.
class ObjectTranscoder {
 public:
  /// @param head  of the object: `"kind":"Status",`, or nothing
  /// @return false, with the reason in problem(): the bytes are no such message
  bool transcode(const ProtoMessage& message, std::string_view bytes, std::string_view head = {});
  /// What the last transcode() wrote, with kSlicePaddingBytes readable bytes behind it; valid until the next one.
  std::string_view json() const { return json_; }
  /// "spec.containers.image is longer than what is there"
  const std::string& problem() const { return problem_; }

 private:
  bool put_fields(const ProtoMessage& message, std::string_view bytes);
  void put_number(const ProtoField& field, std::uint64_t number);
  bool put_value(const ProtoField& field, std::string_view bytes);
  bool put_leaf(FieldKind kind, std::string_view bytes);
  bool put_entry(const ProtoField& field, std::string_view bytes);
  bool fail(std::string_view what) {
    problem_.assign(" ").append(what);
    return false;
  }
  bool fail_in(const ProtoField& field);
  bool fail_in(const ProtoField& field, std::string_view what);

  JsonBuffer out_;
  std::string_view json_;
  std::string problem_;
};

}  // namespace berth
