// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which pods match which queries and terms. A pod is known by its namespace and labels (its identity). A query is about
// the other pods that a pod's own constraints and terms count; a term of an existing pod is matched against an incoming
// pod. Each identity keeps the numbers of those that it matches. Numbers that keep_only() frees are assigned again.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "batching/numbered.h"
#include "batching/shared_values.h"
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
  /// Numbers are below query_end() and term_end().
  std::int32_t query_end() const { return queries_.end(); }
  const PodQuery& query(std::int32_t q) const { return queries_[q]; }
  /// @return the term's number; the same for equal terms in equal roles
  std::int32_t add_term(AffinityTerm term, TermRole role);
  std::int32_t term_end() const { return terms_.end(); }
  const ExistingTerm& term(std::int32_t t) const { return terms_[t]; }
  void set_table(std::int32_t t, std::int32_t table) { terms_[t].table = table; }
  /// Some query or term is known.
  bool any() const { return queries_.size() + terms_.size() > 0; }
  /// How many queries and terms were ever added.
  std::uint64_t added() const { return queries_.added() + terms_.added(); }
  /// How many identities, queries, terms and owners were ever added.
  std::uint64_t all_added() const { return added() + identities_.added() + owners_.added(); }
  std::int32_t all_size() const { return queries_.size() + terms_.size() + identities_.size() + owners_.size(); }

  /// Number of the pod's affinity terms for terms_of_owner(); repeated terms are kept. 0: none.
  std::int32_t owner_of(const Pod& pod);
  /// owner_of() was asked about the pod, or need not be.
  bool knows_terms_of(const Pod& pod) const;
  /// owner_of() of a pod that was asked about before. @throws std::logic_error naming the pod when it was not
  std::int32_t known_owner_of(const Pod& pod) const;
  const std::vector<std::int32_t>& terms_of_owner(std::int32_t owner) const { return owners_[owner].terms; }

  bool matches(std::int32_t identity, std::int32_t query) const;
  /// Numbers of what the identity matches, ascending.
  const std::vector<std::int32_t>& matching_queries(std::int32_t identity) const {
    return identities_[identity].matches->queries;
  }
  const std::vector<std::int32_t>& matching_terms(std::int32_t identity) const {
    return identities_[identity].matches->terms;
  }
  /// The identities that match, in no order.
  std::vector<std::int32_t> identities_matching(std::int32_t query) const;
  /// Changes with what the identity matches, and with note_change().
  std::uint32_t version(std::int32_t identity) const { return identities_[identity].version; }
  /// What matching the query means has changed.
  void note_change(std::int32_t query);

  /// The labels of a namespace changed, or it came or went. Updates what its pods match, and what the selectors of
  /// queries select.
  /// @param labels  null: it went
  void change_namespace(const std::string& name, const LabelMap* labels);
  const std::string& namespace_of(std::int32_t identity) const { return *identities_[identity].name_space; }
  const LabelMap& labels_of(std::int32_t identity) const { return identities_[identity].labels; }
  /// The identities of a namespace, in no order.
  std::span<const std::int32_t> identities_in(const std::string& name) const;
  /// Their numbers are below this.
  std::int32_t identity_end() const { return identities_.end(); }

  /// What is in use. Terms are those of live owners.
  struct Live {
    explicit Live(const PodMatches& matches)
        : identities(matches.identities_.end()),
          queries(matches.queries_.end()),
          terms(matches.terms_.end()),
          owners(matches.owners_.end()) {}
    LiveNumbers identities, queries, terms, owners;
  };
  /// Gives up what is not live. Of `live` it completes the terms.
  void keep_only(Live& live);

 private:
  /// Numbers of what an identity matches, ascending. Replicas match the same, so identities share these.
  struct Matches {
    std::vector<std::int32_t> queries;
    std::vector<std::int32_t> terms;
    std::string signature() const;
    friend bool operator==(const Matches&, const Matches&) = default;
  };
  /// Every replica of a StatefulSet is one, so it is small.
  struct Identity {
    std::shared_ptr<const std::string> name_space;  ///< shared by the identities of one namespace
    LabelMap labels;
    std::shared_ptr<const Matches> matches;
    std::uint32_t version = 0;
    std::int32_t position = 0;  ///< in identities_in_
  };
  struct OwnerKey {
    const PodSpec* spec = nullptr;
    std::string name_space;
    friend bool operator==(const OwnerKey&, const OwnerKey&) = default;
  };
  struct OwnerKeyHash {
    std::size_t operator()(const OwnerKey& key) const {
      return std::hash<const PodSpec*>()(key.spec) ^ std::hash<std::string>()(key.name_space);
    }
  };
  struct Owner {
    std::shared_ptr<const PodSpec> spec;
    std::string name_space;
    std::vector<std::int32_t> terms;
  };

  static std::size_t hash_of(std::string_view name_space, const LabelMap& labels);
  std::int32_t find_identity(const Pod& pod, std::size_t hash) const;
  static std::string key_of(const ExistingTerm& term);
  /// Calls use(identity) for those that might have all the labels.
  /// @param demanded  of a query or term that is registered
  template <class Use>
  void for_each_candidate(const std::vector<LabelMap::Entry>& demanded, Use use) const;
  bool matches(const Identity& identity, const PodQuery& query) const {
    return query.matches(*identity.name_space, identity.labels);
  }
  bool matches(const Identity& identity, const ExistingTerm& term) const {
    return term.term.matches(*identity.name_space, labels_of_namespace(*identity.name_space), identity.labels);
  }
  /// Of a namespace that is not known: none.
  const LabelMap& labels_of_namespace(const std::string& name) const;
  std::shared_ptr<const Matches> shared(Matches matches);
  /// What pods of the identity match.
  Matches find_matches(const Identity& identity) const;
  /// Gives the identity what `edit` makes of its matches, and another version.
  template <class Edit>
  void change_matches(Identity& identity, Edit edit);
  /// Indexes the identities by the keys of these labels.
  void demand(const std::vector<LabelMap::Entry>& labels);
  void drop_identity(std::int32_t number);
  void drop_query(std::int32_t number);
  void drop_term(std::int32_t number);
  void drop_owner(std::int32_t number);

  NamespaceLabels namespaces_;
  struct Selected {
    PodLabelSelector selector = PodLabelSelector::nothing();
    std::shared_ptr<SelectedNamespaces> namespaces;  ///< queries read it; change_namespace() changes it
  };
  std::unordered_map<std::string, Selected> namespaces_of_selector_;
  Numbered<Identity> identities_;
  LabelSetIndex identity_index_;
  NumberOfHash identity_of_hash_;
  std::unordered_map<std::string, std::vector<std::int32_t>> identities_in_;  ///< by namespace
  SharedValues<std::string> namespace_names_;
  SharedValues<Matches> matches_of_signature_;
  const char* last_labels_ = nullptr;  ///< of the latest pod in identity_of(): adjacent pods often share them
  std::int32_t last_identity_ = -1;
  Numbered<PodQuery> queries_;
  LabelIndex query_index_;  ///< by a label that every match has, since a pod matches few queries
  std::unordered_map<std::string, std::int32_t> query_of_signature_;
  Numbered<ExistingTerm> terms_;
  LabelIndex term_index_;
  std::unordered_map<std::string, std::int32_t> term_of_signature_;
  Numbered<Owner> owners_ = with_no_terms();                               ///< [0] of pods without terms
  std::unordered_map<OwnerKey, std::int32_t, OwnerKeyHash> owner_of_key_;  ///< an owner keeps the spec of its key alive
  std::uint32_t versions_ = 0;

  static Numbered<Owner> with_no_terms() {
    Numbered<Owner> owners;
    owners.add({});
    return owners;
  }
};

}  // namespace berth
