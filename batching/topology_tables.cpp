// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_tables.h"

#include <algorithm>

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

DomainColumn TopologyTables::make_column(const Column& definition) {
  DomainColumn out;
  out.key = definition.key;
  if (definition.is_node) {
    for (std::int32_t i = 0; i < snapshot_.node_count(); ++i) out.domain_of.push_back(i + 1);
    out.domain_count = snapshot_.node_count();
  } else {
    const LabelColumn& labels = snapshot_.label_column(definition.key);
    out.domain_of = labels.value_id;
    out.domain_count = static_cast<std::int32_t>(labels.values.size()) - 1;
    if (definition.absent_is_empty) {
      const auto empty = std::find(labels.values.begin() + 1, labels.values.end(), "");
      const auto domain = static_cast<std::int32_t>(empty - labels.values.begin());
      out.domain_count = std::max(out.domain_count, domain);
      std::replace(out.domain_of.begin(), out.domain_of.end(), 0, domain);
    }
  }
  index_domains(out);
  return out;
}

NodeMask TopologyTables::make_mask(const EligibleNodes& eligible) {
  auto mask = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(snapshot_.node_count()), 1);
  const auto leave_out = [&](auto fails) {
    for (std::int32_t i = 0; i < snapshot_.node_count(); ++i)
      if (fails(i)) (*mask)[static_cast<std::size_t>(i)] = 0;
  };
  for (const std::string& key : eligible.complete_keys) {
    const LabelColumn& labels = snapshot_.label_column(key);
    leave_out([&](std::int32_t i) { return labels.value_id[static_cast<std::size_t>(i)] == 0; });
  }
  if (eligible.affinity_of != nullptr) {
    const CompiledNodeAffinity affinity = compile_node_affinity(*eligible.affinity_of, snapshot_);
    leave_out([&](std::int32_t i) { return !affinity.matches(i); });
  }
  if (eligible.tolerations_of != nullptr) {
    const CompiledTaintToleration taints =
        compile_taint_toleration(eligible.tolerations_of->tolerations, snapshot_.taint_sets(), comparison_operators_);
    leave_out([&](std::int32_t i) { return !TaintToleration::feasible(taints.params(), snapshot_.taint_set(i)); });
  }
  return std::count(mask->begin(), mask->end(), 0) == 0 ? nullptr : mask;
}

std::int32_t TopologyTables::mask_of(const EligibleNodes& eligible) {
  std::string signature;
  for (const std::string& key : eligible.complete_keys)
    signature.append(std::to_string(key.size())).append(1, ':').append(key);
  if (eligible.affinity_of != nullptr && restricts_nodes(*eligible.affinity_of))
    signature.append("affinity ").append(node_side_signature(*eligible.affinity_of));
  if (eligible.tolerations_of != nullptr)
    signature.append("taints ").append(node_side_signature(*eligible.tolerations_of));
  const auto [at, is_new] =
      mask_of_signature_.try_emplace(std::move(signature), static_cast<std::int32_t>(masks_.size()));
  if (is_new) masks_.push_back({eligible, make_mask(eligible)});
  return at->second;
}

std::int32_t TopologyTables::table(const std::string& counted, std::int32_t column, const EligibleNodes& eligible,
                                   bool tracks_minimum) {
  const std::int32_t mask = mask_of(eligible);
  const std::string signature =
      std::to_string(column) + " " + std::to_string(mask) + (tracks_minimum ? " m " : " ") + counted;
  TopologyCounts& counts = snapshot_.write_topology();
  const auto [at, is_new] = table_of_signature_.try_emplace(signature, counts.table_count());
  if (is_new) {
    counts.add_table(column, masks_[static_cast<std::size_t>(mask)].nodes, tracks_minimum);
    mask_of_table_.push_back(mask);
  }
  return at->second;
}

void TopologyTables::rebuild() {
  TopologyCounts& counts = snapshot_.write_topology();
  for (std::size_t c = 0; c < columns_.size(); ++c)
    counts.replace_column(static_cast<std::int32_t>(c), make_column(columns_[c]));
  for (Mask& mask : masks_) mask.nodes = make_mask(mask.eligible);
  for (std::size_t t = 0; t < mask_of_table_.size(); ++t)
    counts.reset_table(static_cast<std::int32_t>(t), masks_[static_cast<std::size_t>(mask_of_table_[t])].nodes);
}

}  // namespace berth
