// SPDX-License-Identifier: Apache-2.0
// Memory runs out at each allocation of each call: the status says so, nothing has happened, the handles answer as
// before, and the same call then works.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "host/capi/dlpack_abi.h"
#include "tests/capi/failing_calls.h"
#include "tests/capi/world.h"

namespace berth::test {
namespace {

struct Handles {
  Handles() : cluster(make_cluster("cpu", 1)) {
    for (int i = 0; i < 3; ++i) upsert(node_json({"n" + std::to_string(i), 4, i, false, false}));
    upsert(pod_json({.name = "runs", .milli_cpu = 2000, .node = "n0"}));
    for (const PodShape& shape :
         {PodShape{.name = "p", .milli_cpu = 3000}, PodShape{.name = "q", .app = 1, .spreads = true},
          PodShape{.name = "big", .milli_cpu = 3500, .priority = 10}})
      pods.push_back(pod(shape));
    for (const OwnedPod& pod : pods) all.push_back(pod.get());
    const PodShape nominated = {.name = "assumed", .milli_cpu = 100, .nominated = "n1"};
    upsert(pod_json(nominated));
    assumed = pod(nominated);
    EXPECT_EQ(berth_cluster_assume(cluster.get(), assumed.get(), 0, nullptr), BERTH_OK);
    berth_result* reserved = nullptr;
    EXPECT_EQ(berth_cluster_reserve(cluster.get(), "kept", pods[1].get(), 1, nullptr, &reserved, nullptr), BERTH_OK);
    berth_result_free(&reserved);
    berth_snapshot* taken = nullptr;
    EXPECT_EQ(berth_snapshot_create(cluster.get(), &taken, nullptr), BERTH_OK);
    snapshot.reset(taken);
    berth_fork* opened = nullptr;
    EXPECT_EQ(berth_snapshot_fork(snapshot.get(), &opened, nullptr), BERTH_OK);
    fork.reset(opened);
    EXPECT_EQ(berth_fork_add_pod(fork.get(), pods[1].get(), 2, nullptr), BERTH_OK);
    EXPECT_EQ(berth_fork_fork(fork.get(), &opened, nullptr), BERTH_OK);
    child.reset(opened);
    berth_node_set* none = nullptr;
    EXPECT_EQ(berth_node_set_create(cluster.get(), nullptr, 0, &none, nullptr), BERTH_OK);
    no_nodes.reset(none);
    berth_queue* waiting = nullptr;
    EXPECT_EQ(berth_queue_create(cluster.get(), nullptr, &waiting, nullptr), BERTH_OK);
    queue.reset(waiting);
    for (const std::size_t p : {std::size_t{0}, std::size_t{2}})
      EXPECT_EQ(berth_queue_add(waiting, all[p], nullptr), BERTH_OK);
    berth_pod* tried = nullptr;
    EXPECT_EQ(berth_queue_pop(waiting, &tried, nullptr), BERTH_OK);
    EXPECT_EQ(tried, all[2]) << "of the highest priority";
    berth_pod_free(&tried);
    EXPECT_EQ(berth_queue_pop(waiting, &tried, nullptr), BERTH_OK);
    EXPECT_EQ(berth_queue_fail(waiting, tried, "NodeResourcesFit", nullptr, nullptr), BERTH_OK);
    berth_pod_free(&tried);
  }

