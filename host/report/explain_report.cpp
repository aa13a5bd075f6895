// SPDX-License-Identifier: Apache-2.0
#include "host/report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "host/objects/json_out.h"
#include "host/report/explain_claims.h"
#include "host/report/figures.h"
#include "host/report/paragraph.h"
#include "host/report/table.h"

namespace berth {
namespace {

constexpr std::size_t kExplainedExamplesMax = 3;
constexpr std::size_t kExplainedGroupsListed = 20;
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

/// "fits 2 of 3 nodes, best a (and 1 with the same total)", or why there is no such answer
std::string fit_words(const Evaluation& evaluation, const NodeNames& node_name) {
  if (evaluation.nodes.empty())
    return evaluation.error.empty() ? "there is no node in the input"
                                    : "not placed: its scheduling cycle ends with an error before a node is chosen";
  const auto fitting = std::count_if(evaluation.nodes.begin(), evaluation.nodes.end(),
                                     [](const NodeEvaluation& node) { return node.feasible; });
  std::string words = fmt::format("fits {} of {}", grouped(fitting),
                                  counted(static_cast<std::int64_t>(evaluation.nodes.size()), "node", "nodes"));
  if (!evaluation.error.empty()) return words + ", but its scheduling cycle ends with an error";
  if (evaluation.best.empty()) return words;
  words += fmt::format(", best {}", node_name(evaluation.best.front()));
  const std::size_t ties = evaluation.best.size() - 1;
  return ties == 0 ? words
                   : words + fmt::format(" (and {} with the same total)", grouped(static_cast<std::int64_t>(ties)));
}

/// The node that a running pod is on, as it was evaluated; null for other pods, and when it is not in the input.
const NodeEvaluation* own_node(const Explanation& explanation, const NodeNames& node_name) {
  const PodState state = explanation.standing.state;
  if (state != PodState::kRunning && state != PodState::kFinished) return nullptr;
  for (const NodeEvaluation& node : explanation.evaluation.nodes)
    if (node_name(node.node) == explanation.pod->node_name) return &node;
  return nullptr;
}

/// What the pod's own node says to it now: "its node a fits with a total of 150: 2 nodes have more", or the refusal.
std::string own_node_words(const Explanation& explanation, const NodeNames& node_name) {
  const NodeEvaluation* own = own_node(explanation, node_name);
  if (own == nullptr) return {};
  const Pod& pod = *explanation.pod;
  const Evaluation& evaluation = explanation.evaluation;
  if (!own->feasible) return fmt::format("its node {} would refuse it now: {}", pod.node_name, verdict_of(*own));
  const auto above = std::count_if(evaluation.nodes.begin(), evaluation.nodes.end(), [&](const NodeEvaluation& node) {
    return node.feasible && node.total > own->total;
  });
  return fmt::format("its node {} fits with a total of {}: {}", pod.node_name, grouped(own->total),
                     above == 0 ? "no node has more" : counted(above, "node has more", "nodes have more"));
}

/// The first lines: where the pod stands, and what that means for the nodes.
std::vector<std::string> lead(const Explanation& explanation, const NodeNames& node_name) {
  const PodStanding& standing = explanation.standing;
  const Pod& pod = *explanation.pod;
  const std::string name = fmt::format("{} (profile {}): ", explanation.name, pod.spec->scheduler_name);
  const Evaluation& evaluation = explanation.evaluation;
  const std::string fit = fit_words(evaluation, node_name);
  switch (standing.state) {
    case PodState::kGated:
      return {name + "is gated, " + standing.message,
              "kept out of the queue until its gates are removed; then: " + fit};
    case PodState::kRunning: {
      const std::string where = standing.message.empty() ? "" : " (" + standing.message + ")";
      std::vector<std::string> lines = {name + "runs on node " + pod.node_name + where,
                                        "taken out of its node: " + fit};
      if (evaluation.nodes.empty() && evaluation.error.empty() && evaluation.message.empty()) lines.pop_back();
      if (std::string own = own_node_words(explanation, node_name); !own.empty()) lines.push_back(std::move(own));
      return lines;
    }
    case PodState::kFinished: {
      const std::string where = pod.node_name.empty() ? "" : " on node " + pod.node_name;
      std::vector<std::string> lines = {
          name + "has finished" + where + " (" + standing.message + ") and takes no part in scheduling",
          "if it were pending: " + fit};
      if (evaluation.nodes.empty() && evaluation.error.empty() && evaluation.message.empty()) lines.pop_back();
      if (std::string own = own_node_words(explanation, node_name); !own.empty()) lines.push_back(std::move(own));
      return lines;
    }
    case PodState::kDeleting:
      return {name + "is being deleted; no scheduler places it"};
    case PodState::kOtherScheduler:
      return {explanation.name + ": " + standing.message + "; it is left to another scheduler"};
    case PodState::kPending:
      break;
  }
  return {name + fit};
}

/// Counts what a table of groups shows. Nodes that fit and nodes that refuse have room of their own, so that the ones
/// never push the others out.
class GroupsListed {
 public:
  bool has_room_for(const NodeGroup& group) {
    if (listed_++ < kExplainedGroupsListed) return true;
    ++groups_left_out_;
    nodes_left_out_ += group.node_count;
    return false;
  }
  /// @param verb  "fit"
  std::string left_out(std::string_view verb) const {
    if (groups_left_out_ == 0) return {};
    return fmt::format("  ... and {} that {}, in {} (-o json gives every node)\n",
                       counted(nodes_left_out_, "more node", "more nodes"), verb,
                       counted(groups_left_out_, "group", "groups"));
  }

