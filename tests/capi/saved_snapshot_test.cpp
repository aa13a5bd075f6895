// SPDX-License-Identifier: Apache-2.0
// Snapshots that are written and opened: they answer as before, and damaged ones are refused.

#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/capi/world.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace berth::test {
namespace {

constexpr std::size_t kHeader = 72;

void upsert(berth_cluster& cluster, const std::string& text) {
  berth_error error = BERTH_ERROR_INIT;
  ASSERT_EQ(berth_cluster_upsert(&cluster, text.data(), text.size(), &error), BERTH_OK) << error.text << " in " << text;
}

OwnedPod make_pod(berth_cluster& cluster, const PodShape& shape) {
  const std::string text = pod_json(shape);
  berth_pod* pod = nullptr;
  EXPECT_EQ(berth_pod_create(&cluster, text.data(), text.size(), nullptr, &pod, nullptr), BERTH_OK);
  return OwnedPod(pod);
}

OwnedSnapshot snapshot_of(berth_cluster& cluster) {
  berth_snapshot* snapshot = nullptr;
  EXPECT_EQ(berth_snapshot_create(&cluster, &snapshot, nullptr), BERTH_OK);
  return OwnedSnapshot(snapshot);
}

/// What rules read beside nodes and pods.
constexpr const char* kBeside = R"({"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default","labels":{"team":"a"}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"default"},"spec":{"selector":{"app":"x1"}}},
{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","namespace":"default","uid":"r1"},
 "spec":{"replicas":0,"selector":{"matchLabels":{"app":"x2"}},"template":{"spec":{}}}},
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"default"},
 "spec":{"selector":{"matchLabels":{"app":"x1"}}},"status":{"disruptionsAllowed":1}},
{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":1000},
{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"slow"},"handler":"slow",
 "overhead":{"podFixed":{"cpu":"100m"}}},
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"example.com/p",
 "volumeBindingMode":"WaitForFirstConsumer"},
{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default","uid":"c1"},
 "spec":{"storageClassName":"fast","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]})";

/// A pod that admission has completed once: its overhead and priority are not to be added again.
constexpr const char* kAdmitted =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"admitted","namespace":"default","uid":"uid-admitted"},
"spec":{"nodeName":"n4","runtimeClassName":"slow","priorityClassName":"high","containers":[{"name":"c",
"resources":{"requests":{"cpu":"1"}}}]}})";

const std::vector<PodShape>& asked_shapes() {
  static const std::vector<PodShape> shapes = {{.name = "p", .milli_cpu = 1500},
                                               {.name = "q", .app = 1, .spreads = true},
                                               {.name = "alone", .app = 1, .alone = true},
                                               {.name = "urgent", .milli_cpu = 4000, .priority = 100},
                                               {.name = "near", .app = 3, .near_app = 2}};
  return shapes;
}

std::string node_of_images(const std::string& size) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n)" + size + R"(","labels":{"disk":"fast"}},)" +
         R"("status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"20"},"images":[{"names":["app:1"],"sizeBytes":)" +
         size + R"(000000},{"names":["lib:2","lib@sha256:00"],"sizeBytes":5000000}]}})";
}

