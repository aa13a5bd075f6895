// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "host/generate/generate.h"
#include "host/generate/import_openb.h"
#include "host/generate/output_file.h"
#include "host/objects/errors.h"
#include "host/objects/json_out.h"
#include "host/objects/loader.h"
#include "tests/support/same_spec.h"

namespace berth {
namespace {

class WriteCluster : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth_write_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Compares objects by their text, one by one, so that a difference is readable.
template <class Objects>
void expect_equal_objects(const Objects& actual, const Objects& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    std::string actual_text;
    std::string expected_text;
    append_json(actual_text, *actual[i]);
    append_json(expected_text, *expected[i]);
    ASSERT_EQ(actual_text, expected_text);
  }
}

template <class Object>
std::vector<const Object*> pointers_to(const std::vector<Object>& objects) {
  std::vector<const Object*> pointers;
  for (const Object& object : objects) pointers.push_back(&object);
  return pointers;
}

void expect_same_after_loading(const ClusterObjects& objects, const std::string& path) {
  write_cluster(objects, path);
  const LoadResult loaded = load_cluster({path});
  for (const InputProblem& problem : loaded.problems) ADD_FAILURE() << problem.to_string();
  expect_equal_objects(loaded.objects.nodes, objects.nodes);
  expect_equal_objects(loaded.objects.pods, objects.pods);
  expect_equal_objects(pointers_to(loaded.objects.namespaces), pointers_to(objects.namespaces));
  expect_equal_objects(pointers_to(loaded.objects.services), pointers_to(objects.services));
  expect_equal_objects(pointers_to(loaded.objects.workloads), pointers_to(objects.workloads));
  EXPECT_EQ(loaded.objects.priority_classes.size(), objects.priority_classes.size());
  // Random clusters hold values that an API server would refuse, and written workloads an empty pod template.
  for (const std::string& warning : loaded.objects.warnings)
    EXPECT_TRUE(warning.find(" [") != warning.npos || warning.find("API server would refuse") != warning.npos)
        << warning;
  for (std::size_t i = 0; i < std::min(loaded.objects.pods.size(), objects.pods.size()); ++i) {
    ASSERT_TRUE(test::is_same_spec(*loaded.objects.pods[i]->spec, *objects.pods[i]->spec))
        << objects.pods[i]->full_name();
  }
}

TEST_F(WriteCluster, AGeneratedClusterRoundTrips) {
  const ClusterObjects objects = generate_cluster(load_cluster_spec("bench/workloads/small-classes.yaml"), 1);
  expect_same_after_loading(objects, folder_ / "cluster.json");
  expect_same_after_loading(objects, folder_ / "cluster.json.gz");
}

TEST_F(WriteCluster, TheExampleRoundTrips) {
  expect_same_after_loading(generate_cluster(load_cluster_spec("examples/cluster.yaml"), 1), folder_ / "example.json");
}

TEST_F(WriteCluster, RandomClustersRoundTrip) {
  RandomClusterOptions options;
  options.volumes_and_claims = true;
  options.configuration = true;
  options.odd_quantities = true;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    options.topology_percent = seed % 2 == 0 ? 100 : 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same_after_loading(random_cluster(seed, options), folder_ / "random.json");
    if (HasFailure()) return;  // the first one says enough
  }
}

TEST_F(WriteCluster, ServicesOwnersAndTermsRoundTrip) {
  const ClusterSpec spec = parse_cluster_spec(R"({"namespaces": [{"name": "x", "count": 2}],
      "services": [{"name": "s", "namespace": "x", "selector": {"app": "a"}}, {"name": "none"}],
      "pods": [{"name": "p", "namespaces": ["x"], "pending": 3, "labels": {"app": "a"},
          "podAffinity": {"required": [{"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app"]}]},
          "ownedBy": {"kind": "StatefulSet", "name": "set", "selector": {"matchLabels": {"app": "a"}}}},
        {"name": "q", "pending": 1, "ownedBy": {"kind": "ReplicationController", "name": "set"}}]})",
                                              "s");
  const ClusterObjects objects = generate_cluster(spec, 1);
  ASSERT_EQ(objects.services.size(), 3U);
  ASSERT_EQ(objects.workloads.size(), 3U);
  expect_same_after_loading(objects, folder_ / "cluster.json");
}

