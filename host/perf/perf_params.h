// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "host/perf/perf_config.h"

namespace berth {

/// Of objects that one operation creates: as many pods as the workloads of a dump may ask for.
inline constexpr std::int64_t kPerfCountMax = 1'000'000;

/// Fills the parameters of one workload into operations, and knows which of them were used.
class PerfParams {
 public:
  /// @param path      of the file, for errors
  /// @param name      of the workload, for errors
  /// @param workload  must outlive this
  PerfParams(std::string path, std::string name, const PerfWorkload& workload)
      : path_(std::move(path)), name_(std::move(name)), workload_(workload) {}

  // Each does nothing for an empty parameter name. @throws InputError when the parameter is missing or of another kind
  void fill(PerfCount& count);
  void fill(bool& value, const std::string& param);
  void fill(std::int64_t& duration_us, const std::string& param);

  /// @throws InputError naming the parameters that no operation used
  void check_all_used() const;
  /// @throws InputError
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  template <class T>
  const T& get(const std::string& param, const char* expectation);

  std::string path_;
  std::string name_;
  const PerfWorkload& workload_;
  std::set<std::string> used_;
};

}  // namespace berth
