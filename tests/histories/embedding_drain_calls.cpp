// SPDX-License-Identifier: Apache-2.0
// Calls of drains and replacements.

#include <deque>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_columns.h"
#include "tests/histories/given_shape.h"

namespace berth::test {
namespace {

berth_drain_options options_of(const DrainQuestion& question, const berth_node_set* targets) {
  berth_drain_options options = BERTH_DRAIN_OPTIONS_INIT;
  options.flags = question.targets.flags;
  options.preset = question.preset;
  options.rules_on = question.rules_on;
  options.rules_off = question.rules_off;
  options.min_replicas = question.min_replicas;
  options.nodes = targets;
  return options;
}

}  // namespace

std::vector<std::uint32_t> EmbeddingCalls::numbers_of(const std::vector<std::string>& nodes) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : nodes) numbers.push_back(node_number(name));
  return numbers;
}

std::vector<DrainedNode> EmbeddingCalls::drained_nodes(const berth_result& result) {
  const auto nodes = column<std::uint32_t>(result, BERTH_COLUMN_NODE);
  const auto removable = column<std::uint8_t>(result, BERTH_COLUMN_REMOVABLE);
  const auto rules = column<std::uint8_t>(result, BERTH_COLUMN_RULE);
  const auto blocking = texts(result, BERTH_COLUMN_BLOCKING_POD);
  const auto begin = column<std::uint32_t>(result, BERTH_COLUMN_POD_BEGIN);
  const auto uids = texts(result, BERTH_COLUMN_POD);
  const auto outcomes = column<std::uint8_t>(result, BERTH_COLUMN_OUTCOME);
  const auto pod_rules = column<std::uint8_t>(result, BERTH_COLUMN_POD_RULE);
  const auto targets = column<std::uint32_t>(result, BERTH_COLUMN_TARGET);
  const auto messages = texts(result, BERTH_COLUMN_MESSAGE);
  std::vector<DrainedNode> drained;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    DrainedNode& node = drained.emplace_back();
    node = {node_name(nodes[n]), removable[n] != 0, rules[n], blocking[n], {}};
    for (std::size_t i = begin[n]; i < begin[n + 1]; ++i)
      node.pods.push_back({uids[i], outcomes[i], pod_rules[i], node_name(targets[i]), messages[i]});
  }
  return drained;
}

std::vector<DrainedNode> EmbeddingCalls::drain(berth_fork* fork, const DrainQuestion& question) {
  const OwnedNodeSet set = node_set(question.targets);
  const berth_drain_options options = options_of(question, set.get());
  const std::vector<std::uint32_t> numbers = numbers_of(question.nodes);
  berth_result* made = nullptr;
  must(berth_fork_drain(fork, numbers.data(), numbers.size(), &options, &made, &error_), &error_);
  return drained_nodes(*OwnedResult(made));
}

Replaced EmbeddingCalls::replace(berth_fork* fork, const DrainQuestion& question,
                                 const std::vector<ShapeQuestion>& shapes, std::uint32_t max_nodes) {
  const OwnedNodeSet set = node_set(question.targets);
  const berth_drain_options options = options_of(question, set.get());
  const std::vector<std::uint32_t> numbers = numbers_of(question.nodes);
  std::deque<GivenShape> given;
  std::vector<const berth_shape*> list;
  for (const ShapeQuestion& shape : shapes) list.push_back(given.emplace_back(*this, shape).get());
  berth_result* made = nullptr;
  must(berth_fork_replace(fork, numbers.data(), numbers.size(), &options, list.data(), list.size(), max_nodes, &made,
                          &error_),
       &error_);
  const OwnedResult result(made);
  return {drained_nodes(*result).front(), column<std::uint32_t>(*result, BERTH_COLUMN_NEW_NODE),
          column<std::uint32_t>(*result, BERTH_COLUMN_SHAPE).front(),
          column<std::uint32_t>(*result, BERTH_COLUMN_NODE_COUNT).front(),
          column<std::int64_t>(*result, BERTH_COLUMN_PRICE).front()};
}

}  // namespace berth::test
