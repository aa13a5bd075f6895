// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists and watches in protobuf, as the JSON that ApiObjectReader reads.

#include <string>
#include <string_view>

#include "host/kube/protobuf/envelope.h"
#include "host/kube/protobuf/object_transcoder.h"
#include "host/kube/watch/watch_text.h"
#include "host/kube/watch/watched_resource.h"

namespace berth {

/// Whether the resource's objects have a protobuf form that Berth reads.
bool has_protobuf_form(const WatchedResource& resource);

/// Reads what a server sends for one resource. One thread at a time.
class WatchFrameReader {
 public:
  explicit WatchFrameReader(const WatchedResource& resource);

  /// One event. @param out  object: valid until the next call
  /// @return false, with the reason in problem(): it is not the event of a watch of the resource
  bool read_frame(std::string_view frame, WatchLine& out);
  /// A list, or a page of one.
  /// @param on_object  called with each object, which has kSlicePaddingBytes readable bytes behind it
  /// @return false, with the reason in problem(), maybe after some calls
  bool read_list(std::string_view body, ProtoListMeta& out,
                 const std::function<void(std::string_view json)>& on_object);
  const std::string& problem() const { return problem_; }

 private:
  bool transcode(const ProtoEnvelope& envelope);
  bool fail(std::string_view what, std::string_view problem);

  std::string_view kind_;
  const ProtoMessage* message_;  ///< null: there is none
  ObjectTranscoder transcoder_;
  std::string problem_;
};

}  // namespace berth
