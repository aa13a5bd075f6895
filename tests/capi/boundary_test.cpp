// SPDX-License-Identifier: Apache-2.0
// What happens at the edge of the library: threads, callbacks, fork(2), pods that go before the forks that placed them.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {
namespace {

berth_status upsert(berth_cluster* cluster, const std::string& text) {
  return berth_cluster_upsert(cluster, text.data(), text.size(), nullptr);
}

OwnedPod make_pod(berth_cluster* cluster, const PodShape& shape) {
  const std::string text = pod_json(shape);
  berth_pod* pod = nullptr;
  EXPECT_EQ(berth_pod_create(cluster, text.data(), text.size(), nullptr, &pod, nullptr), BERTH_OK);
  return OwnedPod(pod);
}

OwnedSnapshot snapshot_of(berth_cluster* cluster) {
  berth_snapshot* snapshot = nullptr;
  EXPECT_EQ(berth_snapshot_create(cluster, &snapshot, nullptr), BERTH_OK);
  return OwnedSnapshot(snapshot);
}

OwnedFork fork_of(const berth_snapshot* snapshot) {
  berth_fork* fork = nullptr;
  EXPECT_EQ(berth_snapshot_fork(snapshot, &fork, nullptr), BERTH_OK);
  return OwnedFork(fork);
}

OwnedCluster cluster_of_nodes(int count, const char* backend = "cpu") {
  OwnedCluster cluster = make_cluster(backend, 1);
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(upsert(cluster.get(), node_json({"n" + std::to_string(i), 4, i % 3, false, false})), BERTH_OK);
  return cluster;
}

OwnedResult schedule(berth_fork* fork, const std::vector<const berth_pod*>& pods) {
  berth_result* result = nullptr;
  EXPECT_EQ(berth_fork_schedule(fork, pods.data(), pods.size(), nullptr, &result, nullptr), BERTH_OK);
  return OwnedResult(result);
}

/// Readers of one snapshot in threads, forks in threads, and beside them one thread that prepares pods with terms never
/// seen and changes the cluster. ThreadSanitizer finds what is not safe; the answers must not change.
TEST(Threads, ReadersAndForksRunBesidePrepareAndChanges) {
  const OwnedCluster cluster = cluster_of_nodes(12);
  const OwnedPod pod = make_pod(cluster.get(), {.name = "p", .app = 1, .spreads = true});
  const OwnedPod lone = make_pod(cluster.get(), {.name = "q", .app = 1, .alone = true});
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const std::vector<const berth_pod*> pods = {pod.get(), lone.get()};
  const auto ask = [&] {
    berth_result* result = nullptr;
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot.get(), pods.data(), pods.size(), nullptr, 0, &result, nullptr),
              BERTH_OK);
    return text_of(*OwnedResult(result));
  };
  const auto place = [&] {
    const OwnedFork fork = fork_of(snapshot.get());
    return text_of(*schedule(fork.get(), pods));
  };
  const std::string checked = ask();
  const std::string placed = place();
  std::atomic<bool> is_done = false;
  std::latch begin(4);
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 3; ++reader)
    readers.emplace_back([&, reader] {
      begin.arrive_and_wait();
      while (!is_done) {
        EXPECT_EQ(reader < 2 ? ask() : place(), reader < 2 ? checked : placed);
      }
    });
  begin.arrive_and_wait();
  for (int i = 0; i < 30; ++i) {
    const std::string name = std::to_string(i);
    make_pod(cluster.get(), {.name = "new" + name, .app = 100 + i, .spreads = i % 2 == 0, .alone = i % 2 == 1});
    EXPECT_EQ(
        upsert(cluster.get(), pod_json({.name = "bound" + name, .app = i % 3, .node = "n" + std::to_string(i % 12)})),
        BERTH_OK);
    if (i % 10 != 9) continue;
    EXPECT_EQ(upsert(cluster.get(), node_json({"late" + name, 8, 0, false, false})), BERTH_OK);
  }
  is_done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(ask(), checked);
}

TEST(Threads, ASecondThreadInAForkIsToldSo) {
  const OwnedCluster cluster = cluster_of_nodes(3);
  const OwnedPod pod = make_pod(cluster.get(), {.name = "p"});
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(snapshot.get());
  std::atomic<int> strange = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::int32_t fits = 0;
        const berth_status status = berth_fork_check(fork.get(), pod.get(), 0, 0, &fits, nullptr, nullptr);
        if (status != BERTH_OK && status != BERTH_E_BUSY) ++strange;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(strange, 0);
}

struct Calls {
  berth_cluster* cluster = nullptr;
  int logged = 0;
  int freed = 0;
  berth_status inner = BERTH_OK;
  std::string text;
};

