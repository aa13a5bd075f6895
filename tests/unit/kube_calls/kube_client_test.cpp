// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/kube_client.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/scripted_http.h"

namespace berth {
namespace {

std::string pod_text(const std::string& uid, const std::string& node) {
  return R"({"kind":"Pod","metadata":{"uid":")" + uid + R"("},"spec":{"nodeName":")" + node + R"("}})";
}

class KubeClientTest : public testing::Test {
 protected:
  KubeClientTest() {
    auto made = std::make_shared<Pod>();
    made->name = "p";
    made->namespace_ = "a";
    made->stored_uid = "u";
    made->spec = std::make_shared<PodSpec>();
    pod = made;
    binding = {"a", "p", "n", "u"};
  }
  void bind() { client.start(1, {pod, binding}); }
  /// The answer to the only call; nullopt: there is none yet.
  std::optional<StoreStatus> answer() {
    const std::vector<ApiAnswer> answers = client.take_answers();
    if (answers.empty()) return std::nullopt;
    EXPECT_EQ(answers.size(), 1u);
    return answers.front().status;
  }
  /// What is open now, as "METHOD path".
  std::string open() {
    return http.calls.size() != 1 ? std::to_string(http.calls.size()) + " calls"
                                  : http.calls[0].request.method + " " + http.calls[0].request.path;
  }
  /// Time passes until the client has something to do.
  void wait() {
    clock.advance_to(client.next_answer_us());
    EXPECT_FALSE(answer());
  }
  template <class T>
  StoredPtr<T> stored(T object, std::uint64_t version) {
    auto made = std::make_shared<Stored<T>>();
    made->object = std::make_shared<const T>(std::move(object));
    made->meta.resource_version = version;
    return made;
  }
  template <class T>
  void tell(StoredPtr<T> before, StoredPtr<T> after) {
    WatchEvent event;
    event.change = ObjectChange<T>{std::move(before), std::move(after)};
    client.note_events({&event, 1});
  }