TEST_F(WriteCluster, TextIsWrittenUnchanged) {
  write_text("a: b\n", folder_ / "a.yaml");
  EXPECT_EQ(content_of(folder_ / "a.yaml"), "a: b\n");
  EXPECT_THROW(write_text("a", "/nowhere/a.yaml"), InputError);
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is absent";
  EXPECT_THROW(write_text("a", "/dev/full"), InputError);
}

TEST_F(WriteCluster, AFileThatIsThereIsReplacedAndKeepsItsModeAndItsLinks) {
  const std::filesystem::path file = folder_ / "a.yaml";
  write_text("old", file);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("a.yaml", folder_ / "link.yaml");
  write_text("new", folder_ / "link.yaml");
  EXPECT_EQ(content_of(file), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.yaml"));
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(WriteCluster, AFileKeepsItsContentWhenWritingFails) {
  const std::filesystem::path file = folder_ / "a.yaml";
  write_text("old", file);
  EXPECT_THROW(write_output_file(file,
                                 [](std::FILE* out) {
                                   std::fputs("half", out);
                                   errno = ENOSPC;
                                   return false;
                                 }),
               InputError);
  EXPECT_EQ(content_of(file), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteCluster, APipeWithoutAReaderIsAnErrorAfterAWhile) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  try {
    write_output_file(pipe, [](std::FILE*) { return true; }, std::chrono::milliseconds(50));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().to_string(),
              pipe + ": cannot be written: it is a pipe that no program reads (waited 50 ms)");
  }
  std::string read;
  std::thread reader([&] { read = content_of(pipe); });
  write_text("text", pipe);
  reader.join();
  EXPECT_EQ(read, "text");
}

TEST_F(WriteCluster, AGzFileNameIsCompressed) {
  const ClusterObjects objects = generate_cluster(load_cluster_spec("bench/workloads/small-classes.yaml"), 1);
  write_cluster(objects, folder_ / "a.json");
  write_cluster(objects, folder_ / "a.json.gz");
  const std::string compressed = content_of(folder_ / "a.json.gz");
  EXPECT_TRUE(compressed.starts_with("\x1f\x8b"));
  EXPECT_LT(compressed.size() * 4, content_of(folder_ / "a.json").size());
}

TEST_F(WriteCluster, AFileThatCannotBeOpenedIsReported) {
  for (const char* name : {"/nowhere/a.json", "/nowhere/a.json.gz"}) {
    try {
      write_cluster({}, name);
      FAIL() << "no error";
    } catch (const InputError& error) {
      EXPECT_EQ(error.problems().front().to_string(),
                std::string(name) + ": cannot be written: No such file or directory");
    }
  }
}

TEST_F(WriteCluster, AFullDeviceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is absent";
  const ClusterObjects objects = generate_cluster(load_cluster_spec("bench/workloads/small-classes.yaml"), 1);
  try {
    write_cluster(objects, "/dev/full");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().to_string(), "/dev/full: cannot be written: No space left on device");
  }
}

TEST_F(WriteCluster, AnImportedTraceRoundTrips) {
  const std::filesystem::path nodes = folder_ / "nodes.csv";
  const std::filesystem::path pods = folder_ / "pods.csv";
  std::ofstream(nodes) << "sn,cpu_milli,memory_mib,gpu,model\nn-0,32000,1024,2,P100\n";
  std::ofstream(pods) << "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time\n"
                         "a,500,15258,1,460,P100|T4,LS,7\nb,100,0,0,0,,BE,0\n";
  for (const GpuMode mode : {GpuMode::kCard, GpuMode::kMilli}) {
    OpenbOptions options;
    options.gpu_mode = mode;
    options.qos_priority = true;
    expect_same_after_loading(import_openb(nodes, pods, options), folder_ / "openb.json");
  }
}

}  // namespace
}  // namespace berth
