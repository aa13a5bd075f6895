// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

#include "host/live/live_log.h"

namespace berth {

/// A log whose text a test reads.
struct CapturedLog {
  explicit CapturedLog(LogFormat format = LogFormat::kText, int verbosity = 0) : log(format, verbosity, make()) {}
  std::string text() const { return out.str(); }

  std::ostringstream out;
  LiveLog log;

 private:
  std::shared_ptr<spdlog::logger> make() {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    logger->set_pattern("%v");
    return logger;
  }
};

}  // namespace berth
