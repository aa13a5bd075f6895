// SPDX-License-Identifier: Apache-2.0
#include "batching/pod_matches.h"

#include <algorithm>
#include <stdexcept>

namespace berth {
namespace {

/// Equal for pods of one identity.
std::string identity_key(const Pod& pod) {
  std::string key = std::to_string(pod.namespace_.size());
  key.append(1, ':').append(pod.namespace_).append(pod.labels.bytes());
  return key;
}

}  // namespace

std::shared_ptr<const SelectedNamespaces> PodMatches::namespaces_of(const PodLabelSelector& selector) {
  if (selector.matches_nothing()) return nullptr;
  std::shared_ptr<const SelectedNamespaces>& known = namespaces_of_selector_[selector.signature()];
  if (known == nullptr) known = std::make_shared<const SelectedNamespaces>(select_namespaces(selector, namespaces_));
  return known;
}

std::int32_t PodMatches::identity_of(const Pod& pod) {
  const std::string_view labels = pod.labels.bytes();
  if (last_identity_ >= 0 && labels.data() == last_labels_ &&
      identities_[static_cast<std::size_t>(last_identity_)].name_space == pod.namespace_)
    return last_identity_;
  const auto [at, is_new] =
      identity_of_key_.try_emplace(identity_key(pod), static_cast<std::int32_t>(identities_.size()));
  if (is_new) {
    Identity& identity = identities_.emplace_back();
    identity.name_space = pod.namespace_;
    identity.labels = pod.labels;
    const auto name_space = namespaces_.find(pod.namespace_);
    if (name_space != namespaces_.end()) identity.labels_of_namespace = name_space->second;
  }
  last_labels_ = identities_[static_cast<std::size_t>(at->second)].labels.bytes().data();
  last_identity_ = at->second;
  return at->second;
}

std::int32_t PodMatches::find_identity(const Pod& pod) const {
  const auto known = identity_of_key_.find(identity_key(pod));
  return known == identity_of_key_.end() ? -1 : known->second;
}

std::int32_t PodMatches::add_query(PodQuery query) {
  const auto [at, is_new] = query_of_signature_.try_emplace(query.signature(), query_count());
  if (!is_new) return at->second;
  query_index_.add(query.conditions.front().selector.demanded_labels());
  queries_.push_back(std::move(query));
  return at->second;
}

std::int32_t PodMatches::add_term(AffinityTerm term, TermRole role) {
  std::string key = term.signature();
  key.push_back(static_cast<char>('0' + static_cast<int>(role)));
  const auto [at, is_new] = term_of_signature_.try_emplace(std::move(key), term_count());
  if (!is_new) return at->second;
  term_index_.add(term.selector.demanded_labels());
  terms_.push_back({std::move(term), role, -1});
  return at->second;
}

std::int32_t PodMatches::owner_of(const Pod& pod) {
  const PodSpec& spec = *pod.spec;
  if (!spec.pod_affinity && !spec.pod_anti_affinity) return 0;
  const auto [at, is_new] =
      owner_of_key_.try_emplace({&spec, pod.namespace_}, static_cast<std::int32_t>(owners_.size()));
  if (!is_new) return at->second;
  kept_specs_.push_back(pod.spec);
  AffinityTerms terms = compile_affinity_terms(spec, pod.namespace_);
  std::vector<std::int32_t> brought;
  const auto add = [&](std::vector<AffinityTerm>& group, TermRole role) {
    for (AffinityTerm& term : group) brought.push_back(add_term(std::move(term), role));
  };
  add(terms.required, TermRole::kRequired);
  add(terms.anti_required, TermRole::kAntiRequired);
  add(terms.preferred, TermRole::kPreferred);
  if (brought.empty()) return at->second = 0;
  owners_.push_back(std::move(brought));
  return at->second;
}

bool PodMatches::knows_terms_of(const Pod& pod) const {
  return (!pod.spec->pod_affinity && !pod.spec->pod_anti_affinity) ||
         owner_of_key_.contains({pod.spec.get(), pod.namespace_});
}

std::int32_t PodMatches::known_owner_of(const Pod& pod) const {
  if (!pod.spec->pod_affinity && !pod.spec->pod_anti_affinity) return 0;
  const auto known = owner_of_key_.find({pod.spec.get(), pod.namespace_});
  if (known == owner_of_key_.end())
    throw std::logic_error("the affinity terms of pod " + pod.full_name() + " are not known: it is on no node");
  return known->second;
}

const std::vector<std::int32_t>& PodMatches::matching_queries(std::int32_t index) {
  Identity& identity = identities_[static_cast<std::size_t>(index)];
  if (identity.queries_checked == query_index_.size()) return identity.matching_queries;
  for (const std::int32_t q : query_index_.candidates(identity.labels, identity.queries_checked))
    if (query(q).matches(identity.name_space, identity.labels)) identity.matching_queries.push_back(q);
  identity.queries_checked = query_index_.size();
  return identity.matching_queries;
}

const std::vector<std::int32_t>& PodMatches::matching_terms(std::int32_t index) {
  Identity& identity = identities_[static_cast<std::size_t>(index)];
  if (identity.terms_checked == term_index_.size()) return identity.matching_terms;
  for (const std::int32_t t : term_index_.candidates(identity.labels, identity.terms_checked))
    if (term(t).term.matches(identity.name_space, identity.labels_of_namespace, identity.labels))
      identity.matching_terms.push_back(t);
  identity.terms_checked = term_index_.size();
  return identity.matching_terms;
}

bool PodMatches::matches(std::int32_t identity, std::int32_t query) {
  const std::vector<std::int32_t>& matching = matching_queries(identity);
  return std::binary_search(matching.begin(), matching.end(), query);
}

}  // namespace berth
