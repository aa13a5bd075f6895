// SPDX-License-Identifier: Apache-2.0
#include "host/capi/scale_up.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "host/capi/pod_classes.h"
#include "host/capi/questions.h"
#include "host/objects/pod_requests.h"
#include "host/objects/saturating.h"

namespace berth::capi {
namespace {

constexpr std::array<std::string_view, 4> kFirstResources = {kCpu, kMemory, kEphemeralStorage, kPods};

/// What pods request of the nodes that they stand on, by resource.
class Uses {
 public:
  Uses(std::span<const PodHandlePtr> pods, bool as_moved, std::span<const NodeShape> shapes) {
    std::set<std::string, std::less<>> others;
    const auto note = [&](const ResourceAmounts& amounts) {
      for (const auto& [name, amount] : amounts.scalars)
        if (amount != 0) others.insert(name);
    };
    for (const PodHandlePtr& pod : pods)
      note(of_pod_.emplace_back(requested_on_node(*pod->pod->placeable(as_moved).pod)));
    for (const NodeShape& shape : shapes) {
      note(shape.node->allocatable);
      for (const PodPtr& pod : shape.pods) note(requested_on_node(*pod));
    }
    resources_.assign(kFirstResources.begin(), kFirstResources.end());
    resources_.insert(resources_.end(), others.begin(), others.end());
  }

  std::span<const std::string> resources() const { return resources_; }
  std::int64_t requested(const NodeShape& shape, const ShapeAnswer& answer, std::string_view resource) const {
    std::int64_t sum = 0;
    for (const PodPtr& pod : shape.pods) sum = saturating_add(sum, amount_of(requested_on_node(*pod), resource));
    sum = times(sum, answer.node_count);
    for (std::size_t p = 0; p < of_pod_.size(); ++p)
      if (answer.new_node[p] != ShapeAnswer::kNone) sum = saturating_add(sum, amount_of(of_pod_[p], resource));
    return sum;
  }
  static std::int64_t times(std::int64_t amount, std::uint32_t count) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(amount, std::int64_t{count}, &product) ? INT64_MAX : product;
  }

 private:
  static std::int64_t amount_of(const ResourceAmounts& amounts, std::string_view resource) {
    return resource == kPods ? 1 : amounts.amount(resource);
  }

  std::vector<ResourceAmounts> of_pod_;
  std::vector<std::string> resources_;
};

/// cluster-autoscaler's DecreasingPodOrderer: requests of containers alone, init containers and overhead left out.
class SizeOrder {
 public:
  explicit SizeOrder(std::span<const PodHandlePtr> pods) {
    for (const PodHandlePtr& pod : pods) {
      Size size;
      for (const Container& container : pod->pod->given->spec->containers) {
        const ResourceAmounts requests = to_amounts(container.requests);
        size.milli_cpu = saturating_add(size.milli_cpu, requests.milli_cpu);
        size.memory_bytes = saturating_add(size.memory_bytes, requests.memory_bytes);
      }
      sizes_.push_back(size);
    }
  }

  std::vector<std::uint32_t> order_for(const Node& node) const {
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::vector<double> scores;
    scores.reserve(sizes_.size());
    for (const Size& size : sizes_)
      scores.push_back(share(size.milli_cpu, node.allocatable.milli_cpu) +
                       share(size.memory_bytes, node.allocatable.memory_bytes));
    std::vector<std::uint32_t> order(sizes_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::uint32_t i) { return scores[i]; });
    return order;
  }

 private:
  struct Size {
    std::int64_t milli_cpu = 0;
    std::int64_t memory_bytes = 0;
  };
  std::vector<Size> sizes_;
};

/// A fork of the state in which the pods stand nowhere.
std::unique_ptr<Fork> without_pods(const State& state, std::span<const PodHandlePtr> pods) {
  std::unique_ptr<Fork> fork = state.fork.fork();
  std::vector<ClusterChange> removals;
  for (const PodHandlePtr& pod : pods)
    if (!fork->node_of_pod(pod->pod->uid).empty()) removals.emplace_back(PodRemoval{pod->pod->uid});
  fork->apply(removals);
  return fork;
}

/// The existing nodes, in the order in which they are asked.
std::vector<std::uint32_t> existing_numbers(const State& state, const ScaleUpOptions& options) {
  std::vector<std::uint32_t> numbers;
  if ((options.flags & BERTH_EXISTING_FIRST) == 0) return numbers;
  for (const Roster::Entry& entry : state.facts.roster->entries())
    if ((options.nodes == nullptr || options.nodes->contains(entry.number)) &&
        (!entry.is_cordoned || (options.flags & BERTH_SKIP_CORDONED) == 0))
      numbers.push_back(entry.number);
  return numbers;
}

class Writing {
 public:
  Writing(Result& result, std::size_t shape_count, std::size_t pod_count)
      : result_(result), pairs_(shape_count * pod_count) {}

