// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace berth {

struct ChildLimits {
  std::int64_t time_us = 30'000'000;  ///< real time; then the process and all of its group are killed
  std::size_t output_bytes_max = std::size_t{1} << 20;
  std::size_t error_bytes_kept = std::size_t{16} << 10;  ///< of its stderr; more is read and dropped
};

struct ChildResult {
  enum class End : std::uint8_t {
    kExited,
    kKilledBySignal,
    kTimedOut,
    kTooMuchOutput,
    kCancelled,
    kNotFound,    ///< no executable of that name
    kNotStarted,  ///< another error, see `error_number`
  };
  End end = End::kNotStarted;
  int code = 0;  ///< exit status, or the signal
  int error_number = 0;
  std::string output;  ///< its stdout
  std::string errors;  ///< the first bytes of its stderr
};

/// Runs a program without a shell, with /dev/null as stdin, no file of this process, no blocked signal, and in a
/// process group of its own; waits for its end and leaves no zombie. A program that a child of it keeps running is not
/// waited for. Blocks the calling thread for at most limits.time_us and a little. Any thread.
/// @param path  of the program; not looked up
/// @param environment  "NAME=value"
/// @param is_cancelled  null, or what makes it be killed within 20 ms
ChildResult run_child(const std::string& path, const std::vector<std::string>& arguments,
                      const std::vector<std::string>& environment, const ChildLimits& limits = {},
                      const std::atomic<bool>* is_cancelled = nullptr);

/// The path of `command`: itself where it has a slash, else the first executable of that name in an absolute folder of
/// `search_path` ("a:b:c"). @return empty where there is none
std::string find_program(const std::string& command, const std::string& search_path);

}  // namespace berth
