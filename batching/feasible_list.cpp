// SPDX-License-Identifier: Apache-2.0
#include "batching/feasible_list.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "batching/topology_scores.h"

namespace berth {
namespace {

constexpr std::size_t kAlwaysSearched = 100;  ///< smaller clusters are searched completely
constexpr std::int32_t kLowestPercentage = 5;

}  // namespace

std::vector<std::int32_t> candidate_nodes(const PodClass& pod_class, const NodeSideView& row,
                                          const Snapshot& snapshot) {
  const std::span<const std::int32_t> all = snapshot.in_order();
  std::vector<std::int32_t> candidates(all.begin(), all.end());
  if (row.of_class().outside_node_set != NodeSideRow::kAccepted || !pod_class.host.empty())
    std::erase_if(candidates, [&](std::int32_t node) { return is_outside_node_set(pod_class, row, snapshot, node); });
  return candidates;
}

std::size_t wanted_feasible(const Profile& profile, const SchedulerConfig& config, std::size_t candidate_count) {
  if (profile.at(ExtensionPoint::kScore).empty() && config.extenders.empty()) return 1;
  if (candidate_count < kAlwaysSearched) return candidate_count;
  const auto n = static_cast<std::int64_t>(candidate_count);
  std::int64_t percentage = profile.percentage_of_nodes_to_score.value_or(config.percentage_of_nodes_to_score);
  if (percentage == 0) percentage = std::max<std::int64_t>(50 - n / 125, kLowestPercentage);
  return std::max(static_cast<std::size_t>(n * percentage / 100), kAlwaysSearched);
}

FeasibleList visit_all(const std::vector<std::int32_t>& candidates, const FeasibleTest& feasible) {
  FeasibleList list;
  for (const std::int32_t node : candidates)
    if (feasible(node)) list.nodes.push_back(node);
  return list;
}

FeasibleList visit_sample(const std::vector<std::int32_t>& candidates, std::size_t start, std::size_t wanted,
                          std::int32_t own_nomination, const FeasibleTest& feasible) {
  FeasibleList list;
  bool own_visited = own_nomination < 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::int32_t node = candidates[(start + i) % candidates.size()];
    if (feasible(node)) {
      if (list.nodes.size() == wanted) break;
      list.nodes.push_back(node);
    } else {
      ++list.recorded;
    }
    own_visited = own_visited || node == own_nomination;
  }
  if (!own_visited) ++list.recorded;
  return list;
}

bool UncachedClass::accepts(std::int32_t node) const {
  return row_.refusal(node) == NodeSideRow::kAccepted && load_accepts(pod_class_, profile_, snapshot_, node) &&
         filter_host(pod_class_, node).status.ok();
}

std::int64_t UncachedClass::load_total(std::int32_t node) const {
  return berth::load_total(pod_class_, profile_, snapshot_, node);
}

Draw UncachedClass::draw(std::int32_t node) const {
  return draw_of_class(profile_.draw.order, node_draw(profile_.draw, snapshot_, node), pod_class_.draw_seed);
}

namespace {

/// The total of each listed node: normalised over exactly these nodes.
std::vector<std::int64_t> totals_of(const std::vector<std::int32_t>& listed, const ClassOnNodes& nodes,
                                    const PodClass& pod_class, const NodeSideView& row, const CompiledProfile& profile,
                                    const Snapshot& snapshot, const HostScores* host) {
  const RawScores maxima = raw_maxima(row, snapshot, listed);
  TopologyScores topology;
  if (pod_class.topology != nullptr) topology = score_topology(*pod_class.topology, snapshot.topology(), listed);
  std::vector<std::int64_t> totals;
  totals.reserve(listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const std::int64_t others =
        row.total(snapshot, listed[i], maxima) + topology.total(i, profile) + (host != nullptr ? host->total(i) : 0);
    totals.push_back(profile.scores_anything ? nodes.load_total(listed[i]) + others : 1);
  }
  return totals;
}

/// v1.35's heap of nodes, by total alone: docs/behaviour/plugins-node.md 15.3.
class KubeHeap {
 public:
  explicit KubeHeap(const std::vector<std::int64_t>& totals) : totals_(totals), heap_(totals.size()) {
    std::iota(heap_.begin(), heap_.end(), std::size_t{0});
    for (std::size_t from = heap_.size() / 2; from-- > 0;) sift_down(from);
  }
  bool empty() const { return heap_.empty(); }
  /// Index into the totals.
  std::size_t root() const { return heap_.front(); }
  void pop() {
    std::swap(heap_.front(), heap_.back());
    heap_.pop_back();
    sift_down(0);
  }

