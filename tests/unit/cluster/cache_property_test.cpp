// SPDX-License-Identifier: Apache-2.0
// Random operations on the cache against a model that recounts everything from a plain list of pods.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

struct ModelPod {
  std::string node;
  std::int64_t milli_cpu = 0;
  bool assumed = false;
};

/// A short model of the cache's content.
class Model {
 public:
  std::map<std::string, ModelPod> pods;
  std::set<std::string> nodes;

  void put_node(const std::string& name, const std::string& zone) {
    if (zone_of(name) == zone) return;
    drop_node(name);
    nodes.insert(name);
    auto at = std::find_if(zones_.begin(), zones_.end(), [&](const auto& entry) { return entry.first == zone; });
    if (at == zones_.end()) at = zones_.insert(at, {zone, {}});
    at->second.push_back(name);
  }

  void drop_node(const std::string& name) {
    nodes.erase(name);
    for (auto& entry : zones_) std::erase(entry.second, name);
    std::erase_if(zones_, [](const auto& entry) { return entry.second.empty(); });
  }

  /// Of the last read, unless a node was added or removed since.
  const std::vector<std::string>& order() {
    if (std::set<std::string>(order_.begin(), order_.end()) != nodes) rebuild_order();
    return order_;
  }

  std::int64_t milli_cpu_on(const std::string& node) const {
    std::int64_t sum = 0;
    for (const auto& [name, pod] : pods) sum += pod.node == node ? pod.milli_cpu : 0;
    return sum;
  }

  /// A pod that is there is taken off first. Pods are appended, and the last one moves into a gap.
  void put_pod(const std::string& name, ModelPod pod) {
    drop_pod(name);
    pods_on_[pod.node].push_back(name);
    pods[name] = std::move(pod);
  }

  void drop_pod(const std::string& name) {
    const auto known = pods.find(name);
    if (known == pods.end()) return;
    std::vector<std::string>& list = pods_on_[known->second.node];
    *std::find(list.begin(), list.end(), name) = list.back();
    list.pop_back();
    pods.erase(known);
  }

  const std::vector<std::string>& pods_on(const std::string& node) { return pods_on_[node]; }

 private:
  std::string zone_of(const std::string& name) const {
    for (const auto& [zone, members] : zones_) {
      if (std::find(members.begin(), members.end(), name) != members.end()) return zone;
    }
    return "absent";
  }

  void rebuild_order() {
    order_.clear();
    for (std::size_t turn = 0; order_.size() < nodes.size(); ++turn) {
      for (const auto& entry : zones_) {
        if (turn < entry.second.size()) order_.push_back(entry.second[turn]);
      }
    }
  }

  std::map<std::string, std::vector<std::string>> pods_on_;
  std::vector<std::pair<std::string, std::vector<std::string>>> zones_;
  std::vector<std::string> order_;
};

constexpr int kNodeNames = 5;
constexpr int kPodNames = 12;

std::string pick(const char* prefix, int count) { return prefix + std::to_string(*rc::gen::inRange(0, count)); }

/// A pod of one of few specs: another version of it has the same one more often than not.
PodPtr pick_pod(const std::string& name, const std::string& node, std::int64_t milli_cpu) {
  static std::map<std::int64_t, std::shared_ptr<const PodSpec>> specs;
  std::shared_ptr<const PodSpec>& spec = specs[milli_cpu];
  if (spec == nullptr) spec = make_spec({{"cpu", millis(milli_cpu)}});
  return make_pod(name, node, spec);
}

CacheResult expected_of_add(const ModelPod* known) {
  return known != nullptr && !known->assumed ? CacheResult::kAlreadyPresent : CacheResult::kOk;
}

CacheResult expected_of_update(const ModelPod* known, const std::string& node) {
  if (known == nullptr) return CacheResult::kUnknownPod;
  if (known->assumed) return CacheResult::kWrongState;
  return known->node == node ? CacheResult::kOk : CacheResult::kNodeMismatch;
}

