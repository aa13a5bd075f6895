// SPDX-License-Identifier: Apache-2.0
#include "host/generate/import_openb.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "host/objects/errors.h"
#include "host/objects/pod_requests.h"
#include "tests/support/shared_data.h"

namespace berth {
namespace {

constexpr const char* kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "node-a,32000,262144,0,\n"
    "node-b,64000,131072,2,P100\n";
constexpr const char* kPodHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.problems().front().to_string();
  }
  return "no error";
}

class ImportOpenb : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth_openb_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  ClusterObjects import(const std::string& pods, const OpenbOptions& options = {}) const {
    return import_openb(write("nodes.csv", kNodes), write("pods.csv", kPodHeader + pods), options);
  }

  /// The message without the folder.
  std::string error_of_pods(const std::string& pods, const OpenbOptions& options = {}) const {
    const std::string message = error_of([&] { import(pods, options); });
    const std::string prefix = folder_.string() + "/";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  std::filesystem::path folder_;
};

TEST_F(ImportOpenb, ANodeRowBecomesANodeWithItsLabels) {
  const ClusterObjects objects = import("");
  ASSERT_EQ(objects.nodes.size(), 2U);
  const Node& plain = *objects.nodes[0];
  EXPECT_EQ(plain.labels, (LabelMap{{"kubernetes.io/hostname", "node-a"}, {"kubernetes.io/os", "linux"}}));
  EXPECT_EQ(plain.allocatable.milli_cpu, 32000);
  EXPECT_EQ(plain.allocatable.memory_bytes, std::int64_t{262144} << 20);
  EXPECT_FALSE(plain.allocatable.has_scalar("nvidia.com/gpu"));
  EXPECT_EQ(plain.allowed_pod_number, 110);
  const Node& gpu = *objects.nodes[1];
  EXPECT_EQ(gpu.labels.find("alibabacloud.com/gpu-card-model"), "P100");
  EXPECT_EQ(gpu.allocatable.scalar("nvidia.com/gpu"), 2);
}

TEST_F(ImportOpenb, ASharedCardCountsAsAWholeOneInCardMode) {
  const ClusterObjects objects = import("p,6000,12288,1,460,,LS,Running,5,7,6\n");
  ASSERT_EQ(objects.pods.size(), 1U);
  const Pod& pod = *objects.pods[0];
  EXPECT_EQ(pod.full_name(), "openb/p");
  EXPECT_EQ(pod.node_name, "");
  EXPECT_EQ(pod.phase, PodPhase::kPending);
  EXPECT_EQ(pod.priority, 0);
  EXPECT_EQ(pod.labels, (LabelMap{{"openb/qos", "LS"}}));
  const ResourceAmounts request = filter_requests(pod);
  EXPECT_EQ(request.milli_cpu, 6000);
  EXPECT_EQ(request.memory_bytes, std::int64_t{12288} << 20);
  EXPECT_EQ(request.scalar("nvidia.com/gpu"), 1);
}

TEST_F(ImportOpenb, MilliModeCountsThousandthsOnBothSides) {
  OpenbOptions options;
  options.gpu_mode = GpuMode::kMilli;
  const ClusterObjects objects =
      import("a,6000,12288,1,460,,LS,Running,5,7,6\nb,1,1,4,1000,,LS,Running,5,7,6\n", options);
  EXPECT_EQ(objects.nodes[1]->allocatable.scalar("alibabacloud.com/gpu-milli"), 2000);
  EXPECT_EQ(filter_requests(*objects.pods[0]).scalar("alibabacloud.com/gpu-milli"), 460);
  EXPECT_EQ(filter_requests(*objects.pods[1]).scalar("alibabacloud.com/gpu-milli"), 4000);
}

TEST_F(ImportOpenb, ZeroMemoryIsNoRequest) {
  const ClusterObjects objects = import("p,14000,0,0,0,,LS,Running,5,7,6\n");
  EXPECT_EQ(find(objects.pods[0]->spec->containers[0].requests, kMemory), nullptr);
}

