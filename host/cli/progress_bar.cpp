// SPDX-License-Identifier: Apache-2.0
#include "host/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "host/cli/bar.h"
#include "host/cli/messages.h"
#include "host/report/figures.h"

namespace berth {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kBarColumns = 30;

}  // namespace

std::string progress_text(std::string_view what, std::size_t done, std::size_t total, const Terminal& terminal) {
  const std::string count = grouped(static_cast<std::int64_t>(done));
  if (total == 0) return fmt::format("{} {}", what, count);
  const double share = static_cast<double>(done) / static_cast<double>(total);
  return fmt::format("{} {} {} of {}", what, track_bar(share, kBarColumns, terminal), count,
                     grouped(static_cast<std::int64_t>(total)));
}

ProgressBar::ProgressBar(std::string what, std::chrono::milliseconds quiet_time)
    : what_(std::move(what)), quiet_time_(quiet_time), terminal_(Terminal::of(STDERR_FILENO)) {}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (!terminal_.interactive || (done == 0 && total == 0)) return;
  const Clock::time_point now = Clock::now();
  if (now - started_ < quiet_time_ || now - drawn_ < kRedrawInterval) return;
  drawn_ = now;
  visible_ = true;
  print_control_sequence("\r\x1b[K" + progress_text(what_, done, total, terminal_));
}

void ProgressBar::clear() {
  if (!visible_) return;
  print_control_sequence("\r\x1b[K");
  visible_ = false;
}

}  // namespace berth
