// SPDX-License-Identifier: Apache-2.0
#include "host/cli/schedule_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>

#include "host/cli/bar.h"
#include "host/cli/device_figures.h"
#include "host/cli/schedule_document.h"
#include "host/objects/pod_state.h"
#include "host/report/figures.h"
#include "host/report/paragraph.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::size_t kExamplesMax = 3;
constexpr std::size_t kGroupsListed = 15;
constexpr std::size_t kPreemptorsListed = 15;
constexpr std::size_t kSkippedListed = 10;
constexpr std::size_t kWorkloadsListed = 10;
constexpr int kTrackColumns = 20;

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

class ReportText {
 public:
  ReportText(const ClusterObjects& objects, const ScheduleResult& result, const ScheduleReportOptions& options,
             const Terminal& terminal)
      : objects_(objects), result_(result), options_(options), terminal_(terminal) {}

  std::string compose() {
    headline();
    input();
    utilisation();
    node_histogram();
    unplaced();
    preempted();
    skipped();
    workloads();
    kinds();
    if (options_.stats) stats();
    if (options_.wide) every_pod();
    notes();
    return std::move(text_);
  }

 private:
  void title(std::string_view words) { text_ += "\n" + terminal_.paint(words, Emphasis::kBold) + "\n"; }
  void paragraph(std::string_view words, int indent) { text_ += wrap(words, terminal_.columns, indent); }

  void headline() {
    const auto placed = static_cast<std::int64_t>(result_.placements.size());
    const auto left = static_cast<std::int64_t>(result_.unplaced.size());
    std::string words =
        fmt::format("{} placed on {}", counted(placed, "pod", "pods"), counted(result_.stats.nodes, "node", "nodes"));
    if (left > 0) words += fmt::format(", {} not placed", grouped(left));
    if (!result_.skipped.empty())
      words += fmt::format(", {} skipped", grouped(static_cast<std::int64_t>(result_.skipped.size())));
    text_ += terminal_.paint(words, left == 0 ? Emphasis::kGood : Emphasis::kWarning) + "\n";
    if (result_.stats.pods_per_second > 0) {
      paragraph(fmt::format("{} pods/s: {} pending in {}, {}", rate(result_.stats.pods_per_second),
                            grouped(result_.stats.pods), duration(result_.stats.schedule_seconds),
                            counted(result_.stats.classes, "class", "classes")),
                2);
    }
    paragraph(fmt::format("engine {} ({}), seed {}", result_.served_by, result_.why, result_.seed), 2);
  }

  void input() {
    const std::int64_t running = result_.stats.running_pods;
    const auto pending =
        std::count_if(objects_.pods.begin(), objects_.pods.end(), [](const PodPtr& pod) { return is_pending(*pod); });
    std::string words =
        fmt::format("{}, {}, {} pending", counted(static_cast<std::int64_t>(objects_.nodes.size()), "node", "nodes"),
                    counted(running, "pod on a node", "pods on nodes"), grouped(pending));
    if (objects_.terminal_pod_count > 0) words += fmt::format(", {} finished", grouped(objects_.terminal_pod_count));
    if (result_.stats.load_seconds > 0 && objects_.bytes_read > 0) {
      words += fmt::format("; {} read in {}", byte_size(objects_.bytes_read), duration(result_.stats.load_seconds));
    }
    paragraph("input  " + words, 2);
  }

  void utilisation() {
    if (result_.resources.empty()) return;
    title("Utilisation");
    Table table({{"resource", Align::kLeft, 36},
                 {"allocatable", Align::kRight},
                 {"before", Align::kRight},
                 {"after", Align::kRight},
                 {"", Align::kRight},
                 {"stranded", Align::kRight},
                 {"", Align::kLeft}});
    for (const ResourceUse& use : result_.resources) {
      const double after = share_of(use.used_after, use.allocatable);
      table.add_row({use.name,
                     amount_text(use.name, use.allocatable),
                     percent(share_of(use.used_before, use.allocatable)),
                     percent(after),
                     amount_text(use.name, use.used_after),
                     use.stranded_after ? percent(share_of(*use.stranded_after, use.allocatable)) : "",
                     {track_bar(after, kTrackColumns, terminal_), Emphasis::kGood}});
    }
    text_ += table.render(terminal_, 2);
  }

  void node_histogram() {
    if (result_.node_use_percent_after.empty()) return;
    title("Nodes by use (the fuller of cpu and memory)");
    text_ += draw_histograms(histogram_of(result_.node_use_percent_before),
                             histogram_of(result_.node_use_percent_after), terminal_, 2);
  }