 private:
  std::size_t listed_ = 0;
  std::int64_t groups_left_out_ = 0;
  std::int64_t nodes_left_out_ = 0;
};

std::string groups_table(const std::vector<NodeGroup>& groups, const NodeNames& node_name, const Terminal& terminal) {
  Table table({{"nodes", Align::kRight},
               {"verdict", Align::kLeft, kVerdictColumnsMax},
               {"total", Align::kRight},
               {"for example"}});
  GroupsListed fitting;
  GroupsListed refusing;
  for (const NodeGroup& group : groups) {
    const bool fits = group.first->feasible;
    if (!(fits ? fitting : refusing).has_room_for(group)) continue;
    table.add_row({grouped(group.node_count),
                   {verdict_of(*group.first), fits ? Emphasis::kGood : Emphasis::kWarning},
                   fits ? grouped(group.first->total) : std::string("-"),
                   example_names(group, node_name)});
  }
  return table.render(terminal, 2) + fitting.left_out("fit") + refusing.left_out("refuse");
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
  return wrap(fmt::format("node {}: {}", miss->node, changes), terminal.columns, 2);
}

std::string titled_scores(std::string_view title, const NodeEvaluation& node, const Terminal& terminal) {
  if (node.scores.empty()) return {};
  return "\n" + terminal.paint(title, Emphasis::kBold) + "\n" + scores_table(node, terminal);
}

std::string victims_text(const PreemptionCandidate& candidate) {
  std::string text;
  for (std::size_t v = 0; v < std::min(candidate.victims.size(), kExplainedExamplesMax); ++v)
    text += (text.empty() ? "" : ", ") + candidate.victims[v]->full_name();
  const std::size_t left_out = candidate.victims.size() - std::min(candidate.victims.size(), kExplainedExamplesMax);
  return left_out == 0 ? text : fmt::format("{} and {} more", text, left_out);
}

/// "highest victim priority 100 > 50"
std::string loss_text(const CandidateLoss& loss) {
  const auto greater = [&](std::string_view what) {
    return fmt::format("{} {} > {}", what, grouped(loss.value), grouped(loss.best));
  };
  switch (loss.criterion) {
    case CandidateCriterion::kViolations:
      return greater("violated budgets");
    case CandidateCriterion::kHighestPriority:
      return greater("highest victim priority");
    case CandidateCriterion::kPrioritySum:
      return greater("sum of victim priorities, each + 2^31,");
    case CandidateCriterion::kVictimCount:
      return greater("number of victims");
    case CandidateCriterion::kEarliestStart:
      break;
  }
  return fmt::format("earliest start of the highest-priority victims {} < {}", format_time(loss.value),
                     loss.best == CandidateLoss::kNoStart ? "now (no start time)" : format_time(loss.best));
}

/// @param place  of the candidate in best_first()
std::string chosen_text(const PreemptionResult& preemption, const PreemptionCandidate& candidate, std::size_t place,
                        const NodeNames& node_name) {
  const PreemptionCandidate& first = preemption.candidates[preemption.best.front()];
  if (const std::optional<CandidateLoss> loss = why_not_chosen(candidate, first)) return "no: " + loss_text(*loss);
  if (preemption.best.size() == 1) return "yes";
  if (place == 0) return "by chance";
  return fmt::format("by chance; Berth takes the first, {}", node_name(first.node));
}

/// The candidates that may be chosen, then the others.
std::vector<std::size_t> best_first(const PreemptionResult& preemption) {
  std::vector<std::size_t> order = preemption.best;
  for (std::size_t c = 0; c < preemption.candidates.size(); ++c)
    if (std::find(preemption.best.begin(), preemption.best.end(), c) == preemption.best.end()) order.push_back(c);
  return order;
}

std::string preemption_text(const PreemptionResult& preemption, const NodeNames& node_name, const Terminal& terminal) {
  const std::string title = "\n" + terminal.paint("Preemption", Emphasis::kBold) + "\n";
  if (!preemption.error.empty()) return title + wrap("error: " + preemption.error, terminal.columns, 2);
  if (!preemption.eligible) return title + wrap(preemption.message, terminal.columns, 2);
  if (preemption.candidates.empty())
    return title + wrap("no node where the pod would fit without pods of lower priority", terminal.columns, 2);
  Table table(
      {{"node"}, {"victims", Align::kLeft, kVerdictColumnsMax}, {"violated budgets", Align::kRight}, {"chosen"}});
  const std::vector<std::size_t> order = best_first(preemption);
  for (std::size_t i = 0; i < std::min(order.size(), kExplainedGroupsListed); ++i) {
    const PreemptionCandidate& candidate = preemption.candidates[order[i]];
    table.add_row({std::string(node_name(candidate.node)), victims_text(candidate), grouped(candidate.violations),
                   chosen_text(preemption, candidate, i, node_name)});
  }
  const std::size_t left_out = order.size() - std::min(order.size(), kExplainedGroupsListed);
  return title + table.render(terminal, 2) +
         (left_out == 0
              ? std::string()
              : fmt::format("  ... and {} (-o json gives every node)\n",
                            counted(static_cast<std::int64_t>(left_out), "more candidate", "more candidates")));
}

/// Empty when no node refuses.
std::string nearest_miss(const Explanation& explanation, const NodeNames& node_name, const ClusterCache& cluster,
                         const Terminal& terminal) {
  const Evaluation& evaluation = explanation.evaluation;
  const Evaluation& topology = explanation.topology;
  std::vector<RefusedNode> refused;
  for (std::size_t i = 0; i < evaluation.nodes.size(); ++i) {
    const NodeEvaluation& node = evaluation.nodes[i];
    if (node.feasible) continue;
    refused.push_back({node_name(node.node), std::nullopt});
    if (i < topology.nodes.size()) refused.back().other_pods = change_of_other_pods(topology.nodes[i].status);
  }
  if (refused.empty()) return {};
  return "\n" + terminal.paint("Nearest miss", Emphasis::kBold) + "\n" +
         miss_text(MissFinder(cluster, explanation.pod.get()).nearest(*explanation.pod, *explanation.profile, refused),
                   terminal);
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
    if (group.examples.size() < kExplainedExamplesMax) group.examples.push_back(node.node);
  }
  std::stable_sort(groups.begin(), groups.end(), stands_before);
  return groups;
}

std::string explain_report(const Explanation& explanation, const NodeNames& node_name, const ClusterCache& cluster,
                           const Terminal& terminal) {
  const Evaluation& evaluation = explanation.evaluation;
  const std::vector<std::string> lines = lead(explanation, node_name);
  std::string text = terminal.paint(lines.front(), Emphasis::kBold) + "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) text += wrap(lines[i], terminal.columns, 2);
  if (!evaluation.error.empty()) text += wrap("error: " + evaluation.error, terminal.columns, 2);
  if (!evaluation.message.empty()) text += wrap("\"" + evaluation.message + "\"", terminal.columns, 2);
  const std::vector<NodeGroup> groups = group_nodes(evaluation);
  if (groups.empty()) return text;
  text += "\n" + groups_table(groups, node_name, terminal) + claims_text(explanation, node_name, terminal);
  const NodeEvaluation& best = *groups.front().first;
  text += titled_scores("Scores of the best", best, terminal);
  const NodeEvaluation* own = own_node(explanation, node_name);
  if (own != nullptr && own->total != best.total) text += titled_scores("Scores of its node", *own, terminal);
  if (explanation.preemption) text += preemption_text(*explanation.preemption, node_name, terminal);
  return text + nearest_miss(explanation, node_name, cluster, terminal);
}

}  // namespace berth
