// SPDX-License-Identifier: Apache-2.0
#include "host/binding/binder.h"

#include <gtest/gtest.h>

#include "host/binding/default_binder.h"

namespace berth {
namespace {

Pod some_pod() {
  Pod pod;
  pod.name = "p";
  pod.namespace_ = "team";
  pod.stored_uid = "u1";
  pod.spec = std::make_shared<const PodSpec>();
  return pod;
}

TEST(InMemoryBinder, KeepsBindingsInOrder) {
  InMemoryBinder binder;
  const Pod pod = some_pod();
  EXPECT_TRUE(binder.bind(pod, "a").ok());
  EXPECT_TRUE(binder.bind(pod, "b").ok());
  EXPECT_EQ(binder.bindings(), (std::vector<InMemoryBinder::Binding>{{"team/p", "u1", "a"}, {"team/p", "u1", "b"}}));
}

TEST(DefaultBinder, ReturnsTheResultOfItsBinder) {
  std::string seen;
  CallbackBinder binder([&](const Pod& pod, std::string_view node_name) {
    seen = pod.full_name() + " on " + std::string(node_name);
    return Status{StatusCode::kError, "", {"conflict"}};
  });
  DefaultBinder plugin(binder);
  const Pod pod = some_pod();
  CycleState state;
  EXPECT_EQ(plugin.bind({&pod, "a", &state}).message(), "conflict");
  EXPECT_EQ(seen, "team/p on a");
  EXPECT_EQ(plugin.name(), "DefaultBinder");
}

}  // namespace
}  // namespace berth
