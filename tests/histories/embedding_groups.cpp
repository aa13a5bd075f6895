// SPDX-License-Identifier: Apache-2.0
// The groups and reservations of write_embedding.cpp.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "host/objects/pod_copy.h"
#include "tests/histories/embedding_questions.h"

namespace berth::test {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInGroup = 6;
constexpr const char* kOwner = "owner";

/// Those of `names` that have the label.
std::vector<std::string> with_label(const std::vector<std::string>& names, const std::string& key,
                                    const std::string& value, const ClusterHistory& history) {
  std::vector<std::string> rest;
  for (const std::string& name : names) {
    const auto found = history.live_cache().find_node(name)->node->labels.find(key);
    if (key.empty() || (found && *found == value)) rest.push_back(name);
  }
  return rest;
}

}  // namespace

/// Upstream follows the try that was taken. The order of tries is that of copies of all pods that fit in each domain,
/// as max_replicas counts them.
json Questions::schedule_group(berth_fork* fork, Model& model) {
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : asked_pods(model.history))
    if (pods.size() < kMostInGroup && dice_.one_in(4)) pods.push_back(pod);
  if (pods.empty()) return nullptr;
  const std::vector<std::string> names = calls_.node_names(fork);
  const NodeChoice nodes = any_nodes(names);
  const std::uint32_t domain = static_cast<std::uint32_t>(dice_.upto(2));
  const std::string key = dice_.one_in(2) ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname";
  std::vector<std::string> keys;
  if (domain != BERTH_DOMAIN_NONE) keys.push_back(key);
  const std::size_t minimum = dice_.one_in(2) ? 0 : 1 + static_cast<std::size_t>(dice_.upto(1)) % pods.size();
  const std::vector<std::string> among = left(names, nodes, model.history);
  std::set<std::string> values;
  for (const std::string& name : left(names, {nodes.among, 0}, model.history))  // cordoned nodes make domains, too
    if (const auto found = model.history.live_cache().find_node(name)->node->labels.find(key); found && !keys.empty())
      values.emplace(*found);
  std::vector<OwnedPod> handles;
  std::map<std::string, std::int64_t> copies;  // by value
  for (const PodPtr& pod : pods) {
    handles.push_back(calls_.pod(pending_json(model.history, *pod)));
    for (const std::string& value : values) {
      const NodeChoice in_it{with_label(among, key, value, model.history), 0};
      const Replicas replicas = calls_.max_replicas(fork, handles.back().get(), in_it, {});
      if (replicas.count < 0) return nullptr;
      copies[value] += replicas.count;
    }
  }
  const GroupPlaced group = calls_.schedule_group(fork, handles, nodes, keys, domain, minimum);
  std::vector<std::string> order;
  for (const auto& [value, count] : copies) order.push_back(value);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](const std::string& value) { return copies[value]; });
  json tries = json::array();
  const GroupPlaced::Try* taken = nullptr;
  for (const GroupPlaced::Try& one : group.tries) {
    tries.push_back({{"key", one.key}, {"value", one.value}, {"placed", one.placed}, {"taken", one.is_taken}});
    if (one.is_taken) taken = &one;
  }
  json follow = json::array();
  if (taken != nullptr) {
    const std::vector<std::string> in_domain = with_label(among, taken->key, taken->value, model.history);
    for (std::size_t i = 0; i < pods.size(); ++i) {
      json line = group.pods[i].line(pods[i]->uid());
      line["among"] = in_domain;
      follow.push_back(std::move(line));
      attempted(pods[i], group.pods[i].node, model);
    }
  }
  return {{"verb", "group"},  {"tries", std::move(tries)}, {"domains", order},
          {"domain", domain}, {"minimum", minimum},        {"count", pods.size()},
          {"key", key},       {"pods", json::array()},     {"follow", std::move(follow)}};
}

json Questions::reserve(Model& model) {
  const std::vector<PodPtr> shapes = asked_pods(model.history);
  const std::vector<const NodeInfo*> infos = model.history.live_cache().nodes();
  if (shapes.empty() || infos.empty()) return nullptr;
  std::vector<std::string> names;
  for (const NodeInfo* info : infos) names.push_back(info->name);
  const PodPtr& shape = dice_.pick(shapes);
  const json pending = pending_json(model.history, *shape);
  const NodeChoice nodes = any_nodes(names);
  std::string key;
  std::string value;
  if (dice_.one_in(2)) {
    key = dice_.one_in(2) ? "topology.kubernetes.io/zone" : "kubernetes.io/hostname";
    const auto found = dice_.pick(infos)->node->labels.find(key);
    value = found ? std::string(*found) : "nowhere";
  }
  const std::vector<std::string> among = with_label(left(names, nodes, model.history), key, value, model.history);
  const auto copies = calls_.reserve(kOwner, calls_.pod(pending).get(), 3, nodes, key, value);
  json pods = json::array();
  json follow = json::array();
  const json path = model.path;
  const bool is_reserved = std::ranges::none_of(copies, [](const auto& copy) { return copy.second.node.empty(); });
  std::vector<PodPtr> standing;
  for (const auto& [uid, placement] : copies) {
    json copy = renamed(pending, uid);
    copy["metadata"]["uid"] = uid;
    pods.push_back(copy);
    // Where not all fit, the result does not say where the others would be.
    if (!is_reserved && copies.size() > 1) continue;
    json line = placement.line(uid);
    line["among"] = among;
    follow.push_back(std::move(line));
    if (!is_reserved) continue;
    const std::shared_ptr<Pod> made = pending_copy_of(*shape);
    made->name = made->stored_uid = uid;
    standing.push_back(made);
    model.history.answered(made, placement.node);
    copy["spec"]["nodeName"] = placement.node;
    model.path.push_back(apply_line(pod_line(std::move(copy))));
  }
  if (is_reserved && dice_.one_in(2)) {
    calls_.unreserve(kOwner, 1);
    model.history.undone(*standing.back());
    model.path.push_back(apply_line(removal_line("Pod", "", "", standing.back()->uid())));
  }
  return {{"verb", key.empty() ? "reserve" : "reserve in a domain"},
          {"base", path},
          {"pods", std::move(pods)},
          {"follow", std::move(follow)}};
}

}  // namespace berth::test