void pod_step(ClusterCache& cache, Model& model) {
  const std::string name = pick("p", kPodNames);
  const std::string node = pick("n", kNodeNames);
  const auto milli_cpu = *rc::gen::element<std::int64_t>(0, 300, 300, 300, 999);
  const auto at = model.pods.find(name);
  const ModelPod* known = at == model.pods.end() ? nullptr : &at->second;
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      RC_ASSERT((cache.assume_pod(pick_pod(name, "", milli_cpu), node) == CacheResult::kOk) == (known == nullptr));
      if (known == nullptr) model.put_pod(name, {node, milli_cpu, true});
      break;
    case 1: {
      const CacheResult expected = expected_of_add(known);
      RC_ASSERT(cache.add_pod(pick_pod(name, node, milli_cpu)) == expected);
      if (expected == CacheResult::kOk) model.put_pod(name, {node, milli_cpu, false});
      break;
    }
    case 2: {
      const CacheResult expected = expected_of_update(known, node);
      RC_ASSERT(cache.update_pod(pick_pod(name, node, milli_cpu)) == expected);
      if (expected == CacheResult::kOk) model.put_pod(name, {node, milli_cpu, false});
      break;
    }
    case 3:
      RC_ASSERT((cache.remove_pod("uid-" + name) == CacheResult::kOk) == (known != nullptr));
      model.drop_pod(name);
      break;
    default:
      RC_ASSERT((cache.forget_pod("uid-" + name) == CacheResult::kOk) == (known == nullptr || known->assumed));
      if (known != nullptr && known->assumed) model.drop_pod(name);
  }
}

void node_step(ClusterCache& cache, Model& model) {
  const std::string name = pick("n", kNodeNames);
  if (*rc::gen::inRange(0, 3) == 0) {
    RC_ASSERT((cache.remove_node(name) == CacheResult::kOk) == model.nodes.contains(name));
    model.drop_node(name);
    return;
  }
  const std::string zone = pick("z", 3);
  cache.update_node(make_node(name, zone, {{{"image-" + zone}, 10}}));
  model.put_node(name, zone);
}

void compare(const ClusterCache& cache, Model& model) {
  RC_ASSERT(cache.check_consistency().empty());
  RC_ASSERT(cache.pod_count() == model.pods.size());
  RC_ASSERT(names_in_order(cache) == model.order());
  for (int i = 0; i < kNodeNames; ++i) {
    const std::string name = "n" + std::to_string(i);
    const std::vector<std::string>& expected = model.pods_on(name);
    const NodeInfo* node = cache.find_node(name);
    RC_ASSERT((node != nullptr) == (model.nodes.contains(name) || !expected.empty()));
    if (node == nullptr) continue;
    RC_ASSERT(pod_names(*node) == expected);
    RC_ASSERT(node->requested.milli_cpu == model.milli_cpu_on(name));
  }
  for (const auto& [name, pod] : model.pods) RC_ASSERT(cache.is_assumed("uid-" + name) == pod.assumed);
}

RC_GTEST_PROP(CacheProperty, AnyRunOfOperationsLeavesWhatTheModelSays, ()) {
  ClusterCache cache;
  Model model;
  const int steps = *rc::gen::inRange(0, 120);
  for (int i = 0; i < steps; ++i) {
    *rc::gen::inRange(0, 3) == 0 ? node_step(cache, model) : pod_step(cache, model);
    if (*rc::gen::inRange(0, 4) == 0) compare(cache, model);
  }
  compare(cache, model);
}

/// A reader that follows generations sees every change: its copy equals a fresh read.
RC_GTEST_PROP(CacheProperty, ChangedSinceNamesEveryNodeThatDiffers, ()) {
  ClusterCache cache;
  Model model;
  std::map<std::string, std::int64_t> copy;
  std::uint64_t seen = 0;
  for (int i = 0; i < 60; ++i) {
    *rc::gen::inRange(0, 4) == 0 ? node_step(cache, model) : pod_step(cache, model);
    if (*rc::gen::inRange(0, 3) != 0) continue;
    for (const NodeInfo* node : cache.changed_since(seen)) copy[node->name] = node->requested.milli_cpu;
    seen = cache.generation();
    for (const NodeInfo* node : cache.nodes_in_order()) RC_ASSERT(copy[node->name] == node->requested.milli_cpu);
  }
}

}  // namespace
}  // namespace berth