std::string pod_of_port(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")" + name + R"(","uid":"uid-)" +
         name + R"(","labels":{"statefulset.kubernetes.io/pod-name":")" + name +
         R"("}},"spec":{"nodeName":"n300","priority":7,"containers":[{"name":"c","image":"app:1",)" +
         R"("resources":{"requests":{"cpu":"1"}},"ports":[{"containerPort":80,"hostPort":80}]}]}})";
}

/// A cluster in which everything happened that a file has to hold.
struct Lived {
  explicit Lived(const char* backend) : engine(make_engine(backend, 7)) {
    berth_cluster* made = nullptr;
    EXPECT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
    cluster.reset(made);
    upsert(*made, kBeside);
    // Numbers of names are not the order of nodes: the first one goes and comes back.
    for (int i = 0; i < 6; ++i) upsert(*made, node_json({.name = "n" + std::to_string(i), .zone = i % 3}));
    EXPECT_EQ(berth_cluster_delete(made, "Node", nullptr, "n0", nullptr, nullptr), BERTH_OK);
    EXPECT_EQ(berth_cluster_delete(made, "Node", nullptr, "n5", nullptr, nullptr), BERTH_OK);
    upsert(*made, node_json({.name = "n0", .zone = 0}));
    upsert(*made, kAdmitted);
    // Of these, what counts is what a node said that says something else now, or is gone.
    for (const char* size : {"100", "300"}) upsert(*made, node_of_images(size));
    for (const char* name : {"first", "second"}) upsert(*made, pod_of_port(name));
    EXPECT_EQ(berth_cluster_delete(made, "Pod", nullptr, nullptr, "uid-first", nullptr), BERTH_OK);
    EXPECT_EQ(berth_cluster_delete(made, "Node", nullptr, "n100", nullptr, nullptr), BERTH_OK);
    for (int i = 0; i < 8; ++i)
      upsert(*made, pod_json({.name = "runs" + std::to_string(i),
                              .milli_cpu = 300,
                              .app = i % 3,
                              .priority = i % 2,
                              .node = "n" + std::to_string(i % 5)}));
    upsert(*made, pod_json({.name = "waits", .milli_cpu = 2000, .priority = 50, .nominated = "n2"}));
    upsert(*made, pod_json({.name = "on a ghost", .node = "gone"}));
    const OwnedPod assumed = make_pod(*made, {.name = "assumed", .app = 2});
    EXPECT_EQ(berth_cluster_assume(made, assumed.get(), 1, nullptr), BERTH_OK);
    upsert(*made, pod_json({.name = "later", .milli_cpu = 200, .node = "n1"}));
    const OwnedPod kept = make_pod(*made, {.name = "kept"});
    berth_result* reserved = nullptr;
    EXPECT_EQ(berth_cluster_reserve(made, "an/owner", kept.get(), 2, nullptr, &reserved, nullptr), BERTH_OK);
    berth_result_free(&reserved);
  }

  OwnedEngine engine;
  OwnedCluster cluster;
};

std::string bytes_of(const berth_snapshot& snapshot) {
  berth_result* result = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_write_memory(&snapshot, &result, &error), BERTH_OK) << error.text;
  const OwnedResult owned(result);
  berth_str bytes{};
  EXPECT_EQ(berth_result_bytes(result, &bytes, nullptr), BERTH_OK);
  return {bytes.data, bytes.size};
}

OwnedCluster open(const berth_engine& engine, const std::string& bytes) {
  berth_cluster* cluster = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_open_memory(&engine, bytes.data(), bytes.size(), &cluster, nullptr, &error), BERTH_OK)
      << error.object << ": " << error.text;
  return OwnedCluster(cluster);
}

/// What every verb says, also of a fork and after a change.
std::string answers_of(berth_cluster& cluster) {
  std::string out;
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> asked;
  for (const PodShape& shape : asked_shapes()) asked.push_back(pods.emplace_back(make_pod(cluster, shape)).get());
  const std::string on_port =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"port"},"spec":)"
      R"({"nodeSelector":{"disk":"fast"},"containers":[{"name":"c","image":"app:1",)"
      R"("ports":[{"containerPort":80,"hostPort":80}]}]}})";
  berth_pod* port = nullptr;
  EXPECT_EQ(berth_pod_create(&cluster, on_port.data(), on_port.size(), nullptr, &port, nullptr), BERTH_OK);
  pods.emplace_back(port);
  asked.push_back(port);
  const OwnedSnapshot snapshot = snapshot_of(cluster);
  berth_result* result = nullptr;
  const auto add = [&](berth_status status) {
    EXPECT_EQ(status, BERTH_OK);
    if (status != BERTH_OK) return;
    out += text_of(*OwnedResult(result)) + '\n';
  };
  const berth_pod* const* const list = asked.data();
  add(berth_snapshot_explain(snapshot.get(), port, 0, &result, nullptr));
  add(berth_snapshot_check_bulk(snapshot.get(), list, asked.size(), nullptr, 0, &result, nullptr));
  add(berth_snapshot_max_replicas(snapshot.get(), list, asked.size(), nullptr, &result, nullptr));
  add(berth_snapshot_preempt(snapshot.get(), asked[3], 0, &result, nullptr));
  add(berth_snapshot_explain(snapshot.get(), asked[3], BERTH_WITH_PREEMPTION, &result, nullptr));
  berth_drain_options drain = BERTH_DRAIN_OPTIONS_INIT;
  drain.preset = BERTH_DRAIN_CLUSTER_AUTOSCALER;
  drain.min_replicas = 1;
  constexpr std::uint32_t kDrained[] = {0, 1, 4};
  add(berth_snapshot_drain(snapshot.get(), kDrained, 3, &drain, &result, nullptr));
  add(berth_cluster_reservations(&cluster, nullptr, &result, nullptr));
  berth_fork* fork = nullptr;
  EXPECT_EQ(berth_snapshot_fork(snapshot.get(), &fork, nullptr), BERTH_OK);
  const OwnedFork owned(fork);
  add(berth_fork_schedule(fork, list, asked.size(), nullptr, &result, nullptr));
  std::uint64_t version = 0;
  EXPECT_EQ(berth_cluster_version(&cluster, &version, nullptr), BERTH_OK);
  std::uint32_t number = 0;
  for (const char* name : {"n0", "n4", "n5"}) {
    EXPECT_EQ(berth_cluster_find_node(&cluster, name, &number, nullptr), BERTH_OK) << name;
    out += std::to_string(number) + ' ';
  }
  return out + std::to_string(version);
}

