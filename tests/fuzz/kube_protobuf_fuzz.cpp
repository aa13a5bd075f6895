// SPDX-License-Identifier: Apache-2.0
// Any bytes are a message of any kind of the schema: never a crash, and what is not refused is JSON that parses. What
// its objects decode to is tests/unit/kube_protobuf/pairs_test.cpp's. tests/unit/kube_protobuf/nasty_input_test.cpp
// runs the same function on a fixed set.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "host/kube/protobuf/envelope.h"
#include "host/kube/protobuf/frame_buffer.h"
#include "host/kube/protobuf/object_transcoder.h"
#include "host/kube/watch/api_object_reader.h"
#include "host/kube/watch/watch_frame.h"
#include "host/objects/json_value.h"
#include "host/objects/text/text_limits.h"

namespace {

using namespace berth;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr WatchedResource kWatchedPods{ObjectKind::kPod, "pods", "/api/v1/pods", "v1", "Pod"};

void check_json(std::string_view json) {
  static JsonParser parser;
  require(parser.parse(json, json.data() + json.size() + kSlicePaddingBytes).has_value());
}

void read_pod(std::string_view json) {
  static ApiObjectReader reader;
  check_json(json);
  const bool is_read = reader.read<Pod>({kWatchedPods, json}) != nullptr;
  require(is_read || !reader.problem().empty() || !reader.finished_pod().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static ObjectTranscoder transcoder;
  static WatchFrameReader frames(kWatchedPods);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ProtoMessage& message = proto_messages()[data[0] % proto_messages().size()];
  if (!transcoder.transcode(message, bytes)) {
    require(!transcoder.problem().empty());
  } else if (message.name == "Pod") {
    read_pod(transcoder.json());
  } else {
    check_json(transcoder.json());
  }
  WatchLine line;
  if (!frames.read_frame(bytes, line)) {
    require(!frames.problem().empty());
  } else if (line.type == WatchLineType::kError) {
    check_json(line.object);
  } else {
    read_pod(line.object);
  }
  ProtoListMeta meta;
  if (!frames.read_list(bytes, meta, read_pod)) require(!frames.problem().empty());
  FrameBuffer buffer;
  std::size_t cut = 0;
  buffer.add(bytes, [&](std::string_view frame) {
    cut += frame.size();
    return true;
  });
  require(cut <= bytes.size());
  static_cast<void>(read_api_status(bytes));
  return 0;
}
