// SPDX-License-Identifier: Apache-2.0
#include "batching/diagnosis_row.h"

#include <algorithm>
#include <utility>

#include "batching/load_words.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_fit/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {
void count_reasons(const Status& status, const PluginNames& narrowing, std::int64_t node_count, Diagnosis& diagnosis) {
  if (!status.ok() && status.reasons.empty()) {
    diagnosis.reason_counts[node_set_text(narrowing)] += node_count;
    return;
  }
  for (const std::string& reason : status.reasons) diagnosis.reason_counts[reason] += node_count;
  diagnosis.add_rejection(status, node_count);
}

void name_refused_nomination(const Status& status, const PluginNames& narrowing, Diagnosis& diagnosis) {
  auto outside = diagnosis.reason_counts.extract(node_set_text(narrowing));
  if (outside.empty() || !is_rejected(status.code)) return;
  PluginNames plugins = narrowing;
  plugins.insert(status.plugin);
  outside.key() = node_set_text(plugins);
  diagnosis.reason_counts.insert(std::move(outside));
}

std::uint64_t DiagnosisRow::Parts::word() const {
  return LoadWord::of(load) | std::uint64_t{refusal} << kRefusalAt | (is_outside ? kOutside : 0) |
         static_cast<std::uint64_t>(topology.spread) << kSpreadAt |
         static_cast<std::uint64_t>(topology.affinity) << kAffinityAt;
}

DiagnosisRow::BeforeTopology::BeforeTopology(const CompiledProfile& profile, const NodeSideRow& row) {
  const std::int32_t topology = std::min(profile.rank<PodTopologySpread>(), profile.rank<InterPodAffinity>());
  if (profile.rank<NodePorts>() < topology) load_ |= LoadWord::kPortsTaken;
  if (profile.rank<NodeResourcesFit>() < topology)
    load_ |= LoadWord::kTooManyPods | ~std::uint64_t{0} << LoadWord::kInsufficientAt;
  for (std::size_t r = 0; r < row.refusals.size(); ++r) refusals_[r] = row.refusals[r].rank < topology;
}

