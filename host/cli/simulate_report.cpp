// SPDX-License-Identifier: Apache-2.0
#include "host/cli/simulate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "host/cli/schedule_report.h"
#include "host/objects/go_duration.h"
#include "host/objects/json_out.h"
#include "host/report/figures.h"
#include "host/report/paragraph.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::size_t kWaitingGroupsListed = 15;
constexpr std::size_t kWaitingExamplesMax = 3;
constexpr std::size_t kFailuresListed = 10;
constexpr std::size_t kResourcesListed = 4;

class SimulateReport {
 public:
  SimulateReport(const SimulationResult& result, const SimulationView& view, bool is_wide, const Terminal& terminal)
      : result_(result), view_(view), is_wide_(is_wide), terminal_(terminal) {}

  std::string compose() {
    headline();
    utilisation_means();
    timeline();
    waiting();
    failed_actions();
    if (is_wide_) every_pod();
    return std::move(text_);
  }

 private:
  void title(std::string_view words) { text_ += "\n" + terminal_.paint(words, Emphasis::kBold) + "\n"; }
  void paragraph(std::string_view words, int indent) { text_ += wrap(words, terminal_.columns, indent); }
  void say_more(std::size_t count) {
    if (count == 0) return;
    paragraph(fmt::format("... and {} more (-o wide names all)", grouped(static_cast<std::int64_t>(count))), 2);
  }

  void headline() {
    const ClusterState& last = result_.last;
    const std::string words =
        fmt::format("{} arrived, {} placed, {} waiting at the end", counted(result_.totals.arrived, "pod", "pods"),
                    grouped(result_.totals.placed), grouped(last.pending));
    text_ += terminal_.paint(words, last.pending == 0 ? Emphasis::kGood : Emphasis::kWarning) + "\n";
    paragraph(
        fmt::format("{} from {}, {}; seed {}", go_duration_text(result_.end_us), format_time(result_.start_us),
                    result_.end == SimulationEnd::kUntil ? "the requested end" : "when nothing could happen any more",
                    view_.seed),
        2);
    paragraph(fmt::format("{} finished, {} running at the end, {} preempted, {} removed before their end",
                          grouped(last.finished), grouped(last.running), grouped(result_.totals.preempted),
                          grouped(last.removed)),
              2);
    if (view_.waits.count > 0) {
      paragraph(fmt::format("wait for a node: half of the pods {} or less, 90 % {}, 99 % {}, the longest {}",
                            go_duration_text(view_.waits.p50_us), go_duration_text(view_.waits.p90_us),
                            go_duration_text(view_.waits.p99_us), go_duration_text(view_.waits.max_us)),
                2);
    }
    paragraph(fmt::format("at most {} at a time, {} found no node",
                          counted(result_.pending_max, "pod", "pods") + " without a node",
                          counted(result_.totals.failed, "attempt", "attempts")),
              2);
  }

  void utilisation_means() {
    title("Mean utilisation");
    std::string words;
    for (std::size_t r = 0; r < result_.resources.size(); ++r) {
      words +=
          fmt::format("{}{} {}", words.empty() ? "" : ", ", result_.resources[r], percent(result_.mean_utilisation[r]));
    }
    paragraph(words, 2);
  }

  void timeline() {
    title(view_.step_us == 0 ? "Time line, at each change"
                             : fmt::format("Time line, in steps of {}", go_duration_text(view_.step_us)));
    const std::size_t resources =
        is_wide_ ? result_.resources.size() : std::min(result_.resources.size(), kResourcesListed);
    std::vector<TableColumn> columns = {{"time", Align::kRight},      {"nodes", Align::kRight},
                                        {"pending", Align::kRight},   {"running", Align::kRight},
                                        {"finished", Align::kRight},  {"placed", Align::kRight},
                                        {"preempted", Align::kRight}, {"failed", Align::kRight}};
    const std::size_t first = columns.size();
    columns.resize(first + resources, {"", Align::kRight, 20});
    for (std::size_t r = 0; r < resources; ++r) columns[first + r].title = result_.resources[r];
    Table table(std::move(columns));
    for (const TimelineSample& sample : view_.samples) {
      std::vector<TableCell> cells = {go_duration_text(sample.time_us), grouped(sample.state.nodes),
                                      grouped(sample.state.pending),    grouped(sample.state.running),
                                      grouped(sample.state.finished),   grouped(sample.events.placed),
                                      grouped(sample.events.preempted), grouped(sample.events.failed)};
      for (std::size_t r = 0; r < resources; ++r) cells.emplace_back(percent(utilisation(sample.state, r)));
      table.add_row(std::move(cells));
    }
    text_ += table.render(terminal_, 2);
  }

