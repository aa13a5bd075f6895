// SPDX-License-Identifier: Apache-2.0
#pragma once

// Questions about pods, made ready to be asked often: "is it in these namespaces, and do its labels match?". Topology
// rules count the pods that answer yes. docs/behaviour/plugins-topology.md 1.4, 3.2, 7.1.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/label_map.h"
#include "host/objects/selectors.h"

namespace berth {

/// metav1.LabelSelector as labels.Selector: null matches nothing, one without requirements everything.
class PodLabelSelector {
 public:
  static PodLabelSelector nothing() { return PodLabelSelector(true); }
  static PodLabelSelector everything() { return PodLabelSelector(false); }
  explicit PodLabelSelector(const std::optional<LabelSelector>& selector);

  /// Adding requirements to what matches nothing leaves nothing.
  void add_equal(std::string_view key, std::string_view value);
  void add_all(const PodLabelSelector& other);

  bool matches(const LabelMap& labels) const;
  bool matches_nothing() const { return nothing_; }
  /// Go's Empty(): no requirement at all, so that every label set matches.
  bool is_empty() const { return !nothing_ && requirements_.empty(); }
  /// The labels that every match carries.
  std::vector<LabelMap::Entry> demanded_labels() const;
  /// At least one requirement, and each holds where its key is absent.
  bool holds_without_labels() const;
  /// Equal text, equal meaning; the order of requirements and values does not count.
  std::string signature() const;

 private:
  explicit PodLabelSelector(bool nothing) : nothing_(nothing) {}
  void add(SelectorRequirement requirement);

  bool nothing_ = false;
  std::vector<SelectorRequirement> requirements_;  ///< sorted by key first, In for equality, values sorted
};

/// What a namespaceSelector comes to in a cluster.
struct SelectedNamespaces {
  std::string selector;            ///< its signature
  std::vector<std::string> names;  ///< sorted, each once
};

/// A list of names and of what a selector adds to them, or all there are.
struct NamespaceSet {
  bool all = false;
  std::vector<std::string> names;                                ///< sorted, each once
  std::shared_ptr<const SelectedNamespaces> selected = nullptr;  ///< shared by all terms of equal selectors
  bool contains(std::string_view name) const;
  void add(std::string name);
};

/// One selector in a set of namespaces.
struct PodQueryTerm {
  NamespaceSet namespaces;
  PodLabelSelector selector;
  bool matches(std::string_view pod_namespace, const LabelMap& labels) const {
    return namespaces.contains(pod_namespace) && selector.matches(labels);
  }
};

/// Pods that meet every condition. Without a condition: no pod.
struct PodQuery {
  std::vector<PodQueryTerm> conditions;
  bool skips_terminating = false;  ///< pods with a deletionTimestamp are not counted

  bool matches(std::string_view pod_namespace, const LabelMap& labels) const;
  std::string signature() const;
};

}  // namespace berth
