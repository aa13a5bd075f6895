// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/envelope.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "host/kube/protobuf/frame_buffer.h"
#include "tests/unit/kube_protobuf/wire_writer.h"

namespace berth {
namespace {

TEST(ProtobufEnvelope, NamesKindAndVersion) {
  ProtoEnvelope envelope;
  const std::string bytes = enveloped("Pod", "message");
  ASSERT_EQ(read_envelope(bytes, envelope), nullptr);
  EXPECT_EQ(envelope.api_version, "v1");
  EXPECT_EQ(envelope.kind, "Pod");
  EXPECT_EQ(envelope.message, "message");
}

TEST(ProtobufEnvelope, RefusesWhatIsNone) {
  ProtoEnvelope envelope;
  EXPECT_STREQ(read_envelope("{}", envelope), "does not begin as one does");
  EXPECT_STREQ(read_envelope("k8s", envelope), "does not begin as one does");
  const std::string magic("k8s\0", 4);
  EXPECT_STREQ(read_envelope(magic + wire(3, "gzip"), envelope), "has a content encoding, which no API server uses");
  EXPECT_STREQ(read_envelope(magic + wire(1, 7), envelope), "has a field of another type than expected");
  const std::string whole = enveloped("Pod", "message");
  for (std::size_t length = magic.size() + 1; length < whole.size(); ++length)
    read_envelope(whole.substr(0, length), envelope);  // says no more than it can
}

TEST(ProtobufEnvelope, AWatchEventHoldsAnEnvelopedObject) {
  ProtoWatchEvent event;
  const std::string frame = watch_frame("ADDED", enveloped("Pod", "x"));
  ASSERT_EQ(read_watch_event(std::string_view(frame).substr(4), event), nullptr);
  EXPECT_EQ(event.type, "ADDED");
  EXPECT_EQ(event.object, enveloped("Pod", "x"));
  EXPECT_STREQ(read_watch_event(wire(2, 4), event), "has a field of another type than expected");
}

TEST(ProtobufEnvelope, AListGivesItsItems) {
  ProtoListMeta meta;
  std::vector<std::string> items;
  const auto note = [&](std::string_view item) {
    items.emplace_back(item);
    return true;
  };
  const std::string list =
      wire(1, wire(2, "7") + wire(3, "next") + wire(4, 100)) + wire(2, "a") + wire(2, "") + wire(9, 1);
  ASSERT_EQ(read_list(list, meta, note), nullptr);
  EXPECT_EQ(meta.resource_version, "7");
  EXPECT_EQ(meta.next_page, "next");
  EXPECT_EQ(items, (std::vector<std::string>{"a", ""}));
  EXPECT_STREQ(read_list(list + "\x12\x05", meta, note), "is longer than what is there");
  items.clear();
  EXPECT_EQ(read_list(list, meta, [&](std::string_view item) { return items.emplace_back(item).empty(); }), nullptr);
  EXPECT_EQ(items.size(), 1u);
}

/// Bytes that k8s.io/api v0.35.4 writes for the same binding, without the fields that are empty.
TEST(ProtobufEnvelope, ABindingIsWrittenWithItsNumbers) {
  const std::string body = encode(BindingMessage{"shop", "web-0", "u-1", "node-1"});
  ProtoEnvelope envelope;
  ASSERT_EQ(read_envelope(body, envelope), nullptr);
  EXPECT_EQ(envelope.kind, "Binding");
  EXPECT_EQ(envelope.api_version, "v1");
  EXPECT_EQ(envelope.message, wire(1, wire(1, "web-0") + wire(3, "shop") + wire(5, "u-1")) +
                                  wire(2, wire(1, "Node") + wire(3, "node-1")));
  const std::string without_uid = encode(BindingMessage{"shop", "web-0", "", "node-1"});
  ASSERT_EQ(read_envelope(without_uid, envelope), nullptr);
  EXPECT_EQ(envelope.message.find("u-1"), std::string_view::npos);
}

TEST(FrameBuffer, CutsAStreamWhereverItsPiecesEnd) {
  const std::string stream = watch_frame("ADDED", "first") + std::string(4, '\0') + watch_frame("DELETED", "second");
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameBuffer buffer;
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece)
      EXPECT_TRUE(buffer.add(std::string_view(stream).substr(at, piece), [&](std::string_view frame) {
        frames.emplace_back(frame);
        return true;
      }));
    ASSERT_EQ(frames.size(), 2u) << piece;
    EXPECT_EQ(frames[0], watch_frame("ADDED", "first").substr(4));
    EXPECT_EQ(frames[1], watch_frame("DELETED", "second").substr(4));
  }
}

TEST(FrameBuffer, RefusesAFrameThatIsTooLong) {
  FrameBuffer buffer;
  const auto never = [](std::string_view) -> bool { throw std::logic_error("a frame"); };
  EXPECT_TRUE(buffer.add(std::string("\0\xFF\xFF\xFF", 4), never));
  FrameBuffer other;
  EXPECT_FALSE(other.add(std::string("\1\0\0\0", 4), never));
}

TEST(FrameBuffer, EndsWhereItsReaderWantsNoMore) {
  FrameBuffer buffer;
  int frames = 0;
  EXPECT_FALSE(
      buffer.add(watch_frame("A", "x") + watch_frame("B", "y"), [&](std::string_view) { return ++frames > 1; }));
  EXPECT_EQ(frames, 1);
}

}  // namespace
}  // namespace berth