class SavedSnapshots : public testing::TestWithParam<const char*> {};

TEST_P(SavedSnapshots, AnswerAsBefore) {
  const Lived lived(GetParam());
  const std::string expected = answers_of(*lived.cluster);
  const std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  const OwnedCluster opened = open(*lived.engine, bytes);
  EXPECT_EQ(answers_of(*opened), expected);
  EXPECT_EQ(bytes_of(*snapshot_of(*opened)), bytes) << "written again, it is the same";
  // They go on alike: the assumed pod is forgotten, and the reservation grows behind the numbers that it has.
  for (berth_cluster* cluster : {lived.cluster.get(), opened.get()}) {
    const OwnedPod assumed = make_pod(*cluster, {.name = "assumed", .app = 2});
    EXPECT_EQ(berth_cluster_forget(cluster, assumed.get(), nullptr), BERTH_OK);
    berth_result* reserved = nullptr;
    EXPECT_EQ(berth_cluster_reserve(cluster, "an/owner", assumed.get(), 1, nullptr, &reserved, nullptr), BERTH_OK);
    berth_result_free(&reserved);
    EXPECT_EQ(berth_cluster_delete(cluster, "Pod", nullptr, nullptr, "uid-waits", nullptr), BERTH_OK);
    EXPECT_EQ(berth_cluster_delete(cluster, "PodDisruptionBudget", "default", "b", nullptr, nullptr), BERTH_OK);
  }
  EXPECT_EQ(answers_of(*opened), answers_of(*lived.cluster));
}

TEST_P(SavedSnapshots, AnOlderSnapshotIsWrittenAsItWas) {
  const Lived lived(GetParam());
  const OwnedSnapshot before = snapshot_of(*lived.cluster);
  const std::string expected = answers_of(*lived.cluster);
  upsert(*lived.cluster, node_json({.name = "new", .cpu = 64}));
  upsert(*lived.cluster, pod_json({.name = "runs0", .milli_cpu = 100, .node = "n0"}));
  EXPECT_EQ(answers_of(*open(*lived.engine, bytes_of(*before))), expected);
}

TEST_P(SavedSnapshots, AnEmptyClusterHasOneToo) {
  const OwnedEngine engine = make_engine(GetParam(), 1);
  berth_cluster* made = nullptr;
  ASSERT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
  const OwnedCluster cluster(made);
  const std::string bytes = bytes_of(*snapshot_of(*made));
  EXPECT_EQ(bytes_of(*snapshot_of(*open(*engine, bytes))), bytes);
}

INSTANTIATE_TEST_SUITE_P(Backends, SavedSnapshots, testing::Values("cpu", "reference"));

berth_status status_of(const berth_engine& engine, const std::string& bytes, berth_error* error = nullptr) {
  berth_cluster* cluster = nullptr;
  berth_snapshot* snapshot = nullptr;
  const berth_status status =
      berth_snapshot_open_memory(&engine, bytes.data(), bytes.size(), &cluster, &snapshot, error);
  EXPECT_EQ(cluster != nullptr, status == BERTH_OK);
  EXPECT_EQ(snapshot != nullptr, status == BERTH_OK);
  berth_snapshot_free(&snapshot);
  berth_cluster_free(&cluster);
  return status;
}

