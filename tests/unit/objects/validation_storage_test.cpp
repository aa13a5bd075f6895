// SPDX-License-Identifier: Apache-2.0
// Storage objects that no check has anything to say about, and what is read of those that fail one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/json_out.h"
#include "tests/support/shared_data.h"
#include "tests/unit/objects/load_text.h"
#include "tests/unit/objects/object_texts.h"
#include "tests/unit/objects/validation_cases.h"

namespace berth {
namespace {

using namespace object_texts;

using Strings = std::vector<std::string>;

Strings warnings_of(const std::string& text) { return load_good(text).warnings; }

TEST(ValidationOfStorage, GoodObjectsHaveNoFindings) {
  for (const std::string& text : good_storage_objects()) EXPECT_EQ(warnings_of(text), Strings{}) << text;
}

TEST(ValidationOfStorage, WhatBerthWritesOfGoodObjectsHasNoFindings) {
  for (const std::string& text : good_storage_objects()) {
    const ClusterObjects objects = load_good(text);
    std::string written;
    const auto write = [&](const auto& list) {
      for (const auto& object : list) append_json(written, object);
    };
    write(objects.storage.volumes);
    write(objects.storage.claims);
    write(objects.storage.classes);
    write(objects.storage.csi_nodes);
    write(objects.storage.csi_drivers);
    write(objects.storage.capacities);
    for (const VolumeAttachment& one : objects.storage.attachments) {
      if (one.volume_name) append_json(written, one);  // of an inline volume nothing was kept that could be written
    }
    if (written.empty()) continue;  // a pod or a workload
    EXPECT_EQ(warnings_of(written), Strings{}) << written;
  }
}

TEST(ValidationOfStorage, ValuesThatFailACheckAreReadAsTheyStand) {
  const StorageObjects storage =
      load_good(volume(kModes + kCsi + R"(,"capacity":{"storage":"-1Gi"})") +
                claim(kModes + R"("volumeName":"a","volumeName":"b","resources":{"requests":{"storage":0}})") +
                csi_node(R"({"name":"d","allocatable":{"count":-1}})"))
          .storage;
  EXPECT_EQ(storage.volumes.at(0).capacity.value(), -(std::int64_t{1} << 30));
  EXPECT_EQ(storage.claims.at(0).volume_name, "b");
  EXPECT_EQ(storage.claims.at(0).request->value(), 0);
  EXPECT_EQ(storage.csi_nodes.at(0).drivers.at(0).limit, -1);
}

// ---- Published files

constexpr auto kStorageWords = std::to_array<std::string_view>(
    {"PersistentVolume ", "PersistentVolumeClaim ", "StorageClass ", "CSINode ", "CSIDriver ", "CSIStorageCapacity ",
     "VolumeAttachment ", ".volumes[", ".volumeClaimTemplates["});

/// Warnings of checks about storage objects, volumes and claim templates.
Strings storage_findings(const Strings& warnings) {
  Strings found;
  for (const std::string& warning : warnings) {
    const bool is_finding = warning.ends_with("]") || warning.find("more like it)") != std::string::npos;
    const bool is_storage = std::any_of(kStorageWords.begin(), kStorageWords.end(),
                                        [&](std::string_view word) { return warning.find(word) != std::string::npos; });
    if (is_finding && is_storage) found.push_back(warning);
  }
  return found;
}

bool is_text_of_objects(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json") || name.ends_with(".json.gz");
}

TEST(ValidationOfStorage, PublishedManifestsAndClustersHaveNoFindings) {
  const auto folder = test::shared_data_folder();
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder / "k8s-manifests");
  std::size_t storage_objects = 0;
  for (const char* name : {"k8s-manifests", "k8s-docs-examples", "oracle"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / name)) {
      if (!is_text_of_objects(entry.path())) continue;
      const ClusterObjects objects = load_cluster({entry.path().string()}).objects;
      EXPECT_EQ(storage_findings(objects.warnings), Strings{}) << entry.path();
      storage_objects += objects.storage.volumes.size() + objects.storage.claims.size() +
                         objects.storage.classes.size() + objects.storage.csi_nodes.size() +
                         objects.storage.csi_drivers.size();
    }
  }
  EXPECT_GT(storage_objects, 30U);
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at != text.npos) text.replace(at, from.size(), to);
}

/// The object of a template as scheduler_perf creates it: names and handles of volumes are not in the file.
std::string created_from(std::string text) {
  replace_first(text, "generateName: ", "name: o-");
  if (text.find("kind: PersistentVolume") == text.npos) return text;
  if (text.find("metadata:") == text.npos) text += "\nmetadata:\n";
  replace_first(text, "metadata:", "metadata:\n  name: o");
  replace_first(text, "driver: ", "volumeHandle: o\n    driver: ");
  return text;
}

TEST(ValidationOfStorage, TheTemplatesOfSchedulerPerfHaveNoFindings) {
  const char* home = std::getenv("HOME");
  const auto folder = std::filesystem::path(home != nullptr ? home : "/root") /
                      "go/pkg/mod/k8s.io/kubernetes@v1.35.4/test/integration/scheduler_perf";
  BERTH_SKIP_WITHOUT_SHARED_DATA(folder);
  std::size_t read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().parent_path().filename() != "templates" || !entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const LoadResult result = load_cluster_from_text(created_from(text), entry.path().string(), {});
    EXPECT_EQ(storage_findings(result.objects.warnings), Strings{}) << entry.path();
    read += result.objects.storage.volumes.size() + result.objects.storage.claims.size();
  }
  EXPECT_EQ(read, 4U);
}

}  // namespace
}  // namespace berth