  void pods(std::span<const PodHandlePtr> pods, const PodClasses& classes) {
    result_.column<std::uint32_t>(BERTH_COLUMN_POD_CLASS) = classes.of_pod;
    auto& judged = result_.column<std::uint8_t>(BERTH_COLUMN_JUDGED);
    judged.reserve(pods.size());
    for (const PodHandlePtr& pod : pods) judged.push_back(judged_of(*pod->pod));
  }
  void shape(const NodeShape& shape, const ShapeAnswer& answer) {
    result_.column<std::uint32_t>(BERTH_COLUMN_SHAPE).push_back(shape.number);
    result_.column<std::uint32_t>(BERTH_COLUMN_NODE_COUNT).push_back(answer.node_count);
    result_.column<std::uint32_t>(BERTH_COLUMN_PLACED).push_back(answer.placed);
    result_.column<std::uint8_t>(BERTH_COLUMN_CAP).push_back(answer.cap);
    result_.column<std::uint32_t>(BERTH_COLUMN_CAP_RESOURCE).push_back(result_.number_of(answer.cap_resource));
  }
  void classes(const ShapeAnswer& answer, const PodClasses& classes) {
    std::vector<std::uint32_t> placed(classes.count);
    for (std::size_t p = 0; p < classes.of_pod.size(); ++p)
      if (answer.node[p] != ShapeAnswer::kNone || answer.new_node[p] != ShapeAnswer::kNone) ++placed[classes.of_pod[p]];
    auto& column = result_.column<std::uint32_t>(BERTH_COLUMN_PLACED_OF_CLASS);
    column.insert(column.end(), placed.begin(), placed.end());
  }
  void placements(const ShapeAnswer& answer, std::span<const std::uint32_t> existing,
                  std::span<const PodHandlePtr> pods) {
    auto& node = room<std::uint32_t>(BERTH_COLUMN_NODE);
    auto& new_node = room<std::uint32_t>(BERTH_COLUMN_NEW_NODE);
    auto& fits = room<std::uint8_t>(BERTH_COLUMN_FITS);
    auto& code = room<std::uint8_t>(BERTH_COLUMN_CODE);
    auto& phase = room<std::uint8_t>(BERTH_COLUMN_PHASE);
    auto& plugin = room<std::uint32_t>(BERTH_COLUMN_PLUGIN);
    auto& reasons = room<std::uint32_t>(BERTH_COLUMN_REASONS);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> texts;  // of answer.reasons
    texts.reserve(answer.reasons.size());
    for (const LeftOver& reason : answer.reasons)
      texts.emplace_back(result_.number_of(reason.plugin), result_.number_of(reason.reasons));
    for (std::size_t p = 0; p < pods.size(); ++p) {
      const std::uint32_t at = answer.node[p];
      node.push_back(at != ShapeAnswer::kNone ? existing[at] : BERTH_NO_NODE);
      new_node.push_back(answer.new_node[p]);
      fits.push_back(at != ShapeAnswer::kNone || answer.new_node[p] != ShapeAnswer::kNone ? 1 : 0);
      const std::optional<NotJudged>& not_judged = pods[p]->pod->not_judged;
      const std::uint32_t why = answer.left_over[p];
      const bool is_left = why != ShapeAnswer::kNone;
      code.push_back(static_cast<std::uint8_t>(not_judged ? StatusCode::kError
                                               : is_left  ? answer.reasons[why].code
                                                          : StatusCode::kSuccess));
      phase.push_back(is_left ? answer.reasons[why].phase : std::uint8_t{BERTH_PHASE_NONE});
      plugin.push_back(not_judged ? result_.number_of(not_judged->plugin) : is_left ? texts[why].first : 0);
      reasons.push_back(not_judged ? result_.number_of(not_judged->text) : is_left ? texts[why].second : 0);
    }
  }
  void uses(const Uses& uses, const NodeShape& shape, const ShapeAnswer& answer) {
    for (const std::string& resource : uses.resources()) {
      result_.column<std::int64_t>(BERTH_COLUMN_REQUESTED).push_back(uses.requested(shape, answer, resource));
      result_.column<std::int64_t>(BERTH_COLUMN_ALLOCATABLE)
          .push_back(Uses::times(offered(*shape.node, resource), answer.node_count));
    }
  }
  void resources(const Uses& uses) {
    for (const std::string& resource : uses.resources())
      result_.column<std::uint32_t>(BERTH_COLUMN_RESOURCE).push_back(result_.number_of(resource));
  }
  /// So that columns are there when there is no shape.
  void make_columns() {
    add_columns<std::uint32_t>({BERTH_COLUMN_SHAPE, BERTH_COLUMN_NODE_COUNT, BERTH_COLUMN_PLACED,
                                BERTH_COLUMN_CAP_RESOURCE, BERTH_COLUMN_NODE, BERTH_COLUMN_NEW_NODE,
                                BERTH_COLUMN_PLUGIN, BERTH_COLUMN_REASONS, BERTH_COLUMN_PLACED_OF_CLASS});
    add_columns<std::uint8_t>({BERTH_COLUMN_CAP, BERTH_COLUMN_FITS, BERTH_COLUMN_CODE, BERTH_COLUMN_PHASE});
    add_columns<std::int64_t>({BERTH_COLUMN_REQUESTED, BERTH_COLUMN_ALLOCATABLE});
  }

