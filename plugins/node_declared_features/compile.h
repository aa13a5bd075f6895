// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/objects/pod.h"
#include "plugins/node_declared_features/rule.h"
#include "plugins/node_side.h"

namespace berth {

/// Features that the pod's spec needs, by the registry of the release.
std::vector<std::string> needed_features(const PodSpec& spec);
/// Needed features that the node does not declare.
std::vector<std::string> missing_features(const std::vector<std::string>& needed, const Node& node);
std::string missing_features_reason(const std::vector<std::string>& missing, Release release);

struct CompiledNodeDeclaredFeatures : NodeSideDefaults {
  struct Options {
    Release release = Release::k1_35;
  };
  static Options compile_options(const Profile& profile, const FeatureGates& gates, Snapshot& snapshot);
  static CompiledNodeDeclaredFeatures compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot);

  template <class Refuse>
  void filter(const Options& options, const Snapshot& snapshot, Refuse refuse) const {
    if (needed.empty()) return;
    refuse(missing_features_reason(needed, options.release),
           [this, &snapshot](std::int32_t node) { return !missing_features(needed, snapshot.node(node)).empty(); });
  }

  std::vector<std::string> needed;  ///< empty: every node has them
};

}  // namespace berth
