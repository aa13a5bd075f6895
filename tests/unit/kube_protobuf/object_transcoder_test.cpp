// SPDX-License-Identifier: Apache-2.0
#include "host/kube/protobuf/object_transcoder.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "tests/unit/kube_protobuf/wire_writer.h"

namespace berth {
namespace {

std::string json_of(std::string_view message, const std::string& bytes) {
  ObjectTranscoder transcoder;
  return transcoder.transcode(*find_proto_message(message), bytes) ? std::string(transcoder.json())
                                                                   : "refused: " + transcoder.problem();
}

std::string label_of(const std::string& text) { return json_of("Toleration", wire(3, text)); }

TEST(ObjectTranscoder, WritesWhatTheSchemaHasAndSkipsTheRest) {
  const std::string managed_fields = wire(17, std::string(300, 'x'));
  const std::string metadata = wire(1, "web-0") + managed_fields + wire(3, "shop") + tag(50, 5) + "1234" + tag(51, 1) +
                               "12345678" + wire(99, 5) + wire(6, "12");
  EXPECT_EQ(json_of("Pod", wire(1, metadata) + wire(2, "") + wire(7, "unknown")),
            R"({"metadata":{"name":"web-0","namespace":"shop","resourceVersion":"12"},"spec":{}})");
}

TEST(ObjectTranscoder, LeavesZerosOutWhereGoDoes) {
  EXPECT_EQ(json_of("PodSpec", wire(3, "") + wire(11, 0)), "{}");         // omitempty
  EXPECT_EQ(json_of("PodSpec", wire(4, 0) + wire(25, 0) + wire(29, "")),  // pointers
            R"({"terminationGracePeriodSeconds":0,"priority":0,"runtimeClassName":""})");
  EXPECT_EQ(json_of("Taint", wire(1, "") + wire(2, "") + wire(3, "")), R"({"key":"","effect":""})");
}

TEST(ObjectTranscoder, WritesListsMapsAndInlinedMessages) {
  EXPECT_EQ(json_of("PodSpec", wire(1, wire(1, "data") + wire(2, wire(1, wire(1, "/x"))))),
            R"({"volumes":[{"name":"data","hostPath":{"path":"/x"}}]})");
  EXPECT_EQ(json_of("NodeStatus", wire(2, wire(1, "cpu") + wire(2, wire(1, "4"))) + wire(2, wire(1, "pods"))),
            R"({"allocatable":{"cpu":"4","pods":"0"}})");
  EXPECT_EQ(json_of("LabelSelector", wire(1, wire(1, "a") + wire(2, "b")) + wire(1, wire(1, "c"))),
            R"({"matchLabels":{"a":"b","c":""}})");
  EXPECT_EQ(json_of("ContainerImage", wire(1, "a") + wire(1, "") + wire(2, 7)), R"({"names":["a",""],"sizeBytes":7})");
}

TEST(ObjectTranscoder, ReadsNumbersOfEachWidth) {
  EXPECT_EQ(json_of("PodSpec", wire(25, -5)), R"({"priority":-5})");
  EXPECT_EQ(json_of("PodSpec", wire(4, std::numeric_limits<std::int64_t>::min())),
            R"({"terminationGracePeriodSeconds":-9223372036854775808})");
  EXPECT_EQ(json_of("PodSpec", wire(11, 1)), R"({"hostNetwork":true})");
}

TEST(ObjectTranscoder, WritesTimesInUtc) {
  const auto created = [](const std::string& time) { return json_of("ObjectMeta", wire(8, time)); };
  EXPECT_EQ(created(wire(1, 1'700'000'000) + wire(2, 5)), R"({"creationTimestamp":"2023-11-14T22:13:20Z"})");
  EXPECT_EQ(created(wire(1, 0)), R"({"creationTimestamp":"1970-01-01T00:00:00Z"})");
  EXPECT_EQ(created(wire(1, -62'135'596'800)), R"({"creationTimestamp":"0001-01-01T00:00:00Z"})");
  EXPECT_EQ(created(wire(1, 253'402'300'799)), R"({"creationTimestamp":"9999-12-31T23:59:59Z"})");
  EXPECT_EQ(created(""), "{}");
  EXPECT_EQ(created(wire(1, 253'402'300'800)), "refused: creationTimestamp is no time of the years 1 to 9999");
  EXPECT_EQ(json_of("PodDisruptionBudgetStatus", wire(2, wire(1, "p"))), R"({"disruptedPods":{"p":null}})");
}

TEST(ObjectTranscoder, EscapesAndRepairsTextAsGoDoes) {
  EXPECT_EQ(label_of("a\"b\\c\n"), "{\"value\":\"a\\\"b\\\\c\\u000a\"}");
  EXPECT_EQ(label_of("1234567\"1234567890"), R"({"value":"1234567\"1234567890"})");
  EXPECT_EQ(label_of("né 漢 😀 a long text"), R"({"value":"né 漢 😀 a long text"})");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(label_of("a\xFF"), "{\"value\":\"a" + replaced + "\"}");
  EXPECT_EQ(label_of("\xC3(\xE2\x82"), "{\"value\":\"" + replaced + "(" + replaced + replaced + "\"}");
  EXPECT_EQ(label_of("\xED\xA0\x80"), "{\"value\":\"" + replaced + replaced + replaced + "\"}");  // a surrogate
  EXPECT_EQ(label_of("\xC0\x80"), "{\"value\":\"" + replaced + replaced + "\"}");                 // a long form
}

TEST(ObjectTranscoder, NamesTheFieldThatIsMalformed) {
  const auto image = [](const std::string& field) { return json_of("Pod", wire(2, wire(2, field))); };
  EXPECT_EQ(image(wire(2, 5)), "refused: spec.containers.image is of another type than expected");
  EXPECT_EQ(image(tag(2, 2) + varint(200) + "x"), "refused: spec.containers.image is longer than what is there");
  EXPECT_EQ(image(tag(2, 2) + "\x80"), "refused: spec.containers.image ends within a number");
  EXPECT_EQ(image(std::string(10, '\xFF') + "\x01"), "refused: spec.containers holds a number of more than 64 bits");
  EXPECT_EQ(image(tag(2, 3)), "refused: spec.containers is a group, which Kubernetes does not use");
  EXPECT_EQ(image(tag(2, 6)), "refused: spec.containers has no wire type that there is");
  EXPECT_EQ(image(varint(2)), "refused: spec.containers has no field number that there is");
  EXPECT_EQ(json_of("Pod", "\x80"), "refused: Pod ends within a number");
  EXPECT_EQ(json_of("Node", wire(3, wire(2, wire(1, 5)))),
            "refused: status.allocatable has an entry of another type than expected");
  EXPECT_EQ(json_of("Node", wire(3, wire(2, wire(2, wire(1, 5))))),
            "refused: status.allocatable is of another type than expected");
}

TEST(ObjectTranscoder, RefusesAFieldInTwoPlaces) {
  EXPECT_EQ(json_of("ObjectMeta", wire(1, "a") + wire(1, "b")), "refused: name stands in two places");
  EXPECT_EQ(json_of("PodSpec", wire(2, "") + wire(3, "x") + wire(2, "")), "refused: containers stands in two places");
  EXPECT_EQ(json_of("PodSpec", wire(2, "") + wire(200, "x") + wire(2, "")), R"({"containers":[{},{}]})");
}

TEST(ObjectTranscoder, WritesAHead) {
  ObjectTranscoder transcoder;
  ASSERT_TRUE(transcoder.transcode(*find_proto_message("Status"), wire(6, 410), R"("kind":"Status",)"));
  EXPECT_EQ(transcoder.json(), R"({"kind":"Status","code":410})");
  ASSERT_TRUE(transcoder.transcode(*find_proto_message("Status"), "", R"("kind":"Status",)"));
  EXPECT_EQ(transcoder.json(), R"({"kind":"Status"})");
}

}  // namespace
}  // namespace berth
