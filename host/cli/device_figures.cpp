// SPDX-License-Identifier: Apache-2.0
#include "host/cli/device_figures.h"

#include <fmt/format.h>

#include <optional>

#include "host/report/figures.h"
#include "host/report/table.h"

namespace berth {
namespace {

/// Of the bandwidth that the device's memory has at most; nothing when a part of it is not known.
std::optional<double> share_of_peak(const DeviceStats::Kernel& kernel, const DeviceStats& device) {
  if (kernel.seconds <= 0 || kernel.bytes == 0 || device.peak_bandwidth_bytes_per_s == 0) return std::nullopt;
  return static_cast<double>(kernel.bytes) / kernel.seconds / static_cast<double>(device.peak_bandwidth_bytes_per_s);
}

void unsigned_field(std::string_view name, std::uint64_t value, DocumentWriter& writer) {
  writer.key(name);
  writer.unsigned_integer(value);
}

std::string times(std::int64_t count) { return count == 1 ? "once" : grouped(count) + " times"; }

}  // namespace

void write_device(const DeviceStats& device, DocumentWriter& writer) {
  writer.key("device");
  writer.begin_object();
  writer.string_field("name", device.device);
  writer.key("kernels");
  writer.begin_array();
  for (const DeviceStats::Kernel& kernel : device.kernels) {
    writer.begin_object();
    writer.string_field("name", kernel.name);
    writer.integer_field("launches", kernel.launches);
    writer.real_field("seconds", kernel.seconds);
    unsigned_field("bytes", kernel.bytes, writer);
    if (const auto share = share_of_peak(kernel, device)) writer.real_field("shareOfPeak", *share);
    writer.end_object();
  }
  writer.end_array();
  unsigned_field("uploadedBytes", device.uploaded_bytes, writer);
  unsigned_field("downloadedBytes", device.downloaded_bytes, writer);
  unsigned_field("allocatedBytes", device.allocated_bytes, writer);
  unsigned_field("peakBandwidthBytesPerSecond", device.peak_bandwidth_bytes_per_s, writer);
  writer.integer_field("fullUploads", device.full_uploads);
  writer.integer_field("layoutsRebuilt", device.layouts_rebuilt);
  writer.key("onHost");
  writer.begin_object();
  writer.integer_field("pods", device.pods_on_host);
  writer.integer_field("evaluations", device.evaluations_on_host);
  writer.integer_field("forkPods", device.fork_pods_on_host);
  writer.integer_field("dryRuns", device.dry_runs_on_host);
  writer.end_object();
  writer.end_object();
}

std::string device_report(const DeviceStats& device, const Terminal& terminal) {
  std::string text =
      fmt::format("{}, {} sent to it, {} back, {} in use\n", printable(device.device), byte_size(device.uploaded_bytes),
                  byte_size(device.downloaded_bytes), byte_size(device.allocated_bytes));
  text += fmt::format(
      "everything sent {}, rows laid out again {}; on the host {} pods, {} evaluations, {} pods of forks, {} dry "
      "runs\n",
      times(device.full_uploads), times(device.layouts_rebuilt), grouped(device.pods_on_host),
      grouped(device.evaluations_on_host), grouped(device.fork_pods_on_host), grouped(device.dry_runs_on_host));
  Table table({{"kernel"},
               {"launches", Align::kRight},
               {"time", Align::kRight},
               {"bytes", Align::kRight},
               {"of peak", Align::kRight}});
  for (const DeviceStats::Kernel& kernel : device.kernels) {
    const auto share = share_of_peak(kernel, device);
    table.add_row({std::string(kernel.name), grouped(kernel.launches),
                   kernel.seconds > 0 ? duration(kernel.seconds) : "-",
                   kernel.bytes > 0 ? byte_size(kernel.bytes) : "-", share ? percent(*share) : "-"});
  }
  return text + table.render(terminal, 2);
}

}  // namespace berth
