// SPDX-License-Identifier: Apache-2.0
#pragma once

// How an API server and its clients wrap protobuf: k8s.io/apimachinery/pkg/runtime/serializer/protobuf.

#include <functional>
#include <string>
#include <string_view>

namespace berth {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

/// Whether bytes begin as an object in protobuf does. No JSON text begins so.
bool is_protobuf(std::string_view bytes);

/// An object and what it is. Points into the bytes that it was read of.
struct ProtoEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;  ///< of that kind
};
/// @return null, or what is wrong: `the envelope ends within a number`
const char* read_envelope(std::string_view bytes, ProtoEnvelope& out);

struct ProtoWatchEvent {
  std::string_view type;    ///< "ADDED"
  std::string_view object;  ///< with its envelope
};
/// @return null, or what is wrong
const char* read_watch_event(std::string_view bytes, ProtoWatchEvent& out);

struct ProtoListMeta {
  std::string_view resource_version;  ///< empty: there is none
  std::string_view next_page;         ///< value of `continue`; empty: the list is complete
};
/// @param on_item  called with each message of a list; false ends the reading
/// @return null, also where on_item ended it; or what is wrong
const char* read_list(std::string_view message, ProtoListMeta& out,
                      const std::function<bool(std::string_view item)>& on_item);

struct BindingMessage {
  std::string_view pod_namespace;
  std::string_view pod_name;
  std::string_view pod_uid;  ///< empty: any
  std::string_view node_name;
};
/// core/v1 Binding with its envelope: the body of a request.
std::string encode(const BindingMessage& binding);

}  // namespace berth