TEST(Callbacks, ALogCallbackMayNotCallItsEngine) {
  Calls calls;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.log = [](void* user_data, std::int32_t level, const char* text) {
    auto& seen = *static_cast<Calls*>(user_data);
    ++seen.logged;
    seen.text = text;
    EXPECT_EQ(level, BERTH_LOG_WARNING);
    std::uint64_t version = 0;
    seen.inner = berth_cluster_version(seen.cluster, &version, nullptr);
  };
  options.log_user_data = &calls;
  options.log_user_data_free = [](void* user_data) { ++static_cast<Calls*>(user_data)->freed; };
  berth_engine* engine = nullptr;
  ASSERT_EQ(berth_engine_create(&options, &engine, nullptr), BERTH_OK);
  ASSERT_EQ(berth_cluster_create(engine, &calls.cluster, nullptr), BERTH_OK);
  ASSERT_EQ(upsert(calls.cluster, R"({"apiVersion":"x/v1","kind":"Thing","metadata":{"name":"t"}})"), BERTH_OK);
  EXPECT_EQ(calls.logged, 1);
  EXPECT_NE(calls.text.find("Thing"), std::string::npos) << calls.text;
  EXPECT_EQ(calls.inner, BERTH_E_REENTRY);
  std::uint64_t version = 0;
  EXPECT_EQ(berth_cluster_version(calls.cluster, &version, nullptr), BERTH_OK);
  berth_engine_free(&engine);
  EXPECT_EQ(calls.freed, 0);
  berth_cluster_free(&calls.cluster);
  EXPECT_EQ(calls.freed, 1);
}

TEST(Processes, HandlesOfTheParentAreOfNoUseInAChild) {
  const OwnedCluster cluster = cluster_of_nodes(2);
  const OwnedPod pod = make_pod(cluster.get(), {.name = "p"});
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(snapshot.get());
  const pid_t child = fork == nullptr ? -1 : ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::int32_t fits = 0;
    std::uint64_t version = 0;
    berth_snapshot* mine = snapshot.get();
    const bool right = berth_cluster_version(cluster.get(), &version, nullptr) == BERTH_E_FORKED &&
                       upsert(cluster.get(), node_json({"n", 1, 0, false, false})) == BERTH_E_FORKED &&
                       berth_snapshot_check(mine, pod.get(), 0, 0, &fits, nullptr, nullptr) == BERTH_E_FORKED &&
                       berth_fork_revert(fork.get(), nullptr) == BERTH_E_FORKED;
    berth_snapshot_free(&mine);  // frees nothing, and does not crash
    ::_exit(right && mine == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::int32_t fits = 0;
  EXPECT_EQ(berth_snapshot_check(snapshot.get(), pod.get(), 0, 0, &fits, nullptr, nullptr), BERTH_OK);
  EXPECT_EQ(fits, 1);
}

/// Handles of pods are used again by the engine: what a fork placed must not become another pod's.
TEST(Lifetimes, APodMayBeFreedBeforeTheForkThatPlacedItIsCommitted) {
  const OwnedCluster cluster = cluster_of_nodes(3);
  OwnedPod first = make_pod(cluster.get(), {.name = "first", .milli_cpu = 3000});
  OwnedPod second = make_pod(cluster.get(), {.name = "second", .milli_cpu = 2500});
  const OwnedSnapshot snapshot = snapshot_of(cluster.get());
  const OwnedFork fork = fork_of(snapshot.get());
  berth_fork* inner = nullptr;
  ASSERT_EQ(berth_fork_fork(fork.get(), &inner, nullptr), BERTH_OK);
  OwnedFork child(inner);
  schedule(child.get(), {first.get(), second.get()});
  first.reset();
  second.reset();
  const OwnedPod other = make_pod(cluster.get(), {.name = "other", .milli_cpu = 100});
  ASSERT_EQ(berth_fork_commit(child.get(), nullptr, nullptr), BERTH_OK);
  child.reset();
  const OwnedPod another = make_pod(cluster.get(), {.name = "another", .milli_cpu = 100});
  ASSERT_EQ(berth_fork_commit(fork.get(), nullptr, nullptr), BERTH_OK);
  const OwnedFork after = fork_of(snapshot_of(cluster.get()).get());
  std::uint32_t on_first = BERTH_NO_NODE;
  std::uint32_t on_second = BERTH_NO_NODE;
  ASSERT_EQ(berth_fork_node_of_pod(after.get(), "uid-first", &on_first, nullptr), BERTH_OK);
  ASSERT_EQ(berth_fork_node_of_pod(after.get(), "uid-second", &on_second, nullptr), BERTH_OK);
  EXPECT_NE(on_first, BERTH_NO_NODE);
  EXPECT_NE(on_second, BERTH_NO_NODE);
  EXPECT_NE(on_first, on_second);
}

}  // namespace
}  // namespace berth::test
