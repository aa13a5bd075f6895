// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_affinity/queueing.h"

#include <algorithm>
#include <array>
#include <memory>

#include "host/objects/node_match.h"
#include "plugins/node_affinity/compile.h"

namespace berth {
namespace {

bool has_malformed_term(const PodSpec& spec) {
  return spec.node_affinity && spec.node_affinity->required &&
         std::any_of(spec.node_affinity->required->begin(), spec.node_affinity->required->end(), is_malformed);
}

class PreparedNodeAffinity : public PreparedHints {
 public:
  /// @param added  the profile's affinity as a spec; null: none
  PreparedNodeAffinity(std::shared_ptr<const PodSpec> spec, std::shared_ptr<const PodSpec> added)
      : spec_(std::move(spec)), added_(std::move(added)), has_malformed_term_(has_malformed_term(*spec_)) {}

  QueueingHint after_node_change(const NodeChange& change) const override {
    if (added_ != nullptr && !matches_required_node_affinity(*added_, *change.after)) return QueueingHint::kSkip;
    const Match now = match(*change.after);
    if (now != Match::kYes) return now == Match::kError ? QueueingHint::kQueue : QueueingHint::kSkip;
    const bool matched = change.before != nullptr && match(*change.before) == Match::kYes;
    return matched ? QueueingHint::kSkip : QueueingHint::kQueue;
  }

 private:
  enum class Match : std::uint8_t { kNo, kYes, kError };
  /// A term that does not parse is an error where no other term matches, and is not reached past the nodeSelector.
  Match match(const Node& node) const {
    if (matches_required_node_affinity(*spec_, node)) return Match::kYes;
    return has_malformed_term_ && matches_selector(node) ? Match::kError : Match::kNo;
  }
  bool matches_selector(const Node& node) const {
    return std::all_of(spec_->node_selector.begin(), spec_->node_selector.end(), [&node](const LabelMap::Entry& pair) {
      return node.labels.find(pair.first) == std::optional(pair.second);
    });
  }

  std::shared_ptr<const PodSpec> spec_;
  std::shared_ptr<const PodSpec> added_;
  bool has_malformed_term_;
};

class NodeAffinityHints : public QueueingHints {
 public:
  explicit NodeAffinityHints(const NodeAffinityArgs& args) {
    if (!args.added_affinity || !args.added_affinity->required) return;
    PodSpec added;
    added.node_affinity = args.added_affinity;
    added_ = std::make_shared<const PodSpec>(std::move(added));
  }
  std::string_view plugin() const override { return NodeAffinityRule::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeLabel}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.node_side = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedNodeAffinity>(pod.spec, added_);
  }

 private:
  std::shared_ptr<const PodSpec> added_;
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_affinity_hints(const Profile& profile, const FeatureGates& /*gates*/) {
  return std::make_unique<NodeAffinityHints>(profile.args.node_affinity);
}

}  // namespace berth
