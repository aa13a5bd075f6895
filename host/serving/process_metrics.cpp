// SPDX-License-Identifier: Apache-2.0
// process_*: what Prometheus' Go client reads of /proc, in its order.
#include <prometheus/client_metric.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "host/serving/component_metrics.h"

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

void add_single(std::vector<MetricFamily>& families, std::string name, std::string help, MetricType type,
                double value) {
  ClientMetric metric;
  metric.counter.value = value;  // one of the two is read
  metric.gauge.value = value;
  families.push_back({std::move(name), std::move(help), type, {metric}});
}

/// The fields of /proc/self/stat from the third on, which follows the name in brackets. They count from 3 in proc(5).
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

double number(const std::vector<std::string>& fields, std::size_t number_in_manual) {
  const std::string& text = fields.at(number_in_manual - 3);
  return static_cast<double>(std::strtoull(text.c_str(), nullptr, 10));
}

std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

double limit_of(decltype(RLIMIT_NOFILE) what) {
  rlimit limit{};
  if (::getrlimit(what, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? static_cast<double>(std::numeric_limits<std::uint64_t>::max())
                                         : static_cast<double>(limit.rlim_cur);
}

std::optional<double> open_files() {
  std::error_code problem;
  const std::filesystem::directory_iterator files("/proc/self/fd", problem);
  if (problem) return std::nullopt;
  return static_cast<double>(std::distance(begin(files), end(files))) - 1;  // less the one that reads the folder
}

struct NetworkBytes {
  double received = 0;
  double sent = 0;
};

/// Of the network namespace: the line "IpExt:" with names, and the one after it with their values.
std::optional<NetworkBytes> network_bytes() {
  std::ifstream file("/proc/self/net/netstat");
  for (std::string names, values; std::getline(file, names) && std::getline(file, values);) {
    if (!names.starts_with("IpExt:")) continue;
    NetworkBytes bytes;
    std::istringstream of_names(names);
    std::istringstream of_values(values);
    for (std::string name, value; of_names >> name && of_values >> value;) {
      if (name == "InOctets") bytes.received = std::strtod(value.c_str(), nullptr);
      if (name == "OutOctets") bytes.sent = std::strtod(value.c_str(), nullptr);
    }
    return bytes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MetricFamily> process_metrics() {
  constexpr std::size_t kUserTime = 14;
  constexpr std::size_t kSystemTime = 15;
  constexpr std::size_t kStartTime = 22;
  constexpr std::size_t kVirtualBytes = 23;
  constexpr std::size_t kResidentPages = 24;
  std::vector<MetricFamily> families;
  const std::vector<std::string> fields = stat_fields();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const bool has_fields = fields.size() + 3 > kResidentPages;
  if (has_fields)
    add_single(families, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
               MetricType::Counter, (number(fields, kUserTime) + number(fields, kSystemTime)) / ticks);
  add_single(families, "process_max_fds", "Maximum number of open file descriptors.", MetricType::Gauge,
             limit_of(RLIMIT_NOFILE));
  if (const std::optional<NetworkBytes> bytes = network_bytes()) {
    add_single(families, "process_network_receive_bytes_total",
               "Number of bytes received by the process over the network.", MetricType::Counter, bytes->received);
    add_single(families, "process_network_transmit_bytes_total",
               "Number of bytes sent by the process over the network.", MetricType::Counter, bytes->sent);
  }
  if (const std::optional<double> files = open_files())
    add_single(families, "process_open_fds", "Number of open file descriptors.", MetricType::Gauge, *files);
  if (has_fields) {
    add_single(families, "process_resident_memory_bytes", "Resident memory size in bytes.", MetricType::Gauge,
               number(fields, kResidentPages) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    if (const std::optional<double> boot = boot_time())
      add_single(families, "process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
                 MetricType::Gauge, *boot + number(fields, kStartTime) / ticks);
    add_single(families, "process_virtual_memory_bytes", "Virtual memory size in bytes.", MetricType::Gauge,
               number(fields, kVirtualBytes));
  }
  add_single(families, "process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
             MetricType::Gauge, limit_of(RLIMIT_AS));
  return families;
}

}  // namespace berth
