// SPDX-License-Identifier: Apache-2.0
#include "tests/property/drawn_request.h"

#include <rapidcheck.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace berth::test {
namespace {

/// Some pods of a node in a random order.
std::vector<Victim> draw_victims(Dice& dice, std::vector<PodPtr> pods) {
  std::shuffle(pods.begin(), pods.end(), dice.engine);
  pods.resize(static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(pods.size()))));
  std::vector<Victim> victims;
  for (const PodPtr& pod : pods) victims.push_back({pod.get(), dice.one_in(3)});
  return victims;
}

}  // namespace

PodsByNode pods_by_node(const ClusterCache& cache) {
  PodsByNode pods;
  for (const NodeInfo* node : cache.nodes())
    if (node->node != nullptr && !node->pods.empty()) pods.emplace(node->name, node->pods);
  return pods;
}

DrawnRequest::DrawnRequest(Dice& dice, std::vector<PodToPlace> preemptors, const PodsByNode& pods)
    : preemptors_(std::move(preemptors)) {
  for (const auto& [node, pods_there] : pods) nodes_.push_back(node);
  std::shuffle(nodes_.begin(), nodes_.end(), dice.engine);
  nodes_.resize(std::min<std::size_t>(nodes_.size(), 12));
  victims_.reserve(nodes_.size());
  const std::uint64_t series = next_victim_list_version();
  for (const std::string& node : nodes_) {
    victims_.push_back(draw_victims(dice, pods.at(node)));
    lists_.push_back({kNoNode, victims_.back(), dice.one_in(2) ? series : 0, next_victim_list_version()});
  }
  for (std::uint32_t p = 0; p < preemptors_.size(); ++p)
    for (std::uint32_t l = 0; l < lists_.size(); ++l)
      if (!dice.one_in(4)) runs_.push_back({p, l});
  if (dice.one_in(2)) std::shuffle(runs_.begin(), runs_.end(), dice.engine);
}

DryRunRequest DrawnRequest::to(const Backend& engine) {
  std::unordered_map<std::string_view, std::int32_t> slot_of;
  for (std::int32_t slot = 0; slot < engine.slot_count(); ++slot) slot_of.emplace(engine.node_name({slot}), slot);
  for (std::size_t i = 0; i < lists_.size(); ++i) lists_[i].node = {slot_of.at(nodes_[i])};
  return {preemptors_, lists_, runs_};
}

std::vector<std::string> DrawnRequest::texts(const DryRunResult& result) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < result.answers.size(); ++i) {
    const DryRunAnswer& answer = result.answers[i];
    std::string text = preemptors_[runs_[i].preemptor].pod->full_name() + " on " + nodes_[runs_[i].list] + ": " +
                       text_of(answer.without_victims) + ", violations " + std::to_string(answer.violations) +
                       ", kept " + std::to_string(answer.kept_count);
    const std::vector<Victim>& victims = victims_[runs_[i].list];
    for (std::size_t v = 0; v < victims.size(); ++v)
      text += (result.keeps(answer, v) ? " +" : " -") + victims[v].pod->name;
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string text_of(const NodeVerdict& verdict) {
  return std::string(to_string(verdict.code)) + " " + std::string(verdict.plugin);
}

std::vector<std::string> texts_of(const PodVerdicts& verdicts, const Backend& engine) {
  std::vector<std::string> texts{verdicts.error, to_string(verdicts.rejectors)};
  for (std::size_t slot = 0; slot < verdicts.nodes.size(); ++slot) {
    const std::string name(engine.node_name({static_cast<std::int32_t>(slot)}));
    if (!name.empty()) texts.push_back(name + " " + text_of(verdicts.nodes[slot]));
  }
  std::sort(texts.begin() + 2, texts.end());
  return texts;
}

void expect_equal(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  RC_ASSERT(expected.size() == actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != actual[i]) RC_FAIL("\n  expected: " + expected[i] + "\n  actual:   " + actual[i]);
}

}  // namespace berth::test
