// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/affinity_score.h"

#include <string_view>

#include "host/config/node_score.h"
#include "host/engine/reference/score_array.h"

namespace berth::reference {
namespace {

bool has_preferred(const std::optional<PodAffinity>& affinity) { return affinity && !affinity->preferred.empty(); }

/// Adds the terms of pods on one node.
class NodeScorer {
 public:
  NodeScorer(const Node& node, AffinityScores& scores) : node_(node), scores_(scores) {}

  void add(const AffinityTerm& term, std::int64_t weight, const Pod& pod, const LabelMap& namespace_labels) {
    const std::optional<std::string_view> value = node_.labels.find(term.topology_key);
    if (!value || !term.matches(pod, namespace_labels)) return;
    scores_[term.topology_key][std::string(*value)] += weight;
  }
  void add(const std::vector<WeightedTerm>& terms, std::int64_t sign, const Pod& pod,
           const LabelMap& namespace_labels) {
    for (const WeightedTerm& weighted : terms) add(weighted.term, sign * weighted.weight, pod, namespace_labels);
  }

 private:
  const Node& node_;
  AffinityScores& scores_;
};

}  // namespace

bool ignores_affinity(const Request& request) {
  const PodSpec& spec = *request.pod->spec;
  return request.profile->args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods &&
         !has_preferred(spec.pod_affinity) && !has_preferred(spec.pod_anti_affinity);
}

AffinityScores pre_score(PodTerms terms, const Request& request) {
  const ClusterView& cluster = *request.cluster;
  for (auto* group : {&terms.preferred_affinity, &terms.preferred_anti_affinity}) {
    for (WeightedTerm& weighted : *group) {
      list_namespaces(weighted.term, cluster.objects.namespaces, cluster.bugs.negative_namespace_selector_matches_all);
    }
  }
  const LabelMap namespace_labels = cluster.namespace_labels(request.pod->namespace_);
  const std::int64_t hard_weight = request.profile->args.inter_pod_affinity.hard_pod_affinity_weight;
  AffinityScores scores;
  for (const NodeState& node : cluster.nodes) {
    NodeScorer scorer(*node.node, scores);
    for (const PodOnNode& other : node.pods) {
      scorer.add(terms.preferred_affinity, 1, *other.pod, {});
      scorer.add(terms.preferred_anti_affinity, -1, *other.pod, {});
      for (const AffinityTerm& term : other.terms->required_affinity) {
        if (hard_weight > 0) scorer.add(term, hard_weight, *request.pod, namespace_labels);
      }
      scorer.add(other.terms->preferred_affinity, 1, *request.pod, namespace_labels);
      scorer.add(other.terms->preferred_anti_affinity, -1, *request.pod, namespace_labels);
    }
  }
  return scores;
}

std::int64_t score(const AffinityScores& scores, const Node& node) {
  std::int64_t sum = 0;
  for (const auto& [key, by_value] : scores) {
    const std::optional<std::string_view> value = node.labels.find(key);
    if (!value) continue;
    const auto found = by_value.find(std::string(*value));
    if (found != by_value.end()) sum += found->second;
  }
  return sum;
}

void normalize_affinity(std::vector<std::int64_t>& scores) {
  Eigen::Map<ScoreArray> values(scores.data(), std::ssize(scores));
  const std::int64_t least = values.minCoeff();
  const std::int64_t range = values.maxCoeff() - least;
  if (range == 0) {
    values = 0;
    return;
  }
  // Division first: some ratios come out one below their exact value (Q9).
  values = (static_cast<double>(kMaxNodeScore) * ((values - least).cast<double>() / static_cast<double>(range)))
               .cast<std::int64_t>();
}

}  // namespace berth::reference