TEST_F(ImportOpenb, GpuTypesBecomeARequiredAffinity) {
  const ClusterObjects objects =
      import("p,1,1,1,1000,V100M16|V100M32,LS,Running,5,7,6\nq,1,1,1,1000,,LS,Running,5,7,6\n");
  const auto& affinity = objects.pods[0]->spec->node_affinity;
  ASSERT_TRUE(affinity && affinity->required && affinity->required->size() == 1);
  const SelectorRequirement expected{"alibabacloud.com/gpu-card-model", SelectorOperator::kIn, {"V100M16", "V100M32"}};
  EXPECT_EQ(affinity->required->front().match_expressions, std::vector{expected});
  EXPECT_FALSE(objects.pods[1]->spec->node_affinity);
}

TEST_F(ImportOpenb, PodsAreOrderedByCreationTime) {
  const ClusterObjects objects =
      import("late,1,1,0,0,,LS,Running,9,9,9\nearly,1,1,0,0,,LS,Running,0,9,9\ntie,1,1,0,0,,LS,Running,9,9,9\n");
  ASSERT_EQ(objects.pods.size(), 3U);
  EXPECT_EQ(objects.pods[0]->name, "early");
  EXPECT_EQ(objects.pods[1]->name, "late");
  EXPECT_EQ(objects.pods[2]->name, "tie");
  EXPECT_GT(objects.pods[0]->creation_time_us, 0);
}

TEST_F(ImportOpenb, PodsRunFromWhenTheyWereScheduledUntilTheyWereDeleted) {
  const ClusterObjects objects = import(
      "a,1,1,0,0,,LS,Running,5,60,20\nnever-scheduled,1,1,0,0,,LS,Pending,6,60,\nno-end,1,1,0,0,,LS,Running,7,,8\n");
  ASSERT_EQ(objects.pods.size(), 3U);
  EXPECT_EQ(objects.pods[0]->rare().run_duration_us, 40'000'000);
  EXPECT_EQ(objects.pods[1]->rare().run_duration_us, 54'000'000);
  EXPECT_EQ(objects.pods[2]->rare().run_duration_us, std::nullopt);
}

TEST_F(ImportOpenb, FiveColumnsAreEnough) {
  const ClusterObjects objects =
      import_openb(write("nodes.csv", kNodes),
                   write("pods.csv", "gpu_milli,name,cpu_milli,memory_mib,num_gpu\r\n500,p,1,2,1\r\n"), {});
  ASSERT_EQ(objects.pods.size(), 1U);
  EXPECT_EQ(objects.pods[0]->creation_time_us, 0);
  EXPECT_TRUE(objects.pods[0]->labels.empty());
}

TEST_F(ImportOpenb, PodsWithEqualRequestsShareTheirSpec) {
  const ClusterObjects objects =
      import("a,1,1,1,400,,LS,Running,1,3,3\nb,1,1,1,700,,BE,Running,2,3,3\nc,1,1,1,400,P100,LS,Running,3,3,3\n");
  EXPECT_EQ(objects.pods[0]->spec, objects.pods[1]->spec);  // both take one card
  EXPECT_NE(objects.pods[0]->spec, objects.pods[2]->spec);
}

TEST_F(ImportOpenb, QosGivesPrioritiesOnlyWithTheOption) {
  OpenbOptions options;
  options.qos_priority = true;
  const std::string rows =
      "a,1,1,0,0,,LS,Running,1,3,3\nb,1,1,0,0,,Guaranteed,Running,2,3,3\nc,1,1,0,0,,Burstable,Running,3,3,3\n"
      "d,1,1,0,0,,BE,Running,4,1,1\n";
  const ClusterObjects objects = import(rows, options);
  EXPECT_EQ(objects.pods[0]->priority, 1000);
  EXPECT_EQ(objects.pods[1]->priority, 1000);
  EXPECT_EQ(objects.pods[2]->priority, 500);
  EXPECT_EQ(objects.pods[3]->priority, 0);
  for (const PodPtr& pod : import(rows).pods) EXPECT_EQ(pod->priority, 0);
  EXPECT_EQ(error_of_pods("a,1,1,0,0,,Best,Running,1,3,3\n", options),
            "pods.csv: line 2: qos: got \"Best\", expected Guaranteed, LS, Burstable or BE");
}

