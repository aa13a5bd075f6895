// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/node_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "host/config/node_score.h"
#include "host/engine/reference/node_rules.h"
#include "host/engine/reference/node_selector_match.h"
#include "host/engine/reference/score_array.h"
#include "host/engine/reference/volume_binding.h"
#include "host/framework/preferred_terms.h"
#include "host/objects/pod_requests.h"

namespace berth::reference {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

/// The low 64 bits of an exact result: kube-scheduler's int64 arithmetic wraps round, and so do its scores.
std::int64_t wrapped(__int128 exact) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(exact)); }

/// part * 100 / whole, truncated; `part` may be the exact difference of two amounts.
std::int64_t percent(__int128 part, std::int64_t whole) {
  return wrapped(static_cast<__int128>(wrapped(wrapped(part) * static_cast<__int128>(kMaxNodeScore))) / whole);
}

/// As the conversion of amd64 has it: what does not fit becomes the smallest number.
std::int64_t truncated(double number) {
  if (number >= -0x1p63 && number < 0x1p63) return static_cast<std::int64_t>(number);
  return std::numeric_limits<std::int64_t>::min();
}

// TaintToleration

std::int64_t taint_toleration(const Request& request, const NodeState& state) {
  std::int64_t untolerated = 0;
  for (const Taint& taint : state.node->taints) {
    if (taint.effect != TaintEffect::kPreferNoSchedule) continue;
    const std::vector<Toleration>& tolerations = request.pod->spec->tolerations;
    // tolerates() compares the effects, so only tolerations without effect or for PreferNoSchedule can say yes.
    const bool tolerated = std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& toleration) {
      return tolerates(toleration, taint, request.compares_taints);
    });
    if (!tolerated) ++untolerated;
  }
  return untolerated;
}

// NodeAffinity

const std::vector<PreferredSchedulingTerm>& preferred_terms(const std::optional<NodeAffinity>& affinity) {
  static const std::vector<PreferredSchedulingTerm> kNone;
  return affinity ? affinity->preferred : kNone;
}

const std::vector<PreferredSchedulingTerm>& own_terms(const Request& request) {
  return preferred_terms(request.pod->spec->node_affinity);
}

const std::vector<PreferredSchedulingTerm>& added_terms(const Request& request) {
  return preferred_terms(request.profile->args.node_affinity.added_affinity);
}

std::int64_t weight_of_matches(const std::vector<PreferredSchedulingTerm>& terms, const Node& node) {
  std::int64_t sum = 0;
  for (const PreferredSchedulingTerm& term : terms) {
    if (term.weight != 0 && term_matches(term.preference, node)) sum += term.weight;
  }
  return sum;
}

std::int64_t node_affinity(const Request& request, const NodeState& state) {
  return weight_of_matches(own_terms(request), *state.node) + weight_of_matches(added_terms(request), *state.node);
}

bool has_malformed_preference(const std::vector<PreferredSchedulingTerm>& terms) {
  return std::any_of(terms.begin(), terms.end(), [](const PreferredSchedulingTerm& term) {
    return term.weight != 0 && !is_empty(term.preference) && is_malformed(term.preference);
  });
}

// NodeResourcesFit and NodeResourcesBalancedAllocation

/// What lies on the node of a resource, as one of the two plugins counts it.
struct Load {
  const NodeState& state;
  bool non_zero;  ///< cpu and memory from NonZeroRequested

  std::int64_t of(std::string_view name) const {
    if (non_zero && name == kCpu) return state.usage.non_zero_milli_cpu;
    if (non_zero && name == kMemory) return state.usage.non_zero_memory_bytes;
    return state.usage.requested.amount(name);
  }
};

bool is_native(std::string_view name) { return name == kCpu || name == kMemory || name == kEphemeralStorage; }

/// 10.2. `asked` decides whether a scalar counts; `added` is what is added to the load.
ResourcePair resource_pair(std::string_view name, const Load& load, std::int64_t asked, std::int64_t added) {
  const ResourceAmounts& has = load.state.node->allocatable;
  if (is_scalar_resource(name) && asked == 0) return {};
  if (!is_native(name) && !has.has_scalar(name)) return {};
  const std::int64_t allocatable = has.amount(name);
  if (allocatable == 0) return {};
  return {wrapped(static_cast<__int128>(load.of(name)) + added), allocatable};
}

