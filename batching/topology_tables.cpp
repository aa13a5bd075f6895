// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_tables.h"

#include <algorithm>
#include <optional>

#include "host/framework/pod_signature.h"
#include "plugins/node_affinity/compile.h"
#include "plugins/taint_toleration/compile.h"

namespace berth {
namespace {

bool restricts_nodes(const PodSpec& spec) {
  return !spec.node_selector.empty() || (spec.node_affinity && spec.node_affinity->required);
}

}  // namespace

std::int32_t TopologyTables::column(const std::string& signature, Column definition) {
  const auto [at, is_new] = column_of_signature_.try_emplace(signature, static_cast<std::int32_t>(columns_.size()));
  if (is_new) {
    snapshot_.write_topology().add_column(make_column(definition));
    columns_.push_back(std::move(definition));
  }
  return at->second;
}

std::int32_t TopologyTables::key_column(const std::string& key, bool absent_is_empty) {
  return column((absent_is_empty ? "e" : "k") + key, {key, absent_is_empty, false});
}

std::int32_t TopologyTables::node_column() { return column("n", {"", false, true}); }

/// Nodes without the label share the domain of the empty value where `absent_is_empty`: it is domain 1 there, and the
/// others follow.
std::int32_t TopologyTables::domain_at(const Column& column, std::int32_t slot) const {
  if (column.is_node) return slot + 1;
  const LabelColumn& labels = snapshot_.label_column(column.key);
  const std::int32_t id = labels.value_id[static_cast<std::size_t>(slot)];
  if (!column.absent_is_empty) return id;
  if (!snapshot_.has_node(slot)) return 0;
  return id == 0 || labels.values.value(id).empty() ? 1 : id + 1;
}

DomainColumn TopologyTables::make_column(const Column& definition) {
  DomainColumn out;
  out.key = definition.key;
  for (std::int32_t i = 0; i < snapshot_.slot_count(); ++i) out.domain_of.push_back(domain_at(definition, i));
  out.domain_count = definition.is_node ? snapshot_.slot_count()
                                        : snapshot_.label_column(definition.key).values.end() - 1 +
                                              (definition.absent_is_empty ? 1 : 0);
  index_domains(out);
  return out;
}

/// One test for a node; what it compiles serves for a list of nodes.
class TopologyTables::Eligibility {
 public:
  Eligibility(const EligibleNodes& eligible, Snapshot& snapshot, bool comparison_operators) : snapshot_(snapshot) {
    for (const std::string& key : eligible.complete_keys) complete_.push_back(&snapshot.label_column(key));
    if (eligible.affinity_of != nullptr) affinity_ = compile_node_affinity(*eligible.affinity_of, snapshot);
    if (eligible.tolerations_of != nullptr)
      taints_ =
          compile_taint_toleration(eligible.tolerations_of->tolerations, snapshot.taint_sets(), comparison_operators);
  }
  /// A free slot counts, so that it makes no difference.
  bool operator()(std::int32_t slot) const {
    if (!snapshot_.has_node(slot)) return true;
    const auto lacks = [&](const LabelColumn* labels) { return labels->value_id[static_cast<std::size_t>(slot)] == 0; };
    return std::none_of(complete_.begin(), complete_.end(), lacks) && (!affinity_ || affinity_->matches(slot)) &&
           (!taints_ || TaintToleration::feasible(taints_->params(), snapshot_.taint_set(slot)));
  }

 private:
  const Snapshot& snapshot_;
  std::vector<const LabelColumn*> complete_;
  std::optional<CompiledNodeAffinity> affinity_;
  std::optional<CompiledTaintToleration> taints_;
};

NodeMask TopologyTables::make_mask(const EligibleNodes& eligible) {
  const Eligibility counts(eligible, snapshot_, comparison_operators_);
  auto mask = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(snapshot_.slot_count()));
  for (std::int32_t i = 0; i < snapshot_.slot_count(); ++i) (*mask)[static_cast<std::size_t>(i)] = counts(i) ? 1 : 0;
  return std::count(mask->begin(), mask->end(), 0) == 0 ? nullptr : mask;
}

bool TopologyTables::is_eligible(const EligibleNodes& eligible, std::int32_t slot) const {
  return Eligibility(eligible, snapshot_, comparison_operators_)(slot);
}

bool TopologyTables::is_moved(std::int32_t slot) {
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (snapshot_.topology().column(static_cast<std::int32_t>(c))[slot] != domain_at(columns_[c], slot)) return true;
  bool counts_elsewhere = false;
  masks_.for_each([&](std::int32_t, const Mask& mask) {
    counts_elsewhere = counts_elsewhere || mask.contains(slot) != is_eligible(mask.eligible, slot);
  });
  return counts_elsewhere;
}