  void upsert(const std::string& text) {
    EXPECT_EQ(berth_cluster_upsert(cluster.get(), text.data(), text.size(), nullptr), BERTH_OK);
  }
  OwnedPod pod(const PodShape& shape) {
    const std::string text = pod_json(shape);
    berth_pod* made = nullptr;
    EXPECT_EQ(berth_pod_create(cluster.get(), text.data(), text.size(), nullptr, &made, nullptr), BERTH_OK);
    return OwnedPod(made);
  }
  /// What the handles say.
  std::string answers() {
    std::string text;
    berth_result* result = nullptr;
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot.get(), all.data(), all.size(), nullptr, 0, &result, nullptr),
              BERTH_OK);
    text += text_of(*OwnedResult(result));
    for (berth_fork* one : {fork.get(), child.get()}) {
      std::uint32_t node = 0;
      if (berth_fork_check_bulk(one, all.data(), all.size(), nullptr, 0, &result, nullptr) != BERTH_OK) continue;
      text += text_of(*OwnedResult(result));
      EXPECT_EQ(berth_fork_node_of_pod(one, "uid-q", &node, nullptr), BERTH_OK);
      text += std::to_string(node);
    }
    std::uint64_t version = 0;
    EXPECT_EQ(berth_cluster_version(cluster.get(), &version, nullptr), BERTH_OK);
    berth_snapshot* now = nullptr;
    EXPECT_EQ(berth_snapshot_create(cluster.get(), &now, nullptr), BERTH_OK);
    const OwnedSnapshot owned(now);
    EXPECT_EQ(berth_snapshot_check_bulk(now, all.data(), all.size(), nullptr, 0, &result, nullptr), BERTH_OK);
    text += text_of(*OwnedResult(result)) + std::to_string(version);
    for (std::uint32_t place = BERTH_QUEUE_ACTIVE; place <= BERTH_QUEUE_TRIED; ++place) {
      std::uint64_t count = 0;
      EXPECT_EQ(berth_queue_size(queue.get(), place, &count, nullptr), BERTH_OK);
      text += "/" + std::to_string(count);
    }
    EXPECT_EQ(berth_cluster_reservations(cluster.get(), nullptr, &result, nullptr), BERTH_OK);
    return text + text_of(*OwnedResult(result));
  }

  OwnedEngine engine = make_engine("cpu", 1);
  OwnedCluster cluster;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> all;  ///< `pods`; calls under test allocate nothing themselves
  OwnedPod assumed;                   ///< on a node, and nominated to another one before
  OwnedSnapshot snapshot;
  OwnedFork fork;
  OwnedFork child;
  OwnedNodeSet no_nodes;
  OwnedQueue queue;  ///< pods[2] is tried, and pods[0] waits for room
  OwnedCancel cancel = make_cancel();
};