  struct Group {
    std::string causes;
    std::int64_t count = 0;
    std::string examples;
  };

  /// Pods that wait for the same reasons, most first.
  std::vector<Group> waiting_groups() const {
    std::map<std::string, Group> groups;
    for (const WaitingPod& pod : result_.waiting) {
      std::string causes = pod.reason == "Unschedulable" ? causes_of(pod.message) : pod.reason;
      if (pod.reason.empty()) causes = "not tried: no profile has the pod's schedulerName, or the pod is being deleted";
      Group& group = groups[causes];
      group.causes = std::move(causes);
      if (++group.count <= static_cast<std::int64_t>(kWaitingExamplesMax))
        group.examples += (group.examples.empty() ? "" : ", ") + pod.name;
    }
    std::vector<Group> sorted;
    sorted.reserve(groups.size());
    for (auto& [causes, group] : groups) sorted.push_back(std::move(group));
    std::sort(sorted.begin(), sorted.end(), [](const Group& a, const Group& b) {
      return a.count != b.count ? a.count > b.count : a.causes < b.causes;
    });
    return sorted;
  }

  void waiting() {
    if (result_.waiting.empty()) return;
    title(fmt::format("Waiting at the end: {}",
                      counted(static_cast<std::int64_t>(result_.waiting.size()), "pod", "pods")));
    const std::vector<Group> groups = waiting_groups();
    const std::size_t listed = is_wide_ ? groups.size() : std::min(groups.size(), kWaitingGroupsListed);
    for (std::size_t i = 0; i < listed; ++i) {
      paragraph(fmt::format("{:>8}  {}", grouped(groups[i].count), groups[i].causes), 2);
      const bool has_more = groups[i].count > static_cast<std::int64_t>(kWaitingExamplesMax);
      paragraph(groups[i].examples + (has_more ? ", ..." : ""), 12);
    }
    say_more(groups.size() - listed);
  }

  void failed_actions() {
    if (result_.failed_action_count == 0) return;
    title(fmt::format("Refused by the API: {}", counted(result_.failed_action_count, "action", "actions")));
    Table table({{"time", Align::kRight}, {"action"}, {"message"}});
    const std::size_t listed =
        is_wide_ ? result_.failed_actions.size() : std::min(result_.failed_actions.size(), kFailuresListed);
    for (std::size_t i = 0; i < listed; ++i) {
      const FailedAction& failed = result_.failed_actions[i];
      table.add_row({go_duration_text(failed.time_us), failed.location, failed.message});
    }
    text_ += table.render(terminal_, 2);
    say_more(static_cast<std::size_t>(result_.failed_action_count) - listed);
  }

  static std::string time_text(const std::optional<std::int64_t>& time_us) {
    return time_us ? go_duration_text(*time_us) : "";
  }

  void every_pod() {
    if (result_.pods.empty()) return;
    title("Pods");
    Table table({{"pod"},
                 {"outcome"},
                 {"arrived", Align::kRight},
                 {"placed", Align::kRight},
                 {"ended", Align::kRight},
                 {"node"}});
    for (const SimulatedPod& pod : result_.pods) {
      table.add_row({pod.name, std::string(to_string(pod.outcome)), go_duration_text(pod.arrived_us),
                     time_text(pod.placed_us), time_text(pod.ended_us), pod.node_name});
    }
    text_ += table.render(terminal_, 2);
  }

  const SimulationResult& result_;
  const SimulationView& view_;
  bool is_wide_;
  const Terminal& terminal_;
  std::string text_;
};

}  // namespace

std::string simulate_report(const SimulationResult& result, const SimulationView& view, bool is_wide,
                            const Terminal& terminal) {
  return SimulateReport(result, view, is_wide, terminal).compose();
}

}  // namespace berth
