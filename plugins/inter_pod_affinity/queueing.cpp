// SPDX-License-Identifier: Apache-2.0
#include "plugins/inter_pod_affinity/queueing.h"

#include <algorithm>
#include <array>
#include <memory>

#include "host/framework/label_problems.h"
#include "host/objects/pod_state.h"
#include "plugins/inter_pod_affinity/compile.h"

namespace berth {
namespace {

bool parses(const std::optional<PodAffinity>& affinity) {
  return !affinity ||
         std::all_of(affinity->required.begin(), affinity->required.end(), [](const PodAffinityTerm& term) {
           return !label_selector_problem(term.label_selector) && !label_selector_problem(term.namespace_selector);
         });
}

/// False for an empty list. Labels of namespaces are not looked at here.
bool matches_all(const std::vector<AffinityTerm>& terms, const Pod& pod) {
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&pod](const AffinityTerm& term) {
    return term.matches(pod.namespace_, LabelMap(), pod.labels);
  });
}

/// The functions of a release that has nominations and the terms of deleted pods in mind: 1.36 and later.
enum class Rules : std::uint8_t { kPlain, kExtended };

class PreparedInterPodAffinity : public PreparedHints {
 public:
  PreparedInterPodAffinity(const Pod& pod, Rules rules)
      : terms_(compile_affinity_terms(*pod.spec, pod.namespace_)),
        parses_(parses(pod.spec->pod_affinity) && parses(pod.spec->pod_anti_affinity)),
        rules_(rules) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const bool is_update = change.before != nullptr && change.after != nullptr;
    if (rules_ == Rules::kExtended && is_update && change.is_waiting_pod) return QueueingHint::kQueue;
    if (holds_nothing(change.before) || holds_nothing(change.after)) return QueueingHint::kSkip;
    if (!parses_ || helps(change)) return QueueingHint::kQueue;
    return rules_ == Rules::kExtended && change.after == nullptr ? after_hater_left(change) : QueueingHint::kSkip;
  }
  QueueingHint after_node_change(const NodeChange& change) const override {
    return !parses_ || helps(change) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  bool holds_nothing(const Pod* pod) const {
    const bool by_nomination = rules_ == Rules::kExtended;
    return pod != nullptr && !is_assigned(*pod) && !(by_nomination && !pod->rare().nominated_node_name.empty());
  }
  /// Did the deleted pod hate the one that waits? Labels tell, which pods of one key differ in.
  static QueueingHint after_hater_left(const PodObjectChange& change) {
    if (!change.before->spec->pod_anti_affinity) return QueueingHint::kSkip;
    if (!parses(change.before->spec->pod_anti_affinity)) return QueueingHint::kQueue;
    const AffinityTerms terms = compile_affinity_terms(*change.before->spec, change.before->namespace_);
    if (terms.anti_required.empty()) return QueueingHint::kSkip;
    if (change.waiting == nullptr) return QueueingHint::kAskEach;
    return matches_all(terms.anti_required, *change.waiting) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
  bool helps(const PodObjectChange& change) const {
    const bool wanted_before = change.before != nullptr && matches_all(terms_.required, *change.before);
    const bool wanted_now = change.after != nullptr && matches_all(terms_.required, *change.after);
    const bool hated_before = change.before != nullptr && matches_all(terms_.anti_required, *change.before);
    const bool hated_now = change.after != nullptr && matches_all(terms_.anti_required, *change.after);
    return (!wanted_before && wanted_now) || (hated_before && !hated_now);
  }
  bool helps(const NodeChange& change) const {
    if (change.before == nullptr)
      return !terms_.anti_required.empty() ||
             std::any_of(terms_.required.begin(), terms_.required.end(),
                         [&](const AffinityTerm& term) { return change.after->labels.contains(term.key); });
    const auto value = [](const Node& node, const AffinityTerm& term) { return node.labels.find(term.key); };
    const auto changed = [&](const AffinityTerm& term) {
      return value(*change.before, term) != value(*change.after, term);
    };
    const auto arrived = [&](const AffinityTerm& term) {
      return changed(term) && value(*change.after, term).has_value();
    };
    const auto left = [&](const AffinityTerm& term) {
      return changed(term) && value(*change.before, term).has_value();
    };
    return std::any_of(terms_.required.begin(), terms_.required.end(), arrived) ||
           std::any_of(terms_.anti_required.begin(), terms_.anti_required.end(), left);
  }

  AffinityTerms terms_;
  bool parses_;  ///< otherwise upstream's functions return an error
  Rules rules_;
};

class InterPodAffinityHints : public QueueingHints {
 public:
  explicit InterPodAffinityHints(Rules rules) : rules_(rules) {}
  std::string_view plugin() const override { return InterPodAffinity::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{
            {EventResource::kPod, EventAction::kAdd | EventAction::kUpdatePodLabel | EventAction::kDelete}},
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeLabel}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override {
    key.spec = true;
    key.namespace_ = true;
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedInterPodAffinity>(pod, rules_);
  }

 private:
  Rules rules_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_inter_pod_affinity_hints(const Profile& /*profile*/, const FeatureGates& gates) {
  const bool is_plain = gates.release() == Release::k1_35;
  return std::make_unique<InterPodAffinityHints>(is_plain ? Rules::kPlain : Rules::kExtended);
}

}  // namespace berth
