// SPDX-License-Identifier: Apache-2.0
#pragma once

// Label selectors as docs/behaviour/plugins-topology.md 1.4 words them.

#include <optional>
#include <vector>

#include "host/objects/label_map.h"
#include "host/objects/selectors.h"

namespace berth::reference {

/// A parsed label selector: requirements that all have to hold, or nothing at all.
class LabelMatcher {
 public:
  /// Matches nothing, as a null selector does.
  LabelMatcher() = default;
  /// Matches what has every pair; everything when there is none.
  explicit LabelMatcher(const LabelMap& pairs);
  /// `selector` has no label_selector_problem().
  explicit LabelMatcher(const std::optional<LabelSelector>& selector);

  bool matches(const LabelMap& labels) const;
  /// The "empty" flag: no requirement, so that everything matches.
  bool is_empty() const { return requirements_ && requirements_->empty(); }
  /// Nothing stays nothing.
  void require(const LabelMap& pairs);
  void require(const LabelMatcher& other);

 private:
  std::optional<std::vector<SelectorRequirement>> requirements_;  ///< nullopt: nothing matches
};

}  // namespace berth::reference