 private:
  bool better(std::size_t a, std::size_t b) const { return totals_[heap_[a]] > totals_[heap_[b]]; }
  void sift_down(std::size_t parent) {
    for (;;) {
      std::size_t child = 2 * parent + 1;
      if (child >= heap_.size()) return;
      if (child + 1 < heap_.size() && better(child + 1, child)) ++child;
      if (!better(child, parent)) return;
      std::swap(heap_[child], heap_[parent]);
      parent = child;
    }
  }

  const std::vector<std::int64_t>& totals_;
  std::vector<std::size_t> heap_;
};

/// Which of two listed nodes wins where the tie break is not the heap's.
class BetterListed {
 public:
  BetterListed(const std::vector<std::int32_t>& listed, const std::vector<std::int64_t>& totals,
               const ClassOnNodes& nodes, const Snapshot& snapshot)
      : listed_(listed), totals_(totals), nodes_(nodes), snapshot_(snapshot) {}
  bool operator()(std::size_t a, std::size_t b) const {
    if (totals_[a] != totals_[b]) return totals_[a] > totals_[b];
    const Draw draw_a = nodes_.draw(listed_[a]);
    const Draw draw_b = nodes_.draw(listed_[b]);
    return draw_a != draw_b ? draw_a > draw_b : node_rank(snapshot_, listed_[a]) < node_rank(snapshot_, listed_[b]);
  }

 private:
  const std::vector<std::int32_t>& listed_;
  const std::vector<std::int64_t>& totals_;
  const ClassOnNodes& nodes_;
  const Snapshot& snapshot_;
};

}  // namespace

Selection choose_from_list(const std::vector<std::int32_t>& listed, const ClassOnNodes& nodes,
                           const PodClass& pod_class, const NodeSideView& row, const CompiledProfile& profile,
                           const Snapshot& snapshot, TieBreak tie_break, const HostScores* host) {
  const std::vector<std::int64_t> totals = totals_of(listed, nodes, pod_class, row, profile, snapshot, host);
  std::size_t best = 0;
  if (tie_break == TieBreak::kKube) {
    best = kube_heap_root(totals);
  } else {
    const BetterListed better(listed, totals, nodes, snapshot);
    for (std::size_t i = 1; i < listed.size(); ++i)
      if (better(i, best)) best = i;
  }
  return {static_cast<std::int64_t>(listed.size()), listed[best], totals[best]};
}

PodTotals totals_of_pod_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, const NodeSides& sides,
                           const Snapshot& snapshot) {
  ClassTable& table = sides.table();
  const std::int32_t c = pod.class_index;
  if (nodes.empty()) return {};
  if (ClassTable::is_error(c)) return {{}, table.error(c)};
  if (const std::string& error = table.score_error(c); !error.empty()) return {{}, error};
  const PodClass& pod_class = table[c];
  const CompiledProfile& profile = table.profile_of(c);
  std::vector<std::int32_t> listed;
  listed.reserve(nodes.size());
  for (const NodeIndex node : nodes) listed.push_back(node.value);
  std::optional<HostScores> host;
  if (table.host_decides(c)) {
    host.emplace(pod_class.host, *profile.profile, listed);
    if (!host->error().empty()) return {{}, host->error()};
  }
  const HostScores* const host_scores = host ? &*host : nullptr;
  if (host || scores_may_leave_range(pod_class, snapshot)) {
    std::string error = score_range_error(pod_class, profile, snapshot, listed, host_scores);
    if (!error.empty()) return {{}, std::move(error)};
  }
  const NodeSideView row = sides.of(c);
  const UncachedClass on_demand(pod_class, profile, row, snapshot);
  return {totals_of(listed, on_demand, pod_class, row, profile, snapshot, host_scores), ""};
}

std::vector<Selection> rank_list(const std::vector<std::int32_t>& listed, const ClassOnNodes& nodes,
                                 const PodClass& pod_class, const NodeSideView& row, const CompiledProfile& profile,
                                 const Snapshot& snapshot, TieBreak tie_break, const HostScores* host) {
  const std::vector<std::int64_t> totals = totals_of(listed, nodes, pod_class, row, profile, snapshot, host);
  std::vector<std::size_t> order;
  order.reserve(listed.size());
  if (tie_break == TieBreak::kKube) {
    for (KubeHeap heap(totals); !heap.empty(); heap.pop()) order.push_back(heap.root());
  } else {
    order.resize(listed.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), BetterListed(listed, totals, nodes, snapshot));
  }
  std::vector<Selection> ranked;
  ranked.reserve(order.size());
  for (const std::size_t i : order) ranked.push_back({static_cast<std::int64_t>(listed.size()), listed[i], totals[i]});
  return ranked;
}

std::size_t kube_heap_root(const std::vector<std::int64_t>& totals) { return KubeHeap(totals).root(); }

}  // namespace berth
