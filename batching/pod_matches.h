// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which pods match which queries and terms. A pod is known by its namespace and labels (its identity). A query is about
// the other pods that a pod's own constraints and terms count; a term of an existing pod is matched against an incoming
// pod. Both lists only grow, and each identity keeps the indices of those that it matches.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/objects/pod.h"
#include "plugins/inter_pod_affinity/compile.h"
#include "plugins/label_index.h"
#include "plugins/pod_query.h"

namespace berth {

/// The effect of an existing pod's term on an incoming pod that matches it.
enum class TermRole : std::uint8_t { kRequired, kAntiRequired, kPreferred };

struct ExistingTerm {
  AffinityTerm term;
  TermRole role = TermRole::kRequired;
  std::int32_t table = -1;  ///< counts the pods that have the term, per domain
};

class PodMatches {
 public:
  explicit PodMatches(NamespaceLabels namespaces) : namespaces_(std::move(namespaces)) {}

  /// The namespaces that a term's selector matches; equal selectors share the list.
  std::shared_ptr<const SelectedNamespaces> namespaces_of(const PodLabelSelector& selector);

  std::int32_t identity_of(const Pod& pod);
  /// identity_of() of a pod that was asked about before; -1 when none like it was.
  std::int32_t find_identity(const Pod& pod) const;
  /// @param query  of at least one condition
  std::int32_t add_query(PodQuery query);
  std::int32_t query_count() const { return static_cast<std::int32_t>(queries_.size()); }
  const PodQuery& query(std::int32_t q) const { return queries_[static_cast<std::size_t>(q)]; }
  /// @return the term's index; the same for equal terms in equal roles
  std::int32_t add_term(AffinityTerm term, TermRole role);
  std::int32_t term_count() const { return static_cast<std::int32_t>(terms_.size()); }
  const ExistingTerm& term(std::int32_t t) const { return terms_[static_cast<std::size_t>(t)]; }
  void set_table(std::int32_t t, std::int32_t table) { terms_[static_cast<std::size_t>(t)].table = table; }

  /// Index of the pod's affinity terms for terms_of_owner(); repeated terms are kept. 0: none.
  std::int32_t owner_of(const Pod& pod);
  /// owner_of() was asked about the pod, or need not be.
  bool knows_terms_of(const Pod& pod) const;
  /// owner_of() of a pod that was asked about before. @throws std::logic_error naming the pod when it was not
  std::int32_t known_owner_of(const Pod& pod) const;
  const std::vector<std::int32_t>& terms_of_owner(std::int32_t owner) const {
    return owners_[static_cast<std::size_t>(owner)];
  }

  bool matches(std::int32_t identity, std::int32_t query);
  /// Indices of what the identity matches, ascending, among those added so far.
  const std::vector<std::int32_t>& matching_queries(std::int32_t identity);
  const std::vector<std::int32_t>& matching_terms(std::int32_t identity);

 private:
  struct Identity {
    std::string name_space;
    LabelMap labels;
    LabelMap labels_of_namespace;
    std::vector<std::int32_t> matching_queries;
    std::vector<std::int32_t> matching_terms;
    std::int32_t queries_checked = 0;
    std::int32_t terms_checked = 0;
  };
  struct OwnerKey {
    const PodSpec* spec;
    std::string name_space;
    friend bool operator==(const OwnerKey&, const OwnerKey&) = default;
  };
  struct OwnerKeyHash {
    std::size_t operator()(const OwnerKey& key) const {
      return std::hash<const PodSpec*>()(key.spec) ^ std::hash<std::string>()(key.name_space);
    }
  };

  NamespaceLabels namespaces_;
  std::unordered_map<std::string, std::shared_ptr<const SelectedNamespaces>> namespaces_of_selector_;
  std::vector<Identity> identities_;
  std::unordered_map<std::string, std::int32_t> identity_of_key_;
  const char* last_labels_ = nullptr;  ///< of the latest pod in identity_of(): adjacent pods often share them
  std::int32_t last_identity_ = -1;
  std::vector<PodQuery> queries_;
  LabelIndex query_index_;  ///< by a label that every match has, since a pod matches few queries
  std::unordered_map<std::string, std::int32_t> query_of_signature_;
  std::vector<ExistingTerm> terms_;
  LabelIndex term_index_;
  std::unordered_map<std::string, std::int32_t> term_of_signature_;
  std::vector<std::vector<std::int32_t>> owners_{1};
  std::unordered_map<OwnerKey, std::int32_t, OwnerKeyHash> owner_of_key_;
  std::vector<std::shared_ptr<const PodSpec>> kept_specs_;  ///< keeps the keys of owner_of_key_ alive
};

}  // namespace berth