TEST(DamagedSnapshots, AnyOtherByteIsSeen) {
  const Lived lived("cpu");
  const std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  constexpr std::size_t kStep = 7;
  for (std::size_t at = 0; at < bytes.size(); at += at < kHeader ? 1 : kStep) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x21);
    EXPECT_LT(status_of(*lived.engine, damaged), 0) << "byte " << at;
  }
  for (std::size_t size = 0; size < bytes.size(); size += kStep)
    EXPECT_EQ(status_of(*lived.engine, bytes.substr(0, size)), BERTH_E_INPUT) << size;
  EXPECT_EQ(status_of(*lived.engine, bytes + '\0'), BERTH_E_INPUT);
}

/// The bytes with other data, and sizes and checksum that fit them.
std::string sealed(const std::string& bytes, const std::string& full) {
  std::string data(ZSTD_compressBound(full.size()), '\0');
  data.resize(ZSTD_compress(data.data(), data.size(), full.data(), full.size(), 1));
  std::string header = bytes.substr(0, kHeader);
  const std::uint64_t sizes[] = {data.size(), full.size()};
  std::memcpy(header.data() + kHeader - 24, sizes, sizeof sizes);
  const std::string checked = header.substr(0, kHeader - 8) + data;
  const std::uint64_t checksum = XXH3_64bits(checked.data(), checked.size());
  std::memcpy(header.data() + kHeader - 8, &checksum, sizeof checksum);
  return header + data;
}

TEST(DamagedSnapshots, DataThatSayTheyAreWholeDoNoHarm) {
  const Lived lived("cpu");
  const std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + kHeader - 16, sizeof size);
  std::string full(size, '\0');
  ASSERT_EQ(ZSTD_decompress(full.data(), full.size(), bytes.data() + kHeader, bytes.size() - kHeader), size);
  EXPECT_EQ(status_of(*lived.engine, sealed(bytes, full)), BERTH_OK);
  std::mt19937_64 random(20261126);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = full;
    // Numbers stand in front; objects are most of the rest.
    const std::size_t range = i % 2 == 0 ? full.size() / 4 : full.size();
    for (int times = 1 + i % 3; times > 0; --times) damaged[random() % range] = static_cast<char>(random());
    if (i % 10 == 0) damaged.resize(random() % full.size());
    const berth_status status = status_of(*lived.engine, sealed(bytes, damaged));
    EXPECT_TRUE(status == BERTH_OK || status == BERTH_E_INPUT || status == BERTH_E_NOT_FOUND ||
                status == BERTH_E_EXISTS || status == BERTH_E_ARGUMENT || status == BERTH_E_UNSUPPORTED)
        << berth_status_name(status);
    refused += status == BERTH_OK ? 0 : 1;
  }
  EXPECT_GT(refused, 200);
}

TEST(DamagedSnapshots, AFileThatWouldGrowTooMuchIsRefused) {
  const Lived lived("cpu");
  const std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(status_of(*lived.engine, sealed(bytes, std::string(std::size_t{64} << 20, '\0')), &error), BERTH_E_INPUT);
  EXPECT_STREQ(error.text, "is damaged: it would grow to more than 8 times its size");
}

TEST(DamagedSnapshots, AFrameOfMoreThanOneMebibyteIsRefused) {
  const Lived lived("cpu");
  const std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  std::mt19937_64 random(20261128);
  std::string full((std::size_t{1} << 20) + 1, '\0');
  for (char& byte : full) byte = static_cast<char>(random());  // which zstd cannot make shorter
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(status_of(*lived.engine, sealed(bytes, full), &error), BERTH_E_INPUT);
  EXPECT_STREQ(error.text, "is damaged: its data cannot be decompressed");
  full.pop_back();
  EXPECT_EQ(status_of(*lived.engine, sealed(bytes, full), &error), BERTH_E_INPUT);
  EXPECT_STREQ(error.text, "is damaged: its parts do not fit together");
}

