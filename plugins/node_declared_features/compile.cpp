// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_declared_features/compile.h"

#include <algorithm>

namespace berth {

std::vector<std::string> needed_features(const PodSpec& spec) {
  const auto restarts_all = [](const Container& container) { return container.restarts_all_containers; };
  const bool needed = std::any_of(spec.containers.begin(), spec.containers.end(), restarts_all) ||
                      std::any_of(spec.init_containers.begin(), spec.init_containers.end(), restarts_all);
  if (!needed) return {};
  return {std::string(NodeDeclaredFeatures::restart_all_containers)};
}

std::vector<std::string> missing_features(const std::vector<std::string>& needed, const Node& node) {
  std::vector<std::string> missing;
  for (const std::string& feature : needed)
    if (std::find(node.declared_features.begin(), node.declared_features.end(), feature) ==
        node.declared_features.end())
      missing.push_back(feature);
  return missing;
}

std::string missing_features_reason(const std::vector<std::string>& missing, Release release) {
  if (release != Release::k1_35) return std::string(NodeDeclaredFeatures::reason_1_36);
  std::string text(NodeDeclaredFeatures::reason_prefix_1_35);
  for (std::size_t i = 0; i < missing.size(); ++i) text.append(i == 0 ? "" : ", ").append(missing[i]);
  return text;
}

CompiledNodeDeclaredFeatures::Options CompiledNodeDeclaredFeatures::compile_options(const Profile& /*profile*/,
                                                                                    const FeatureGates& gates,
                                                                                    Snapshot& /*snapshot*/) {
  return {gates.release()};
}

CompiledNodeDeclaredFeatures CompiledNodeDeclaredFeatures::compile(const NodeSidePod& pod, const Options& /*options*/,
                                                                   Snapshot& /*snapshot*/) {
  CompiledNodeDeclaredFeatures compiled;
  compiled.needed = needed_features(pod.spec);
  return compiled;
}

}  // namespace berth