 private:
  template <class T>
  void add_columns(std::initializer_list<std::uint32_t> ids) {
    for (const std::uint32_t id : ids) result_.column<T>(id);
  }
  template <class T>
  std::vector<T>& room(std::uint32_t id) {
    std::vector<T>& column = result_.column<T>(id);
    column.reserve(pairs_);
    return column;
  }

  Result& result_;
  std::size_t pairs_;
};

}  // namespace

std::vector<WaitingPod> waiting_pods(Cluster& cluster, std::uint64_t version, std::span<const PodHandlePtr> pods,
                                     bool as_moved) {
  std::vector<PodToPlace> judged;
  for (const PodHandlePtr& pod : pods)
    if (!pod->pod->not_judged) judged.push_back(pod->pod->placeable(as_moved));
  const std::vector<std::uint64_t> kinds = cluster.kinds_of(judged, version);
  std::vector<WaitingPod> waiting;
  waiting.reserve(pods.size());
  for (auto kind = kinds.begin(); const PodHandlePtr& pod : pods)
    waiting.push_back(pod->pod->not_judged ? WaitingPod{} : WaitingPod{&pod->pod->placeable(as_moved), *kind++});
  return waiting;
}

Answer scale_up(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const PodHandlePtr> pods,
                std::span<const NodeShape> shapes, const ScaleUpOptions& options, const StopWatch& watch) {
  constexpr std::size_t kBytesOfPair = 3 * sizeof(std::uint8_t) + 5 * sizeof(std::uint32_t);
  cluster->engine().memory.check(shapes.size() * pods.size() * kBytesOfPair);
  const bool as_moved = (options.flags & BERTH_AS_MOVED) != 0;
  const std::vector<WaitingPod> waiting = waiting_pods(*cluster, state.facts.version, pods, as_moved);
  const std::unique_ptr<Fork> moved_out = as_moved && !shapes.empty() ? without_pods(state, pods) : nullptr;
  Fork& below = moved_out != nullptr ? *moved_out : state.fork;
  const std::vector<std::uint32_t> existing = existing_numbers(state, options);
  const bool decreases = (options.flags & BERTH_DECREASING) != 0;
  const SizeOrder sizes(decreases ? pods : std::span<const PodHandlePtr>());
  std::vector<std::uint32_t> as_given(pods.size());
  std::iota(as_given.begin(), as_given.end(), 0U);
  std::vector<std::optional<ShapeAnswer>> answers(shapes.size());
  std::atomic<std::size_t> next = 0;  // shapes are begun in their order, so that a prefix is done first
  std::atomic<std::size_t> done = 0;
  std::mutex opening;  // one call at a time on the state
  cluster->arena().for_each(shapes.size(), [&](std::size_t /*i*/) {
    const std::size_t s = next++;
    if (watch.is_over()) return;
    if (shapes[s].same_as != s) return watch.tell(++done, shapes.size());
    std::unique_ptr<Fork> fork;
    {
      const std::lock_guard alone(opening);
      fork = below.fork();
    }
    std::vector<NodeIndex> nodes;
    nodes.reserve(existing.size());
    for (const std::uint32_t number : existing) nodes.push_back(fork->find_node(*cluster->nodes().name_of(number)));
    answers[s] = pack(*fork, shapes[s], waiting, decreases ? sizes.order_for(*shapes[s].node) : as_given, nodes,
                      cluster->has_nominations(), watch);
    watch.tell(++done, shapes.size());
  });
  const auto is_open = [&](const NodeShape& shape) { return !answers[shape.same_as]; };
  const auto end = std::ranges::find_if(shapes, is_open);
  const berth_status status = end != shapes.end() ? watch.stop() : BERTH_OK;
  if (status == BERTH_OK) watch.tell(shapes.size(), shapes.size());  // the last one may have been another thread's
  shapes = shapes.first(static_cast<std::size_t>(end - shapes.begin()));
  auto result = std::make_unique<Result>(cluster, state.facts.version);
  Writing writing(*result, shapes.size(), pods.size());
  const Uses uses(pods, as_moved, shapes);
  writing.make_columns();
  const PodClasses classes(pods, as_moved);
  writing.pods(pods, classes);
  writing.resources(uses);
  for (const NodeShape& shape : shapes) {
    const ShapeAnswer& answer = *answers[shape.same_as];
    writing.shape(shape, answer);
    writing.classes(answer, classes);
    writing.placements(answer, existing, pods);
    writing.uses(uses, shape, answer);
  }
  return {std::move(result), status};
}

}  // namespace berth::capi
