// SPDX-License-Identifier: Apache-2.0
#pragma once

// The checker's own code for selectors, taints and affinities.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/objects/node.h"
#include "host/objects/pod.h"
#include "host/objects/selectors.h"

namespace berth::test {

std::map<std::string, std::string> to_map(const LabelMap& labels);

/// nullopt: malformed, so that the whole term is invalid.
std::optional<bool> expression_holds(const SelectorRequirement& requirement,
                                     const std::map<std::string, std::string>& labels);
/// False for a malformed selector.
bool selector_holds(const LabelSelector& selector, const std::map<std::string, std::string>& labels);

bool tolerates(const Taint& taint, const std::vector<Toleration>& tolerations, bool compares_taints);
/// The required part; true without one.
bool affinity_holds(const std::optional<NodeAffinity>& affinity, const Node& node);
bool node_selector_holds(const LabelMap& selector, const Node& node);

}  // namespace berth::test
