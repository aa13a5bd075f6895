// SPDX-License-Identifier: Apache-2.0
#include "tests/property/cluster_history.h"

#include <rapidcheck.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"

namespace berth::test {
namespace {

LabelMap with_label(const LabelMap& labels, const std::string& key, const std::string& value) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [known, known_value] : labels) pairs.emplace_back(known, known_value);
  pairs.emplace_back(key, value);  // of equal keys the last one counts
  return LabelMap(std::move(pairs));
}

/// A key of the labels, or another one.
std::string any_key(const LabelMap& labels, Dice& dice) {
  std::vector<std::string> keys{"made"};
  for (const auto& [key, value] : labels) keys.emplace_back(key);
  return dice.pick(keys);
}

std::shared_ptr<Node> with_parts_of(const Node& node, const Node& other, Dice& dice) {
  auto changed = std::make_shared<Node>(node);
  if (dice.one_in(3)) changed->labels = other.labels;
  if (dice.one_in(3)) changed->taints = other.taints;
  if (dice.one_in(4)) changed->images = other.images;
  if (dice.one_in(4)) changed->allocatable = other.allocatable;
  if (dice.one_in(4)) changed->allowed_pod_number = other.allowed_pod_number;
  if (dice.one_in(4)) changed->declared_features = other.declared_features;
  if (dice.one_in(4)) changed->unschedulable = !node.unschedulable;
  return changed;
}

std::shared_ptr<Pod> on_node(const Pod& pod, const std::string& node) {
  auto bound = copy_of(pod);
  bound->node_name = node;
  return bound;
}

}  // namespace

ClusterHistory::ClusterHistory(const ClusterObjects& objects, std::shared_ptr<const ClusterCache> cache)
    : start_(objects), cluster_(std::move(cache), objects) {
  for (const PodPtr& pod : objects.pods)
    if (is_pending(*pod) && !pod->rare().nominated_node_name.empty())
      nominations_.insert_or_assign(pod->uid(), NominationUpsert{pod, pod->rare().nominated_node_name});
}

ClusterHistory::ClusterHistory(const ClusterHistory& other)
    : start_(other.start_),
      cluster_(other.cache(), other.objects()),
      nominations_(other.nominations_),
      gone_(other.gone_),
      last_placement_(other.last_placement_),
      placed_(other.placed_),
      made_(other.made_) {}

void ClusterHistory::answered(const PodPtr& pod, const std::string& node) {
  nominations_.erase(pod->uid());
  if (node.empty()) return;
  cluster_.assume(pod, node, nullptr);
  last_placement_[pod->uid()] = ++placed_;
}

void ClusterHistory::undone(const Pod& pod) { cluster_.forget(pod.uid()); }

bool ClusterHistory::is_on_a_node(const Pod& pod) const { return cluster_.cache().get_pod(pod.uid()) != nullptr; }

/// Also of those whose node is gone.
ClusterHistory::Placements ClusterHistory::placements() const {
  Placements placements;
  for (const PodPtr& pod : start_.pods)
    if (is_placed(*pod)) placements.emplace(pod->uid(), last_placement_.at(pod->uid()));
  return placements;
}

void ClusterHistory::rolled_back(const Placements& then) {
  for (const auto& [uid, placement] : placements()) {
    const auto known = then.find(uid);
    if (known == then.end() || known->second != placement) cluster_.forget(uid);
  }
}

std::vector<ClusterChange> ClusterHistory::draw(Dice& dice, std::int64_t most) {
  std::vector<ClusterChange> changes;
  for (std::int64_t left = 1 + dice.upto(most - 1); left > 0; --left) {
    changes.push_back(draw_one(dice));
    follow(changes.back());
  }
  cluster_.cache().nodes_in_order();  // an engine takes over the order after each list of events
  return changes;
}

std::vector<ClusterChange> ClusterHistory::draw_for_fork(Dice& dice, std::int64_t most, std::int64_t node_share,
                                                         bool nominations) {
  std::vector<ClusterChange> changes;
  for (std::int64_t left = 1 + dice.upto(most - 1); left > 0; --left) {
    changes.push_back(dice.one_in(node_share)         ? draw_node(dice)
                      : nominations && dice.one_in(8) ? draw_nomination(dice)
                      : dice.one_in(2)                ? draw_pod(dice)
                                                      : draw_fate_of_placed(dice));
    follow(changes.back());
  }
  cluster_.cache().nodes_in_order();
  return changes;
}

