// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_declared_features/queueing.h"

#include <array>
#include <memory>

#include "plugins/node_declared_features/compile.h"

namespace berth {
namespace {

class PreparedNodeDeclaredFeatures : public PreparedHints {
 public:
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    if (!change.is_waiting_pod) return QueueingHint::kSkip;
    const bool same = needed_features(*change.before->spec) == needed_features(*change.after->spec);
    return same ? QueueingHint::kSkip : QueueingHint::kQueue;
  }
  QueueingHint after_node_change(const NodeChange& change) const override {
    const bool same = change.before != nullptr && change.before->declared_features == change.after->declared_features;
    return same ? QueueingHint::kSkip : QueueingHint::kQueue;
  }
};

class NodeDeclaredFeaturesHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return NodeDeclaredFeatures::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeDeclaredFeature}},
        EventRegistration{{EventResource::kPod, EventAction::kUpdate}}};
    return kRegistrations;
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const override {
    return std::make_unique<PreparedNodeDeclaredFeatures>();
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_declared_features_hints(const Profile& /*profile*/,
                                                                 const FeatureGates& /*gates*/) {
  return std::make_unique<NodeDeclaredFeaturesHints>();
}

}  // namespace berth
