// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"

namespace berth {

/// Signs pods as opportunistic batching does: two pods of a profile have equal signatures where kube-scheduler's are
/// equal. docs/behaviour/scheduler-core.md 6.1 and 6.2.
class BatchSigner {
 public:
  BatchSigner(const Profile& profile, const FeatureGates& gates);

  /// Some plugin of the profile signs no pod at all.
  bool signs_nothing() const { return signs_nothing_; }
  /// Bytes that mean something within this process only; nullopt: the pod has no signature.
  std::optional<std::string> sign(const Pod& pod) const;

 private:
  bool has(std::string_view plugin) const;
  bool may_sign(const Pod& pod) const;

  const Profile& profile_;
  bool signs_nothing_ = false;
  // What the plugins that are enabled compare:
  bool reads_tolerations_;
  bool reads_ports_;
  bool reads_node_affinity_;
  bool reads_requests_;
  bool reads_volumes_;
  bool reads_labels_;
  bool reads_images_;
  bool reads_features_;
  // What they refuse to sign:
  bool refuses_pod_affinity_;
  bool refuses_spreading_;
  bool refuses_claims_;
};

}  // namespace berth