  void unplaced() {
    if (result_.unplaced.empty()) return;
    title(fmt::format("Not placed: {}", counted(static_cast<std::int64_t>(result_.unplaced.size()), "pod", "pods")));
    const std::vector<UnplacedGroup> groups = group_unplaced(result_);
    const std::size_t listed = options_.wide ? groups.size() : std::min(groups.size(), kGroupsListed);
    for (std::size_t i = 0; i < listed; ++i) unplaced_group(groups[i]);
    say_more(groups.size() - listed);
  }
  void unplaced_group(const UnplacedGroup& group) {
    const std::string lead = group.reason == "Unschedulable" ? "" : group.reason + ": ";
    paragraph(fmt::format("{:>8}  {}{}", grouped(group.pod_count), lead, group.causes), 2);
    std::string names;
    for (const std::string& name : group.examples) names += (names.empty() ? "" : ", ") + name;
    if (group.pod_count > static_cast<std::int64_t>(group.examples.size())) names += ", ...";
    paragraph(names, 12);
    if (group.example_text != group.causes) paragraph("\"" + group.example_text + "\"", 12);
  }
  void say_more(std::size_t count) {
    if (count == 0) return;
    paragraph(fmt::format("... and {} more (-o wide names all)", grouped(static_cast<std::int64_t>(count))), 2);
  }

  void preempted() {
    if (result_.evictions.empty()) return;
    // One line per preemptor, in the order of the first eviction.
    const PreemptedPods preempted(result_);
    std::vector<const Eviction*> first_of;
    std::unordered_set<std::string> seen;
    for (const Eviction& eviction : result_.evictions)
      if (seen.insert(eviction.preemptor->uid()).second) first_of.push_back(&eviction);
    title(fmt::format("Preempted: {} by {}",
                      counted(static_cast<std::int64_t>(result_.evictions.size()), "pod", "pods"),
                      counted(static_cast<std::int64_t>(first_of.size()), "pod", "pods")));
    Table table({{"preemptor"}, {"node"}, {"evicted"}});
    const std::size_t listed = options_.wide ? first_of.size() : std::min(first_of.size(), kPreemptorsListed);
    for (std::size_t i = 0; i < listed; ++i)
      table.add_row({first_of[i]->preemptor->full_name(),
                     result_.node_names.at(static_cast<std::size_t>(first_of[i]->node.value)),
                     names_of(preempted.of(*first_of[i]->preemptor))});
    text_ += table.render(terminal_, 2);
    say_more(first_of.size() - listed);
    for (const ViolatedBudget& budget : result_.violated_budgets)
      paragraph(fmt::format("PodDisruptionBudget {} is violated: {} evicted, {} allowed", budget.budget, budget.evicted,
                            budget.allowed),
                2);
  }
  std::string names_of(std::span<const Eviction* const> evictions) const {
    const std::size_t listed = options_.wide ? evictions.size() : std::min(evictions.size(), kExamplesMax);
    std::string names;
    for (std::size_t i = 0; i < listed; ++i) names += (i == 0 ? "" : ", ") + evictions[i]->victim->full_name();
    if (evictions.size() > listed) names += ", ...";
    return names;
  }

  void skipped() {
    if (result_.skipped.empty()) return;
    title(fmt::format("Skipped: {}", counted(static_cast<std::int64_t>(result_.skipped.size()), "pod", "pods")));
    Table table({{""}, {""}});
    const std::size_t listed =
        options_.wide ? result_.skipped.size() : std::min(result_.skipped.size(), kSkippedListed);
    for (std::size_t i = 0; i < listed; ++i) table.add_row({result_.skipped[i].pod, result_.skipped[i].reason});
    text_ += table.render(terminal_, 2);
    say_more(result_.skipped.size() - listed);
  }

  void workloads() {
    std::vector<const Workload*> expanded;
    std::int64_t pods = 0;
    for (const Workload& workload : objects_.workloads) {
      if (workload.expanded_pod_count == 0) continue;
      expanded.push_back(&workload);
      pods += workload.expanded_pod_count;
    }
    if (expanded.empty()) return;
    title(fmt::format("Workloads expanded: {} from {}", counted(pods, "pod", "pods"),
                      counted(static_cast<std::int64_t>(expanded.size()), "object", "objects")));
    Table table({{"", Align::kRight}, {""}, {""}});
    const std::size_t listed = options_.wide ? expanded.size() : std::min(expanded.size(), kWorkloadsListed);
    for (std::size_t i = 0; i < listed; ++i) {
      table.add_row({grouped(expanded[i]->expanded_pod_count), expanded[i]->kind,
                     expanded[i]->namespace_ + "/" + expanded[i]->name});
    }
    text_ += table.render(terminal_, 2);
    say_more(expanded.size() - listed);
  }

  void kinds() {
    list_kinds("Read, but nothing uses them yet", objects_.unused_kinds);
    list_kinds("Of unknown kinds, left out", objects_.unknown_kinds);
  }
  void list_kinds(std::string_view words, const std::map<std::string, std::int64_t>& counts) {
    if (counts.empty()) return;
    title(words);
    std::string list;
    for (const auto& [kind, count] : counts)
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", grouped(count), kind);
    paragraph(list, 2);
  }

