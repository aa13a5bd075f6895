// SPDX-License-Identifier: Apache-2.0
// Pods that nothing but a change of their own helps: Rejectors::until_changed.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/queue/scheduling_queue.h"
#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

constexpr ClusterEvent kNodeAdded{EventResource::kNode, EventAction::kAdd};

PodPtr nominated_copy(const PodPtr& pod) {
  const std::shared_ptr<Pod> copy = copy_of(*pod);
  PodRare rare = pod->rare();
  rare.nominated_node_name = "n";
  copy->rare_fields = std::make_unique<const PodRare>(rare);
  return copy;
}

class HeldPods : public testing::Test, public QueueFixture {
 protected:
  PodPtr hold(const std::string& text) {
    const PodPtr pod = add(text);
    pop();
    queue().add_failed(popped.at(pod->name), {.until_changed = true});
    return pod;
  }
};

TEST_F(HeldPods, AreNotMovedByEventsActivationOrTime) {
  const PodPtr held = hold("a resource-claim=gpu");
  EXPECT_EQ(queue().sizes(), (SchedulingQueue::Sizes{.held = 1}));
  EXPECT_EQ(place_of("a"), "unschedulable");
  queue().move_on_event(kNodeAdded, {.new_node = node_of("n")});
  queue().move_on_event(kWildcardEvent, {});
  queue().activate(std::vector{held});
  run_until(1000);
  EXPECT_EQ(queue().sizes().held, 1U);
  EXPECT_EQ(queue().next_wake_us(), INT64_MAX);
  EXPECT_EQ(pop(), "");
}

TEST_F(HeldPods, AreTriedAgainWhenTheyAskForSomethingElse) {
  PodPtr held = hold("a resource-claim=gpu");
  run_until(200);
  const PodPtr nominated = nominated_copy(held);
  queue().update(held, nominated);
  EXPECT_EQ(queue().sizes().held, 1U) << "a status asks for nothing";
  queue().update(nominated, pod_of("a"));
  EXPECT_EQ(queue().sizes(), (SchedulingQueue::Sizes{.active = 1}));
  EXPECT_EQ(pop(), "a");
  held = hold("b resource-claim=gpu");
  queue().update(held, pod_of("b resource-claim=gpu tolerate=k"));
  EXPECT_EQ(place_of("b"), "backoff") << "its failure is less than a second old";
}

TEST_F(HeldPods, AreForgottenInAnyOrder) {
  const std::vector pods = {hold("a"), hold("b"), hold("c"), hold("d")};
  queue().remove(*pods[1]);
  queue().remove(*pods[3]);
  EXPECT_EQ(queue().sizes().held, 2U);
  EXPECT_EQ(place_of("a"), "unschedulable");
  EXPECT_EQ(place_of("b"), "");
  queue().remove(*pods[0]);
  queue().remove(*pods[2]);
  EXPECT_EQ(queue().sizes(), SchedulingQueue::Sizes());
}

TEST_F(HeldPods, ThatWereToldNothingAreTriedAgainToTellIt) {
  const PodPtr held = hold("a");
  queue().forget_told_condition(*pod_of("other"));
  EXPECT_EQ(queue().sizes().held, 1U);
  queue().forget_told_condition(*held);
  EXPECT_EQ(place_of("a"), "backoff");
  run_until(102);
  EXPECT_EQ(pop(), "a");
}

}  // namespace
}  // namespace berth::test
