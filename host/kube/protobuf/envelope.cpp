// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/envelope.h"

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "host/kube/protobuf/proto_numbers.h"
#include "host/kube/protobuf/wire_reader.h"

namespace berth {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr const char* kWrongType = "has a field of another type than expected";

struct WantedField {
  std::uint32_t number;
  std::string_view& out;
};

/// Fields that have a length; of those that stand twice the last one counts. @return null, or what is wrong
const char* read_fields(std::string_view bytes, std::initializer_list<WantedField> wanted) {
  WireReader reader(bytes);
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return problem;
    std::string_view* out = nullptr;
    for (const WantedField& field : wanted)
      if (field.number == number) out = &field.out;
    if (out != nullptr && type != WireType::kLength) return kWrongType;
    if (const char* const problem = out != nullptr ? reader.read_bytes(*out) : reader.skip(type)) return problem;
  }
  return nullptr;
}

void append_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

/// A text, or a message; nothing where it is empty.
void append_field(std::string& out, std::uint32_t number, std::string_view content) {
  if (content.empty()) return;
  append_varint(out, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(WireType::kLength));
  append_varint(out, content.size());
  out.append(content);
}

std::string message_of(std::initializer_list<std::pair<std::uint32_t, std::string_view>> fields) {
  std::string message;
  for (const auto& [number, content] : fields) append_field(message, number, content);
  return message;
}

}  // namespace

bool is_protobuf(std::string_view bytes) { return bytes.starts_with(kMagic); }

const char* read_envelope(std::string_view bytes, ProtoEnvelope& out) {
  if (!is_protobuf(bytes)) return "does not begin as one does";
  out = {};
  std::string_view type;
  std::string_view encoding;
  if (const char* const problem =
          read_fields(bytes.substr(kMagic.size()), {{field_number("Unknown", "typeMeta"), type},
                                                    {field_number("Unknown", "raw"), out.message},
                                                    {field_number("Unknown", "contentEncoding"), encoding}}))
    return problem;
  if (!encoding.empty()) return "has a content encoding, which no API server uses";
  return read_fields(
      type, {{field_number("TypeMeta", "apiVersion"), out.api_version}, {field_number("TypeMeta", "kind"), out.kind}});
}

const char* read_watch_event(std::string_view bytes, ProtoWatchEvent& out) {
  out = {};
  std::string_view object;
  if (const char* const problem = read_fields(
          bytes, {{field_number("WatchEvent", "type"), out.type}, {field_number("WatchEvent", "object"), object}}))
    return problem;
  return read_fields(object, {{field_number("RawExtension", "raw"), out.object}});
}

const char* read_list(std::string_view message, ProtoListMeta& out,
                      const std::function<bool(std::string_view)>& on_item) {
  out = {};
  WireReader reader(message);
  while (!reader.is_at_end()) {
    std::uint32_t number = 0;
    WireType type{};
    if (const char* const problem = reader.read_tag(number, type)) return problem;
    if (number != field_number("List", "metadata") && number != field_number("List", "items")) {
      if (const char* const problem = reader.skip(type)) return problem;
      continue;
    }
    std::string_view content;
    if (type != WireType::kLength) return kWrongType;
    if (const char* const problem = reader.read_bytes(content)) return problem;
    if (number == field_number("List", "items")) {
      if (!on_item(content)) return nullptr;
    } else if (const char* const problem =
                   read_fields(content, {{field_number("ListMeta", "resourceVersion"), out.resource_version},
                                         {field_number("ListMeta", "continue"), out.next_page}})) {
      return problem;
    }
  }
  return nullptr;
}

std::string encode(const BindingMessage& binding) {
  const std::string metadata = message_of({{field_number("ObjectMeta", "name"), binding.pod_name},
                                           {field_number("ObjectMeta", "namespace"), binding.pod_namespace},
                                           {field_number("ObjectMeta", "uid"), binding.pod_uid}});
  const std::string target = message_of({{field_number("ObjectReference", "kind"), "Node"},
                                         {field_number("ObjectReference", "name"), binding.node_name}});
  const std::string type =
      message_of({{field_number("TypeMeta", "apiVersion"), "v1"}, {field_number("TypeMeta", "kind"), "Binding"}});
  const std::string message =
      message_of({{field_number("Binding", "metadata"), metadata}, {field_number("Binding", "target"), target}});
  std::string body(kMagic);
  body += message_of({{field_number("Unknown", "typeMeta"), type}, {field_number("Unknown", "raw"), message}});
  return body;
}

}  // namespace berth
