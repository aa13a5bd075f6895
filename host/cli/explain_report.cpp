// SPDX-License-Identifier: Apache-2.0
#include "host/cli/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/cli/figures.h"
#include "host/cli/paragraph.h"
#include "host/cli/table.h"

namespace berth {
namespace {

constexpr std::size_t kExamplesMax = 3;
constexpr std::size_t kGroupsListed = 20;
constexpr int kVerdictColumnsMax = 56;

/// Equal for nodes that belong together, built only to be compared.
std::string group_key(const NodeEvaluation& node) {
  std::string key =
      fmt::format("{}|{}|{}|{}", node.feasible, node.total, node.status.plugin, static_cast<int>(node.status.code));
  for (const std::string& reason : node.status.reasons) key.append("|").append(reason);
  for (const PluginScore& score : node.scores) {
    key += fmt::format("|{}:{}:{}", score.plugin, score.raw, score.normalized);
  }
  return key;
}

bool stands_before(const NodeGroup& a, const NodeGroup& b) {
  if (a.first->feasible != b.first->feasible) return a.first->feasible;
  if (a.first->feasible) return a.first->total > b.first->total;
  return a.node_count > b.node_count;
}

std::string verdict_of(const NodeEvaluation& node) {
  if (node.feasible) return "fits";
  const std::string reasons = node.status.message();
  if (node.status.plugin == "PreFilter" && reasons.empty()) return "PreFilter: not among the nodes the pod names";
  return reasons.empty() ? node.status.plugin : node.status.plugin + ": " + reasons;
}

std::string example_names(const NodeGroup& group, const NodeNames& node_name) {
  std::string names;
  for (const NodeIndex node : group.examples) names.append(names.empty() ? "" : ", ").append(node_name(node));
  return group.node_count > static_cast<std::int64_t>(group.examples.size()) ? names + ", ..." : names;
}

std::string headline(const Pod& pod, const Evaluation& evaluation, const NodeNames& node_name) {
  const auto fitting = std::count_if(evaluation.nodes.begin(), evaluation.nodes.end(),
                                     [](const NodeEvaluation& node) { return node.feasible; });
  std::string words =
      fmt::format("{} (profile {}): fits {} of {}", printable(pod.full_name()), printable(pod.spec->scheduler_name),
                  grouped(fitting), counted(static_cast<std::int64_t>(evaluation.nodes.size()), "node", "nodes"));
  if (evaluation.best.empty()) return words;
  words += fmt::format(", best {}", printable(node_name(evaluation.best.front())));
  const std::size_t ties = evaluation.best.size() - 1;
  return ties == 0 ? words
                   : words + fmt::format(" (and {} with the same total)", grouped(static_cast<std::int64_t>(ties)));
}

std::string groups_table(const std::vector<NodeGroup>& groups, const NodeNames& node_name, const Terminal& terminal) {
  Table table({{"nodes", Align::kRight},
               {"verdict", Align::kLeft, kVerdictColumnsMax},
               {"total", Align::kRight},
               {"for example"}});
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsListed); ++i) {
    const NodeGroup& group = groups[i];
    const Emphasis emphasis = group.first->feasible ? Emphasis::kGood : Emphasis::kWarning;
    table.add_row({grouped(group.node_count),
                   {verdict_of(*group.first), emphasis},
                   group.first->feasible ? grouped(group.first->total) : std::string("-"),
                   example_names(group, node_name)});
  }
  std::string text = table.render(terminal, 2);
  if (groups.size() <= kGroupsListed) return text;
  return text + fmt::format("  ... and {} more groups (-o json gives every node)\n",
                            grouped(static_cast<std::int64_t>(groups.size() - kGroupsListed)));
}

std::string scores_table(const NodeEvaluation& node, const Terminal& terminal) {
  Table table({{"plugin"},
               {"raw", Align::kRight},
               {"normalized", Align::kRight},
               {"weight", Align::kRight},
               {"points", Align::kRight}});
  for (const PluginScore& score : node.scores) {
    table.add_row({std::string(score.plugin), grouped(score.raw), grouped(score.normalized), grouped(score.weight),
                   grouped(score.normalized * score.weight)});
  }
  return table.render(terminal, 2);
}

std::string miss_text(const std::optional<Miss>& miss, const Terminal& terminal) {
  if (!miss) return "  no single change that this report can name\n";
  std::string changes;
  for (const NeededChange& change : miss->changes) changes += (changes.empty() ? "" : "; ") + change.text;
  return wrap(printable(fmt::format("node {}: {}", miss->node, changes)), terminal.columns, 2);
}

}  // namespace

std::vector<NodeGroup> group_nodes(const Evaluation& evaluation) {
  std::vector<NodeGroup> groups;
  std::map<std::string, std::size_t> positions;
  for (const NodeEvaluation& node : evaluation.nodes) {
    const auto [entry, is_new] = positions.try_emplace(group_key(node), groups.size());
    if (is_new) groups.push_back({&node, 0, {}});
    NodeGroup& group = groups[entry->second];
    ++group.node_count;
    if (group.examples.size() < kExamplesMax) group.examples.push_back(node.node);
  }
  std::stable_sort(groups.begin(), groups.end(), stands_before);
  return groups;
}

std::string explain_report(const Pod& pod, const Profile& profile, const Evaluation& evaluation,
                           const Evaluation& topology, const NodeNames& node_name, const MissFinder& misses,
                           const Terminal& terminal) {
  std::string text = terminal.paint(headline(pod, evaluation, node_name), Emphasis::kBold) + "\n";
  if (!evaluation.error.empty()) text += wrap("error: " + printable(evaluation.error), terminal.columns, 2);
  if (!evaluation.message.empty()) text += wrap("\"" + printable(evaluation.message) + "\"", terminal.columns, 2);
  const std::vector<NodeGroup> groups = group_nodes(evaluation);
  if (groups.empty()) return text;
  text += "\n" + groups_table(groups, node_name, terminal);
  if (!groups.front().first->scores.empty()) {
    text += "\n" + terminal.paint("Scores of the best", Emphasis::kBold) + "\n" +
            scores_table(*groups.front().first, terminal);
  }
  std::vector<RefusedNode> refused;
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    const NodeEvaluation& node = evaluation.nodes[i];
    if (node.feasible) continue;
    refused.push_back({node_name(node.node), std::nullopt});
    if (i < topology.nodes.size()) refused.back().other_pods = change_of_other_pods(topology.nodes[i].status);
  }
  if (refused.empty()) return text;
  text += "\n" + terminal.paint("Nearest miss", Emphasis::kBold) + "\n";
  return text + miss_text(misses.nearest(pod, profile, refused), terminal);
}

}  // namespace berth