std::vector<ResourcePair> resource_pairs(const std::vector<ResourceWeight>& resources, const Load& load,
                                         const ResourceAmounts& asked, bool with_pod) {
  std::vector<ResourcePair> pairs;
  for (const ResourceWeight& resource : resources) {
    const std::int64_t amount = asked.amount(resource.name);
    pairs.push_back(resource_pair(resource.name, load, amount, with_pod ? amount : 0));
  }
  return pairs;
}

std::int64_t node_resources_fit(const Request& request, const NodeState& state) {
  const NodeResourcesFitArgs& args = request.profile->args.node_resources_fit;
  return strategy_score(args, resource_pairs(args.resources, Load{state, true}, request.score_amounts, true));
}

bool asks_no_balanced_resource(const Request& request) {
  const std::vector<ResourceWeight>& resources = request.profile->args.balanced_allocation.resources;
  return std::all_of(resources.begin(), resources.end(), [&](const ResourceWeight& resource) {
    return request.balanced_amounts.amount(resource.name) == 0;
  });
}

std::int64_t balanced_allocation(const Request& request, const NodeState& state) {
  if (asks_no_balanced_resource(request)) return 0;  // reached where PreScore, which skips, is not enabled
  const std::vector<ResourceWeight>& resources = request.profile->args.balanced_allocation.resources;
  const Load load{state, false};
  const std::int64_t with = balance_score(resource_pairs(resources, load, request.balanced_amounts, true));
  if (request.gates->release() == Release::k1_35) return with;
  const std::int64_t without = balance_score(resource_pairs(resources, load, request.balanced_amounts, false));
  return kMaxNodeScore / 2 + wrapped(static_cast<__int128>(kMaxNodeScore / 2) + with - without) / 2;
}

std::int64_t least_allocated(const ResourcePair& pair) {
  if (pair.requested > pair.allocatable) return 0;
  return percent(static_cast<__int128>(pair.allocatable) - pair.requested, pair.allocatable);
}

std::int64_t most_allocated(const ResourcePair& pair) {
  return percent(std::min(pair.requested, pair.allocatable), pair.allocatable);
}

std::int64_t capacity_ratio(const std::vector<ShapePoint>& shape, const ResourcePair& pair) {
  const bool over = pair.requested > pair.allocatable;
  return shape_score(shape, over ? kMaxNodeScore : percent(pair.requested, pair.allocatable));
}

// ImageLocality

bool node_has_image(const Node& node, const std::string& name) {
  return std::any_of(node.images.begin(), node.images.end(), [&](const NodeImage& image) {
    return std::find(image.names.begin(), image.names.end(), name) != image.names.end();
  });
}

std::int64_t share_on_node(const std::string& image, const NodeState& state, const ClusterView& cluster) {
  const std::string name = normalized_image_name(image);
  const auto known = cluster.images.find(name);
  if (known == cluster.images.end() || !node_has_image(*state.node, name)) return 0;
  return image_share(known->second.size_bytes, known->second.node_count,
                     static_cast<std::int64_t>(cluster.nodes.size()));
}

/// Images whose presence on a node counts, as often as they are named.
std::vector<std::string> images_of(const PodSpec& spec, Release release) {
  std::vector<std::string> images;
  images.reserve(spec.init_containers.size() + spec.containers.size());
  for (const Container& container : spec.init_containers) images.push_back(container.image);
  for (const Container& container : spec.containers) images.push_back(container.image);
  // v1.36 has image volumes in the sum, though not yet in the number that bounds it.
  if (release != Release::k1_35) {
    images.insert(images.end(), spec.image_volumes.begin(), spec.image_volumes.end());
  }
  return images;
}

std::int64_t image_locality(const Request& request, const NodeState& state) {
  const PodSpec& spec = *request.pod->spec;
  std::int64_t sum = 0;
  for (const std::string& image : images_of(spec, request.gates->release())) {
    sum = wrapped(static_cast<__int128>(sum) + share_on_node(image, state, *request.cluster));
  }
  const auto container_count = static_cast<std::int64_t>(spec.init_containers.size() + spec.containers.size());
  const std::int64_t low = 23 * kMebibyte;
  const std::int64_t high = container_count * 1000 * kMebibyte;
  if (sum < low) {
    sum = low;
  } else if (sum > high) {
    sum = high;
  }
  return kMaxNodeScore * (sum - low) / (high - low);
}

}  // namespace

std::string normalized_image_name(const std::string& image) {
  // As positions from 1, so that "not there" is 0 and a name without either is tagged.
  const std::size_t colon = image.rfind(':') + 1;
  const std::size_t slash = image.rfind('/') + 1;
  return colon <= slash ? image + ":latest" : image;
}