/// The number of the first kind that is_it(number), a new one where there is none.
/// @param known  the number that is looked at first
template <class IsIt>
std::uint16_t DiagnosisRow::find_or_add(std::uint16_t known, std::uint64_t word, const Parts& parts,
                                        const HostRefusal& host, IsIt is_it) {
  if (known < kinds_.size() && is_it(known)) return known;
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (is_it(k)) return static_cast<std::uint16_t>(k);
  words_.reserve(kinds_.size() + 1);
  kinds_.push_back({parts, host, 0});
  words_.push_back(word);
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

/// @param node  -1: none, which accepts
std::uint16_t DiagnosisRow::kind_of(const PodClass& pod_class, const Parts& parts, std::int32_t node,
                                    std::uint16_t known) {
  static const HostRefusal kNone{kNotEnabled};
  if (pod_class.host.empty() && LoadWord::fits(pod_class)) {
    const std::uint64_t word = parts.word();
    return find_or_add(known, word, parts, kNone, [&](std::size_t k) { return words_[k] == word; });
  }
  const HostRefusal host = node < 0 ? kNone : filter_host(pod_class, node);
  return find_or_add(known, kNoWord, parts, host,
                     [&](std::size_t k) { return kinds_[k].parts == parts && kinds_[k].host == host; });
}

DiagnosisRow::Parts DiagnosisRow::parts_on(const Asked& asked, std::int32_t node) {
  Parts parts{asked.row.refusal(node),
              is_outside_node_set(asked.pod_class, asked.row, asked.snapshot, node),
              filter_load(asked.pod_class, asked.snapshot, node),
              {}};
  if (!asked.has_words || !asked.before_topology.refuses(parts.word()))
    parts.topology = filter_topology(asked.pod_class, asked.snapshot, node);
  return parts;
}

void DiagnosisRow::set_kind(std::int32_t node, std::uint16_t now) {
  std::uint16_t& known = kind_of_node_[static_cast<std::size_t>(node)];
  if (known == now) return;
  --kinds_[known].node_count;
  ++kinds_[now].node_count;
  known = now;
  changed_ = true;
}

void DiagnosisRow::diagnose_node(const Asked& asked, std::int32_t node) {
  set_kind(node, kind_of(asked.pod_class, parts_on(asked, node), node, kind_of_node_[static_cast<std::size_t>(node)]));
}

void DiagnosisRow::diagnose_all_by_words(const Asked& asked) {
  const std::vector<std::uint64_t> loads = load_words(asked.pod_class, asked.snapshot);
  const bool filters_topology = asked.pod_class.topology != nullptr && asked.pod_class.topology->filters();
  for (std::int32_t i = 0; i < asked.snapshot.slot_count(); ++i) {
    if (!asked.snapshot.has_node(i)) continue;
    std::uint64_t word = loads[static_cast<std::size_t>(i)] | std::uint64_t{asked.row.refusal(i)} << Parts::kRefusalAt |
                         (is_outside_node_set(asked.pod_class, asked.row, asked.snapshot, i) ? Parts::kOutside : 0);
    if (filters_topology && !asked.before_topology.refuses(word)) {
      const TopologyVerdict topology = filter_topology(asked.pod_class, asked.snapshot, i);
      word |= static_cast<std::uint64_t>(topology.spread) << Parts::kSpreadAt |
              static_cast<std::uint64_t>(topology.affinity) << Parts::kAffinityAt;
    }
    if (words_[kind_of_node_[static_cast<std::size_t>(i)]] == word) continue;
    const auto known = std::find(words_.begin(), words_.end(), word);
    if (known == words_.end()) {
      diagnose_node(asked, i);
    } else {
      set_kind(i, static_cast<std::uint16_t>(known - words_.begin()));
    }
  }
}

void DiagnosisRow::diagnose_all(const Asked& asked) {
  if (asked.has_words && asked.snapshot.guests().empty()) return diagnose_all_by_words(asked);
  for (std::int32_t i = 0; i < asked.snapshot.slot_count(); ++i)
    if (asked.snapshot.has_node(i)) diagnose_node(asked, i);
}

void DiagnosisRow::catch_up(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                            const Snapshot& snapshot, const CommitLog& log) {
  const Asked asked{pod_class, row, snapshot, BeforeTopology(profile, row.of_class()),
                    pod_class.host.empty() && LoadWord::fits(pod_class)};
  if (!pod_class.host.is_idle()) {  // the log does not tell of columns
    kinds_.clear();
    words_.clear();
    kind_of_node_.clear();
    changed_ = true;
  }
  const std::uint64_t tables =
      pod_class.topology == nullptr ? 0 : version_of_filter_tables(*pod_class.topology, snapshot.topology());
  if (kind_of_node_.empty()) {
    kind_of_node_.assign(static_cast<std::size_t>(snapshot.slot_count()), kind_of(pod_class, {}, -1, 0));
    kinds_.front().node_count = snapshot.node_count();
    diagnose_all(asked);
  } else if (!log.reaches(position_) || tables != tables_) {  // a placement changes the counts of whole domains
    diagnose_all(asked);
  } else {
    std::int32_t latest = -1;  // the entries of an eviction follow each other
    for (const LogEntry& entry : log.since(position_))
      if (entry.node != std::exchange(latest, entry.node)) diagnose_node(asked, entry.node);
  }
  position_ = log.position();
  tables_ = tables;
}

const DiagnosisRow::Answer& DiagnosisRow::answer(const PodClass& pod_class, const CompiledProfile& profile,
                                                 const NodeSideView& row, const Snapshot& snapshot,
                                                 const CommitLog& log) {
  catch_up(pod_class, profile, row, snapshot, log);
  if (changed_) {
    const std::uint64_t version = answer_.version + 1;
    write_answer(pod_class, profile, row, snapshot);
    answer_.version = version;
    changed_ = false;
  }
  return answer_;
}

std::optional<Diagnosis> DiagnosisRow::diagnose_outside(const PodClass& pod_class, const CompiledProfile& profile,
                                                        const NodeSideView& row, const Snapshot& snapshot,
                                                        const CommitLog& log, const ExcludedNodes& excluded) {
  catch_up(pod_class, profile, row, snapshot, log);
  std::vector<std::int64_t> node_counts = nodes_of_kinds();
  for (const std::int32_t node : excluded.members()) --node_counts[kind_of_node_[static_cast<std::size_t>(node)]];
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot.node_count();
  if (!count_kinds(pod_class, profile, row, node_counts, diagnosis).ok()) return std::nullopt;
  return diagnosis;
}

std::vector<std::int64_t> DiagnosisRow::nodes_of_kinds() const {
  std::vector<std::int64_t> node_counts;
  node_counts.reserve(kinds_.size());
  for (const Kind& kind : kinds_) node_counts.push_back(kind.node_count);
  return node_counts;
}

Status DiagnosisRow::count_kinds(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                                 const std::vector<std::int64_t>& node_counts, Diagnosis& diagnosis) const {
  const PluginNames narrowing = plugins_with_node_set(pod_class, row.of_class());
  diagnosis.rejectors = narrowing;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (node_counts[k] == 0) continue;
    const Kind& kind = kinds_[k];
    Status status = kind.parts.is_outside ? Status{StatusCode::kUnschedulableAndUnresolvable, "", {}}
                                          : status_of(pod_class, profile, row.of_class().refusals[kind.parts.refusal],
                                                      kind.host, kind.parts.load, kind.parts.topology);
    if (status.code == StatusCode::kError) return status;
    count_reasons(status, narrowing, node_counts[k], diagnosis);
  }
  return {};
}

void DiagnosisRow::write_answer(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                                const Snapshot& snapshot) {
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot.node_count();
  if (const Status error = count_kinds(pod_class, profile, row, nodes_of_kinds(), diagnosis); !error.ok()) {
    answer_ = {{error.message(), {}, 0}, true, 0};
    return;
  }
  answer_ = {message_of(diagnosis), false, 0};
}

}  // namespace berth
