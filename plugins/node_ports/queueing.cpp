// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_ports/queueing.h"

#include <array>
#include <memory>
#include <vector>

#include "host/objects/pod_state.h"
#include "plugins/node_ports/compile.h"

namespace berth {
namespace {

class PreparedNodePorts : public PreparedHints {
 public:
  explicit PreparedNodePorts(const PodSpec& spec) : wanted_(wanted_host_ports(spec)) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const Pod& deleted = *change.before;
    if (!is_assigned(deleted) && deleted.rare().nominated_node_name.empty()) return QueueingHint::kSkip;
    return ports_conflict(wanted_, wanted_host_ports(*deleted.spec)) ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  std::vector<HostPort> wanted_;
};

class NodePortsHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return NodePorts::name; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {EventRegistration{{EventResource::kPod, EventAction::kDelete}},
                                                  EventRegistration{{EventResource::kNode, EventAction::kAdd}, false}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.spec = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedNodePorts>(*pod.spec);
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_ports_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  return std::make_unique<NodePortsHints>();
}

}  // namespace berth
