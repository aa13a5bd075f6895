// SPDX-License-Identifier: Apache-2.0
#include "batching/diagnosis_row.h"

namespace berth {
namespace {

/// The reason of nodes outside PreFilter's node set: docs/behaviour/plugins-node.md 2.6.
constexpr std::string_view kOutsideNodeSet = "node(s) didn't satisfy plugin(s) [NodeAffinity]";

void add_reasons(const Status& status, std::int64_t node_count, Diagnosis& diagnosis) {
  if (!status.ok() && status.reasons.empty()) {
    diagnosis.reason_counts[std::string(kOutsideNodeSet)] += node_count;
    return;
  }
  for (const std::string& reason : status.reasons) diagnosis.reason_counts[reason] += node_count;
  if (is_rejected(status.code)) diagnosis.rejectors.insert(status.plugin);
}

}  // namespace

void count_reasons(const Status& status, Diagnosis& diagnosis) { add_reasons(status, 1, diagnosis); }

std::uint16_t DiagnosisRow::kind_of(std::uint8_t refusal, const LoadVerdict& load, const TopologyVerdict& topology) {
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    if (kinds_[k].refusal == refusal && kinds_[k].load == load && kinds_[k].topology == topology)
      return static_cast<std::uint16_t>(k);
  kinds_.push_back({refusal, load, topology, 0});
  return static_cast<std::uint16_t>(kinds_.size() - 1);
}

void DiagnosisRow::diagnose_node(const PodClass& pod_class, const NodeSideRow& row, const Snapshot& snapshot,
                                 std::int32_t node) {
  const std::uint16_t now =
      kind_of(row.refusal(node), filter_load(pod_class, snapshot, node), filter_topology(pod_class, snapshot, node));
  std::uint16_t& known = kind_of_node_[static_cast<std::size_t>(node)];
  if (known == now) return;
  --kinds_[known].node_count;
  ++kinds_[now].node_count;
  known = now;
  changed_ = true;
}

void DiagnosisRow::diagnose_all(const PodClass& pod_class, const NodeSideRow& row, const Snapshot& snapshot) {
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
    if (snapshot.has_node(i)) diagnose_node(pod_class, row, snapshot, i);
}

void DiagnosisRow::catch_up(const PodClass& pod_class, const NodeSideRow& row, const Snapshot& snapshot,
                            const CommitLog& log) {
  if (kind_of_node_.empty()) {
    kind_of_node_.assign(static_cast<std::size_t>(snapshot.slot_count()), kind_of(0, {}, {}));
    kinds_.front().node_count = snapshot.node_count();
    diagnose_all(pod_class, row, snapshot);
  } else if (!log.reaches(position_) || (pod_class.topology != nullptr && position_ != log.position())) {
    // A placement changes the counts of whole domains.
    diagnose_all(pod_class, row, snapshot);
  } else {
    for (const LogEntry& entry : log.since(position_)) diagnose_node(pod_class, row, snapshot, entry.node);
  }
  position_ = log.position();
}

const DiagnosisRow::Answer& DiagnosisRow::answer(const PodClass& pod_class, const CompiledProfile& profile,
                                                 const NodeSideRow& row, const Snapshot& snapshot,
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
                                                        const NodeSideRow& row, const Snapshot& snapshot,
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

Status DiagnosisRow::count_kinds(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& row,
                                 const std::vector<std::int64_t>& node_counts, Diagnosis& diagnosis) const {
  diagnosis.rejectors = row.plugins_with_node_set();
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (node_counts[k] == 0) continue;
    Status status = status_of(pod_class, profile, row.refusals[kinds_[k].refusal], kinds_[k].load, kinds_[k].topology);
    if (status.code == StatusCode::kError) return status;
    add_reasons(status, node_counts[k], diagnosis);
  }
  return {};
}

void DiagnosisRow::write_answer(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& row,
                                const Snapshot& snapshot) {
  Diagnosis diagnosis;
  diagnosis.node_count = snapshot.node_count();
  if (const Status error = count_kinds(pod_class, profile, row, nodes_of_kinds(), diagnosis); !error.ok()) {
    answer_ = {error.message(), true, {}, 0};
    return;
  }
  answer_ = {fit_error_text(diagnosis), false, diagnosis.rejectors, 0};
}

}  // namespace berth
