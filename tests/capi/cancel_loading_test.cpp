// SPDX-License-Identifier: Apache-2.0
// Loads, and snapshots that are written and opened, that are cancelled or late: all of it or nothing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/capi/cancelled.h"

namespace berth::test {
namespace {

constexpr int kLoadedNodes = 300;
constexpr int kLoadedPods = kIsSanitized ? 1500 : 6000;

/// Objects in one buffer.
struct Buffer {
  void add(const std::string& text) {
    data += text;
    offsets.push_back(data.size());
  }
  berth_bulk bulk() const {
    berth_bulk bulk = BERTH_BULK_INIT;
    bulk.data = data.data();
    bulk.offsets = offsets.data();
    bulk.count = offsets.size() - 1;
    return bulk;
  }
  std::string list() const {
    std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      text.append(i > 0 ? "," : "").append(data, offsets[i], offsets[i + 1] - offsets[i]);
    return text + "]}";
  }
  std::string data;
  std::vector<std::uint64_t> offsets = {0};
};

Buffer pods_to_load() {
  Buffer pods;
  for (int p = 0; p < kLoadedPods; ++p)
    pods.add(pod_json({.name = "p" + std::to_string(p),
                       .milli_cpu = 10,
                       .app = p % 20,
                       .node = "n" + std::to_string(p % kLoadedNodes),
                       .spreads = p % 2 == 0,
                       .memory_mib = 1}));
  return pods;
}

/// A cluster with nodes and a pod on each.
struct Small {
  Small() {
    Buffer objects;
    for (int n = 0; n < kLoadedNodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      objects.add(node_json({.name = name, .cpu = 32, .zone = n % 3, .pods = 200}));
      objects.add(pod_json({.name = "old" + name, .node = name}));
    }
    upsert(cluster.get(), objects.list());
    upsert(cluster.get(), pod_json({.name = "waits", .milli_cpu = 8000, .priority = 5, .nominated = "n1"}));
    asked = pod_of(cluster.get(), pod_json({.name = "asked", .milli_cpu = 25000, .app = 3, .spreads = true}));
  }
  /// What the cluster says, with its version.
  std::string answers() const {
    const OwnedSnapshot snapshot = snapshot_of(cluster.get());
    berth_result* result = nullptr;
    const berth_pod* const pods[] = {asked.get()};
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot.get(), pods, 1, nullptr, 0, &result, nullptr), BERTH_OK);
    std::string text = text_of(*OwnedResult(result));
    EXPECT_EQ(berth_snapshot_max_replicas(snapshot.get(), pods, 1, nullptr, &result, nullptr), BERTH_OK);
    return text + text_of(*OwnedResult(result));
  }
  OwnedCluster cluster = make_cluster("cpu", 1);
  OwnedPod asked;
};

struct Load {
  const char* name;
  std::function<berth_status(berth_cluster*, const berth_load_options*)> load;
};

std::vector<Load> loads() {
  static const Buffer pods = pods_to_load();
  static const std::string list = pods.list();
  static const berth_bulk bulk = pods.bulk();
  return {
      {"upsert_until",
       [](berth_cluster* cluster, const berth_load_options* options) {
         return berth_cluster_upsert_until(cluster, list.data(), list.size(), options, nullptr);
       }},
      {"upsert_bulk_until",
       [](berth_cluster* cluster, const berth_load_options* options) {
         return berth_cluster_upsert_bulk_until(cluster, &bulk, nullptr, options, nullptr);
       }},
      {"upsert_bulk_until with statuses",
       [](berth_cluster* cluster, const berth_load_options* options) {
         std::vector<berth_status> statuses(bulk.count, 77);
         const berth_status status = berth_cluster_upsert_bulk_until(cluster, &bulk, statuses.data(), options, nullptr);
         EXPECT_EQ(statuses, std::vector<berth_status>(bulk.count, status == BERTH_OK ? BERTH_OK : 77));
         return status;
       }},
      {"replace_until",
       [](berth_cluster* cluster, const berth_load_options* options) {
         return berth_cluster_replace_until(cluster, "Pod", list.data(), list.size(), options, nullptr);
       }},
      {"pod_create_bulk_until",
       [](berth_cluster* cluster, const berth_load_options* options) {
         std::vector<berth_pod*> made(bulk.count, nullptr);
         const berth_status status =
             berth_pod_create_bulk_until(cluster, &bulk, nullptr, options, made.data(), nullptr);
         for (berth_pod*& pod : made) {
           EXPECT_EQ(pod != nullptr, status == BERTH_OK);
           berth_pod_free(&pod);
         }
         return status;
       }},
  };
}

