// SPDX-License-Identifier: Apache-2.0
#include "batching/diagnosis_row.h"

#include <utility>

namespace berth {
void count_reasons(const Status& status, const PluginNames& narrowing, std::int64_t node_count, Diagnosis& diagnosis) {
  if (!status.ok() && status.reasons.empty()) {
    diagnosis.reason_counts[node_set_text(narrowing)] += node_count;
    return;
  }
  if (status.code == StatusCode::kUnschedulable) diagnosis.resolvable_count += node_count;
  for (const std::string& reason : status.reasons) diagnosis.reason_counts[reason] += node_count;
  if (is_rejected(status.code)) diagnosis.rejectors.insert(status.plugin);
}

void name_refused_nomination(const Status& status, const PluginNames& narrowing, Diagnosis& diagnosis) {
  auto outside = diagnosis.reason_counts.extract(node_set_text(narrowing));
  if (outside.empty() || !is_rejected(status.code)) return;
  PluginNames plugins = narrowing;
  plugins.insert(status.plugin);
  outside.key() = node_set_text(plugins);
  diagnosis.reason_counts.insert(std::move(outside));
}

bool DiagnosisRow::Kind::says_the_same(const Kind& other) const {
  return refusal == other.refusal && is_outside == other.is_outside && host == other.host && load == other.load &&
         topology == other.topology;
}

/// @param known  the number that is looked at first
std::uint16_t DiagnosisRow::kind_of(Kind kind, std::uint16_t known) {
  if (known < kinds_.size() && kinds_[known].says_the_same(kind)) return known;
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].says_the_same(kind)) return static_cast<std::uint16_t>(k);
  kinds_.push_back(std::move(kind));
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

void DiagnosisRow::diagnose_node(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot,
                                 std::int32_t node) {
  Kind kind;
  kind.refusal = row.refusal(node);
  kind.is_outside = is_outside_node_set(pod_class, row, snapshot, node);
  kind.host = filter_host(pod_class, node);
  kind.load = filter_load(pod_class, snapshot, node);
  kind.topology = filter_topology(pod_class, snapshot, node);
  std::uint16_t& known = kind_of_node_[static_cast<std::size_t>(node)];
  const std::uint16_t now = kind_of(std::move(kind), known);
  if (known == now) return;
  --kinds_[known].node_count;
  ++kinds_[now].node_count;
  known = now;
  changed_ = true;
}

void DiagnosisRow::diagnose_all(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot) {
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
    if (snapshot.has_node(i)) diagnose_node(pod_class, row, snapshot, i);
}

void DiagnosisRow::catch_up(const PodClass& pod_class, const NodeSideView& row, const Snapshot& snapshot,
                            const CommitLog& log) {
  if (!pod_class.host.is_idle()) {  // the log does not tell of columns
    kinds_.clear();
    kind_of_node_.clear();
    changed_ = true;
  }
  const std::uint64_t tables =
      pod_class.topology == nullptr ? 0 : version_of_filter_tables(*pod_class.topology, snapshot.topology());
  if (kind_of_node_.empty()) {
    kind_of_node_.assign(static_cast<std::size_t>(snapshot.slot_count()), kind_of({}, 0));
    kinds_.front().node_count = snapshot.node_count();
    diagnose_all(pod_class, row, snapshot);
  } else if (!log.reaches(position_) || tables != tables_) {  // a placement changes the counts of whole domains
    diagnose_all(pod_class, row, snapshot);
  } else {
    for (const LogEntry& entry : log.since(position_)) diagnose_node(pod_class, row, snapshot, entry.node);
  }
  position_ = log.position();
  tables_ = tables;
}

const DiagnosisRow::Answer& DiagnosisRow::answer(const PodClass& pod_class, const CompiledProfile& profile,
                                                 const NodeSideView& row, const Snapshot& snapshot,
                                                 const CommitLog& log) {
  catch_up(pod_class, row, snapshot, log);
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
  catch_up(pod_class, row, snapshot, log);
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
    Status status = kind.is_outside ? Status{StatusCode::kUnschedulableAndUnresolvable, "", {}}
                                    : status_of(pod_class, profile, row.of_class().refusals[kind.refusal], kind.host,
                                                kind.load, kind.topology);
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
