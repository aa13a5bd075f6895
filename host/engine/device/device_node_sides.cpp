// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_node_sides.h"

#include <algorithm>
#include <utility>

#include "host/engine/device/transfer_block.h"

namespace berth {
namespace {

/// Calls use(rule tag) for the rules of the node side that the device does not evaluate.
template <class Use>
void for_each_host_rule(Use use) {
  NodeSideRules<Rules>::for_each([&](auto tag) {
    if constexpr (!DeviceNodeRules::contains<typename decltype(tag)::type>) use(tag);
  });
}

/// [slot] 1: without a node, or refused by a rule that runs on the host only: PreFilter's node set, rules that are not
/// in DeviceNodeRules, a Filter without its PreFilter. Empty: none of these refuses a node.
std::vector<std::uint8_t> refused_by_host(const CompiledNodeSide& side, const CompiledProfile& profile,
                                          const Snapshot& snapshot) {
  const auto nodes = static_cast<std::size_t>(snapshot.slot_count());
  if (profile.missing_filter_state) return std::vector<std::uint8_t>(nodes, 1);
  std::vector<std::uint8_t> refused;
  if (const std::vector<std::int32_t>* set = side.node_set()) {
    refused.assign(nodes, 1);
    for (const std::int32_t node : *set) refused[static_cast<std::size_t>(node)] = 0;
  }
  if (snapshot.node_count() < snapshot.slot_count()) {
    refused.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i)
      if (!snapshot.has_node(static_cast<std::int32_t>(i))) refused[i] = 1;
  }
  for_each_host_rule([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if constexpr (Rule::descriptor.filters) {
      if (!profile.filters<Rule>()) return;
      side.of<Rule>().filter(profile.options<Rule>(), snapshot, [&](std::string_view /*reason*/, auto refuses) {
        refused.resize(nodes);
        for (std::size_t i = 0; i < nodes; ++i)
          if (snapshot.has_node(static_cast<std::int32_t>(i)) && refuses(static_cast<std::int32_t>(i))) refused[i] = 1;
      });
    }
  });
  return refused;
}

/// [node] weighted sum of the scores that need no normaliser. Empty: 0 everywhere.
std::vector<std::int32_t> fixed_totals(const CompiledNodeSide& side, const PodSpec& spec,
                                       const CompiledProfile& profile, const Snapshot& snapshot) {
  std::vector<std::int32_t> totals(static_cast<std::size_t>(snapshot.slot_count()), 0);
  for_each_host_rule([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    if constexpr (Rule::descriptor.scores && !NormalizedRules<Rules>::contains<Rule>) {
      if (side.weight<Rule>() == 0) return;
      typename Rule::NodeSide copy = side.of<Rule>();
      copy.compute_scores(spec, profile.options<Rule>(), snapshot);
      for (std::size_t i = 0; i < totals.size(); ++i)
        totals[i] +=
            static_cast<std::int32_t>(side.weight<Rule>() * copy.score(snapshot, static_cast<std::int32_t>(i)));
    }
  });
  const bool is_zero = std::all_of(totals.begin(), totals.end(), [](std::int32_t total) { return total == 0; });
  return is_zero ? std::vector<std::int32_t>() : totals;
}

}  // namespace

class DeviceNodeSides::TermWriter {
 public:
  TermWriter(DeviceNodeSides& sides, std::size_t node_count) : sides_(sides), node_count_(node_count) {}