TEST(CancelledLoading, ChangesEverythingOrNothing) {
  for (const Load& load : loads()) {
    const std::string before = Small().answers();
    const Small whole;
    ASSERT_EQ(load.load(whole.cluster.get(), nullptr), BERTH_OK) << load.name;
    const std::string after = whole.answers();
    const berth_load_options late = with({.deadline_us = 1}, berth_load_options(BERTH_LOAD_OPTIONS_INIT));
    const Small small;
    EXPECT_EQ(load.load(small.cluster.get(), &late), BERTH_DEADLINE) << load.name;
    EXPECT_TRUE(small.answers() == before) << load.name;
    EXPECT_TRUE(is_cut_somewhere([&](const berth_cancel* cancel) {
      const Small cut;
      const berth_load_options options = with({.cancel = cancel}, berth_load_options(BERTH_LOAD_OPTIONS_INIT));
      const berth_status status = load.load(cut.cluster.get(), &options);
      EXPECT_TRUE(status == BERTH_OK || status == BERTH_CANCELLED) << load.name;
      EXPECT_TRUE(cut.answers() == (status == BERTH_OK ? after : before)) << load.name;
      if (status != BERTH_OK) {
        EXPECT_EQ(load.load(cut.cluster.get(), nullptr), BERTH_OK) << load.name;
        EXPECT_TRUE(cut.answers() == after) << load.name;
      }
      return std::pair(status == BERTH_OK, status == BERTH_CANCELLED);
    })) << load.name;
  }
}

TEST(CancelledLoading, ASnapshotIsWrittenAndOpenedWholeOrNot) {
  const Small small;
  ASSERT_EQ(loads().front().load(small.cluster.get(), nullptr), BERTH_OK);
  const OwnedSnapshot snapshot = snapshot_of(small.cluster.get());
  const std::string path = testing::TempDir() + "berth-cancelled-" + std::to_string(::getpid());
  const auto content = [&] {
    berth_result* result = nullptr;
    EXPECT_EQ(berth_snapshot_write_memory(snapshot.get(), &result, nullptr), BERTH_OK);
    const OwnedResult owned(result);
    berth_str bytes{};
    EXPECT_EQ(berth_result_bytes(result, &bytes, nullptr), BERTH_OK);
    return std::string(bytes.data, bytes.size);
  }();
  const OwnedEngine engine = make_engine("cpu", 1);
  const std::vector<std::pair<const char*, std::function<berth_status(const berth_load_options*)>>> calls = {
      {"write_memory_until",
       [&](const berth_load_options* options) {
         berth_result* result = nullptr;
         const berth_status status = berth_snapshot_write_memory_until(snapshot.get(), options, &result, nullptr);
         EXPECT_EQ(result != nullptr, status == BERTH_OK);
         berth_result_free(&result);
         return status;
       }},
      {"write_until",
       [&](const berth_load_options* options) {
         std::filesystem::remove(path);
         const berth_status status = berth_snapshot_write_until(snapshot.get(), path.c_str(), options, nullptr);
         EXPECT_EQ(std::filesystem::exists(path), status == BERTH_OK);
         EXPECT_FALSE(std::filesystem::exists(path + "." + std::to_string(::getpid()) + ".tmp"));
         return status;
       }},
      {"open_memory_until",
       [&](const berth_load_options* options) {
         berth_cluster* opened = nullptr;
         berth_snapshot* its = nullptr;
         const berth_status status = berth_snapshot_open_memory_until(engine.get(), content.data(), content.size(),
                                                                      options, &opened, &its, nullptr);
         EXPECT_EQ(opened != nullptr, status == BERTH_OK);
         EXPECT_EQ(its != nullptr, status == BERTH_OK);
         berth_cluster_free(&opened);
         berth_snapshot_free(&its);
         return status;
       }},
      {"open_until",
       [&](const berth_load_options* options) {
         EXPECT_EQ(berth_snapshot_write(snapshot.get(), path.c_str(), nullptr), BERTH_OK);
         berth_cluster* opened = nullptr;
         const berth_status status =
             berth_snapshot_open_until(engine.get(), path.c_str(), options, &opened, nullptr, nullptr);
         EXPECT_EQ(opened != nullptr, status == BERTH_OK);
         berth_cluster_free(&opened);
         return status;
       }},
  };
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(call(nullptr), BERTH_OK) << name;
    const berth_load_options late = with({.deadline_us = 1}, berth_load_options(BERTH_LOAD_OPTIONS_INIT));
    EXPECT_EQ(call(&late), BERTH_DEADLINE) << name;
    EXPECT_TRUE(is_cut_somewhere([&, &load = call](const berth_cancel* cancel) {
      const berth_load_options options = with({.cancel = cancel}, berth_load_options(BERTH_LOAD_OPTIONS_INIT));
      const berth_status status = load(&options);
      EXPECT_TRUE(status == BERTH_OK || status == BERTH_CANCELLED);
      return std::pair(status == BERTH_OK, status == BERTH_CANCELLED);
    })) << name;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace berth::test
