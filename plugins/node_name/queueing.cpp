// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_name/queueing.h"

#include <array>

#include "plugins/node_name/rule.h"

namespace berth {
namespace {

class NodeNameHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return NodeName::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {EventRegistration{{EventResource::kNode, EventAction::kAdd}, false}};
    return kRegistrations;
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_name_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  return std::make_unique<NodeNameHints>();
}

}  // namespace berth