std::int64_t image_share(std::int64_t size_bytes, std::int64_t nodes_with_image, std::int64_t node_count) {
  const double spread = static_cast<double>(nodes_with_image) / static_cast<double>(node_count);
  return truncated(static_cast<double>(size_bytes) * spread);
}

std::int64_t balance_score(const std::vector<ResourcePair>& pairs) {
  std::vector<double> fractions;
  double total = 0;
  for (const ResourcePair& pair : pairs) {
    if (pair.allocatable == 0) continue;
    const double fraction = static_cast<double>(pair.requested) / static_cast<double>(pair.allocatable);
    fractions.push_back(fraction > 1 ? 1 : fraction);
    total += fractions.back();
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::fabs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    const double mean = total / static_cast<double>(fractions.size());
    double sum = 0;
    for (const double fraction : fractions) sum = sum + (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(sum / static_cast<double>(fractions.size()));
  }
  return truncated((1 - deviation) * static_cast<double>(kMaxNodeScore));
}

std::int64_t strategy_score(const NodeResourcesFitArgs& args, const std::vector<ResourcePair>& pairs) {
  const bool ratio = args.strategy == ScoringStrategyType::kRequestedToCapacityRatio;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].allocatable == 0) continue;
    const std::int64_t score = ratio ? capacity_ratio(args.shape, pairs[i])
                               : args.strategy == ScoringStrategyType::kMostAllocated ? most_allocated(pairs[i])
                                                                                      : least_allocated(pairs[i]);
    if (ratio && score <= 0) continue;  // only here a score of 0 leaves the denominator as well
    sum = wrapped(sum + static_cast<__int128>(score) * args.resources[i].weight);
    weights += args.resources[i].weight;
  }
  if (weights == 0) return 0;
  if (!ratio) return sum / weights;
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

void normalize(std::vector<std::int64_t>& scores, bool reverse) {
  if (scores.empty()) return;
  Eigen::Map<ScoreArray> values(scores.data(), std::ssize(scores));
  const std::int64_t highest = std::max<std::int64_t>(0, values.maxCoeff());
  if (highest == 0) {
    if (reverse) values = kMaxNodeScore;
    return;
  }
  values = kMaxNodeScore * values / highest;
  if (reverse) values = kMaxNodeScore - values;
}

const Scorer* find_scorer(std::string_view plugin) {
  static const std::map<std::string_view, Scorer> kScorers = {
      {"TaintToleration", {taint_toleration, Normalization::kReverse}},
      {"NodeAffinity", {node_affinity, Normalization::kPlain}},
      {"NodeResourcesFit", {node_resources_fit, Normalization::kNone}},
      {"NodeResourcesBalancedAllocation", {balanced_allocation, Normalization::kNone}},
      {"ImageLocality", {image_locality, Normalization::kNone}},
      {"VolumeBinding", {score_binding, Normalization::kNone}},
  };
  const auto found = kScorers.find(plugin);
  return found == kScorers.end() ? nullptr : &found->second;
}

std::int64_t shape_score(const std::vector<ShapePoint>& shape, std::int64_t utilization) {
  constexpr std::int64_t kScale = 10;  // points are scored 0..10, nodes 0..100
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score * kScale;
    const std::int64_t y = shape[i - 1].score * kScale;
    const std::int64_t rise = shape[i].score * kScale - y;
    return y + rise * (utilization - shape[i - 1].utilization) / (shape[i].utilization - shape[i - 1].utilization);
  }
  return shape.empty() ? 0 : shape.back().score * kScale;
}

bool pre_score_skips(const Request& request, std::string_view plugin) {
  if (!request.profile->enables(ExtensionPoint::kPreScore, plugin)) return false;
  if (plugin == "NodeAffinity") return own_terms(request).empty() && added_terms(request).empty();
  if (plugin == "NodeResourcesBalancedAllocation") return asks_no_balanced_resource(request);
  if (plugin == "VolumeBinding") return !scores_volumes(request);
  return false;
}

std::string node_affinity_error(const Request& request) {
  if (!has_malformed_preference(own_terms(request))) return {};
  const bool in_pre_score = request.profile->enables(ExtensionPoint::kPreScore, "NodeAffinity");
  return (in_pre_score ? "running PreScore plugin \"NodeAffinity\": "
                       : "running Score plugins: plugin \"NodeAffinity\" failed with: ") +
         preferred_terms_problem(own_terms(request)).value_or("bad terms");
}

}  // namespace berth::reference
