// SPDX-License-Identifier: Apache-2.0
#include "host/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "host/cli/bar.h"
#include "host/cli/figures.h"
#include "host/cli/messages.h"

namespace berth {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kBarColumns = 30;

}  // namespace

ProgressBar::ProgressBar(std::string what, std::chrono::milliseconds quiet_time)
    : what_(std::move(what)), quiet_time_(quiet_time), terminal_(Terminal::of(STDERR_FILENO)) {}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (!terminal_.interactive || total == 0) return;
  const Clock::time_point now = Clock::now();
  if (now - started_ < quiet_time_ || now - drawn_ < kRedrawInterval) return;
  drawn_ = now;
  visible_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  print_control_sequence(fmt::format("\r\x1b[K{} {} {} of {}", what_, track_bar(share, kBarColumns, terminal_),
                                     grouped(static_cast<std::int64_t>(done)),
                                     grouped(static_cast<std::int64_t>(total))));
}

void ProgressBar::clear() {
  if (!visible_) return;
  print_control_sequence("\r\x1b[K");
  visible_ = false;
}

}  // namespace berth