  VirtualClock clock{1'000'000'000};
  ScriptedHttp http{clock};
  int wakes = 0;
  KubeClient client{{http, clock, [this] { ++wakes; }}, {}};
  PodPtr pod;
  PodBinding binding;
};

TEST_F(KubeClientTest, ABindingIsAnswered) {
  bind();
  EXPECT_EQ(open(), "POST /api/v1/namespaces/a/pods/p/binding");
  EXPECT_FALSE(answer());
  http.answer(201);
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(answer()->is_success());
  EXPECT_EQ(client.in_flight(), 0u);
}

TEST_F(KubeClientTest, ARefusedBindingIsNotRepeated) {
  bind();
  http.answer(403, R"({"kind":"Status","message":"pods is forbidden"})");
  EXPECT_EQ(answer()->message, "pods is forbidden");
  EXPECT_TRUE(http.calls.empty());
}

TEST_F(KubeClientTest, ABindingIsWrittenInJsonWhereTheServerRefusesProtobuf) {
  int told = 0;
  KubeClientOptions options;
  options.bind_format = BodyFormat::kProtobuf;
  KubeClient other{{http, clock, [] {}, {}, [&told] { ++told; }}, options};
  other.start(1, {pod, binding});
  EXPECT_EQ(http.calls[0].request.content_type, "application/vnd.kubernetes.protobuf");
  http.answer(415, R"({"kind":"Status","message":"unsupported"})");
  EXPECT_TRUE(other.take_answers().empty());
  EXPECT_EQ(http.calls[0].request.content_type, "application/json");
  http.answer(201);
  EXPECT_TRUE(other.take_answers().at(0).status.is_success());
  other.start(2, {pod, binding});
  EXPECT_EQ(http.calls[0].request.content_type, "application/json");
  http.answer(415, R"({"kind":"Status","message":"unsupported"})");
  EXPECT_EQ(other.take_answers().at(0).status.message, "unsupported");
  EXPECT_EQ(told, 1);
}

TEST_F(KubeClientTest, ABindingThatWasNotSentIsSentAgain) {
  bind();
  http.fail(true);
  EXPECT_FALSE(answer());
  EXPECT_TRUE(http.calls.empty());
  wait();
  EXPECT_EQ(open(), "POST /api/v1/namespaces/a/pods/p/binding");
  http.answer(201);
  EXPECT_TRUE(answer()->is_success());
  EXPECT_EQ(client.counts().repeated, 1u);
}

TEST_F(KubeClientTest, ABindingThatTheServerPutsOffIsSentWhenItSays) {
  bind();
  HttpResponse busy;
  busy.status = 429;
  busy.retry_after_s = 3;
  http.answer(busy);
  EXPECT_FALSE(answer());
  EXPECT_GE(client.next_answer_us(), clock.now_us() + 3'000'000);
  wait();
  http.answer(201);
  EXPECT_TRUE(answer()->is_success());
}

TEST_F(KubeClientTest, AfterALostAnswerThePodSaysWhatBecameOfIt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {pod_text("u", "n"), ""},
      {pod_text("u", "other"), "pod a/p is already assigned to node \"other\""},
      {pod_text("u", ""), "the answer was lost"},
      {pod_text("u2", "n"), "pods \"p\" not found: another pod has the name now"},
      {"no pod", "the answer was lost"}};
  for (const auto& [text, message] : cases) {
    bind();
    http.fail(false, "the answer was lost");
    EXPECT_FALSE(answer());
    EXPECT_EQ(open(), "GET /api/v1/namespaces/a/pods/p");
    http.answer(200, text);
    const std::optional<StoreStatus> status = answer();
    ASSERT_TRUE(status) << text;
    EXPECT_EQ(status->is_success(), message.empty()) << text;
    EXPECT_EQ(status->message, message);
  }
  EXPECT_EQ(client.counts().read_back, 5u);
  EXPECT_EQ(client.counts().found_bound, 1u);
}

TEST_F(KubeClientTest, AfterAConflictThePodIsRead) {
  bind();
  http.answer(409, R"({"kind":"Status","message":"it is being deleted"})");
  EXPECT_FALSE(answer());
  http.answer(404, R"({"kind":"Status","message":"pods \"p\" not found"})");
  EXPECT_EQ(answer()->reason, StoreReason::kNotFound);
}

TEST_F(KubeClientTest, AnUnknownOutcomeThatMayNotBeReadIsAFailureThatSaysBoth) {
  const std::string forbidden = R"({"kind":"Status","message":"pods \"p\" is forbidden"})";
  bind();
  http.fail(false, "the answer was lost");
  EXPECT_FALSE(answer());
  const std::int64_t began_us = clock.now_us();
  for (int i = 0; i < 7; ++i) {
    http.answer(403, forbidden);
    EXPECT_FALSE(answer()) << "a server that has just started refuses everything for a moment";
    wait();
  }
  http.answer(403, forbidden);
  EXPECT_EQ(answer()->message, "the answer was lost; whether the pod is bound cannot be read: pods \"p\" is forbidden");
  EXPECT_LT(clock.now_us() - began_us, 20'000'000);
}

TEST_F(KubeClientTest, AnUnknownOutcomeIsReadOnceTheServerHasItsRoles) {
  bind();
  http.fail(false, "the answer was lost");
  EXPECT_FALSE(answer());
  http.answer(403);
  EXPECT_FALSE(answer());
  wait();
  EXPECT_EQ(open(), "GET /api/v1/namespaces/a/pods/p");
  http.answer(200, pod_text("u", "n"));
  EXPECT_TRUE(answer()->is_success());
}

TEST_F(KubeClientTest, AnUnknownOutcomeIsReadUntilTheDeadline) {
  bind();
  http.fail(false, "the answer was lost");
  EXPECT_FALSE(answer());
  std::optional<StoreStatus> status;
  int reads = 0;
  for (; !status && reads < 1000; ++reads) {
    http.fail(true);
    status = answer();
    if (status) break;
    clock.advance_to(client.next_answer_us());
    status = answer();
  }
  EXPECT_TRUE(status->message.starts_with("the answer was lost; whether the pod is bound cannot be read: "));
  EXPECT_GT(reads, 5);
  EXPECT_LT(reads, 100);
}

