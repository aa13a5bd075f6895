// SPDX-License-Identifier: Apache-2.0
#include "batching/kept_pods.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace berth {
namespace {

PodToPlace new_pod() { return {std::make_shared<const Pod>(), 0}; }

TEST(KeptPods, APodKeepsItsHandleUntilItIsReleased) {
  KeptPods kept;
  PodToPlace first = new_pod();
  PodToPlace second = new_pod();
  EXPECT_EQ(kept.find(first), nullptr);
  kept.keep(first);
  kept.keep(second);
  const auto handle = first.handle;
  kept.keep(first);
  EXPECT_EQ(first.handle, handle);
  EXPECT_NE(second.handle, handle);
  EXPECT_EQ(kept.find(first), &kept[handle]);

  PodToPlace copy = first;
  kept.release(first);
  EXPECT_EQ(first.handle, 0u);
  EXPECT_EQ(kept.find(copy), nullptr) << "a copy of the pod has a handle that is gone";
  PodToPlace third = new_pod();
  kept.keep(third);
  EXPECT_EQ(third.handle, handle) << "a free handle is given again";
  EXPECT_EQ(kept.find(copy), nullptr);
}

TEST(KeptPods, AFailedCallTakesBackTheHandlesThatItGave) {
  KeptPods kept;
  kept.begin_call();
  PodToPlace before = new_pod();
  kept.keep(before);
  kept.begin_call();
  std::vector<PodToPlace> pods = {new_pod(), before, new_pod()};
  for (PodToPlace& pod : pods) kept.keep(pod);
  kept.take_back_call();
  kept.forget_handles(pods);
  EXPECT_EQ(pods[0].handle, 0u);
  EXPECT_EQ(pods[1].handle, before.handle);
  EXPECT_EQ(pods[2].handle, 0u);
  int count = 0;
  kept.for_each([&](std::uint32_t handle, const KeptPod& pod) {
    ++count;
    EXPECT_EQ(handle, before.handle);
    EXPECT_EQ(pod.pod, before.pod);
  });
  EXPECT_EQ(count, 1);
}

TEST(KeptPods, ListsTheClassesOfPreparedPodsOnce) {
  KeptPods kept;
  std::vector<PodToPlace> pods = {new_pod(), new_pod(), new_pod()};
  const std::int32_t classes[] = {4, 2, 4};
  for (std::size_t i = 0; i < pods.size(); ++i) {
    kept.keep(pods[i]);
    pods[i].class_index = classes[i];
    kept.note_prepared(pods[i]);
    kept.note_prepared(pods[i]);
  }
  EXPECT_EQ(kept.prepared_classes(), (std::vector<std::int32_t>{2, 4}));
  kept.release(pods[1]);
  kept.forget_prepared(pods[0].handle);
  EXPECT_EQ(kept.prepared_classes(), std::vector<std::int32_t>{4});
  kept.forget_classes();
  EXPECT_TRUE(kept.prepared_classes().empty());
  EXPECT_NE(kept.find(pods[2]), nullptr);
}

}  // namespace
}  // namespace berth
