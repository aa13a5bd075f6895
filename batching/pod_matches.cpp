// SPDX-License-Identifier: Apache-2.0
#include "batching/pod_matches.h"

#include <algorithm>
#include <stdexcept>

namespace berth {
namespace {

/// Into an ascending list.
void insert(std::vector<std::int32_t>& list, std::int32_t number) {
  list.insert(std::lower_bound(list.begin(), list.end(), number), number);
}

/// Into an ascending list, or out of it.
void select(const std::string& name, bool is_selected, std::vector<std::string>& names) {
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  const bool was_selected = at != names.end() && *at == name;
  if (is_selected && !was_selected) names.insert(at, name);
  if (!is_selected && was_selected) names.erase(at);
}

std::vector<LabelMap::Entry> demanded_labels(const PodQuery& query) {
  return query.conditions.front().selector.demanded_labels();
}

}  // namespace

std::shared_ptr<const SelectedNamespaces> PodMatches::namespaces_of(const PodLabelSelector& selector) {
  if (selector.matches_nothing()) return nullptr;
  Selected& known = namespaces_of_selector_[selector.signature()];
  if (known.namespaces == nullptr)
    known = {selector, std::make_shared<SelectedNamespaces>(select_namespaces(selector, namespaces_))};
  return known.namespaces;
}

void PodMatches::change_namespace(const std::string& name, const LabelMap* labels) {
  if (labels != nullptr) {
    namespaces_[name] = *labels;
  } else {
    namespaces_.erase(name);
  }
  std::erase_if(namespaces_of_selector_, [](const auto& entry) { return entry.second.namespaces.use_count() == 1; });
  for (auto& [signature, known] : namespaces_of_selector_)
    select(name, labels != nullptr && known.selector.matches(*labels), known.namespaces->names);
  for (const std::int32_t number : identities_in(name)) {
    Identity& identity = identities_[number];
    Matches now = find_matches(identity);
    if (now != *identity.matches) change_matches(identity, [&](Matches& matches) { matches = std::move(now); });
  }
}

std::span<const std::int32_t> PodMatches::identities_in(const std::string& name) const {
  const auto known = identities_in_.find(name);
  return known == identities_in_.end() ? std::span<const std::int32_t>() : known->second;
}

template <class Use>
void PodMatches::for_each_candidate(const std::vector<LabelMap::Entry>& demanded, Use use) const {
  if (demanded.empty()) {
    identities_.for_each([&](std::int32_t number, const Identity&) { use(number); });
  } else {
    for (const std::int32_t number : identity_index_.candidates(demanded)) use(number);
  }
}

// Identities

std::string PodMatches::Matches::signature() const {
  std::string out;
  append_numbers(out, queries);
  append_numbers(out, terms);
  return out;
}

const LabelMap& PodMatches::labels_of_namespace(const std::string& name) const {
  static const LabelMap kNone;
  const auto known = namespaces_.find(name);
  return known != namespaces_.end() ? known->second : kNone;
}

std::shared_ptr<const PodMatches::Matches> PodMatches::shared(Matches matches) {
  const std::string signature = matches.signature();
  return shared_value(matches_of_signature_, signature, std::move(matches));
}

PodMatches::Matches PodMatches::find_matches(const Identity& identity) const {
  Matches found;
  for (const std::int32_t q : query_index_.candidates(identity.labels))
    if (matches(identity, queries_[q])) found.queries.push_back(q);
  for (const std::int32_t t : term_index_.candidates(identity.labels))
    if (matches(identity, terms_[t])) found.terms.push_back(t);
  return found;
}

template <class Edit>
void PodMatches::change_matches(Identity& identity, Edit edit) {
  Matches matches = *identity.matches;
  edit(matches);
  identity.matches = shared(std::move(matches));
  identity.version = ++versions_;
}

std::size_t PodMatches::hash_of(std::string_view name_space, const LabelMap& labels) {
  const std::hash<std::string_view> hash;
  return hash(name_space) * 31 + hash(labels.bytes());
}

std::int32_t PodMatches::identity_of(const Pod& pod) {
  if (last_identity_ >= 0 && pod.labels.bytes().data() == last_labels_ &&
      *identities_[last_identity_].name_space == pod.namespace_)
    return last_identity_;
  const std::size_t hash = hash_of(pod.namespace_, pod.labels);
  std::int32_t number = find_identity(pod, hash);
  if (number < 0) {
    Identity identity;
    identity.name_space = shared_value(namespace_names_, pod.namespace_, pod.namespace_);
    identity.labels = pod.labels;
    identity.version = ++versions_;
    identity.matches = shared(find_matches(identity));
    std::vector<std::int32_t>& others = identities_in_[pod.namespace_];
    identity.position = static_cast<std::int32_t>(others.size());
    number = identities_.add(std::move(identity));
    others.push_back(number);
    identity_of_hash_.add(hash, number);
    identity_index_.add(number, pod.labels);
  }
  last_labels_ = identities_[number].labels.bytes().data();
  return last_identity_ = number;
}

std::int32_t PodMatches::find_identity(const Pod& pod) const {
  return find_identity(pod, hash_of(pod.namespace_, pod.labels));
}

std::int32_t PodMatches::find_identity(const Pod& pod, std::size_t hash) const {
  return identity_of_hash_.find(hash, [&](std::int32_t number) {
    const Identity& identity = identities_[number];
    return identity.labels == pod.labels && *identity.name_space == pod.namespace_;
  });
}

bool PodMatches::matches(std::int32_t identity, std::int32_t query) const {
  const std::vector<std::int32_t>& matching = matching_queries(identity);
  return std::binary_search(matching.begin(), matching.end(), query);
}

// Queries and terms

void PodMatches::demand(const std::vector<LabelMap::Entry>& labels) {
  identity_index_.demand(labels, [&](auto use) {
    identities_.for_each([&](std::int32_t number, const Identity& identity) { use(number, identity.labels); });
  });
}

std::int32_t PodMatches::add_query(PodQuery query) {
  const auto [at, is_new] = query_of_signature_.try_emplace(query.signature(), -1);
  if (!is_new) return at->second;
  const std::vector<LabelMap::Entry> demanded = demanded_labels(query);
  const std::int32_t number = at->second = queries_.add(std::move(query));
  query_index_.add(number, demanded);
  demand(demanded);
  for_each_candidate(demanded, [&](std::int32_t i) {
    Identity& identity = identities_[i];
    if (!matches(identity, queries_[number])) return;
    change_matches(identity, [&](Matches& matches) { insert(matches.queries, number); });
  });
  return number;
}

std::vector<std::int32_t> PodMatches::identities_matching(std::int32_t query) const {
  std::vector<std::int32_t> found;
  for_each_candidate(demanded_labels(queries_[query]), [&](std::int32_t identity) {
    if (matches(identity, query)) found.push_back(identity);
  });
  return found;
}

void PodMatches::note_change(std::int32_t query) {
  for (const std::int32_t identity : identities_matching(query)) identities_[identity].version = ++versions_;
}

std::string PodMatches::key_of(const ExistingTerm& term) {
  std::string key = term.term.signature();
  key.push_back(static_cast<char>('0' + static_cast<int>(term.role)));
  return key;
}

std::int32_t PodMatches::add_term(AffinityTerm term, TermRole role) {
  ExistingTerm added{std::move(term), role, -1};
  const auto [at, is_new] = term_of_signature_.try_emplace(key_of(added), -1);
  if (!is_new) return at->second;
  const std::vector<LabelMap::Entry> demanded = added.term.selector.demanded_labels();
  const std::int32_t number = at->second = terms_.add(std::move(added));
  term_index_.add(number, demanded);
  demand(demanded);
  for_each_candidate(demanded, [&](std::int32_t i) {
    Identity& identity = identities_[i];
    if (!matches(identity, terms_[number])) return;
    change_matches(identity, [&](Matches& matches) { insert(matches.terms, number); });
  });
  return number;
}

// Owners

std::int32_t PodMatches::owner_of(const Pod& pod) {
  const PodSpec& spec = *pod.spec;
  if (!spec.pod_affinity && !spec.pod_anti_affinity) return 0;
  const auto [at, is_new] = owner_of_key_.try_emplace({&spec, pod.namespace_}, -1);
  if (!is_new) return at->second;
  AffinityTerms terms = compile_affinity_terms(spec, pod.namespace_);
  std::vector<std::int32_t> brought;
  const auto add = [&](std::vector<AffinityTerm>& group, TermRole role) {
    for (AffinityTerm& term : group) brought.push_back(add_term(std::move(term), role));
  };
  add(terms.required, TermRole::kRequired);
  add(terms.anti_required, TermRole::kAntiRequired);
  add(terms.preferred, TermRole::kPreferred);
  return at->second = owners_.add({pod.spec, pod.namespace_, std::move(brought)});
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

// Giving up what is not used

void PodMatches::keep_only(Live& live) {
  live.owners.insert(0);
  for (std::int32_t o = 0; o < owners_.end(); ++o) {
    if (!owners_.has(o)) continue;
    if (!live.owners.contains(o)) {
      drop_owner(o);
    } else {
      for (const std::int32_t term : owners_[o].terms) live.terms.insert(term);
    }
  }
  for (std::int32_t i = 0; i < identities_.end(); ++i)
    if (identities_.has(i) && !live.identities.contains(i)) drop_identity(i);
  for (std::int32_t q = 0; q < queries_.end(); ++q)
    if (queries_.has(q) && !live.queries.contains(q)) drop_query(q);
  for (std::int32_t t = 0; t < terms_.end(); ++t)
    if (terms_.has(t) && !live.terms.contains(t)) drop_term(t);
  std::erase_if(namespaces_of_selector_, [](const auto& entry) { return entry.second.namespaces.use_count() == 1; });
  drop_expired(matches_of_signature_);
  drop_expired(namespace_names_);
}

void PodMatches::drop_identity(std::int32_t number) {
  const Identity& identity = identities_[number];
  const auto mates = identities_in_.find(*identity.name_space);
  mates->second[static_cast<std::size_t>(identity.position)] = mates->second.back();
  identities_[mates->second.back()].position = identity.position;
  mates->second.pop_back();
  if (mates->second.empty()) identities_in_.erase(mates);
  identity_of_hash_.remove(hash_of(*identity.name_space, identity.labels), number);
  identity_index_.remove(number, identity.labels);
  last_identity_ = -1;
  identities_.remove(number);
}

void PodMatches::drop_query(std::int32_t number) {
  for (const std::int32_t i : identities_matching(number))
    change_matches(identities_[i], [&](Matches& matches) { std::erase(matches.queries, number); });
  const PodQuery& query = queries_[number];
  query_of_signature_.erase(query.signature());
  query_index_.remove(number, demanded_labels(query));
  identity_index_.release(demanded_labels(query));
  queries_.remove(number);
}

void PodMatches::drop_term(std::int32_t number) {
  const ExistingTerm& term = terms_[number];
  const std::vector<LabelMap::Entry> demanded = term.term.selector.demanded_labels();
  for_each_candidate(demanded, [&](std::int32_t i) {
    Identity& identity = identities_[i];
    const std::vector<std::int32_t>& terms = identity.matches->terms;
    if (std::binary_search(terms.begin(), terms.end(), number))
      change_matches(identity, [&](Matches& matches) { std::erase(matches.terms, number); });
  });
  term_of_signature_.erase(key_of(term));
  term_index_.remove(number, demanded);
  identity_index_.release(demanded);
  terms_.remove(number);
}

void PodMatches::drop_owner(std::int32_t number) {
  owner_of_key_.erase({owners_[number].spec.get(), owners_[number].name_space});
  owners_.remove(number);
}

}  // namespace berth
