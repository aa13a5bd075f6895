// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/api_formats.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "host/kube/protobuf/envelope.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kAnyType = "*/*";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool can_read(std::string_view type) { return type == kJsonType || type == kProtobufType || type == kAnyType; }

/// Of "application/cbor, application/json;q=0.9" the second.
std::string readable_types(std::string_view list) {
  std::string readable;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    if (!can_read(trimmed(entry.substr(0, entry.find(';'))))) continue;
    if (!readable.empty()) readable += ", ";
    readable += trimmed(entry);
  }
  return readable;
}

[[noreturn]] void refuse(std::string field, const std::string& value, const std::string& expected) {
  throw InputError(InputProblem{"clientConnection", std::move(field), "got \"" + value + "\", expected " + expected});
}

}  // namespace

ApiFormats api_formats(const ClientConnection& connection) {
  const std::string expected = std::string(kJsonType) + " or " + std::string(kProtobufType);
  const bool is_protobuf = connection.content_type == kProtobufType;
  if (!is_protobuf && connection.content_type != kJsonType) refuse("contentType", connection.content_type, expected);
  ApiFormats formats;
  formats.bind = is_protobuf ? BodyFormat::kProtobuf : BodyFormat::kJson;
  const std::string& accepted = connection.accept_content_types;
  // As client-go: a server without the type answers with what it has.
  if (accepted.empty()) formats.accept = connection.content_type + (is_protobuf ? ", */*" : "");
  if (!accepted.empty()) formats.accept = readable_types(accepted);
  if (formats.accept.empty()) refuse("acceptContentTypes", accepted, "a list with " + expected);
  return formats;
}

}  // namespace berth