TEST_F(ImportOpenb, WrongRowsAreRefusedWithFileAndLine) {
  EXPECT_EQ(error_of_pods("p,x,1,0,0,,LS,Running,1,3,3\n"),
            "pods.csv: line 2: cpu_milli: got \"x\", expected an integer of at least 0");
  EXPECT_EQ(error_of_pods("p,1,1,0,0,,LS,Running,1,3,3\np,1,1,0,0,,LS,Running,1,3,3\n"),
            "pods.csv: line 3: name: \"p\" stands here twice");
  EXPECT_EQ(error_of_pods("P_1,1,1,0,0,,LS,Running,1,3,3\n"),
            "pods.csv: line 2: name: got \"P_1\", expected the name of an object");
  EXPECT_EQ(error_of_pods("p,1,1,1,0,,LS,Running,1,3,3\n"),
            "pods.csv: line 2: got num_gpu 1 with gpu_milli 0, expected both to be 0 or neither");
  EXPECT_EQ(error_of_pods("p,1,1,1,1001,,LS,Running,1,3,3\n"),
            "pods.csv: line 2: gpu_milli: got 1001, expected at most 1000");
  EXPECT_EQ(error_of_pods("p,1,1,1,1000,A||B,LS,Running,1,3,3\n"),
            "pods.csv: line 2: gpu_spec: got \"A||B\", expected GPU types joined by |");
  EXPECT_EQ(error_of_pods("p,1,9223372036854775807,0,0,,LS,Running,1,3,3\n"),
            "pods.csv: line 2: memory_mib: got 9223372036854775807, expected at most 8796093022207");
}

TEST_F(ImportOpenb, MissingColumnsAndFilesAreNamed) {
  const std::string pods = write("pods.csv", "name,cpu_milli\n");
  EXPECT_EQ(error_of([&] { import_openb(write("nodes.csv", kNodes), pods, {}); }),
            pods + ": line 1: missing columns: memory_mib, num_gpu, gpu_milli");
  EXPECT_EQ(error_of([&] { import_openb(pods, pods, {}); }),
            pods + ": line 1: missing columns: sn, memory_mib, gpu, model");
  EXPECT_TRUE(error_of([&] { import_openb("/nowhere/n.csv", pods, {}); }).starts_with("/nowhere/n.csv: "));
}

TEST_F(ImportOpenb, OnlyGpuModesOfPlainResourcesAreAccepted) {
  EXPECT_EQ(parse_gpu_mode("card"), GpuMode::kCard);
  EXPECT_EQ(parse_gpu_mode("milli"), GpuMode::kMilli);
  EXPECT_EQ(error_of([] { parse_gpu_mode("per-card"); }),
            "--gpu-mode: got \"per-card\", expected card or milli; cards of their own need device claims, which are "
            "not built yet");
  EXPECT_EQ(error_of([] { parse_gpu_mode("cards"); }), "--gpu-mode: got \"cards\", expected card or milli");
}

/// One row of the table in the data's README.md: counts of rows by kind, requested cores, memory and cards.
struct ListFacts {
  const char* name;
  std::int64_t rows, no_gpu, shared, whole, several, with_spec, cores, memory_gib;
  double gpus;
};

constexpr ListFacts kLists[] = {
    {"cpu037", 7336, 272, 3078, 3911, 75, 0, 70988, 257536, 6086.8},
    {"cpu072", 7608, 544, 3078, 3911, 75, 0, 75836, 270416, 6086.8},
    {"cpu100", 7853, 789, 3078, 3911, 75, 0, 80292, 282295, 6086.8},
    {"cpu235", 9240, 2176, 3078, 3911, 75, 0, 104634, 348335, 6086.8},
    {"cpu250", 9420, 2356, 3078, 3911, 75, 0, 107460, 357214, 6086.8},
    {"default", 8152, 1088, 3078, 3911, 75, 0, 85436, 296431, 6086.8},
    {"gpushare20", 8152, 1088, 2324, 4653, 87, 0, 90173, 316360, 6531.5},
    {"gpushare60", 8152, 1088, 5233, 1801, 30, 0, 72020, 241243, 4908.3},
    {"gpushare100", 8152, 1088, 7064, 0, 0, 0, 61762, 199158, 3952.7},
    {"gpuspec05", 8152, 1088, 3078, 3911, 75, 369, 85436, 296431, 6086.8},
    {"gpuspec20", 8152, 1088, 3078, 3911, 75, 1444, 85436, 296431, 6086.8},
    {"gpuspec33", 8152, 1088, 3078, 3911, 75, 2388, 85436, 296431, 6086.8},
    {"multigpu20", 8324, 1088, 3078, 3911, 247, 0, 95172, 336692, 7086.8},
    {"multigpu40", 8746, 1088, 3078, 3911, 669, 0, 118032, 431720, 9442.8},
    {"multigpu50", 9061, 1088, 3078, 3911, 984, 0, 137776, 517995, 11358.8},
};

