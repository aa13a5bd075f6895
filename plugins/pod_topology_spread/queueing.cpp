// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_topology_spread/queueing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "host/objects/pod_state.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {
namespace {

class PreparedPodTopologySpread : public PreparedHints {
 public:
  /// @param by_nomination  a nominated pod counts as assigned: 1.36 and later
  PreparedPodTopologySpread(SpreadConstraints constraints, std::string name_space, bool by_nomination)
      : constraints_(std::move(constraints)), namespace_(std::move(name_space)), by_nomination_(by_nomination) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    if (!is_involved(change.before, change) || !is_involved(change.after, change)) return QueueingHint::kSkip;
    return !constraints_.hard_error.empty() || helps(change) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }
  QueueingHint after_node_change(const NodeChange& change) const override {
    return !constraints_.hard_error.empty() || helps(change) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  bool is_involved(const Pod* pod, const PodObjectChange& change) const {
    if (pod == nullptr || change.is_waiting_pod) return true;
    const bool has_node = is_assigned(*pod) || (by_nomination_ && !pod->rare().nominated_node_name.empty());
    return has_node && pod->namespace_ == namespace_;
  }
  bool helps(const PodObjectChange& change) const {
    const auto any = [this](const auto& holds) {
      return std::any_of(constraints_.hard.begin(), constraints_.hard.end(), holds);
    };
    if (change.before == nullptr || change.after == nullptr) {
      const Pod& pod = change.before == nullptr ? *change.after : *change.before;
      return any([&pod](const SpreadConstraint& constraint) { return constraint.selector.matches(pod.labels); });
    }
    const bool tolerates_more =
        change.is_waiting_pod && change.before->spec->tolerations != change.after->spec->tolerations;
    if (tolerates_more && any([](const SpreadConstraint& constraint) { return constraint.honors_node_taints; }))
      return true;
    return any([&change](const SpreadConstraint& constraint) {
      return constraint.selector.matches(change.before->labels) != constraint.selector.matches(change.after->labels);
    });
  }
  bool helps(const NodeChange& change) const {
    const bool had_keys = change.before != nullptr && has_keys(*change.before);
    const bool has_keys_now = change.after != nullptr && has_keys(*change.after);
    if (change.before == nullptr || change.after == nullptr || had_keys != has_keys_now)
      return had_keys || has_keys_now;
    return has_keys_now && (changes_domain(change) || change.before->taints != change.after->taints);
  }
  bool has_keys(const Node& node) const {
    return std::all_of(constraints_.hard.begin(), constraints_.hard.end(),
                       [&node](const SpreadConstraint& constraint) { return node.labels.contains(constraint.key); });
  }
  bool changes_domain(const NodeChange& change) const {
    return std::any_of(constraints_.hard.begin(), constraints_.hard.end(), [&](const SpreadConstraint& constraint) {
      return change.before->labels.find(constraint.key) != change.after->labels.find(constraint.key);
    });
  }

  SpreadConstraints constraints_;
  std::string namespace_;
  bool by_nomination_;
};

/// Preceded by its length.
void append_text(std::string_view text, std::string& out) {
  out.append(std::to_string(text.size())).append(":").append(text);
}

class PodTopologySpreadHints : public QueueingHints {
 public:
  PodTopologySpreadHints(const PodTopologySpreadArgs& args, const FeatureGates& gates,
                         DefaultSelectorOf default_selector_of)
      : args_(args),
        match_label_keys_(gates.enabled("MatchLabelKeysInPodTopologySpread")),
        by_nomination_(gates.release() != Release::k1_35),
        default_selector_of_(std::move(default_selector_of)) {}

  std::string_view plugin() const override { return PodTopologySpread::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kPod, EventAction::kAdd | EventAction::kUpdatePodLabel |
                                                    EventAction::kUpdatePodToleration | EventAction::kDelete}},
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kDelete |
                                                     EventAction::kUpdateNodeLabel | EventAction::kUpdateNodeTaint}}};
    return kRegistrations;
  }
  void read(const Pod& pod, HintKey& key) const override {
    key.spec = true;
    key.namespace_ = true;
    if (has_hard_defaults(pod)) {
      append_text(default_selector_of_(pod).signature(), key.more);
      return;
    }
    for (const TopologySpreadConstraint& constraint : pod.spec->topology_spread_constraints)
      for (const std::string& name : constraint.match_label_keys) {
        const auto value = pod.labels.find(name);
        append_text(value ? "=" + std::string(*value) : "", key.more);
      }
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    const PodLabelSelector default_selector =
        has_hard_defaults(pod) ? default_selector_of_(pod) : PodLabelSelector::everything();
    return std::make_unique<PreparedPodTopologySpread>(
        compile_spread_constraints(*pod.spec, pod.labels, default_selector, args_, match_label_keys_), pod.namespace_,
        by_nomination_);
  }

 private:
  /// The system's own defaults are all soft, and no function reads soft constraints.
  bool has_hard_defaults(const Pod& pod) const {
    return uses_default_constraints(*pod.spec, args_) && !args_.system_defaulting && default_selector_of_;
  }

  PodTopologySpreadArgs args_;
  bool match_label_keys_;
  bool by_nomination_;
  DefaultSelectorOf default_selector_of_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_pod_topology_spread_hints(const Profile& profile, const FeatureGates& gates,
                                                              DefaultSelectorOf default_selector_of) {
  return std::make_unique<PodTopologySpreadHints>(profile.args.pod_topology_spread, gates,
                                                  std::move(default_selector_of));
}

}  // namespace berth