std::vector<Call<Handles>> calls() {
  const std::string node = node_json({"late", 8, 1, false, false});
  const std::string change = node_json({"n1", 2, 1, true, true});
  const std::string running = pod_json({.name = "more", .app = 1, .node = "n1"});
  const std::string waiting = pod_json({.name = "new", .app = 7, .alone = true});
  // A reference: the compiler may read `result` before it makes the call beside it.
  const auto free_result = [](berth_status status, berth_result*& result) {
    berth_result_free(&result);
    return status;
  };
  return {
      {"upsert of a node",
       [node](Handles& h) { return berth_cluster_upsert(h.cluster.get(), node.data(), node.size(), nullptr); }},
      {"upsert that changes a node",
       [change](Handles& h) { return berth_cluster_upsert(h.cluster.get(), change.data(), change.size(), nullptr); }},
      {"upsert of a pod",
       [running](Handles& h) {
         return berth_cluster_upsert(h.cluster.get(), running.data(), running.size(), nullptr);
       }},
      {"delete",
       [](Handles& h) { return berth_cluster_delete(h.cluster.get(), "Node", nullptr, "n2", nullptr, nullptr); }},
      {"delete of a pod",
       [](Handles& h) { return berth_cluster_delete(h.cluster.get(), "Pod", "default", "runs", nullptr, nullptr); }},
      {"replace", [](Handles& h) { return berth_cluster_replace(h.cluster.get(), "Pod", nullptr, 0, nullptr); }},
      {"assume", [](Handles& h) { return berth_cluster_assume(h.cluster.get(), h.pods[0].get(), 1, nullptr); }},
      {"forget", [](Handles& h) { return berth_cluster_forget(h.cluster.get(), h.assumed.get(), nullptr); }},
      {"upsert_until with a token",
       [running](Handles& h) {
         berth_load_options options = BERTH_LOAD_OPTIONS_INIT;
         options.cancel = h.cancel.get();
         return berth_cluster_upsert_until(h.cluster.get(), running.data(), running.size(), &options, nullptr);
       }},
      {"pod_create",
       [waiting](Handles& h) {
         berth_pod* pod = nullptr;
         const berth_status status =
             berth_pod_create(h.cluster.get(), waiting.data(), waiting.size(), nullptr, &pod, nullptr);
         berth_pod_free(&pod);
         return status;
       }},
      {"pod_is_node_local",
       [](Handles& h) {
         std::int32_t local = 0;
         return berth_pod_is_node_local(h.pods[1].get(), &local, nullptr);
       }},
      {"snapshot_create",
       [](Handles& h) {
         berth_snapshot* snapshot = nullptr;
         const berth_status status = berth_snapshot_create(h.cluster.get(), &snapshot, nullptr);
         berth_snapshot_free(&snapshot);
         return status;
       }},
      {"snapshot_check_bulk",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(
             berth_snapshot_check_bulk(h.snapshot.get(), h.all.data(), h.all.size(), nullptr, 0, &result, nullptr),
             result);
       }},
      {"snapshot_preempt",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(berth_snapshot_preempt(h.snapshot.get(), h.pods[2].get(), 0, &result, nullptr), result);
       }},
      {"cluster_memory",
       [](Handles& h) {
         std::uint64_t bytes = 0;
         return berth_cluster_memory(h.cluster.get(), &bytes, nullptr);
       }},
      {"fork_preempt_until",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_ask_options options = BERTH_ASK_OPTIONS_INIT;
         options.cancel = h.cancel.get();
         return free_result(berth_fork_preempt_until(h.fork.get(), h.pods[2].get(), &options, &result, nullptr),
                            result);
       }},
      {"snapshot_explain_until",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_ask_options options = BERTH_ASK_OPTIONS_INIT;
         options.flags = BERTH_WITH_PREEMPTION;
         options.cancel = h.cancel.get();
         return free_result(berth_snapshot_explain_until(h.snapshot.get(), h.pods[2].get(), &options, &result, nullptr),
                            result);
       }},
      {"check, and its result as Arrow and DLPack",
       [](Handles& h) {
         berth_result* result = nullptr;
         berth_status status =
             berth_snapshot_check_bulk(h.snapshot.get(), h.all.data(), h.all.size(), nullptr, 0, &result, nullptr);
         if (status != BERTH_OK) return status;
         constexpr std::array<std::uint32_t, 2> kColumns = {BERTH_COLUMN_FITS, BERTH_COLUMN_REASONS};
         ArrowSchema schema{};
         ArrowArray array{};
         status = berth_result_arrow(result, kColumns.data(), kColumns.size(), &schema, &array, nullptr);
         if (status == BERTH_OK) {
           schema.release(&schema);
           array.release(&array);
           DLManagedTensorVersioned* tensor = nullptr;
           status = berth_result_dlpack(result, BERTH_COLUMN_FITS, &tensor, nullptr);
           if (status == BERTH_OK) tensor->deleter(tensor);
         }
         berth_result_free(&result);
         return status;
       }},
      {"snapshot_write_memory and snapshot_open_memory",
       [](Handles& h) {
         berth_result* result = nullptr;
         berth_status status = berth_snapshot_write_memory(h.snapshot.get(), &result, nullptr);
         if (status != BERTH_OK) return status;
         berth_str bytes{};
         berth_cluster* cluster = nullptr;
         berth_snapshot* snapshot = nullptr;
         berth_result_bytes(result, &bytes, nullptr);
         status = berth_snapshot_open_memory(h.engine.get(), bytes.data, bytes.size, &cluster, &snapshot, nullptr);
         berth_snapshot_free(&snapshot);
         berth_cluster_free(&cluster);
         berth_result_free(&result);
         return status;
       }},
      {"cancel_create",
       [](Handles&) {
         berth_cancel* cancel = nullptr;
         const berth_status status = berth_cancel_create(&cancel, nullptr);
         berth_cancel_free(&cancel);
         return status;
       }},
      {"snapshot_check_bulk_until",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_check_options options = BERTH_CHECK_OPTIONS_INIT;
         options.cancel = h.cancel.get();
         options.flags = BERTH_WITH_SCORES;
         return free_result(
             berth_snapshot_check_bulk_until(h.snapshot.get(), h.all.data(), h.all.size(), &options, &result, nullptr),
             result);
       }},
      {"fork_schedule with a token",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
         options.cancel = h.cancel.get();
         const std::array<const berth_pod*, 2> pods = {h.pods[0].get(), h.pods[2].get()};
         return free_result(berth_fork_schedule(h.fork.get(), pods.data(), pods.size(), &options, &result, nullptr),
                            result);
       }},
      {"fork_drain, kept, with a token",
       [free_result](Handles& h) {
         static const std::array<std::uint32_t, 2> kDrained = {0, 2};
         berth_result* result = nullptr;
         berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
         options.flags = BERTH_DRAIN_TOGETHER | BERTH_DRAIN_KEEP;
         options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
         options.cancel = h.cancel.get();
         return free_result(
             berth_fork_drain(h.fork.get(), kDrained.data(), kDrained.size(), &options, &result, nullptr), result);
       }},
      {"fork_explain",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(berth_fork_explain(h.fork.get(), h.pods[2].get(), BERTH_WITH_PREEMPTION, &result, nullptr),
                            result);
       }},
      {"snapshot_fork",
       [](Handles& h) {
         berth_fork* fork = nullptr;
         const berth_status status = berth_snapshot_fork(h.snapshot.get(), &fork, nullptr);
         berth_fork_free(&fork);
         return status;
       }},
      {"fork_schedule",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         const std::array<const berth_pod*, 2> pods = {h.pods[0].get(), h.pods[2].get()};
         return free_result(berth_fork_schedule(h.fork.get(), pods.data(), pods.size(), nullptr, &result, nullptr),
                            result);
       }},
      {"fork_schedule by first fit, as moved",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
         options.choice = BERTH_CHOICE_FIRST_FIT;
         options.flags = BERTH_AS_MOVED;
         const berth_pod* const pod = h.pods[1].get();
         return free_result(berth_fork_schedule(h.child.get(), &pod, 1, &options, &result, nullptr), result);
       }},
      {"fork_add_node",
       [node](Handles& h) { return berth_fork_add_node(h.fork.get(), node.data(), node.size(), nullptr, nullptr); }},
      {"fork_remove_node", [](Handles& h) { return berth_fork_remove_node(h.child.get(), 0, nullptr); }},
      {"fork_mask",
       [](Handles& h) {
         std::array<std::uint8_t, 3> fits{};
         std::size_t length = 0;
         berth_status status = BERTH_OK;
         for (const berth_pod* pod : h.all)
           for (int asked = 0; asked < 2 && status == BERTH_OK; ++asked)
             status = berth_fork_mask(h.fork.get(), pod, nullptr, BERTH_AS_MOVED, fits.data(), 3, &length, nullptr);
         return status;
       }},
      {"fork_use",
       [](Handles& h) {
         static const std::array<const char*, 3> kResources = {"cpu", "pods", "example.com/gpu"};
         std::array<std::int64_t, 9> requested{};
         std::size_t length = 0;
         return berth_fork_use(h.child.get(), kResources.data(), 3, requested.data(), nullptr, 9, &length, nullptr);
       }},
      {"queue_create",
       [](Handles& h) {
         berth_queue* made = nullptr;
         const berth_status status = berth_queue_create(h.cluster.get(), nullptr, &made, nullptr);
         berth_queue_free(&made);
         return status;
       }},
      {"queue_add", [](Handles& h) { return berth_queue_add(h.queue.get(), h.pods[1].get(), nullptr); }},
      {"queue_remove", [](Handles& h) { return berth_queue_remove(h.queue.get(), h.pods[0].get(), nullptr); }},
      {"queue_fail",
       [](Handles& h) {
         return berth_queue_fail(h.queue.get(), h.pods[2].get(), "NodeName, NodeResourcesFit", "Other", nullptr);
       }},
      {"queue_done", [](Handles& h) { return berth_queue_done(h.queue.get(), h.pods[2].get(), nullptr); }},
      {"queue_node_changed",
       [node](Handles& h) {
         return berth_queue_node_changed(h.queue.get(), nullptr, 0, node.data(), node.size(), nullptr);
       }},
      {"queue_pod_leaves",
       [](Handles& h) { return berth_queue_pod_leaves(h.queue.get(), h.fork.get(), "uid-runs", nullptr); }},
      {"queue_advance", [](Handles& h) { return berth_queue_advance(h.queue.get(), 400'000'000, nullptr); }},
      {"fork_add_pod", [](Handles& h) { return berth_fork_add_pod(h.fork.get(), h.pods[0].get(), 1, nullptr); }},
      {"fork_remove_pod", [](Handles& h) { return berth_fork_remove_pod(h.fork.get(), "uid-runs", nullptr); }},
      {"snapshot_scale_up",
       [node, free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_shape shape = BERTH_SHAPE_INIT;
         shape.node = node.data();
         shape.node_size = node.size();
         const berth_shape* const pointer = &shape;
         const std::array<const berth_pod*, 3> pods = {h.pods[0].get(), h.pods[1].get(), h.pods[2].get()};
         return free_result(berth_snapshot_scale_up(h.snapshot.get(), pods.data(), pods.size(), &pointer, 1, nullptr,
                                                    &result, nullptr),
                            result);
       }},
      {"fork_drain",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
         options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
         const std::array<std::uint32_t, 2> nodes = {0, 2};
         return free_result(berth_fork_drain(h.fork.get(), nodes.data(), nodes.size(), &options, &result, nullptr),
                            result);
       }},
      {"fork_drain, together and kept",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
         options.flags = BERTH_DRAIN_TOGETHER | BERTH_DRAIN_KEEP;
         options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
         const std::uint32_t drained = 0;
         return free_result(berth_fork_drain(h.fork.get(), &drained, 1, &options, &result, nullptr), result);
       }},
      {"snapshot_replace",
       [node, free_result](Handles& h) {
         berth_result* result = nullptr;
         berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
         options.rules_off = 1U << BERTH_RULE_NO_CONTROLLER;
         options.nodes = h.no_nodes.get();
         berth_shape shape = BERTH_SHAPE_INIT;
         shape.node = node.data();
         shape.node_size = node.size();
         const berth_shape* const pointer = &shape;
         const std::uint32_t drained = 0;
         return free_result(
             berth_snapshot_replace(h.snapshot.get(), &drained, 1, &options, &pointer, 1, 2, &result, nullptr), result);
       }},
      {"fork_revert", [](Handles& h) { return berth_fork_revert(h.fork.get(), nullptr); }},
      {"snapshot_max_replicas",
       [free_result](Handles& h) {
         static const std::array<const char*, 1> kKeys = {"topology.kubernetes.io/zone"};
         berth_result* result = nullptr;
         berth_max_replicas_options options = BERTH_MAX_REPLICAS_OPTIONS_INIT;
         options.keys = kKeys.data();
         options.key_count = kKeys.size();
         options.per_node = 1;
         return free_result(
             berth_snapshot_max_replicas(h.snapshot.get(), h.all.data(), h.all.size(), &options, &result, nullptr),
             result);
       }},
      {"fork_max_replicas, counts alone",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(
             berth_fork_max_replicas(h.child.get(), h.all.data(), h.all.size(), nullptr, &result, nullptr), result);
       }},
      {"fork_schedule_group",
       [free_result](Handles& h) {
         static const std::array<const char*, 1> kKeys = {"topology.kubernetes.io/zone"};
         berth_result* result = nullptr;
         berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
         options.domain = BERTH_DOMAIN_PREFERRED;
         options.keys = kKeys.data();
         options.key_count = kKeys.size();
         const std::array<const berth_pod*, 2> pods = {h.pods[0].get(), h.pods[2].get()};
         return free_result(
             berth_fork_schedule_group(h.fork.get(), pods.data(), pods.size(), &options, &result, nullptr), result);
       }},
      {"cluster_reserve",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(
             berth_cluster_reserve(h.cluster.get(), "some owner", h.pods[0].get(), 2, nullptr, &result, nullptr),
             result);
       }},
      {"cluster_unreserve",
       [](Handles& h) { return berth_cluster_unreserve(h.cluster.get(), "kept", nullptr, nullptr, nullptr); }},
      {"cluster_reservations",
       [free_result](Handles& h) {
         berth_result* result = nullptr;
         return free_result(berth_cluster_reservations(h.cluster.get(), nullptr, &result, nullptr), result);
       }},
      {"fork_commit", [](Handles& h) { return berth_fork_commit(h.fork.get(), nullptr, nullptr); }},
      {"fork_commit into a fork", [](Handles& h) { return berth_fork_commit(h.child.get(), nullptr, nullptr); }},
  };
}

TEST(OutOfMemory, EveryCallIsAllOrNothing) { expect_all_or_nothing(calls()); }

}  // namespace
}  // namespace berth::test
