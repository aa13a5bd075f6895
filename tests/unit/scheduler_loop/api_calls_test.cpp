// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/api_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "host/objects/pod_copy.h"

namespace berth {
namespace {

using Lines = std::vector<std::string>;

/// Writes down what is started, and answers when told.
class WrittenClient : public ApiClient {
 public:
  void start(std::uint64_t id, const ApiCall& call) override {
    static constexpr const char* kNames[] = {"bind", "patch", "delete", "volumes"};
    started.push_back(std::string(kNames[call.request.index()]) + " " + call.pod->name);
    if (const auto* const patch = std::get_if<PodStatusPatch>(&call.request)) patches.push_back(*patch);
    open.push_back(id);
  }
  std::vector<ApiAnswer> take_answers() override { return std::exchange(answers, {}); }
  void answer_all(StoreReason reason = StoreReason::kSuccess) {
    for (const std::uint64_t id : std::exchange(open, {})) answers.push_back({id, {reason, ""}});
  }

  Lines started;
  std::vector<PodStatusPatch> patches;
  std::vector<std::uint64_t> open;
  std::vector<ApiAnswer> answers;
};

class ApiCallsTest : public testing::Test {
 protected:
  static PodPtr pod(const std::string& name) {
    auto pod = std::make_shared<Pod>();
    pod->name = name;
    pod->spec = std::make_shared<const PodSpec>();
    return pod;
  }
  static ApiCall bind(const std::string& name) { return {pod(name), PodBinding{"default", name, "n"}}; }
  static ApiCall patch(const std::string& name, std::optional<std::string> nominated = {},
                       const std::string& condition = {}) {
    PodStatusPatch patch;
    patch.nominated_node_name = std::move(nominated);
    if (!condition.empty()) patch.conditions = {{.type = condition}};
    return {pod(name), std::move(patch)};
  }
  static ApiCall removal(const std::string& name) { return {pod(name), DeleteOptions()}; }
  ApiCalls::Done note(const std::string& name) {
    return [this, name](const StoreStatus& status) {
      answered.push_back(name + " " + (status.is_success() ? "done" : std::string(to_string(status.reason))));
    };
  }