  void stats() {
    title("Time and memory");
    Table table({{""}, {"", Align::kRight}});
    table.add_row({"load", duration(result_.stats.load_seconds)});
    table.add_row({"compile", duration(result_.stats.compile_seconds)});
    table.add_row({"schedule", duration(result_.stats.schedule_seconds)});
    for (const auto& [part, bytes] : result_.stats.bytes) table.add_row({part, byte_size(bytes)});
    text_ += table.render(terminal_, 2);
    figures("Pods by the way in which their nodes were found", result_.stats.ways);
    figures("Plugins on the host", result_.stats.host);
    if (!result_.stats.device) return;
    title("Device");
    text_ += "  " + device_report(*result_.stats.device, terminal_);
  }

  void figures(std::string_view name, const std::map<std::string, std::int64_t>& counts) {
    if (counts.empty()) return;
    title(std::string(name));
    Table table({{""}, {"", Align::kRight}});
    for (const auto& [what, count] : counts) table.add_row({what, grouped(count)});
    text_ += table.render(terminal_, 2);
  }

  void every_pod() {
    if (!result_.placements.empty()) {
      title("Placements");
      Table table({{"pod"}, {"node"}, {"score", Align::kRight}});
      for (const Placement& placement : result_.placements) {
        table.add_row(
            {placement.pod->full_name(), std::string(placed_node(result_, placement)), grouped(placement.score)});
      }
      text_ += table.render(terminal_, 2);
    }
    if (result_.unplaced.empty()) return;
    title("Pods without a node");
    Table table({{"pod"}, {"reason"}, {"message"}});
    for (const Unplaced& unplaced : result_.unplaced) {
      table.add_row(
          {unplaced.pod->full_name(), std::string(unplaced.reason), std::string(unplaced_message(result_, unplaced))});
    }
    text_ += table.render(terminal_, 2);
  }

  void notes() {
    if (result_.notes.empty()) return;
    title("Notes");
    for (const std::string& note : result_.notes) paragraph("- " + note, 2);
  }

  const ClusterObjects& objects_;
  const ScheduleResult& result_;
  const ScheduleReportOptions& options_;
  const Terminal& terminal_;
  std::string text_;
};

/// "3 Insufficient cpu" -> "Insufficient cpu"
std::string_view without_count(std::string_view part) {
  const std::size_t digits = part.find_first_not_of("0123456789");
  if (digits == 0 || digits == part.npos || part[digits] != ' ') return part;
  return part.substr(digits + 1);
}

}  // namespace

std::string causes_of(std::string_view message) {
  constexpr std::string_view kLead = " nodes are available: ";
  const std::size_t lead = message.find(kLead);
  if (message.substr(0, 2) != "0/" || lead == message.npos) return std::string(message);
  std::string_view list = message.substr(lead + kLead.size());
  // What PostFilter adds begins with the text of one of its plugins.
  for (const std::string_view post_filter : {". no new claims to deallocate", ". preemption: ", ". not found"})
    list = list.substr(0, list.find(post_filter));
  if (!list.empty() && list.back() == '.') list.remove_suffix(1);
  std::vector<std::string_view> causes;
  while (!list.empty()) {
    const std::size_t comma = list.find(", ");
    causes.push_back(without_count(list.substr(0, comma)));
    list.remove_prefix(comma == list.npos ? list.size() : comma + 2);
  }
  // The text is sorted with its counts; without them the same causes must give the same key.
  std::sort(causes.begin(), causes.end());
  std::string text;
  for (const std::string_view cause : causes) text.append(text.empty() ? "" : ", ").append(cause);
  return text;
}

std::vector<UnplacedGroup> group_unplaced(const ScheduleResult& result) {
  std::vector<UnplacedGroup> groups;
  std::map<std::pair<std::string_view, std::string>, std::size_t> positions;
  std::map<std::pair<std::string_view, std::int32_t>, std::size_t> known;  // parsing a text once is enough
  for (const Unplaced& unplaced : result.unplaced) {
    const std::string_view message = unplaced_message(result, unplaced);
    auto [entry, is_new] = known.try_emplace({unplaced.reason, unplaced.message}, 0);
    if (is_new) {
      std::string causes = causes_of(message);
      const auto [group, opened] = positions.try_emplace({unplaced.reason, causes}, groups.size());
      entry->second = group->second;
      if (opened) groups.push_back({std::string(unplaced.reason), std::move(causes), std::string(message), {}, 0});
    }
    UnplacedGroup& group = groups[entry->second];
    ++group.pod_count;
    if (group.examples.size() < kExamplesMax) group.examples.push_back(unplaced.pod->full_name());
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const UnplacedGroup& a, const UnplacedGroup& b) { return a.pod_count > b.pod_count; });
  return groups;
}

std::string schedule_report(const ClusterObjects& objects, const ScheduleResult& result,
                            const ScheduleReportOptions& options, const Terminal& terminal) {
  return ReportText(objects, result, options, terminal).compose();
}

}  // namespace berth