TEST_F(KubeClientTest, TheTransitionTimeStaysWhileTheConditionIsFalse) {
  PodStatusPatch patch;
  patch.conditions = {{.type = "PodScheduled", .status = ConditionStatus::kFalse, .reason = "Unschedulable"}};
  client.start(1, {pod, patch});
  EXPECT_NE(http.calls[0].request.body.find("lastTransitionTime"), std::string::npos);
  http.answer(200);
  EXPECT_TRUE(answer()->is_success());
  auto before = std::make_shared<StoredPod>();
  before->object = pod;
  auto after = std::make_shared<StoredPod>(*before);
  after->shared_conditions = std::make_shared<const PodConditions>(patch.conditions);
  tell<Pod>(before, after);
  client.start(2, {pod, patch});
  EXPECT_EQ(http.calls[0].request.body.find("lastTransitionTime"), std::string::npos);
  http.answer(200);
  EXPECT_TRUE(answer()->is_success());
  tell<Pod>(after, nullptr);
  client.start(3, {pod, patch});
  EXPECT_NE(http.calls[0].request.body.find("lastTransitionTime"), std::string::npos);
}

class VolumeCallTest : public KubeClientTest {
 protected:
  VolumeCallTest() {
    claim.name = "data";
    claim.namespace_ = "a";
    claim.uid = "c";
    volume.name = "pv";
    tell<VolumeClaim>(nullptr, known_claim = stored(claim, 5));
    tell<PersistentVolume>(nullptr, stored(volume, 6));
    decisions.node_name = "n";
  }
  void start() { client.start(1, {pod, std::make_shared<const VolumeDecisions>(decisions)}); }
  void change_claim(std::uint64_t version) {
    const auto next = stored(claim, version);
    tell<VolumeClaim>(known_claim, next);
    known_claim = next;
  }

  VolumeClaim claim;
  PersistentVolume volume;
  VolumeDecisions decisions;
  StoredPtr<VolumeClaim> known_claim;
};

TEST_F(VolumeCallTest, AMatchIsWrittenAndWaitsForTheController) {
  decisions.matches = {{"a/data", "pv"}};
  start();
  EXPECT_EQ(open(), "PATCH /api/v1/persistentvolumes/pv");
  http.answer(200);
  EXPECT_FALSE(answer());
  claim.volume_name = "pv";
  change_claim(8);
  EXPECT_FALSE(answer());
  claim.is_bind_completed = true;
  change_claim(9);
  EXPECT_EQ(client.next_answer_us(), clock.now_us());
  EXPECT_TRUE(answer()->is_success());
}

TEST_F(VolumeCallTest, AProvisionerThatGivesUpIsAFailure) {
  decisions.provisions = {{"a/data", "fast"}};
  start();
  EXPECT_EQ(open(), "PATCH /api/v1/namespaces/a/persistentvolumeclaims/data");
  http.answer(200);
  EXPECT_FALSE(answer());
  change_claim(7);  // an event from before the annotation
  EXPECT_FALSE(answer());
  claim.selected_node = "n";
  change_claim(8);
  EXPECT_FALSE(answer());
  claim.selected_node.reset();
  change_claim(9);
  EXPECT_EQ(answer()->message, "provisioning failed for PVC \"data\"");
}

TEST_F(VolumeCallTest, AClaimThatGoesOrNeverComesIsAFailure) {
  decisions.provisions = {{"a/data", "fast"}};
  start();
  http.answer(200);
  EXPECT_FALSE(answer());
  clock.advance_by(600'000'000);
  EXPECT_EQ(answer()->message, "timed out waiting for the condition");
  start();
  http.answer(200);
  EXPECT_FALSE(answer());
  tell<VolumeClaim>(known_claim, nullptr);
  EXPECT_EQ(answer()->message, "PVC \"data\" was deleted while its volume was bound");
}

TEST_F(VolumeCallTest, AVolumeThatChangedIsAConflict) {
  decisions.matches = {{"a/data", "pv"}};
  start();
  http.answer(409, R"({"kind":"Status","message":"the object has been modified"})");
  EXPECT_EQ(answer()->reason, StoreReason::kConflict);
}

}  // namespace
}  // namespace berth
