// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/watch_frame.h"

#include <fmt/format.h>

namespace berth {

bool has_protobuf_form(const WatchedResource& resource) { return find_proto_message(resource.item_kind) != nullptr; }

WatchFrameReader::WatchFrameReader(const WatchedResource& resource)
    : kind_(resource.item_kind), message_(find_proto_message(resource.item_kind)) {}

bool WatchFrameReader::fail(std::string_view what, std::string_view problem) {
  problem_ = fmt::format("{} in protobuf {}", what, problem);
  return false;
}

bool WatchFrameReader::transcode(const ProtoEnvelope& envelope) {
  if (envelope.kind == kind_ && message_ != nullptr) {
    if (transcoder_.transcode(*message_, envelope.message)) return true;
    problem_ = fmt::format("a {} in protobuf: {}", kind_, transcoder_.problem());
    return false;
  }
  if (envelope.kind != "Status")
    return fail(fmt::format("a {}", kind_), fmt::format("is of the kind \"{}\"", envelope.kind));
  if (transcoder_.transcode(*find_proto_message("Status"), envelope.message, R"("kind":"Status",)")) return true;
  return fail("a Status", transcoder_.problem());
}

bool WatchFrameReader::read_frame(std::string_view frame, WatchLine& out) {
  problem_.clear();
  ProtoWatchEvent event;
  if (const char* const problem = read_watch_event(frame, event)) return fail("a watch event", problem);
  if (!read_watch_type(event.type, out.type)) return fail("a watch event", "is of an unknown type");
  ProtoEnvelope envelope;
  if (const char* const problem = read_envelope(event.object, envelope)) return fail("an object", problem);
  if (!transcode(envelope)) return false;
  out.object = transcoder_.json();
  return true;
}

bool WatchFrameReader::read_list(std::string_view body, ProtoListMeta& out,
                                 const std::function<void(std::string_view)>& on_object) {
  problem_.clear();
  ProtoEnvelope envelope;
  if (const char* const problem = read_envelope(body, envelope)) return fail("a list", problem);
  const bool is_list = envelope.kind.ends_with("List") && envelope.kind.substr(0, envelope.kind.size() - 4) == kind_;
  if (!is_list) return fail("a list", fmt::format("is of the kind \"{}\"", envelope.kind));
  ProtoEnvelope item{envelope.api_version, kind_, {}};
  const char* const problem = berth::read_list(envelope.message, out, [&](std::string_view message) {
    item.message = message;
    if (!transcode(item)) return false;
    on_object(transcoder_.json());
    return true;
  });
  if (problem != nullptr) return fail("a list", problem);
  return problem_.empty();
}

}  // namespace berth
