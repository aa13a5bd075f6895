// SPDX-License-Identifier: Apache-2.0
#include "host/cli/device_figures.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace berth {
namespace {

DeviceStats device_sample() {
  DeviceStats device;
  device.device = "NVIDIA H100 80GB HBM3";
  device.kernels = {{"build_rows", 3, 0.5, 1'000'000'000'000}, {"commit_batch", 2000, 0.25, 0}};
  device.uploaded_bytes = 1 << 20;
  device.downloaded_bytes = 2048;
  device.allocated_bytes = std::uint64_t{3} << 30;
  device.peak_bandwidth_bytes_per_s = 4'000'000'000'000;
  device.full_uploads = 1;
  device.layouts_rebuilt = 3;
  device.pods_on_host = 2;
  device.evaluations_on_host = 4;
  device.fork_pods_on_host = 5;
  device.dry_runs_on_host = 6000;
  return device;
}

nlohmann::json document_of(const DeviceStats& device) {
  std::string text;
  {
    Output output(text);
    const auto writer = json_writer(output, 0);
    writer->begin_object();
    write_device(device, *writer);
    writer->end_object();
    writer->end_document();
  }
  return nlohmann::json::parse(text)["device"];
}

TEST(DeviceFigures, JsonHasPlainNumbersAndTheShareWhenKnown) {
  EXPECT_EQ(document_of(device_sample()), nlohmann::json::parse(R"({
    "name": "NVIDIA H100 80GB HBM3",
    "kernels": [{"name": "build_rows", "launches": 3, "seconds": 0.5, "bytes": 1000000000000, "shareOfPeak": 0.5},
                {"name": "commit_batch", "launches": 2000, "seconds": 0.25, "bytes": 0}],
    "uploadedBytes": 1048576, "downloadedBytes": 2048, "allocatedBytes": 3221225472,
    "peakBandwidthBytesPerSecond": 4000000000000, "fullUploads": 1, "layoutsRebuilt": 3,
    "onHost": {"pods": 2, "evaluations": 4, "forkPods": 5, "dryRuns": 6000}})"));
}

TEST(DeviceFigures, OmitsAnUnknownShare) {
  DeviceStats device = device_sample();
  device.peak_bandwidth_bytes_per_s = 0;
  EXPECT_FALSE(document_of(device)["kernels"][0].contains("shareOfPeak"));
  device = device_sample();
  device.kernels[0].seconds = 0;
  EXPECT_FALSE(document_of(device)["kernels"][0].contains("shareOfPeak"));
}

TEST(DeviceFigures, TextHasALineAndATable) {
  EXPECT_EQ(device_report(device_sample(), Terminal()),
            "NVIDIA H100 80GB HBM3, 1 MiB sent to it, 2 KiB back, 3 GiB in use\n"
            "everything sent once, rows laid out again 3 times; on the host 2 pods, 4 evaluations, 5 pods of forks, "
            "6,000 dry "
            "runs\n"
            "  kernel        launches    time      bytes  of peak\n"
            "  build_rows           3  500 ms  931.3 GiB   50.0 %\n"
            "  commit_batch     2,000  250 ms          -        -\n");
}

}  // namespace
}  // namespace berth