  /// @return the list's position, for terms()
  std::size_t add(const CompiledTerms* list) {
    lists_.push_back(list);
    return lists_.size() - 1;
  }
  /// Sends requirements and names, then the terms that point to them.
  void send(DeviceArray<std::uint8_t>& accepted, DeviceArray<std::uint8_t>& parts, DeviceArray<std::uint8_t>& terms) {
    TransferBlock words;
    std::vector<TransferBlock::Part<std::uint64_t>> words_of;
    for_terms([&](const NodeAffinityRule::Term& term) {
      for (std::int32_t r = 0; r < term.requirement_count; ++r)
        words_of.push_back(words.add(
            std::span(term.requirements[r].accepted, static_cast<std::size_t>(term.requirements[r].accepted_words))));
    });
    words.send(accepted);

    TransferBlock requirements_and_names;
    std::vector<TransferBlock::Part<NodeAffinityRule::Requirement>> requirements_of;
    std::vector<TransferBlock::Part<NodeAffinityRule::NameRequirement>> names_of;
    std::size_t next = 0;
    for_terms([&](const NodeAffinityRule::Term& term) {
      std::vector<NodeAffinityRule::Requirement> requirements(term.requirements,
                                                              term.requirements + term.requirement_count);
      for (NodeAffinityRule::Requirement& requirement : requirements) {
        requirement.value_id = sides_.label_column(requirement.value_id, node_count_);
        requirement.accepted = words.at(words_of[next++]);
      }
      requirements_of.push_back(requirements_and_names.add(requirements));
      names_of.push_back(requirements_and_names.add(
          std::vector<NodeAffinityRule::NameRequirement>(term.names, term.names + term.name_count)));
    });
    requirements_and_names.send(parts);

    std::vector<NodeAffinityRule::Term> all;
    next = 0;
    for_terms([&](const NodeAffinityRule::Term& term) {
      all.push_back(term);
      all.back().requirements = requirements_and_names.at(requirements_of[next]);
      all.back().names = requirements_and_names.at(names_of[next++]);
    });
    TransferBlock block;
    const auto at = block.add(all);
    block.send(terms);
    first_term_ = block.at(at);
  }
  /// In device memory, after send().
  DeviceTerms terms(std::size_t list) const {
    if (lists_[list] == nullptr) return {};
    const NodeAffinityRule::Term* first = first_term_;
    for (std::size_t l = 0; l < list; ++l)
      if (lists_[l] != nullptr) first += lists_[l]->terms().size();
    return {first, static_cast<std::int32_t>(lists_[list]->terms().size()), true};
  }

 private:
  template <class Use>
  void for_terms(Use use) const {
    for (const CompiledTerms* list : lists_)
      if (list != nullptr)
        for (const NodeAffinityRule::Term& term : list->terms()) use(term);
  }

  DeviceNodeSides& sides_;
  std::size_t node_count_;
  std::vector<const CompiledTerms*> lists_;
  const NodeAffinityRule::Term* first_term_ = nullptr;
};

DeviceNodeSides::DeviceNodeSides(Accelerator& accelerator)
    : accelerator_(accelerator), unschedulable_(accelerator, "cordons"), taint_set_(accelerator, "taint sets") {}

void DeviceNodeSides::upload_nodes(const Snapshot& snapshot) {
  if (!is_empty_) return;
  std::vector<std::uint8_t> unschedulable;
  std::vector<std::int32_t> taint_set;
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
    unschedulable.push_back(snapshot.unschedulable(i) ? 1 : 0);
    taint_set.push_back(snapshot.taint_set(i));
  }
  unschedulable_.assign(unschedulable);
  taint_set_.assign(taint_set);
  is_empty_ = false;
}

const std::int32_t* DeviceNodeSides::label_column(const std::int32_t* on_host, std::size_t node_count) {
  const auto [at, is_new] = label_columns_.try_emplace(on_host, accelerator_, "labels of nodes");
  if (is_new) at->second.assign(std::span(on_host, node_count));
  return at->second.data();
}

bool DeviceNodeSides::can_evaluate(const CompiledNodeSide& side) {
  bool can = true;
  NormalizedRules<Rules>::for_each([&](auto tag) {
    using Rule = typename decltype(tag)::type;
    can = can && (DeviceNodeRules::contains<Rule> || side.weight<Rule>() == 0);
  });
  return can;
}

