// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/objects/label_map.h"

namespace berth {

/// Operators as Kubernetes spells them. Which of them a selector may use is the selector's rule.
enum class SelectorOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

std::optional<SelectorOperator> parse_selector_operator(std::string_view text);
std::string_view to_string(SelectorOperator op);

/// One requirement of a node selector term or of a label selector, as stored (not validated: odd values are accepted
/// from storage, and the rule that reads them checks them).
struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;
  friend bool operator==(const SelectorRequirement&, const SelectorRequirement&) = default;
};

/// metav1.LabelSelector. A null selector (std::nullopt where this is optional) matches nothing, an empty one
/// everything.
struct LabelSelector {
  LabelMap match_labels;
  std::vector<SelectorRequirement> match_expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

struct NodeSelectorTerm {
  std::vector<SelectorRequirement> match_expressions;
  std::vector<SelectorRequirement> match_fields;
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

struct PreferredSchedulingTerm {
  std::int32_t weight = 0;
  NodeSelectorTerm preference;
  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};

struct NodeAffinity {
  /// Present but empty matches no node: docs/behaviour/plugins-node.md 8.2.
  std::optional<std::vector<NodeSelectorTerm>> required;
  std::vector<PreferredSchedulingTerm> preferred;
  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};

/// Syntax checks of apimachinery, used where a rule says that a malformed value is a parse error.
bool is_label_value(std::string_view text);     ///< at most 63 characters, alphanumeric at both ends, or empty
bool is_qualified_name(std::string_view text);  ///< optional DNS-subdomain prefix and "/", then a name of <= 63
bool is_dns_subdomain(std::string_view text);   ///< at most 253 characters
bool is_dns_label(std::string_view text);       ///< at most 63 characters, without dots
/// Base-10 int64 with optional sign and leading zeros, nothing else (Go's strconv.ParseInt(s, 10, 64)).
std::optional<std::int64_t> parse_int64(std::string_view text);

}  // namespace berth
