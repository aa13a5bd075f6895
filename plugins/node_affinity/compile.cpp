// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_affinity/compile.h"

#include <algorithm>
#include <set>

#include "host/framework/preferred_terms.h"

namespace berth {
namespace {

constexpr std::string_view kNameField = "metadata.name";

bool is_malformed_expression(const SelectorRequirement& requirement) {
  if (!is_qualified_name(requirement.key)) return true;
  const bool bad_value = std::any_of(requirement.values.begin(), requirement.values.end(),
                                     [](const std::string& value) { return !is_label_value(value); });
  if (bad_value) return true;
  switch (requirement.op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return requirement.values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return !requirement.values.empty();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return requirement.values.size() != 1 || !parse_int64(requirement.values.front());
  }
  return true;
}

bool is_malformed_field(const SelectorRequirement& requirement) {
  const bool in_or_not = requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
  return !in_or_not || requirement.values.size() != 1;
}

bool accepts(const SelectorRequirement& requirement, const std::string& value) {
  const auto listed = [&] { return std::find(requirement.values.begin(), requirement.values.end(), value); };
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return listed() != requirement.values.end();
    case SelectorOperator::kNotIn:
      return listed() == requirement.values.end();
    case SelectorOperator::kExists:
      return true;
    case SelectorOperator::kDoesNotExist:
      return false;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt: {
      const auto number = parse_int64(value);
      const auto bound = parse_int64(requirement.values.front());
      return number && bound && (requirement.op == SelectorOperator::kGt ? *number > *bound : *number < *bound);
    }
  }
  return false;
}

bool accepts_absent(SelectorOperator op) {
  return op == SelectorOperator::kNotIn || op == SelectorOperator::kDoesNotExist;
}

/// The names a term allows through `matchFields: metadata.name In`, intersected; nullopt when it has no such part.
std::optional<std::set<std::string>> names_of(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const SelectorRequirement& field : term.match_fields) {
    if (field.key != kNameField || field.op != SelectorOperator::kIn) continue;
    const std::set<std::string> listed(field.values.begin(), field.values.end());
    if (!names) {
      names = listed;
    } else {
      std::erase_if(*names, [&](const std::string& name) { return !listed.contains(name); });
    }
  }
  return names;
}

void compile_node_set(const std::vector<NodeSelectorTerm>& terms, const Snapshot& snapshot,
                      CompiledNodeAffinity& affinity) {
  if (terms.empty()) return;
  std::set<std::string> all;
  for (const NodeSelectorTerm& term : terms) {
    auto names = names_of(term);
    if (!names) return;  // this term restricts nothing, so every node stays a candidate
    all.merge(*names);
  }
  affinity.conflict = all.empty();
  affinity.node_set.emplace();
  affinity.node_names = all;
  for (const std::string& name : all) {
    const std::int32_t node = snapshot.find_node(name);
    if (node >= 0) affinity.node_set->push_back(node);
  }
  std::sort(affinity.node_set->begin(), affinity.node_set->end());
}

/// The pod's preferred terms are parsed by PreScore, whether or not Score is enabled, or else by Score. Either way what
/// does not parse ends the cycle. Empty: they are not parsed.
std::string preferred_error_head(const Profile& profile) {
  if (profile.at(ExtensionPoint::kScore).empty()) return "";
  if (profile.enables(ExtensionPoint::kPreScore, NodeAffinityRule::name))
    return "running PreScore plugin \"NodeAffinity\": ";
  if (profile.enables(ExtensionPoint::kScore, NodeAffinityRule::name))
    return "running Score plugins: plugin \"NodeAffinity\" failed with: ";
  return "";
}

}  // namespace

bool is_malformed(const NodeSelectorTerm& term) {
  return std::any_of(term.match_expressions.begin(), term.match_expressions.end(), is_malformed_expression) ||
         std::any_of(term.match_fields.begin(), term.match_fields.end(), is_malformed_field);
}

void CompiledTerms::extend(Source& source) {
  const ValueIds& values = source.column->values;
  const std::int32_t words = values.end() / 64 + 1;
  NodeAffinityRule::Requirement& compiled = *source.compiled;
  if (words > compiled.accepted_words) {
    auto longer = std::make_unique<std::uint64_t[]>(static_cast<std::size_t>(words));
    std::copy_n(compiled.accepted, compiled.accepted_words, longer.get());
    source.accepted = std::move(longer);
    compiled.accepted = source.accepted.get();
    compiled.accepted_words = words;
  }
  values.for_each_defined_since(source.known_definitions, [&](std::int32_t id) {
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    std::uint64_t& word = source.accepted[static_cast<std::size_t>(id / 64)];
    word = accepts(source.requirement, values.value(id)) ? word | bit : word & ~bit;
  });
  source.known_definitions = values.definition_count();
}

void CompiledTerms::extend() {
  for (Source& source : sources_)
    if (source.known_definitions != source.column->values.definition_count()) extend(source);
}

void CompiledTerms::compile(const SelectorRequirement& requirement, Snapshot& snapshot,
                            NodeAffinityRule::Requirement& compiled) {
  const LabelColumn& column = snapshot.label_column(requirement.key);
  compiled = {column.value_id.data(), nullptr, 0};
  sources_.push_back({requirement, &column, 0, &compiled, nullptr});
  extend(sources_.back());
  if (accepts_absent(requirement.op)) sources_.back().accepted[0] |= 1u;
}