DeviceNodeSides::Answer DeviceNodeSides::evaluate(const CompiledNodeSide& side, const PodSpec& spec,
                                                  const CompiledProfile& profile, const Snapshot& snapshot) {
  const auto nodes = static_cast<std::size_t>(snapshot.slot_count());
  upload_nodes(snapshot);
  const CompiledNodeAffinity& affinity = side.of<NodeAffinityRule>();
  const CompiledNodeAffinity::Options& added = profile.options<NodeAffinityRule>();
  const CompiledTaintToleration& taints = side.of<TaintToleration>();
  const bool filters = profile.filters<NodeAffinityRule>();
  const bool scores = side.weight<NodeAffinityRule>() != 0;
  TermWriter writer(*this, nodes);
  const auto list_if = [](const auto& list, bool is_read) { return list && is_read ? &*list : nullptr; };
  const std::size_t selector = writer.add(list_if(affinity.selector, filters));
  const std::size_t required = writer.add(list_if(affinity.required, filters));
  const std::size_t added_required = writer.add(list_if(added.added_required, filters));
  const std::size_t preferred = writer.add(scores ? &affinity.preferred : nullptr);
  const std::size_t added_preferred = writer.add(scores ? &added.added_preferred : nullptr);
  DeviceArray<std::uint8_t> accepted(accelerator_, "node affinity"), parts(accelerator_, "node affinity"),
      terms(accelerator_, "node affinity"), tables(accelerator_, "taints and scores of nodes");
  writer.send(accepted, parts, terms);

  const std::vector<std::uint8_t> refused = refused_by_host(side, profile, snapshot);
  const std::vector<std::int32_t> fixed = fixed_totals(side, spec, profile, snapshot);
  TransferBlock block;
  const auto at_refused_sets = block.add(taints.refused_of_set);
  const auto at_untolerated = block.add(taints.untolerated_of_set);
  const auto at_refused = block.add(refused);
  const auto at_fixed = block.add(fixed);
  block.send(tables);

  Answer answer{{}, DeviceArray<std::int32_t>(accelerator_, "node sides of classes")};
  answer.base.reserve(nodes);
  DeviceNodeSide device;
  device.node_count = snapshot.slot_count();
  device.unschedulable = unschedulable_.data();
  device.taint_set = taint_set_.data();
  device.checks_unschedulable = profile.filters<NodeUnschedulable>();
  device.cordon = side.of<NodeUnschedulable>().params;
  device.checks_taints = profile.filters<TaintToleration>();
  device.scores_taints = side.weight<TaintToleration>() != 0;
  device.taints = {block.at(at_refused_sets), block.at(at_untolerated)};
  if (profile.filters<NodeName>()) device.wanted_node = side.of<NodeName>().params;
  device.selector = writer.terms(selector);
  device.required = writer.terms(required);
  device.added_required = writer.terms(added_required);
  device.preferred = writer.terms(preferred);
  device.added_preferred = writer.terms(added_preferred);
  device.refused_by_host = refused.empty() ? nullptr : block.at(at_refused);
  device.fixed_total = fixed.empty() ? nullptr : block.at(at_fixed);
  device.base = answer.base.data();
  answer.summary = accelerator_.evaluate_node_side(device);
  return answer;
}

void DeviceNodeSides::follow(const Snapshot& snapshot, NodeEventDelta& delta) const {
  for (const ChangedNode& node : delta.nodes()) {
    if (!is_empty_) {
      delta.patch<std::uint8_t>(unschedulable_.data() + node.slot, snapshot.unschedulable(node.slot) ? 1 : 0);
      delta.patch(taint_set_.data() + node.slot, snapshot.taint_set(node.slot));
    }
    if (!node.parts.contains(NodePart::kLabels)) continue;
    for (const auto& [on_host, column] : label_columns_) delta.patch(column.data() + node.slot, on_host[node.slot]);
  }
}

void DeviceNodeSides::clear() {
  is_empty_ = true;
  label_columns_.clear();
}

}  // namespace berth