void ClusterHistory::follow(const ClusterChange& change) {
  if (const auto* removal = std::get_if<NodeRemoval>(&change))
    if (const NodeInfo* info = cluster_.cache().find_node(removal->name); info != nullptr && info->node != nullptr)
      gone_.push_back(info->node);
  const ClusterEffect effect = cluster_.apply(change);
  if (effect.nomination != nullptr) {
    nominations_.erase(effect.nomination->uid());
    if (!effect.nominated_node.empty())
      nominations_.insert_or_assign(effect.nomination->uid(),
                                    NominationUpsert{effect.nomination, effect.nominated_node});
  }
  if (!effect.nomination_ended.empty()) nominations_.erase(effect.nomination_ended);
}

std::vector<ClusterChange> ClusterHistory::nominations() const {
  std::vector<ClusterChange> changes;
  for (const auto& [uid, nomination] : nominations_) changes.emplace_back(nomination);
  return changes;
}

std::string ClusterHistory::any_node(Dice& dice) const {
  const std::vector<const NodeInfo*> nodes = cluster_.cache().nodes();
  if (nodes.empty() || dice.one_in(12)) return "nowhere";
  return nodes[static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(nodes.size()) - 1))]->name;
}

std::vector<PodPtr> ClusterHistory::pods_on_nodes(Kind kind) const {
  std::vector<PodPtr> pods;
  for (const NodeInfo* info : cluster_.cache().nodes())
    for (const PodPtr& pod : info->pods)
      if (is_placed(*pod) == (kind == Kind::kPlaced)) pods.push_back(pod);
  return pods;
}

