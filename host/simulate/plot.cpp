// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "host/objects/go_duration.h"
#include "host/objects/json_out.h"

namespace berth {
namespace {

// Pixels.
constexpr int kWidth = 960;
constexpr int kLeft = 70;
constexpr int kRight = 50;
constexpr int kTop = 50;
constexpr int kPanelHeight = 180;
constexpr int kPanelGap = 50;
constexpr int kPanels = 3;
constexpr int kHeight = kTop + kPanels * (kPanelHeight + kPanelGap);
constexpr int kPlotWidth = kWidth - kLeft - kRight;
constexpr int kTicks = 4;

// Colours that people with any kind of colour vision can tell apart (Okabe and Ito), in the order of the resources.
constexpr std::array<std::string_view, kTimelineResourcesMax> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                                          "#56b4e9", "#e69f00", "#000000", "#999999"};

/// Length of the UTF-8 sequence at the front of `text` if XML can hold it; 0 otherwise.
std::size_t xml_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool is_held =
      code >= kLowest[length] && code <= 0x10ffff && !is_surrogate && code != 0xfffe && code != 0xffff && code >= 0xa0;
  return is_held ? length : 0;
}

/// A number that is not below `value`, and whose ticks are whole.
std::int64_t scale_for(std::int64_t value) {
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t digits : {4, 8, 12, 16, 20, 24, 32})
      if (digits * power >= value) return digits * power;
  }
}
static_assert(4 % kTicks == 0);

class Plot {
 public:
  explicit Plot(const SimulationResult& result)
      : result_(result),
        step_us_(std::max(result.samples_interval_us, step_for(result.end_us, kPlotStepsMax))),
        samples_(fold(result.samples, step_us_, result.end_us)) {}

  std::string draw() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth, kHeight);
    label(kLeft, 20, "start",
          fmt::format("{} from {}", go_duration_text(result_.end_us), format_time(result_.start_us)));
    utilisation_panel();
    pending_panel();
    preemption_panel();
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  static int top_of(int panel) { return kTop + panel * (kPanelHeight + kPanelGap); }
  double x_of(std::int64_t time_us) const {
    if (result_.end_us <= 0) return kLeft;
    return kLeft + static_cast<double>(time_us) / static_cast<double>(result_.end_us) * kPlotWidth;
  }
  static double y_of(int panel, double share) {
    return top_of(panel) + (1 - std::clamp(share, 0.0, 1.0)) * kPanelHeight;
  }

  void label(double x, double y, std::string_view anchor, std::string_view words, std::string_view colour = "#222222") {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor,
                         colour, escaped_for_svg(words));
  }
  void line(double x1, double y1, double x2, double y2) {
    text_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>\n", x1, y1,
                         x2, y2);
  }

  /// @param highest  what the top of the panel stands for
  void frame(int panel, std::string_view title, std::int64_t highest, std::string_view unit) {
    label(kLeft, top_of(panel) - 8, "start", title);
    for (int tick = 0; tick <= kTicks; ++tick) {
      const double y = y_of(panel, static_cast<double>(tick) / kTicks);
      line(kLeft, y, kLeft + kPlotWidth, y);
      label(kLeft - 6, y + 4, "end", fmt::format("{}{}", highest * tick / kTicks, unit));
      const std::int64_t time_us = result_.end_us / kTicks * tick;
      label(x_of(time_us), top_of(panel) + kPanelHeight + 16, "middle", go_duration_text(time_us));
    }
  }

  /// Values hold from one sample to the next.
  template <class Share>
  void steps(int panel, std::string_view colour, Share share) {
    if (samples_.empty()) return;
    text_ += fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" d=\"", colour);
    bool is_first = true;
    for (const TimelineSample& sample : samples_) {
      if (is_first)
        text_ += fmt::format("M{:.1f} {:.1f}", x_of(sample.time_us), y_of(panel, share(sample)));
      else
        text_ += fmt::format("H{:.1f}V{:.1f}", x_of(sample.time_us), y_of(panel, share(sample)));
      is_first = false;
    }
    text_ += fmt::format("H{}\"/>\n", kLeft + kPlotWidth);
  }

  void utilisation_panel() {
    frame(0, "Utilisation: requested / allocatable", 100, " %");
    double x = kLeft + 260;
    for (std::size_t r = 0; r < result_.resources.size(); ++r) {
      steps(0, kColours[r], [r](const TimelineSample& sample) { return utilisation(sample.state, r); });
      label(x, top_of(0) - 8, "start", result_.resources[r], kColours[r]);
      x += 20 + 7 * static_cast<double>(result_.resources[r].size());
    }
  }

  void pending_panel() {
    std::int64_t highest = 0;
    for (const TimelineSample& sample : samples_) highest = std::max(highest, sample.state.pending);
    const std::int64_t scale = scale_for(highest);
    frame(1, "Pending pods", scale, "");
    steps(1, kColours[0], [scale](const TimelineSample& sample) {
      return static_cast<double>(sample.state.pending) / static_cast<double>(scale);
    });
  }

  void preemption_panel() {
    std::int64_t highest = 0;
    for (const TimelineSample& sample : samples_) highest = std::max(highest, sample.events.preempted);
    const std::int64_t scale = scale_for(highest);
    frame(2, fmt::format("Preempted pods in steps of {}", go_duration_text(step_us_)), scale, "");
    for (const TimelineSample& sample : samples_) {
      if (sample.events.preempted == 0) continue;
      const double y = y_of(2, static_cast<double>(sample.events.preempted) / static_cast<double>(scale));
      text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"2\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                           x_of(sample.time_us) - 1, y, top_of(2) + kPanelHeight - y, kColours[1]);
    }
  }

  const SimulationResult& result_;
  std::int64_t step_us_;
  std::vector<TimelineSample> samples_;
  std::string text_;
};

}  // namespace

std::string escaped_for_svg(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = xml_sequence(text);
    const std::string_view glyph = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else if (glyph == "&")
      out += "&amp;";
    else if (glyph == "<")
      out += "&lt;";
    else if (glyph == ">")
      out += "&gt;";
    else if (glyph == "\"")
      out += "&quot;";
    else
      out += glyph;
    text.remove_prefix(glyph.size());
  }
  return out;
}

std::string plot_svg(const SimulationResult& result) { return Plot(result).draw(); }

}  // namespace berth