void expect_nodes(const ClusterObjects& objects, bool all_nodes, GpuMode mode) {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::int64_t cards = 0;
  for (const NodePtr& node : objects.nodes) {
    milli_cpu += node->allocatable.milli_cpu;
    memory_mib += node->allocatable.memory_bytes >> 20;
    cards += mode == GpuMode::kCard ? node->allocatable.scalar("nvidia.com/gpu")
                                    : node->allocatable.scalar("alibabacloud.com/gpu-milli") / 1000;
  }
  EXPECT_EQ(objects.nodes.size(), all_nodes ? 1523U : 1213U);
  EXPECT_EQ(milli_cpu / 1000, all_nodes ? 125514 : 107018);
  EXPECT_EQ(memory_mib, all_nodes ? 612028416 : 503828480);
  EXPECT_EQ(cards, 6212);
}

void expect_pods(const ClusterObjects& objects, const ListFacts& facts, GpuMode mode) {
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpu = 0;
  std::int64_t without_gpu = 0;
  std::int64_t with_spec = 0;
  for (const PodPtr& pod : objects.pods) {
    const ResourceAmounts request = filter_requests(*pod);
    const std::int64_t asked = request.scalar(mode == GpuMode::kCard ? "nvidia.com/gpu" : "alibabacloud.com/gpu-milli");
    milli_cpu += request.milli_cpu;
    memory_mib += request.memory_bytes >> 20;
    gpu += asked;
    without_gpu += asked == 0 ? 1 : 0;
    with_spec += pod->spec->node_affinity ? 1 : 0;
  }
  EXPECT_EQ(static_cast<std::int64_t>(objects.pods.size()), facts.rows);
  EXPECT_EQ(without_gpu, facts.no_gpu);
  EXPECT_EQ(with_spec, facts.with_spec);
  EXPECT_NEAR(static_cast<double>(milli_cpu) / 1000, static_cast<double>(facts.cores), 1.0);
  EXPECT_NEAR(static_cast<double>(memory_mib) / 1024, static_cast<double>(facts.memory_gib), 1.0);
  if (mode == GpuMode::kMilli) {
    EXPECT_NEAR(static_cast<double>(gpu) / 1000, facts.gpus, 0.06);
  } else {
    EXPECT_GE(gpu, facts.shared + facts.whole + 2 * facts.several);
  }
}

TEST(ImportOpenbData, EveryListGivesTheCountsOfItsTable) {
  const std::filesystem::path folder = test::shared_data_folder() / "openb";
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder);
  for (const bool all_nodes : {true, false}) {
    const std::string nodes = folder / (all_nodes ? "openb_node_list_all_node.csv" : "openb_node_list_gpu_node.csv");
    for (const GpuMode mode : {GpuMode::kCard, GpuMode::kMilli}) {
      for (const ListFacts& facts : kLists) {
        SCOPED_TRACE(facts.name);
        OpenbOptions options;
        options.gpu_mode = mode;
        const ClusterObjects objects =
            import_openb(nodes, folder / ("openb_pod_list_" + std::string(facts.name) + ".csv"), options);
        expect_nodes(objects, all_nodes, mode);
        expect_pods(objects, facts, mode);
      }
    }
  }
}

TEST(ImportOpenbData, TheDefaultListRequestsMoreCardsThanExist) {
  const std::filesystem::path folder = test::shared_data_folder() / "openb";
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder);
  const ClusterObjects objects =
      import_openb(folder / "openb_node_list_gpu_node.csv", folder / "openb_pod_list_default.csv", {});
  std::int64_t cards = 0;
  for (const PodPtr& pod : objects.pods) cards += filter_requests(*pod).scalar("nvidia.com/gpu");
  EXPECT_EQ(cards, 7433);
}

}  // namespace
}  // namespace berth