ClusterChange ClusterHistory::draw_one(Dice& dice) {
  switch (dice.upto(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return draw_node(dice);
    case 4:
    case 5:
    case 6:
      return draw_pod(dice);
    case 7:
    case 8:
      return draw_nomination(dice);
    case 9:
      return draw_selector(dice);
    case 10:
      return draw_namespace(dice);
    default:
      return draw_fate_of_placed(dice);
  }
}

/// One label has a value that was never seen.
LabelMap ClusterHistory::with_new_label(const LabelMap& labels, Dice& dice) {
  return with_label(labels, any_key(labels, dice), "made-" + std::to_string(++made_));
}

ClusterChange ClusterHistory::draw_node(Dice& dice) {
  const std::vector<const NodeInfo*> nodes = cluster_.cache().nodes();
  if (!gone_.empty() && dice.one_in(3)) {
    NodePtr back = dice.pick(gone_);
    return NodeUpsert(dice.one_in(2) ? back : with_parts_of(*back, *dice.pick(gone_), dice));
  }
  if (nodes.empty() || dice.one_in(4)) {
    auto fresh = std::make_shared<Node>(start_.nodes.empty() ? Node() : *dice.pick(start_.nodes));
    fresh->name = "made-" + std::to_string(++made_);
    if (dice.one_in(3)) fresh->labels = with_new_label(fresh->labels, dice);
    return NodeUpsert(std::move(fresh));
  }
  const auto any = [&]() -> const Node& {
    return *nodes[static_cast<std::size_t>(dice.upto(static_cast<std::int64_t>(nodes.size()) - 1))]->node;
  };
  const Node& node = any();
  if (dice.one_in(4)) return NodeRemoval{node.name};
  std::shared_ptr<Node> changed = with_parts_of(node, any(), dice);
  if (dice.one_in(6)) changed->labels = with_new_label(changed->labels, dice);
  return NodeUpsert(std::move(changed));
}

ClusterChange ClusterHistory::draw_pod(Dice& dice) {
  const std::vector<PodPtr> pods = pods_on_nodes(Kind::kConfirmed);
  if (pods.empty() || dice.one_in(3)) {
    if (start_.pods.empty()) return PodRemoval{"no such pod"};
    auto fresh = on_node(*dice.pick(start_.pods), any_node(dice));
    fresh->name = "made-" + std::to_string(++made_);
    fresh->stored_uid.clear();
    fresh->rare_fields = nullptr;
    if (dice.one_in(4)) fresh->labels = with_new_label(fresh->labels, dice);
    if (dice.one_in(6)) fresh->namespace_ = any_new_namespace(dice);
    return PodUpsert{std::move(fresh)};
  }
  const PodPtr& pod = dice.pick(pods);
  if (dice.one_in(3)) return PodRemoval{pod->uid()};
  auto changed = copy_of(*pod);
  if (dice.one_in(2)) changed->terminating = !changed->terminating;
  if (dice.one_in(2)) changed->labels = dice.pick(start_.pods)->labels;
  if (dice.one_in(6)) changed->labels = with_new_label(changed->labels, dice);
  if (dice.one_in(5)) changed->node_name = any_node(dice);
  if (dice.one_in(8)) changed->phase = PodPhase::kSucceeded;
  return PodUpsert{std::move(changed)};
}

/// Of a pod that the engine under test may be asked to place, too.
ClusterChange ClusterHistory::draw_nomination(Dice& dice) {
  std::vector<PodPtr> pending;
  for (const PodPtr& pod : start_.pods)
    if (is_pending(*pod) && !is_on_a_node(*pod)) pending.push_back(pod);
  if (pending.empty()) return PodRemoval{"no such pod"};
  return NominationUpsert{dice.pick(pending), dice.one_in(4) ? std::string() : any_node(dice)};
}

/// A namespace that the cluster did not begin with. There are few, so that they meet each other.
std::string ClusterHistory::any_new_namespace(Dice& dice) { return "made-" + std::to_string(dice.upto(2)); }

ClusterChange ClusterHistory::draw_selector(Dice& dice) {
  if (dice.one_in(3) && !start_.workloads.empty()) {
    Workload workload = dice.pick(start_.workloads);
    if (dice.one_in(3)) return WorkloadRemoval{workload.kind, workload.namespace_, workload.name};
    if (dice.one_in(2)) workload.selector = dice.pick(start_.workloads).selector;
    return WorkloadUpsert{std::move(workload)};
  }
  if (!start_.services.empty() && dice.one_in(2)) {
    Service service = dice.pick(start_.services);
    if (dice.one_in(3)) return ServiceRemoval{service.namespace_, service.name};
    service.selector = dice.pick(start_.services).selector;
    return ServiceUpsert{std::move(service)};
  }
  if (start_.pods.empty()) return ServiceRemoval{"default", "none"};
  const PodPtr& pod = dice.pick(start_.pods);
  return ServiceUpsert{{"made-" + std::to_string(dice.upto(3)),
                        dice.one_in(4) ? any_new_namespace(dice) : pod->namespace_,
                        dice.one_in(4) ? with_new_label(pod->labels, dice) : pod->labels}};
}

ClusterChange ClusterHistory::draw_namespace(Dice& dice) {
  if (start_.namespaces.empty()) return NamespaceRemoval{"none"};
  Namespace changed = dice.pick(start_.namespaces);
  if (dice.one_in(3)) changed.name = any_new_namespace(dice);
  if (dice.one_in(3)) return NamespaceRemoval{changed.name};
  changed.labels = dice.pick(start_.namespaces).labels;
  if (dice.one_in(4)) changed.labels = with_new_label(changed.labels, dice);
  return NamespaceUpsert{std::move(changed)};
}

/// A placement is confirmed, overruled or deleted.
ClusterChange ClusterHistory::draw_fate_of_placed(Dice& dice) {
  const std::vector<PodPtr> placed = pods_on_nodes(Kind::kPlaced);
  if (placed.empty()) return draw_node(dice);
  const Pod& pod = *dice.pick(placed);
  if (dice.one_in(4)) return PodRemoval{pod.uid()};
  return PodUpsert{on_node(pod, dice.one_in(4) ? any_node(dice) : cluster_.cache().node_of_pod(pod.uid())->name)};
}

void place_between_events(Case& drawn, Backend& backend, ClusterHistory& history) {
  const std::size_t half = drawn.pods.size() / 2;
  for (std::size_t next = 0; next < half;) {
    const std::size_t count = std::min(half - next, static_cast<std::size_t>(1 + drawn.dice.upto(7)));
    std::vector<PodToPlace> batch = not_placed({drawn.pods.begin() + static_cast<std::ptrdiff_t>(next),
                                                drawn.pods.begin() + static_cast<std::ptrdiff_t>(next + count)},
                                               history);
    next += count;
    backend.compile(batch);
    if (drawn.dice.one_in(3)) backend.apply(history.draw(drawn.dice, 2));
    batch = not_placed(batch, history);
    const BatchResult result = backend.commit_batch(batch, {});
    for (std::size_t i = 0; i < result.outcomes.size(); ++i)
      history.answered(batch[i].pod, std::string(backend.node_name(result.outcomes[i].node)));
    for (const PodToPlace& pod : batch)
      if (drawn.dice.one_in(6) && history.is_placed(*pod.pod)) {
        RC_ASSERT(backend.undo(*pod.pod));
        history.undone(*pod.pod);
      }
    if (drawn.dice.one_in(3)) backend.settle();
    backend.apply(history.draw(drawn.dice, 4));
  }
}

std::vector<PodToPlace> not_placed(const std::vector<PodToPlace>& pods, const ClusterHistory& history) {
  std::vector<PodToPlace> rest;
  for (const PodToPlace& pod : pods)
    if (!history.is_on_a_node(*pod.pod)) rest.push_back(pod);
  return rest;
}

}  // namespace berth::test
