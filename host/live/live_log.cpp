// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <chrono>
#include <iterator>

#include "host/objects/json_writer.h"

namespace berth {
namespace {

std::shared_ptr<spdlog::logger> stderr_logger() {
  auto logger = std::make_shared<spdlog::logger>("berth", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  logger->flush_on(spdlog::level::warn);
  return logger;
}

spdlog::level::level_enum level_of(LogSeverity severity) {
  if (severity == LogSeverity::kError) return spdlog::level::err;
  return severity == LogSeverity::kWarning ? spdlog::level::warn : spdlog::level::info;
}

std::int64_t wall_clock_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// A JSON string is also what klog writes between quotes.
std::string in_quotes(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

/// I1126 23:21:28.123456   12345 berth] "message" key="value"
std::string as_text(LogSeverity severity, std::string_view message, const LiveLog::Values& values) {
  const std::int64_t now_us = wall_clock_us();
  constexpr std::string_view kLetters = "IWE";
  std::string line = fmt::format(
      "{}{:%m%d %H:%M:%S}.{:06} {:7} berth] {}", kLetters[static_cast<std::size_t>(severity)],
      fmt::gmtime(static_cast<std::time_t>(now_us / 1'000'000)), now_us % 1'000'000, getpid(), in_quotes(message));
  for (const auto& [key, value] : values) fmt::format_to(std::back_inserter(line), " {}={}", key, in_quotes(value));
  return line;
}

/// As component-base writes JSON: ts in milliseconds, v of what is no error.
std::string as_json(LogSeverity severity, int level, std::string_view message, const LiveLog::Values& values) {
  std::string line;
  JsonWriter w(line);
  w.open('{');
  w.field("ts", static_cast<double>(wall_clock_us()) / 1000.0);
  w.text("caller", "berth");
  w.field("msg", message);
  if (severity == LogSeverity::kInfo) {
    w.field("v", std::int64_t{level});
  } else {
    w.text("severity", severity == LogSeverity::kWarning ? "warning" : "error");
  }
  for (const auto& [key, value] : values) w.field(key, value);
  w.close('}');
  return line;
}

}  // namespace

LiveLog::LiveLog(LogFormat format, int verbosity) : LiveLog(format, verbosity, stderr_logger()) {}

LiveLog::LiveLog(LogFormat format, int verbosity, std::shared_ptr<spdlog::logger> logger)
    : format_(format), verbosity_(verbosity), logger_(std::move(logger)) {}

void LiveLog::write(LogSeverity severity, int level, std::string_view message, const Values& values) {
  const std::string line =
      format_ == LogFormat::kText ? as_text(severity, message, values) : as_json(severity, level, message, values);
  logger_->log(level_of(severity), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace berth
