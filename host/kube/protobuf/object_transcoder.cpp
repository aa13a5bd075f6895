// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/object_transcoder.h"

#include "host/kube/protobuf/wire_reader.h"
#include "host/objects/json_out.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

constexpr std::int64_t kFirstSecond = -62'135'596'800;  // of the year 1
constexpr std::int64_t kLastSecond = 253'402'300'799;   // of the year 9999

bool is_number(FieldKind kind) {
  return kind == FieldKind::kBool || kind == FieldKind::kInt32 || kind == FieldKind::kInt64;
}
char opening(FieldShape shape) { return shape == FieldShape::kMap ? '{' : '['; }
char closing(FieldShape shape) { return shape == FieldShape::kMap ? '}' : ']'; }

/// Field 1 of a message of one string or number. @return null, or what is wrong
const char* read_only_field(std::string_view bytes, std::string_view& text) {
  WireReader reader(bytes);
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return problem;
    const bool is_text = number == 1 && type == WireType::kLength;
    if (number == 1 && !is_text) return "is of another type than expected";
    if (const char* const problem = is_text ? reader.read_bytes(text) : reader.skip(type)) return problem;
  }
  return nullptr;
}
const char* read_only_field(std::string_view bytes, std::int64_t& value) {
  WireReader reader(bytes);
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return problem;
    if (number == 1 && type != WireType::kVarint) return "is of another type than expected";
    std::uint64_t read = 0;
    if (const char* const problem = number == 1 ? reader.read_varint(read) : reader.skip(type)) return problem;
    if (number == 1) value = static_cast<std::int64_t>(read);
  }
  return nullptr;
}

}  // namespace

/// The problem gets the names of the fields around it, from the inside out.
bool ObjectTranscoder::fail_in(const ProtoField& field) {
  if (field.key.empty()) return false;                                      // its fields stand in the object around it
  const std::string_view name = field.key.substr(1, field.key.size() - 3);  // without quotes and colon
  problem_.insert(0, problem_.starts_with(' ') ? "" : ".");
  problem_.insert(0, name);
  return false;
}

bool ObjectTranscoder::fail_in(const ProtoField& field, std::string_view what) {
  problem_.assign(" ").append(what);
  return fail_in(field);
}

bool ObjectTranscoder::transcode(const ProtoMessage& message, std::string_view bytes, std::string_view head) {
  problem_.clear();
  out_.clear();
  out_.put('{');
  out_.put(head);
  if (!put_fields(message, bytes)) {
    if (problem_.starts_with(' ')) problem_.insert(0, message.name);
    return false;
  }
  out_.close('}');
  out_.end();
  json_ = out_.text(kSlicePaddingBytes);
  return true;
}

bool ObjectTranscoder::put_fields(const ProtoMessage& message, std::string_view bytes) {
  WireReader reader(bytes);
  std::uint64_t seen = 0;            // [field number]
  const ProtoField* open = nullptr;  // a list or map whose elements come
  const auto close = [&] {
    if (open != nullptr) out_.close(closing(open->shape));
    open = nullptr;
  };
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return fail(problem);
    if (number >= message.by_number.size() || message.by_number[number].kind == FieldKind::kUnread) {
      if (const char* const problem = reader.skip(type)) return fail(problem);
      continue;
    }
    const ProtoField& field = message.by_number[number];
    if (&field != open) {
      close();
      // The API server writes fields together and once; the last of two would have to replace or to extend the first.
      if ((seen >> number & 1) != 0) return fail_in(field, "stands in two places");
      seen |= std::uint64_t{1} << number;
      if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) {
        out_.open(field.key, opening(field.shape));
        open = &field;
      }
    }
    if (type != (is_number(field.kind) ? WireType::kVarint : WireType::kLength))
      return fail_in(field, "is of another type than expected");
    std::uint64_t value = 0;
    std::string_view content;
    if (const char* const problem = is_number(field.kind) ? reader.read_varint(value) : reader.read_bytes(content))
      return fail_in(field, problem);
    if (is_number(field.kind)) {
      put_number(field, value);
    } else if (!(field.shape == FieldShape::kMap ? put_entry(field, content) : put_value(field, content))) {
      return fail_in(field);
    }
  }
  close();
  return true;
}

void ObjectTranscoder::put_number(const ProtoField& field, std::uint64_t number) {
  if (number == 0 && field.omits_zero) return;
  out_.put(field.key);
  if (field.kind == FieldKind::kBool) {
    out_.put(number != 0 ? std::string_view("true,") : std::string_view("false,"));
    return;
  }
  // An int32 has 64 bits on the wire, of which the upper ones repeat its sign.
  out_.put_number(field.kind == FieldKind::kInt32 ? static_cast<std::int32_t>(number)
                                                  : static_cast<std::int64_t>(number));
  out_.put(',');
}

bool ObjectTranscoder::put_value(const ProtoField& field, std::string_view bytes) {
  if (field.shape == FieldShape::kInlined) return put_fields(proto_messages()[field.target], bytes);
  if (bytes.empty() && field.omits_zero && field.kind != FieldKind::kMessage && field.kind != FieldKind::kQuantity)
    return true;
  if (field.shape == FieldShape::kOne) out_.put(field.key);
  if (field.kind == FieldKind::kMessage) {
    out_.put('{');
    if (!put_fields(proto_messages()[field.target], bytes)) return false;
    out_.close('}');
    return true;
  }
  return put_leaf(field.kind, bytes);
}

bool ObjectTranscoder::put_leaf(FieldKind kind, std::string_view bytes) {
  if (kind == FieldKind::kQuantity) {
    std::string_view text = "0";
    if (const char* const problem = read_only_field(bytes, text)) return fail(problem);
    out_.put_string(text);
  } else if (kind == FieldKind::kTime && bytes.empty()) {
    out_.put("null");
  } else if (kind == FieldKind::kTime) {
    std::int64_t seconds = 0;
    if (const char* const problem = read_only_field(bytes, seconds)) return fail(problem);
    if (seconds < kFirstSecond || seconds > kLastSecond) return fail("is no time of the years 1 to 9999");
    out_.put_string(format_time(seconds * 1'000'000));
  } else {
    out_.put_string(bytes);
  }
  out_.put(',');
  return true;
}

bool ObjectTranscoder::put_entry(const ProtoField& field, std::string_view bytes) {
  WireReader reader(bytes);
  std::string_view key;
  std::string_view value;
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return fail(problem);
    const bool is_read = number == 1 || number == 2;
    if (is_read && type != WireType::kLength) return fail("has an entry of another type than expected");
    const char* const problem = is_read ? reader.read_bytes(number == 1 ? key : value) : reader.skip(type);
    if (problem != nullptr) return fail(problem);
  }
  out_.put_string(key);
  out_.put(':');
  return put_leaf(field.kind, value);
}

}  // namespace berth
