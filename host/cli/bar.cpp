// SPDX-License-Identifier: Apache-2.0
#include "host/cli/bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/report/figures.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr int kHistogramColumns = 24;

std::string repeat(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated.append(text);
  return repeated;
}

double clamped(double share) { return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0; }

std::string bin_title(std::size_t bin) {
  return bin + 1 == kHistogramBins ? std::string("90-100 %") : fmt::format("{}-{} %", bin * 10, bin * 10 + 10);
}

}  // namespace

std::string bar(double share, int columns, const Terminal& terminal) {
  const double filled = clamped(share) * columns;
  if (filled <= 0) return "";
  if (!terminal.unicode) return repeat("#", std::max(1, static_cast<int>(std::lround(filled))));
  const int eighths = std::max(1, static_cast<int>(std::lround(filled * 8)));
  return repeat("█", eighths / 8) + std::string(kEighths[static_cast<std::size_t>(eighths % 8)]);
}

std::string track_bar(double share, int columns, const Terminal& terminal) {
  std::string filled = bar(share, columns, terminal);
  const int left = columns - display_width(filled);
  return filled + repeat(terminal.unicode ? "░" : ".", left);
}

Histogram histogram_of(std::span<const std::int32_t> percents) {
  Histogram bins{};
  for (const std::int32_t percent_used : percents) {
    ++bins[std::min(static_cast<std::size_t>(std::max(percent_used, 0)) / 10, kHistogramBins - 1)];
  }
  return bins;
}

std::string draw_histograms(const Histogram& before, const Histogram& after, const Terminal& terminal, int indent) {
  const std::int64_t highest =
      std::max(*std::max_element(before.begin(), before.end()), *std::max_element(after.begin(), after.end()));
  const auto share = [highest](std::int64_t count) {
    return highest == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(highest);
  };
  Table table({{"", Align::kRight},
               {"before", Align::kRight},
               {repeat(" ", kHistogramColumns), Align::kLeft},
               {"after", Align::kRight},
               {"", Align::kLeft}});
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
    table.add_row({bin_title(bin),
                   grouped(before[bin]),
                   {bar(share(before[bin]), kHistogramColumns, terminal), Emphasis::kDim},
                   grouped(after[bin]),
                   {bar(share(after[bin]), kHistogramColumns, terminal), Emphasis::kGood}});
  }
  return table.render(terminal, indent);
}

}  // namespace berth