  VirtualClock clock;
  WrittenClient client;
  Lines answered;
};

TEST_F(ApiCallsTest, EachKindHasItsOwnLimit) {
  ApiCalls calls(client, clock, {.in_flight_max = 2, .timeout_us = 1'000'000});
  for (int i = 0; i < 4; ++i) calls.add(bind("b" + std::to_string(i)));
  calls.add(patch("p"));
  calls.run();
  EXPECT_EQ(client.started, (Lines{"bind b0", "bind b1", "patch p"}));
  EXPECT_EQ(calls.size(), 5U);
  client.answer_all();
  calls.run();
  EXPECT_EQ(client.started.size(), 5U);
}

TEST_F(ApiCallsTest, CallsThatBindVolumesHaveALimitOfTheirOwn) {
  ApiCalls calls(client, clock, {.in_flight_max = 1, .volumes_in_flight_max = 3});
  for (int i = 0; i < 4; ++i) {
    calls.add({pod("v" + std::to_string(i)), VolumeDecisionsPtr()});
    calls.add(bind("b" + std::to_string(i)));
  }
  calls.run();
  EXPECT_EQ(client.started, (Lines{"volumes v0", "bind b0", "volumes v1", "volumes v2"}));
}

TEST_F(ApiCallsTest, CallsAboutOnePodAreMadeInOrder) {
  ApiCalls calls(client, clock, {});
  calls.add(patch("p"), note("patch"));
  calls.add(removal("p"), note("delete"));
  calls.add(bind("q"), note("bind"));
  calls.run();
  EXPECT_EQ(client.started, (Lines{"patch p", "bind q"}));
  client.answer_all();
  calls.run();
  client.answer_all();
  calls.run();
  EXPECT_EQ(client.started.back(), "delete p");
  EXPECT_EQ(answered, (Lines{"patch done", "bind done", "delete done"}));
  EXPECT_EQ(calls.size(), 0U);
}

TEST_F(ApiCallsTest, ACallWithoutAnAnswerFailsInTimeAndALateAnswerIsIgnored) {
  ApiCalls calls(client, clock, {.in_flight_max = 10, .timeout_us = 1'000'000});
  calls.add(bind("p"), note("bind"));
  calls.run();
  EXPECT_EQ(calls.next_event_us(), 1'000'000);
  clock.advance_to(1'000'000);
  calls.run();
  EXPECT_EQ(answered, Lines{"bind Timeout"});
  client.answer_all();
  calls.run();
  EXPECT_EQ(answered.size(), 1U);
  EXPECT_EQ(calls.next_event_us(), ApiClient::kNeverUs);
}

TEST_F(ApiCallsTest, AStatusPatchIsTriedFourTimesWithLongerPausesBetween) {
  ApiCalls calls(client, clock, {});
  calls.add(patch("p"), note("patch"));
  calls.add(removal("p"), note("delete"));
  std::vector<std::int64_t> started_us;
  for (int i = 0; i < 4; ++i) {
    calls.run();
    started_us.push_back(clock.now_us());
    client.answer_all(i % 2 == 0 ? StoreReason::kInternalError : StoreReason::kServiceUnavailable);
    calls.run();
    EXPECT_EQ(calls.in_flight(), i < 3 ? 0U : 1U) << "a call that waits takes no place";
    if (i < 3) clock.advance_to(calls.next_event_us());
  }
  EXPECT_EQ(started_us, (std::vector<std::int64_t>{0, 10'000, 60'000, 310'000}));
  EXPECT_EQ(answered, Lines{"patch ServiceUnavailable"});
  EXPECT_EQ(client.started, (Lines{"patch p", "patch p", "patch p", "patch p", "delete p"}));
}

TEST_F(ApiCallsTest, AConflictIsTriedAgainFrom136On) {
  for (const Release release : {Release::k1_35, Release::k1_36}) {
    WrittenClient own_client;
    ApiCallOptions options;
    options.release = release;
    ApiCalls calls(own_client, clock, options);
    calls.add(patch("p"));
    calls.add(bind("q"), note("bind"));
    calls.run();
    own_client.answer_all(StoreReason::kConflict);
    calls.run();
    EXPECT_EQ(calls.size(), release == Release::k1_35 ? 0U : 1U);
  }
  EXPECT_EQ(answered, (Lines{"bind Conflict", "bind Conflict"})) << "bindings are not tried again";
}

TEST_F(ApiCallsTest, APatchThatIsLostIsTold) {
  Lines lost;
  ApiCallOptions options;
  options.lost_patch = [&](const Pod& pod) { lost.push_back(pod.name); };
  ApiCalls calls(client, clock, options);
  calls.add(patch("p"));
  calls.add(patch("q"), note("q"));
  calls.run();
  client.answer_all(StoreReason::kInvalid);
  calls.run();
  EXPECT_EQ(lost, Lines{"p"}) << "who waits is told already";
}

class MergedCallsTest : public ApiCallsTest {
 protected:
  ApiCalls calls{client, clock, {.in_flight_max = 10, .timeout_us = 1'000'000, .merges = true}};
};

TEST_F(MergedCallsTest, ABindingReplacesAPatchThatWaits) {
  calls.add(patch("p", "n1"));
  calls.add(bind("p"));
  calls.run();
  EXPECT_EQ(client.started, Lines{"bind p"});
}

TEST_F(MergedCallsTest, ABindingWaitsForAPatchInFlight) {
  calls.add(patch("p", "n1"));
  calls.run();
  calls.add(bind("p"));
  calls.run();
  EXPECT_EQ(client.started, Lines{"patch p"});
  client.answer_all();
  calls.run();
  EXPECT_EQ(client.started, (Lines{"patch p", "bind p"}));
}

TEST_F(MergedCallsTest, APatchIsLeftOutBesideABinding) {
  calls.add(bind("p"));
  calls.add(patch("p", "n1"));
  calls.run();
  client.answer_all();
  calls.run();
  EXPECT_EQ(client.started, Lines{"bind p"});
}

TEST_F(MergedCallsTest, OfTwoPatchesOneIsMadeWithWhatTheNewerOneLeavesOpen) {
  calls.add(patch("p", "n1", "A"));
  calls.add(patch("p", {}, "B"));
  calls.run();
  ASSERT_EQ(client.patches.size(), 1U);
  EXPECT_EQ(client.patches.front().nominated_node_name, "n1");
  EXPECT_EQ(client.patches.front().conditions.front().type, "B");
}

TEST_F(MergedCallsTest, APatchThatWouldChangeNothingIsNotMade) {
  calls.add(patch("p", ""));
  EXPECT_EQ(calls.size(), 0U);
  calls.add(patch("p", "n1"));
  calls.add(patch("p", ""));
  EXPECT_EQ(calls.size(), 0U) << "the newer one takes the older one back";
  calls.add(patch("p", "n1"));
  calls.run();
  calls.add(patch("p", ""));
  EXPECT_EQ(calls.size(), 2U) << "what is in flight changes the node";
}

TEST_F(MergedCallsTest, APatchThatWaitsIsComparedWithThePodWhenItChanges) {
  StoredPod now;
  const auto changed = copy_of(*pod("p"));
  PodRare rare;
  rare.nominated_node_name = "n1";
  changed->rare_fields = std::make_unique<const PodRare>(rare);
  now.object = changed;
  calls.add(patch("p", "n1", "A"));
  calls.note_pod(now);
  EXPECT_EQ(calls.size(), 1U) << "the condition is not there yet";
  now.shared_conditions = std::make_shared<const PodConditions>(PodConditions{{.type = "A"}});
  calls.note_pod(now);
  EXPECT_EQ(calls.size(), 0U);
  EXPECT_EQ(calls.next_event_us(), ApiClient::kNeverUs);
  calls.run();
  EXPECT_TRUE(client.started.empty());
  calls.add(patch("p", "n1", "A"));
  calls.run();
  calls.note_pod(now);
  EXPECT_EQ(calls.size(), 1U) << "it is in flight";
}

TEST_F(MergedCallsTest, ABindingTakesThePlaceOfThePatchThatItReplaces) {
  ApiCallOptions one_by_one{.in_flight_max = 1, .merges = true};
  ApiCalls slow(client, clock, one_by_one);
  slow.add(patch("p"), note("p"));
  slow.add(patch("q", "n", "A"));
  slow.add(bind("r"));
  slow.add(bind("q"));
  slow.run();
  client.answer_all();
  slow.run();
  EXPECT_EQ(client.started, (Lines{"patch p", "bind q", "bind r"}));
}

TEST_F(MergedCallsTest, CallsThatSomebodyWaitsForAreNotReplaced) {
  calls.add(patch("p"), note("patch"));
  calls.add(removal("p"), note("delete"));
  calls.add(patch("p", "n1"));
  for (int i = 0; i < 3; ++i) {
    calls.run();
    client.answer_all();
  }
  calls.run();
  EXPECT_EQ(answered, (Lines{"patch done", "delete done"}));
}

}  // namespace
}  // namespace berth