void TopologyTables::move_node(std::int32_t slot) {
  TopologyCounts& counts = snapshot_.write_topology();
  masks_.for_each([&](std::int32_t m, Mask& mask) {
    const bool now = is_eligible(mask.eligible, slot);
    if (mask.contains(slot) == now) return;
    auto changed = mask.nodes != nullptr ? std::make_shared<std::vector<std::uint8_t>>(*mask.nodes)
                                         : std::make_shared<std::vector<std::uint8_t>>(
                                               static_cast<std::size_t>(snapshot_.slot_count()), 1);
    (*changed)[static_cast<std::size_t>(slot)] = now ? 1 : 0;
    mask.nodes = std::move(changed);
    counts.change_mask(m, mask.nodes, slot);
  });
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto column = static_cast<std::int32_t>(c);
    const std::int32_t domain = domain_at(columns_[c], slot);
    if (counts.column(column)[slot] == domain) continue;
    counts.move_node(column, slot, domain);
    counts.reindex(column);
  }
}

// Guests

std::int32_t GuestDomains::of(std::int32_t column, const std::string& value, std::int32_t first) {
  for (const Domain& known : domains_) {
    if (known.column != column) continue;
    if (known.value == value) return known.number;
    first = std::max(first, known.number + 1);
  }
  domains_.push_back({column, value, first});
  return first;
}

/// As domain_at(), of a node that is not in the snapshot.
std::int32_t TopologyTables::domain_of_guest(std::int32_t c, std::int32_t slot, const Node* node,
                                             GuestDomains& domains) const {
  const Column& column = columns_[static_cast<std::size_t>(c)];
  if (column.is_node) return slot + 1;
  if (node == nullptr) return 0;
  const std::optional<std::string_view> label = node->labels.find(column.key);
  if (!label || (column.absent_is_empty && label->empty())) return column.absent_is_empty ? 1 : 0;
  const std::string value(*label);
  const std::int32_t id = snapshot_.label_column(column.key).values.find(value);
  if (id == 0) return domains.of(c, value, snapshot_.topology().column(c).domain_count + 1);
  return column.absent_is_empty ? id + 1 : id;
}

GuestPlace TopologyTables::place_of_guest(std::int32_t slot, Snapshot* node, GuestDomains& domains) const {
  GuestPlace place{slot, {}, {}};
  const Node* object = node == nullptr ? nullptr : &node->node(0);
  for (std::size_t c = 0; c < columns_.size(); ++c)
    place.domain_of.push_back(domain_of_guest(static_cast<std::int32_t>(c), slot, object, domains));
  place.counts_in.resize(static_cast<std::size_t>(masks_.end()), 1);
  if (node == nullptr) return place;
  masks_.for_each([&](std::int32_t m, const Mask& mask) {
    place.counts_in[static_cast<std::size_t>(m)] = Eligibility(mask.eligible, *node, comparison_operators_)(0) ? 1 : 0;
  });
  return place;
}

std::int32_t TopologyTables::mask_of(const EligibleNodes& eligible) {
  std::string signature;
  for (const std::string& key : eligible.complete_keys)
    signature.append(std::to_string(key.size())).append(1, ':').append(key);
  if (eligible.affinity_of != nullptr && restricts_nodes(*eligible.affinity_of))
    signature.append("affinity ").append(node_affinity_signature(*eligible.affinity_of));
  if (eligible.tolerations_of != nullptr)
    signature.append("taints ").append(tolerations_signature(*eligible.tolerations_of));
  const auto [at, is_new] = mask_of_signature_.try_emplace(signature, -1);
  if (is_new) at->second = masks_.add({eligible, make_mask(eligible), std::move(signature)});
  return at->second;
}

std::int32_t TopologyTables::table(const std::string& counted, std::int32_t column, const EligibleNodes& eligible,
                                   bool tracks_minimum) {
  const std::int32_t mask = mask_of(eligible);
  std::string signature =
      std::to_string(column) + " " + std::to_string(mask) + (tracks_minimum ? " m " : " ") + counted;
  const auto [at, is_new] = table_of_signature_.try_emplace(signature, -1);
  if (!is_new) return at->second;
  at->second = snapshot_.write_topology().add_table(column, mask, masks_[mask].nodes, tracks_minimum);
  definitions_.add({std::move(signature), mask});  // both give up numbers at once, and give them again in one order
  return at->second;
}

void TopologyTables::keep_only(const LiveNumbers& live) {
  TopologyCounts& counts = snapshot_.write_topology();
  LiveNumbers masks(masks_.end());
  for (std::int32_t t = 0; t < definitions_.end(); ++t) {
    if (!definitions_.has(t)) continue;
    if (live.contains(t)) {
      masks.insert(definitions_[t].mask);
      continue;
    }
    table_of_signature_.erase(definitions_[t].signature);
    counts.remove_table(t);
    definitions_.remove(t);
  }
  for (std::int32_t m = 0; m < masks_.end(); ++m) {
    if (!masks_.has(m) || masks.contains(m)) continue;
    mask_of_signature_.erase(masks_[m].signature);
    counts.remove_mask(m);
    masks_.remove(m);
  }
}

void TopologyTables::rebuild() {
  TopologyCounts& counts = snapshot_.write_topology();
  for (std::size_t c = 0; c < columns_.size(); ++c)
    counts.replace_column(static_cast<std::int32_t>(c), make_column(columns_[c]));
  masks_.for_each([&](std::int32_t, Mask& mask) { mask.nodes = make_mask(mask.eligible); });
  for (std::int32_t t = 0; t < counts.table_count(); ++t)
    counts.reset_table(t, definitions_.has(t) ? masks_[definitions_[t].mask].nodes : nullptr);
}

}  // namespace berth
