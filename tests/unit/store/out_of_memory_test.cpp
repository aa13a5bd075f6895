// SPDX-License-Identifier: Apache-2.0
// Every call of the store is all or nothing: memory runs out at each allocation of it.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>

#include "tests/failure/failing_allocations.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

/// A namespace with a service and twelve pods: one on a node, one that waits for a finalizer, the others free.
struct FilledStore : StoreFixture {
  FilledStore() {
    add_node("n1");
    store.create(name_space("default"));
    create(make_bound_pod("bound"));
    create(make_pod("free"));
    create(make_pod("held"), {.finalizers = {"f"}});
    store.remove<Pod>(key("held"));
    store.create(service("s"));
    // Three quarters of 16: the next pod needs a larger table.
    for (int i = 0; i < 9; ++i) create(make_pod("more" + std::to_string(i)));
    watch = store.watch(store.resource_version()).watch;
  }
  Watch watch;
};

/// @param call  writes
void expect_all_or_nothing(const std::function<void(FilledStore&)>& call) {
  for (std::int64_t n = 1;; ++n) {
    FilledStore test;
    const StoreContents before = test.store.list_all();
    bool failed = false;
    try {
      const FailingAllocation failing(n, Failure::kAllBehind);
      call(test);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) {
      EXPECT_GT(test.store.resource_version(), before.resource_version);
      EXPECT_GT(n, 1) << "a call that allocates nothing tests nothing";
      return;
    }
    const StoreContents after = test.store.list_all();
    ASSERT_EQ(after.resource_version, before.resource_version);
    ASSERT_TRUE(after.items == before.items) << "allocation " << n;
    ASSERT_TRUE(test.watch.poll().events.empty());
    call(test);
    ASSERT_GT(test.store.resource_version(), before.resource_version) << "the call works afterwards";
  }
}

TEST(OutOfMemory, CreateIsAllOrNothing) {
  const auto pod = StoreFixture::make_pod("new");
  expect_all_or_nothing([&](FilledStore& test) { test.create(pod); });
}

TEST(OutOfMemory, UpdateIsAllOrNothing) {
  expect_all_or_nothing([](FilledStore& test) { test.update("free", [](Pod& pod) { pod.labels = {{"a", "b"}}; }); });
}

TEST(OutOfMemory, BindIsAllOrNothing) {
  expect_all_or_nothing([](FilledStore& test) { test.bind("free"); });
}

TEST(OutOfMemory, StatusIsAllOrNothing) {
  expect_all_or_nothing([](FilledStore& test) {
    test.store.update_status(test.key("free"), {.nominated_node_name = "n1", .conditions = {{.type = "PodScheduled"}}});
  });
}

TEST(OutOfMemory, DeletionIsAllOrNothing) {
  expect_all_or_nothing([](FilledStore& test) { test.store.remove<Pod>(test.key("bound")); });
  expect_all_or_nothing([](FilledStore& test) { test.store.remove<Pod>(test.key("free")); });
  expect_all_or_nothing([](FilledStore& test) { test.update("held", [](Pod&) {}, {.finalizers = {{}}}); });
}

TEST(OutOfMemory, DeletionOfANamespaceIsAllOrNothing) {
  expect_all_or_nothing([](FilledStore& test) { test.store.remove<Namespace>({.namespace_ = {}, .name = "default"}); });
}

}  // namespace
}  // namespace berth::test
