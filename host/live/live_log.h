// SPDX-License-Identifier: Apache-2.0
#pragma once

// The log of the scheduler: text as Kubernetes' components write it, or JSON.

#include <spdlog/logger.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

enum class LogFormat : std::uint8_t { kText, kJson };
enum class LogSeverity : std::uint8_t { kInfo, kWarning, kError };

/// Any thread. Foreign text is escaped.
class LiveLog {
 public:
  using Values = std::vector<std::pair<std::string_view, std::string>>;

  /// To standard error. @param verbosity  messages of a higher level are left out
  LiveLog(LogFormat format, int verbosity);
  /// To a logger of the caller, whose pattern has to be "%v".
  LiveLog(LogFormat format, int verbosity, std::shared_ptr<spdlog::logger> logger);

  void info(std::string_view message, const Values& values = {}) { write(LogSeverity::kInfo, 0, message, values); }
  void warning(std::string_view message, const Values& values = {}) {
    write(LogSeverity::kWarning, 0, message, values);
  }
  void error(std::string_view message, const Values& values = {}) { write(LogSeverity::kError, 0, message, values); }
  void set_verbosity(int verbosity) { verbosity_ = verbosity; }
  bool has_level(int level) const { return level <= verbosity_; }
  void detail(int level, std::string_view message, const Values& values = {}) {
    if (has_level(level)) write(LogSeverity::kInfo, level, message, values);
  }
  void flush() { logger_->flush(); }

 private:
  void write(LogSeverity severity, int level, std::string_view message, const Values& values);

  LogFormat format_;
  std::atomic<int> verbosity_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace berth
