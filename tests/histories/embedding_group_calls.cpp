// SPDX-License-Identifier: Apache-2.0
// Calls of groups and reservations.

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_columns.h"

namespace berth::test {

GroupPlaced EmbeddingCalls::schedule_group(berth_fork* fork, const std::vector<OwnedPod>& pods, const NodeChoice& nodes,
                                           const std::vector<std::string>& keys, std::uint32_t domain,
                                           std::size_t minimum) {
  const std::vector<const berth_pod*> all = pointers(pods);
  const OwnedNodeSet set = node_set(nodes);
  std::vector<const char*> key_texts;
  for (const std::string& key : keys) key_texts.push_back(key.c_str());
  berth_group_options options = BERTH_GROUP_OPTIONS_INIT;
  options.flags = nodes.flags;
  options.nodes = set.get();
  options.keys = key_texts.data();
  options.key_count = key_texts.size();
  options.domain = domain;
  options.minimum = minimum;
  berth_result* made = nullptr;
  must(berth_fork_schedule_group(fork, all.data(), all.size(), &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto placed_on = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto scores = column<std::int64_t>(*result, BERTH_COLUMN_SCORE);
  const auto messages = texts(*result, BERTH_COLUMN_MESSAGE);
  GroupPlaced group;
  for (std::size_t i = 0; i < placed_on.size(); ++i)
    group.pods.push_back({node_name(placed_on[i]), scores[i], messages[i]});
  const auto try_keys = texts(*result, BERTH_COLUMN_TRY_KEY);
  const auto values = texts(*result, BERTH_COLUMN_TRY_VALUE);
  const auto placed = column<std::uint32_t>(*result, BERTH_COLUMN_TRY_PLACED);
  const auto taken = column<std::uint8_t>(*result, BERTH_COLUMN_TRY_TAKEN);
  for (std::size_t t = 0; t < try_keys.size(); ++t)
    group.tries.push_back({try_keys[t], values[t], placed[t], taken[t] != 0});
  return group;
}

std::vector<std::pair<std::string, Placement>> EmbeddingCalls::reserve(const std::string& owner, const berth_pod* pod,
                                                                       std::size_t count, const NodeChoice& nodes,
                                                                       const std::string& key,
                                                                       const std::string& value) {
  const OwnedNodeSet set = node_set(nodes);
  berth_reserve_options options = BERTH_RESERVE_OPTIONS_INIT;
  options.flags = nodes.flags;
  options.nodes = set.get();
  if (!key.empty()) {
    options.key = key.c_str();
    options.value = value.c_str();
  }
  berth_result* made = nullptr;
  must(berth_cluster_reserve(cluster_.get(), owner.c_str(), pod, count, &options, &made, &error_), &error_);
  const OwnedResult result(made);
  const auto placed_on = column<std::uint32_t>(*result, BERTH_COLUMN_NODE);
  const auto uids = texts(*result, BERTH_COLUMN_UID);
  const auto messages = texts(*result, BERTH_COLUMN_MESSAGE);
  std::vector<std::pair<std::string, Placement>> copies;
  for (std::size_t i = 0; i < placed_on.size(); ++i)
    copies.emplace_back(uids[i], Placement{node_name(placed_on[i]), 0, messages[i]});
  return copies;
}

void EmbeddingCalls::unreserve(const std::string& owner, std::size_t count) {
  berth_unreserve_options options = BERTH_UNRESERVE_OPTIONS_INIT;
  options.count = count;
  must(berth_cluster_unreserve(cluster_.get(), owner.c_str(), &options, nullptr, &error_), &error_);
}

}  // namespace berth::test
