// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a process finds around it, so that tests can give their own.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/clock.h"

namespace berth {

struct Surroundings {
  std::vector<std::string> environment;        ///< "NAME=value"; of equal names the last one counts
  std::string root;                            ///< put before the paths of in-cluster files; empty: the system's
  const Clock* clock = nullptr;                ///< for intervals; must outlive what is made with it
  std::function<std::int64_t()> wall_time_us;  ///< the time of day, which may be set; for expiry times

  /// Empty where it is not set.
  std::string variable(std::string_view name) const;
  /// Of this process, at this moment.
  static Surroundings of_this_process();
};

/// As the kernel has it, which is what Go's os.Hostname() gives. @throws std::runtime_error
std::string host_name();

/// The whole file. @throws std::runtime_error naming the file and why, also when it holds more than 1 MiB
std::string read_small_file(const std::string& path);

/// `text` in quotes with everything escaped that is not printable ASCII, cut after `bytes_max` bytes.
std::string escaped_for_message(std::string_view text, std::size_t bytes_max);

}  // namespace berth