TEST(SavedSnapshots, AClusterThatCompressesBetterThanFilesMayGrowOpensToo) {
  const OwnedEngine engine = make_engine("cpu", 1);
  berth_cluster* made = nullptr;
  ASSERT_EQ(berth_cluster_create(engine.get(), &made, nullptr), BERTH_OK);
  const OwnedCluster cluster(made);
  std::string pods = node_json({.name = "n", .cpu = 320000, .pods = 1000000});
  for (int p = 0; p < 400000; ++p)
    pods += pod_json({.name = "p" + std::to_string(p), .milli_cpu = 1, .node = "n", .memory_mib = 1});
  upsert(*cluster, pods);
  const std::string bytes = bytes_of(*snapshot_of(*cluster));
  std::uint64_t full = 0;
  std::memcpy(&full, bytes.data() + kHeader - 16, sizeof full);
  ASSERT_GT(full, 8U << 20);
  EXPECT_LE(full, 8 * (bytes.size() - kHeader) + (1U << 20));
  EXPECT_EQ(status_of(*engine, bytes), BERTH_OK);
}

TEST(DamagedSnapshots, AnotherReleaseIsNamed) {
  const Lived lived("cpu");
  std::string bytes = bytes_of(*snapshot_of(*lived.cluster));
  berth_error error = BERTH_ERROR_INIT;
  berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
  options.release = "1.36";
  berth_engine* made = nullptr;
  ASSERT_EQ(berth_engine_create(&options, &made, nullptr), BERTH_OK);
  const OwnedEngine later(made);
  EXPECT_EQ(status_of(*later, bytes, &error), BERTH_E_UNSUPPORTED);
  EXPECT_STREQ(error.text, "is of kube-scheduler's release 1.35; this is 1.36");
  bytes[16] = '9';  // the first byte of libberth's version
  EXPECT_EQ(status_of(*lived.engine, bytes, &error), BERTH_E_UNSUPPORTED);
  EXPECT_EQ(std::string(error.text),
            "is of libberth 9" + std::string(berth_version_string()).substr(1) + "; this is " + berth_version_string());
}

TEST(DamagedSnapshots, AFileKeepsItsContentUntilTheNewOneIsComplete) {
  const Lived lived("cpu");
  const OwnedSnapshot snapshot = snapshot_of(*lived.cluster);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("berth-saved-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "snapshot").string();
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_write(snapshot.get(), path.c_str(), &error), BERTH_OK) << error.text;
  berth_cluster* cluster = nullptr;
  berth_snapshot* opened = nullptr;
  EXPECT_EQ(berth_snapshot_open(lived.engine.get(), path.c_str(), &cluster, &opened, &error), BERTH_OK) << error.text;
  EXPECT_EQ(bytes_of(*OwnedSnapshot(opened)), bytes_of(*snapshot));
  EXPECT_EQ(answers_of(*OwnedCluster(cluster)), answers_of(*lived.cluster));
  const std::string nowhere = (folder / "none" / "snapshot").string();
  EXPECT_EQ(berth_snapshot_write(snapshot.get(), nowhere.c_str(), &error), BERTH_E_INPUT);
  EXPECT_EQ(error.object, nowhere);
  EXPECT_EQ(berth_snapshot_open(lived.engine.get(), nowhere.c_str(), &cluster, nullptr, &error), BERTH_E_INPUT);
  EXPECT_EQ(berth_snapshot_write(snapshot.get(), folder.string().c_str(), &error), BERTH_E_INPUT)
      << "a folder is no file";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing is left behind";
  std::filesystem::remove_all(folder);
}

TEST(DamagedSnapshots, WhatTheyCannotHoldIsNamed) {
  const Lived lived("cpu");
  const char* const with_claim =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"db","namespace":"default","uid":"uid-db"},
"spec":{"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"c"}]}})";
  berth_pod* pod = nullptr;
  ASSERT_EQ(berth_pod_create(lived.cluster.get(), with_claim, std::strlen(with_claim), nullptr, &pod, nullptr),
            BERTH_OK);
  const OwnedPod owned(pod);
  ASSERT_EQ(berth_cluster_assume(lived.cluster.get(), pod, 2, nullptr), BERTH_OK);
  berth_result* result = nullptr;
  berth_error error = BERTH_ERROR_INIT;
  EXPECT_EQ(berth_snapshot_write_memory(snapshot_of(*lived.cluster).get(), &result, &error), BERTH_E_UNSUPPORTED);
  EXPECT_STREQ(error.object, "Pod default/db");
  EXPECT_EQ(result, nullptr);
}

}  // namespace
}  // namespace berth::test
