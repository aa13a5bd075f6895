// SPDX-License-Identifier: Apache-2.0
// Labels and label selectors of random clusters, from one small vocabulary so that they often match.
#pragma once

#include <cstdint>
#include <optional>

#include "host/generate/random.h"
#include "host/objects/label_map.h"
#include "host/objects/selectors.h"

namespace berth {

/// The vocabulary of labels: of pods, or of namespaces.
enum class LabelsOf : std::uint8_t { kPod, kNamespace };

/// Shares in percent.
struct SelectorMoods {
  std::int32_t unset = 0;      ///< null or empty selectors
  std::int32_t malformed = 0;  ///< selectors that do not parse
};

/// Each label is present or missing, and may have the empty value.
LabelMap random_labels(Random& random, LabelsOf what);

/// One or two pairs, sometimes none.
LabelMap random_pairs(Random& random, LabelsOf what);

/// At least one requirement.
/// @param own  labels that the selector is biased to match
LabelSelector random_selector(Random& random, LabelsOf what, const LabelMap& own);

/// As above, or null, empty or malformed in the shares of `moods`.
std::optional<LabelSelector> random_optional_selector(Random& random, LabelsOf what, const LabelMap& own,
                                                      const SelectorMoods& moods);

/// NotIn and DoesNotExist only: as a namespaceSelector these trigger an upstream bug
/// (docs/behaviour/plugins-topology.md 3.3).
LabelSelector random_negative_selector(Random& random, LabelsOf what);

/// Adds a requirement that does not parse: docs/behaviour/plugins-topology.md 1.4.
void make_malformed(Random& random, LabelSelector& selector);

}  // namespace berth