void CompiledTerms::add(const NodeSelectorTerm& term, std::int64_t weight, Snapshot& snapshot) {
  NodeAffinityRule::Term compiled{};
  compiled.weight = weight;
  compiled.never = (term.match_expressions.empty() && term.match_fields.empty()) || is_malformed(term);
  if (!compiled.never) {
    auto requirements = std::make_unique<NodeAffinityRule::Requirement[]>(term.match_expressions.size());
    for (const SelectorRequirement& requirement : term.match_expressions)
      compile(requirement, snapshot, requirements[static_cast<std::size_t>(compiled.requirement_count++)]);
    auto names = std::make_unique<NodeAffinityRule::NameRequirement[]>(term.match_fields.size());
    for (const SelectorRequirement& field : term.match_fields) {
      // A field other than metadata.name reads as the empty string, which no node is called.
      const bool by_name = field.key == kNameField;
      const bool equals_empty = !by_name && field.values.front().empty();
      const bool equal = (field.op == SelectorOperator::kIn) != equals_empty;
      names[static_cast<std::size_t>(compiled.name_count++)] = {by_name ? snapshot.find_node(field.values.front()) : -1,
                                                                equal};
    }
    mentions_names_ = mentions_names_ || compiled.name_count > 0;
    compiled.requirements = requirements.get();
    compiled.names = names.get();
    requirements_.push_back(std::move(requirements));
    names_.push_back(std::move(names));
  }
  terms_.push_back(compiled);
}

CompiledTerms CompiledTerms::required(const std::vector<NodeSelectorTerm>& terms, Snapshot& snapshot) {
  CompiledTerms compiled;
  for (const NodeSelectorTerm& term : terms) compiled.add(term, 0, snapshot);
  return compiled;
}

CompiledTerms CompiledTerms::preferred(const std::vector<PreferredSchedulingTerm>& terms, Snapshot& snapshot) {
  CompiledTerms compiled;
  for (const PreferredSchedulingTerm& term : terms) {
    const bool empty = term.preference.match_expressions.empty() && term.preference.match_fields.empty();
    if (term.weight != 0 && !empty) compiled.add(term.preference, term.weight, snapshot);
  }
  return compiled;
}

CompiledTerms CompiledTerms::selector(const LabelMap& node_selector, Snapshot& snapshot) {
  CompiledTerms compiled;
  NodeAffinityRule::Term term{};
  auto requirements = std::make_unique<NodeAffinityRule::Requirement[]>(node_selector.size());
  for (const auto& [key, value] : node_selector) {
    const SelectorRequirement equal{std::string(key), SelectorOperator::kIn, {std::string(value)}};
    compiled.compile(equal, snapshot, requirements[static_cast<std::size_t>(term.requirement_count++)]);
  }
  term.requirements = requirements.get();
  compiled.requirements_.push_back(std::move(requirements));
  compiled.terms_.push_back(term);
  return compiled;
}

CompiledNodeAffinity compile_node_affinity(const PodSpec& spec, Snapshot& snapshot) {
  CompiledNodeAffinity affinity;
  if (!spec.node_selector.empty()) affinity.selector = CompiledTerms::selector(spec.node_selector, snapshot);
  if (!spec.node_affinity) return affinity;
  if (spec.node_affinity->required) {
    affinity.required = CompiledTerms::required(*spec.node_affinity->required, snapshot);
    compile_node_set(*spec.node_affinity->required, snapshot, affinity);
  }
  affinity.scores = !spec.node_affinity->preferred.empty();
  affinity.preferred = CompiledTerms::preferred(spec.node_affinity->preferred, snapshot);
  return affinity;
}

CompiledNodeAffinity::Options CompiledNodeAffinity::compile_options(const Profile& profile,
                                                                    const FeatureGates& /*gates*/, Snapshot& snapshot) {
  Options options;
  options.pre_filters = profile.enables(ExtensionPoint::kPreFilter, NodeAffinityRule::name);
  options.preferred_error_head = preferred_error_head(profile);
  const auto& added = profile.args.node_affinity.added_affinity;
  if (!added) return options;
  if (added->required) options.added_required = CompiledTerms::required(*added->required, snapshot);
  options.added_preferred = CompiledTerms::preferred(added->preferred, snapshot);
  options.added_scores = !added->preferred.empty();
  return options;
}

CompiledNodeAffinity CompiledNodeAffinity::compile(const NodeSidePod& pod, const Options& options, Snapshot& snapshot) {
  CompiledNodeAffinity affinity = compile_node_affinity(pod.spec, snapshot);
  const bool narrows = options.pre_filters && pod.node_set == NodeSet::kNarrows;
  if (!narrows) {
    affinity.node_set.reset();
    affinity.node_names.clear();
  }
  if (affinity.conflict && narrows) affinity.pre_filter_message = NodeAffinityRule::reason_conflict;
  if (!options.preferred_error_head.empty() && pod.spec.node_affinity)
    if (const auto problem = preferred_terms_problem(pod.spec.node_affinity->preferred))
      affinity.pre_score_error = options.preferred_error_head + *problem;
  return affinity;
}

void CompiledNodeAffinity::extend(const NodeSidePod& /*pod*/, const Options& /*options*/,
                                  const Snapshot& /*snapshot*/) {
  if (selector) selector->extend();
  if (required) required->extend();
  preferred.extend();
}

void CompiledNodeAffinity::compute_scores(const PodSpec& spec, const Options& options, const Snapshot& snapshot) {
  if (preferred.empty() && options.added_preferred.empty()) return;
  raw_of.resize(static_cast<std::size_t>(snapshot.slot_count()));
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) compute_score(spec, options, snapshot, i);
}

void CompiledNodeAffinity::compute_score(const PodSpec& spec, const Options& options, const Snapshot& snapshot,
                                         std::int32_t node) {
  if (!raw_of.empty()) raw_of[static_cast<std::size_t>(node)] = score_now(spec, options, snapshot, node);
}

}  // namespace berth
