// SPDX-License-Identifier: Apache-2.0
#pragma once

// Node selectors as docs/behaviour/plugins-node.md 8.1 to 8.3 words them, term by term over the object model.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/objects/node.h"
#include "host/objects/selectors.h"

namespace berth::reference {

/// A term with a parse error matches nothing.
bool is_malformed(const NodeSelectorTerm& term);
/// A term without any requirement matches nothing where it is required and is dropped where it is preferred.
bool is_empty(const NodeSelectorTerm& term);

bool term_matches(const NodeSelectorTerm& term, const Node& node);
/// OR over the terms; no term at all matches no node.
bool any_term_matches(const std::vector<NodeSelectorTerm>& terms, const Node& node);
/// nodeSelector: AND of equalities.
bool labels_match(const LabelMap& selector, const Node& node);

/// The nodes that the terms name by metadata.name, malformed terms included. nullopt when some term names none, so that
/// every node stays a candidate; an empty set when the terms contradict themselves.
std::optional<std::set<std::string>> named_nodes(const std::vector<NodeSelectorTerm>& terms);

}  // namespace berth::reference
